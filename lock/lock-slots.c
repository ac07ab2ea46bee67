/* How many may hold a resource at a time, where its contenders are of that kind: what its directory
 * says. All who are in one queue must mean the same number, or one of them would count itself in
 * where another does not: so everybody compares what the directory says with what it means, watches
 * it, and follows it while it waits. Then only its administrator changes it.
 *
 * Where it says nothing yet, whoever writes first has said it: each writes over what it has read
 * alone, so that a second one fails, and looks.
 *
 * Where it says another number, and nobody else means that any more, the directory is made anew.
 * That nobody is there is nothing that a list can tell: somebody may come, and count, before
 * anything is written. So our contender and the directory are deleted in one transaction, which
 * fails where there is somebody, since no directory goes that has children. Then we come again, as
 * the first or behind who was.
 */
#include "lock-slots.h"

#include "lock-data.h"

static void place_on_slots_changed(ZkWatchEvent event, const char *path, void *userdata);

/* What we have sent takes the place of a question, and makes no news for us. */
static void place_stop_asking(Place *place) {
        place->slots.call = zk_call_free(place->slots.call);
        place->slots.watch = zk_watch_free(place->slots.watch);
}

/* It says nothing yet */

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

static void place_declare_slots(Place *place) {
        g_autofree char *data = data_slots(place->slots.number);

        place_stop_asking(place);
        place_check(place,
                    zk_set(place_zk(place), place->node.directory, data, place->slots.version,
                           place_on_slots_declared, place, &place->slots.call));
}

/* It says another number, and we seem to be alone */

static void place_refuse_slots(Place *place, const char *why) {
        outcome_fail(place->outcome,
                     "%s has %u slots, not %u: all who use it must mean the same number%s%s",
                     place->node.directory, place->slots.said, place->slots.number,
                     why ? ", and it cannot be made anew: " : "", why ? why : "");
}

static void place_on_left(const ZkReply *reply, void *userdata) {
        Place *place = userdata;

        place->slots.call = NULL;
        if (outcome_is_over(place->outcome) || reply->code == ZK_CLOSED)
                return;
        if (reply->code == ZK_OK)
                place_begin_anew(place);
        else if (reply->code == ZK_UNKNOWN)
                place_stall(place);
        else if (zk_code_is_refusal(reply->code))
                place_refuse_slots(place, zk_code_to_string(reply->code));
        else
                place_check(place, place->recipe->search(place)); /* somebody came, or wrote */
}

static void place_leave_with_directory(Place *place) {
        const ZkOp ops[] = {
            {.type = ZK_OP_DELETE, .path = place->node.path, .version = -1},
            {.type = ZK_OP_DELETE, .path = place->node.directory, .version = place->slots.version},
        };

        place_stop_asking(place);
        place->watch.self = sight_free(place->watch.self); /* its deletion is our own doing */
        place->slots.leaves = true;
        place_check(place, zk_multi(place_zk(place), ops, G_N_ELEMENTS(ops), place_on_left, place,
                                    &place->slots.call));
}

void place_begin_anew(Place *place) {
        place->slots.leaves = false;
        if (place->node.unsure)
                place->recipe->erase(place); /* what else there may be of that name */
        place_forget_contender(place);
        g_free(place->node.uuid); /* the numbers begin again, and no name may come again */
        place->node.uuid =
            contender_uuid_new(place->node.naming, place->outcome->options.may_downgrade);
        place_on_directory_missing(place, place->recipe->begin);
}

/* Either */

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
        if (place->slots.said == place->slots.number) {
                place->slots.leaves = false; /* what may have been sent for another one fails */
                return true;
        }
        if (place->slots.said == 0)
                place_declare_slots(place);
        else if (alone)
                place_leave_with_directory(place);
        else
                place_refuse_slots(place, NULL);
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
