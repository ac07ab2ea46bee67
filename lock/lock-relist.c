/* Waiting by listing the queue again: the strategies `parent` (at each change of the directory) and
 * `poll` (every second). They are here to be compared with `predecessor`: each list is as long as
 * the queue, and with `parent` everybody asks for one at each change.
 *
 * One case needs the first of them: a contender ahead that we have no right to read. A server sets
 * a watch on it (`exists` needs no right), but says nothing when it goes: since CVE-2024-23944 it
 * checks the right again when it sends the event. The directory may be listed, so its watch works.
 */
#include "lock-relist.h"

#include "timer.h"

#define POLL_PERIOD USEC_PER_SEC

static void place_relist(Place *place);

static bool place_lists_with_watch(const Place *place) {
        return place->relist.strategy == LOCK_STRATEGY_PARENT;
}

static void place_on_children(ZkWatchEvent event, const char *path, void *userdata) {
        Place *place = userdata;

        place->relist.children = zk_watch_free(place->relist.children);
        if (!outcome_is_over(place->outcome) && place->state == PLACE_WAITING)
                place_relist(place);
}

int place_send_list(Place *place, Zk *zk, ZkReplyFunc func) {
        bool watch = place_lists_with_watch(place);

        place->relist.children = zk_watch_free(place->relist.children);
        return zk_get_children(zk, place->node.directory, func, place, &place->flight.read,
                               watch ? place_on_children : NULL, place,
                               watch ? &place->relist.children : NULL);
}

void place_list_came(Place *place, const ZkReply *reply) {
        place->flight.read = NULL;
        if (reply->code != ZK_OK)
                place->relist.children = zk_watch_free(place->relist.children); /* was not set */
}

static void place_on_relisted(const ZkReply *reply, void *userdata) {
        Place *place = userdata;

        place_list_came(place, reply);
        if (!outcome_is_over(place->outcome))
                place->recipe->listed(place, reply);
}

static void place_relist(Place *place) {
        Zk *zk = place_zk(place);

        if (!place->flight.read && zk)
                place_check(place, place_send_list(place, zk, place_on_relisted));
}

static void place_on_poll(void *userdata) {
        Place *place = userdata;

        if (!outcome_is_over(place->outcome) && place->state == PLACE_WAITING)
                place_relist(place);
}

void place_turn_to_lists(Place *place) {
        place->relist.strategy = LOCK_STRATEGY_PARENT;
}

void place_await_list(Place *place) {
        if (place_lists_with_watch(place)) {
                if (!place->relist.children)
                        place_relist(place);
                return;
        }
        if (!place->relist.poll)
                place_check(place,
                            timer_in(session_event_loop(place->outcome->session),
                                     &place->relist.poll, POLL_PERIOD, place_on_poll, place));
}
