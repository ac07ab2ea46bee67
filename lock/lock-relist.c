/* Waiting by listing the queue again: the strategies `parent` (at each change of the directory) and
 * `poll` (every second). They are here to be compared with `predecessor`: each list is as long as
 * the queue, and with `parent` everybody asks for one at each change.
 *
 * One case needs the first of them: a contender ahead that we have no right to read. A server sets
 * a watch on it (`exists` needs no right), but says nothing when it goes: since CVE-2024-23944 it
 * checks the right again when it sends the event. The directory may be listed, so its watch works.
 */
#include "lock-private.h"

#define POLL_PERIOD USEC_PER_SEC

static void relist(Place *place);

static bool lists_with_watch(const Place *place) {
        return place->set->strategy == LOCK_STRATEGY_PARENT || place->by_list;
}

static void on_children(ZkWatchEvent event, const char *path, void *userdata) {
        Place *place = userdata;

        place->children = zk_watch_free(place->children);
        if (!place->set->over && place->state == PLACE_WAITING)
                relist(place);
}

int place_send_list(Place *place, Zk *zk, ZkReplyFunc func) {
        bool watch = lists_with_watch(place);

        place->children = zk_watch_free(place->children);
        return zk_get_children(zk, place->directory, func, place, &place->list,
                               watch ? on_children : NULL, place, watch ? &place->children : NULL);
}

void place_list_came(Place *place, const ZkReply *reply) {
        place->list = NULL;
        if (reply->code != ZK_OK)
                place->children = zk_watch_free(place->children); /* was not set */
}

static void on_relisted(const ZkReply *reply, void *userdata) {
        Place *place = userdata;

        place_list_came(place, reply);
        if (!place->set->over)
                place_on_own_list(place, reply);
}

static void relist(Place *place) {
        Zk *zk = session_zk(place->set->session);

        if (!place->list && zk)
                place_check(place, place_send_list(place, zk, on_relisted));
}

static int on_poll(sd_event_source *source, uint64_t usec, void *userdata) {
        Place *place = userdata;

        place->poll = sd_event_source_disable_unref(place->poll);
        if (!place->set->over && place->state == PLACE_WAITING)
                relist(place);
        return 0;
}

void place_await_list(Place *place) {
        int r;

        if (lists_with_watch(place)) {
                if (!place->children)
                        relist(place);
                return;
        }
        if (place->poll)
                return;
        r = sd_event_add_time_relative(session_event_loop(place->set->session), &place->poll,
                                       CLOCK_MONOTONIC, POLL_PERIOD, USEC_PER_MSEC, on_poll, place);
        place_check(place, r);
}
