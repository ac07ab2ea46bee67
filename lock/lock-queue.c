/* Getting into a queue; the essay in lock-set.c says why it is done so.
 *
 * The usual way is one flight: create and list leave together and are answered in that order.
 * Everything else starts from an answer that did not come (PLACE_STALLED, then PLACE_SEARCHING) or
 * from a directory that is not there.
 */
#include "lock-queue.h"

#include <errno.h>
#include <string.h>

#include "lock-delete.h"
#include "lock-hold.h"
#include "lock-join.h"
#include "lock-relist.h"
#include "lock-slots.h"
#include "lock-watch.h"

/* What others may rely on once our contender is gone. */
static Departure place_departure(const Place *place) {
        bool served =
            place->state == PLACE_HELD && place->queue.waited && place->kind == CONTENDER_WRITER;

        return (Departure){
            .path = place->node.path,
            .served = served ? place->node.sequence : -1,
            .empty_directory = place_is_used_up(place),
        };
}

/* Its contender, wherever it is, is deleted by somebody who outlives us. */
static void place_erase(const Place *place) {
        const Departure departure = place_departure(place);
        Session *session = place->outcome->session;

        if (place->node.unsure || place_state_steps(place->state)) /* of its name */
                contender_search_and_delete(session, place->node.directory, place->node.uuid);
        else if (place->node.czxid != 0)
                contender_delete(session, &departure);
        else /* adopted, or about to be: whose is it? */
                contender_delete_if_ours(session, place->node.path);
}

/* Create and list */

static void place_on_created(const ZkReply *reply, void *userdata) {
        place_note_created(userdata, reply);
}

/* Our contender is the lowest with our uuid. More than one are the work of a creation that was
 * repeated while the first was still under way; what does not belong must not stay. */
static void place_recognise_own(Place *place, const ZkReply *reply) {
        g_autoptr(GArray) own = g_array_new(FALSE, FALSE, sizeof(Contender));

        for (size_t i = 0; i < reply->n_children; i++) {
                Contender contender;

                contender_parse(reply->children[i], &contender);
                if (contender.kind != CONTENDER_FOREIGN &&
                    strcmp(contender.uuid, place->node.uuid) == 0)
                        g_array_append_val(own, contender);
        }
        g_array_sort(own, contender_compare);
        for (guint i = 0; i < own->len; i++) {
                const char *name = g_array_index(own, Contender, i).name;
                g_autofree char *path = g_strconcat(place->node.directory, "/", name, NULL);

                if (i > 0) {
                        place_view_bury(&place->view, name);
                        contender_delete(place->outcome->session, &(Departure){path, -1, false});
                } else if (g_strcmp0(place->node.path, path) != 0) {
                        g_free(place->node.path);
                        place->node.path = g_steal_pointer(&path);
                        place->node.czxid = 0; /* to be read */
                }
        }
}

static int place_queue(Place *place);

static void place_on_listed(const ZkReply *reply, void *userdata) {
        Place *place = userdata;

        place_list_came(place, reply);
        if (outcome_is_over(place->outcome))
                return;
        switch (place->flight.created) {
        case ZK_OK:
                if (place->node.unsure && reply->code == ZK_OK)
                        place_recognise_own(place, reply);
                place_on_own_list(place, reply);
                break;
        case ZK_NO_NODE:
                place_on_directory_missing(place, place_queue);
                break;
        case ZK_UNKNOWN:
                place_stall(place);
                break;
        case ZK_CLOSED:
                break;
        default:
                outcome_fail(place->outcome, "cannot create a contender in %s: %s",
                             place->node.directory, zk_code_to_string(place->flight.created));
        }
}

static int place_queue(Place *place) {
        Zk *zk = place_zk(place);
        g_autofree char *prefix =
            contender_prefix(place->node.naming, place->kind, place->node.uuid);
        g_autofree char *path = g_strconcat(place->node.directory, "/", prefix, NULL);
        int r;

        if (!zk)
                return -ENOTCONN;
        place_happen(place, PLACE_EVENT_QUEUE);
        place->flight.created = ZK_CLOSED;
        r = place_make_directory(place, zk);
        if (r >= 0)
                r = zk_create(zk, path, place->outcome->options.payload,
                              ZK_CREATE_EPHEMERAL | ZK_CREATE_SEQUENTIAL, place_on_created, place,
                              &place->flight.create);
        if (r >= 0 && place->kind == CONTENDER_SLOT)
                r = place_ask_slots(place, zk);
        if (r >= 0)
                r = place_send_list(place, zk, place_on_listed);
        return r;
}

/* Barrier and list */

static void place_on_searched(const ZkReply *reply, void *userdata) {
        Place *place = userdata;

        place_list_came(place, reply);
        if (outcome_is_over(place->outcome))
                return;
        /* The connection broke between the two: another server answered, which may be behind and
         * show neither what we made nor what others deleted. */
        if (!place->flight.barrier.passed && reply->code != ZK_CLOSED) {
                place_stall(place);
                return;
        }
        if (reply->code == ZK_OK && !outcome_adopts(place->outcome))
                place_recognise_own(place, reply);
        if (place->node.path || (reply->code != ZK_OK && reply->code != ZK_NO_NODE))
                place_on_own_list(place, reply);
        else
                place_check(place, place_queue(place));
}

static int place_search(Place *place) {
        Zk *zk = place_zk(place);
        int r;

        if (!zk)
                return -ENOTCONN;
        place_happen(place, PLACE_EVENT_SEARCH);
        place_drop_lost_mark(place);
        place->flight.read = zk_call_free(place->flight.read);
        r = barrier_send(&place->flight.barrier, zk, place->node.directory);
        if (r >= 0 && place->kind == CONTENDER_SLOT)
                r = place_ask_slots(place, zk);
        if (r >= 0)
                r = place_send_list(place, zk, place_on_searched);
        return r;
}

static int place_begin(Place *place) {
        return outcome_adopts(place->outcome) ? place_search(place) : place_queue(place);
}

static void place_retry(Place *place) {
        if (place->state == PLACE_STALLED) {
                place_check(place, place_search(place));
                return;
        }
        place_retry_slots(place);
        if (place->state == PLACE_STEP_LOST)
                place_step_down(place);
        place_retry_sights(place);
}

const PlaceRecipe lock_queue_recipe = {
    .begin = place_begin,
    .search = place_search,
    .retry = place_retry,
    .look = place_look,
    .listed = place_on_own_list,
    .erase = place_erase,
};
