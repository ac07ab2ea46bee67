/* How many may hold a resource at a time, where its contenders are of that kind: what its directory
 * says. All who use it must mean the same number, or one of them would count itself in where
 * another does not: so whoever is alone writes it down, and everybody else compares and watches it.
 * Somebody may come before that is written, and count with the number that was there: so the one
 * that wrote looks again, and where it is not alone any more, it puts back what it found, and goes.
 */
#include "lock-slots.h"

#include "lock-data.h"

static void place_on_slots_changed(ZkWatchEvent event, const char *path, void *userdata);

static void place_on_slots_declared(const ZkReply *reply, void *userdata) {
        Place *place = userdata;

        place->slots.call = NULL;
        if (outcome_is_over(place->outcome) || reply->code == ZK_CLOSED)
                return;
        if (reply->code == ZK_UNKNOWN)
                place_stall(place);
        else if (reply->code == ZK_OK || reply->code == ZK_BAD_VERSION)
                place_check(place, place->recipe->search(place)); /* declared: by us? */
        else
                outcome_fail(place->outcome, "cannot write to %s: %s", place->node.directory,
                             zk_code_to_string(reply->code));
}

static void place_declare_slots(Place *place, unsigned slots) {
        g_autofree char *data = data_slots(slots);

        place->slots.call = zk_call_free(place->slots.call);
        place->slots.watch = zk_watch_free(place->slots.watch); /* our own write is no news */
        place_check(place,
                    zk_set(place_zk(place), place->node.directory, data, place->slots.version,
                           place_on_slots_declared, place, &place->slots.call));
}

/* Return: whether the answer is there to be looked at; else it was asked for again. */
static bool place_knows_slots(Place *place) {
        if (place->slots.code == ZK_OK)
                return true;
        if (place->slots.code == ZK_UNKNOWN)
                place_stall(place); /* lost, while the list's was not */
        else if (place->slots.code == ZK_CLOSED)
                place_check(place, place->recipe->search(place)); /* it changed since */
        else
                outcome_fail(place->outcome, "cannot read how many slots %s has: %s",
                             place->node.directory, zk_code_to_string(place->slots.code));
        return false;
}

bool place_slots_agree(Place *place, bool alone) {
        if (outcome_adopts(place->outcome))
                return true; /* what is adopted was let in before */
        if (place->queue.waited && place->slots.call)
                return true; /* it changed since; the answer is looked at by itself */
        if (!place_knows_slots(place))
                return false;
        /* Changed while we wait: it is the directory that counts. */
        if (place->queue.waited && place->slots.said > 0)
                place->slots.number = place->slots.said;
        if (place->slots.said == place->slots.number && (place->slots.replaced == 0 || alone))
                return true;
        if (place->slots.said == place->slots.number) {
                place_declare_slots(place, place->slots.replaced);
                return false;
        }
        if (place->slots.said == 0 || alone) { /* nobody means another number (any more) */
                place->slots.replaced = place->slots.said;
                place_declare_slots(place, place->slots.number);
                return false;
        }
        outcome_fail(place->outcome,
                     "%s has %u slots, not %u: all who use it must mean the same number",
                     place->node.directory, place->slots.said, place->slots.number);
        return false;
}

/* While we wait, a changed number is news; before, the list that follows looks at it. What is no
 * number changes nothing. */
static void place_on_slots(const ZkReply *reply, void *userdata) {
        Place *place = userdata;

        place->slots.call = NULL;
        if (outcome_is_over(place->outcome) || reply->code == ZK_CLOSED)
                return;
        if (reply->code != ZK_OK)
                place->slots.watch = zk_watch_free(place->slots.watch);
        place->slots.code = reply->code;
        place->slots.version = reply->stat.version;
        place->slots.said =
            reply->code == ZK_OK ? data_get_slots(reply->data, reply->data_size) : 0;
        if (place->state != PLACE_WAITING)
                return;
        if (reply->code == ZK_UNKNOWN) {
                place->slots.lost = true;
                outcome_stall(place->outcome);
                return;
        }
        if (place->slots.said > 0)
                place->slots.number = place->slots.said;
        place->recipe->look(place, false);
}

int place_ask_slots(Place *place, Zk *zk) {
        place->slots.lost = false;
        place->slots.call = zk_call_free(place->slots.call);
        place->slots.watch = zk_watch_free(place->slots.watch);
        place->slots.code = ZK_CLOSED;
        return zk_get(zk, place->node.directory, place_on_slots, place, &place->slots.call,
                      place_on_slots_changed, place, &place->slots.watch);
}

static void place_on_slots_changed(ZkWatchEvent event, const char *path, void *userdata) {
        Place *place = userdata;
        Zk *zk = place_zk(place);

        place->slots.watch = zk_watch_free(place->slots.watch);
        if (outcome_is_over(place->outcome) || place_state_is_held(place->state) || !zk)
                return;
        place_check(place, place_ask_slots(place, zk));
}

bool place_awaits_slots(const Place *place) {
        return place->slots.call || place->slots.lost;
}

void place_retry_slots(Place *place) {
        if (!place->slots.lost)
                return;
        place->slots.lost = false;
        if (place->state == PLACE_WAITING)
                place_check(place, place_ask_slots(place, place_zk(place)));
}
