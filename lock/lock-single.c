/* The older recipe, for resources that are shared with programs that know no queue: one ephemeral
 * node of a fixed name. Whoever creates it has the lock; the others are told "exists", and try
 * again when the directory changes. There is no order among them, and all of them wake up each
 * time. Those who queue in the same directory are not seen so: a list after the creation looks for
 * them, and refuses.
 *
 * The name tells nothing of who made it, but its czxid does, once it is known. For a creation whose
 * answer was lost the data does: {"id": "<uuid>", "payload": "…"}. It is read then: ours belongs to
 * our session and carries our uuid. Others may have written over that, to ask us to let go: then
 * what belongs to our session is ours unless another set's.
 */
#include "lock-single.h"

#include <errno.h>
#include <string.h>

#include "lock-data.h"
#include "lock-delete.h"
#include "lock-watch.h"

static int single_begin(Place *place);
static void single_await(Place *place);

static char *single_path(const Place *place) {
        return g_strconcat(place->node.directory, "/" SINGLE_NODE_NAME, NULL);
}

static void single_is_taken(Place *place) {
        place_happen(place, PLACE_EVENT_WAIT);
        place->view.before = 1;
        place->outcome->failures = 0;
        if (outcome_may_wait(place->outcome))
                single_await(place);
}

/* The node is ours; is it the lock? Those who queue here look for such a node after they have made
 * their contender, we look for theirs after we have made our node: one at least sees the other. */
static void single_on_confirmed(const ZkReply *reply, void *userdata) {
        Place *place = userdata;

        place->flight.read = NULL;
        if (outcome_is_over(place->outcome) || reply->code == ZK_CLOSED)
                return;
        if (reply->code == ZK_UNKNOWN) {
                place_stall(place);
                return;
        }
        if (reply->code != ZK_OK) {
                outcome_fail(place->outcome, "cannot list %s: %s", place->node.directory,
                             zk_code_to_string(reply->code));
                return;
        }
        for (size_t i = 0; i < reply->n_children; i++) {
                Contender contender;

                contender_parse(reply->children[i], &contender);
                if (contender.kind == CONTENDER_FOREIGN)
                        continue;
                outcome_fail(
                    place->outcome,
                    "%s/%s queues for it, which a single node cannot see: all who use it must "
                    "name their contenders in one way",
                    place->node.directory, contender.name);
                return;
        }
        if (!g_strv_contains(reply->children, SINGLE_NODE_NAME)) {
                outcome_announce(place->outcome, LOCK_EVENT_LOST); /* somebody has deleted it */
                return;
        }
        place->outcome->failures = 0;
        place_hold(place);
}

static void single_confirm(Place *place) {
        place_happen(place, PLACE_EVENT_SEARCH);
        place_check(place,
                    zk_get_children(place_zk(place), place->node.directory, single_on_confirmed,
                                    place, &place->flight.read, NULL, NULL, NULL));
}

static void single_on_created(const ZkReply *reply, void *userdata) {
        Place *place = userdata;

        place_note_created(place, reply);
        if (outcome_is_over(place->outcome))
                return;
        switch (reply->code) {
        case ZK_OK:
                single_confirm(place);
                break;
        case ZK_NODE_EXISTS:
                single_is_taken(place);
                break;
        case ZK_NO_NODE:
                place_on_directory_missing(place, single_begin);
                break;
        case ZK_UNKNOWN:
                place_stall(place);
                break;
        case ZK_CLOSED:
                break;
        default:
                outcome_fail(place->outcome, "cannot create " SINGLE_NODE_NAME " in %s: %s",
                             place->node.directory, zk_code_to_string(reply->code));
        }
}

static int single_begin(Place *place) {
        Zk *zk = place_zk(place);
        g_autofree char *path = single_path(place);
        g_autofree char *data = data_single(place->node.uuid, place->outcome->options.payload);
        int r;

        if (!zk)
                return -ENOTCONN;
        place_happen(place, PLACE_EVENT_QUEUE);
        r = place_make_directory(place, zk);
        if (r < 0)
                return r;
        return zk_create(zk, path, data, ZK_CREATE_EPHEMERAL, single_on_created, place,
                         &place->flight.create);
}

/* Waiting: the directory is watched, and when nobody is in it any more, we try. */

static void single_on_directory_changed(ZkWatchEvent event, const char *path, void *userdata) {
        Place *place = userdata;

        place->relist.children = zk_watch_free(place->relist.children);
        if (!outcome_is_over(place->outcome) && place->state == PLACE_WAITING &&
            !place->flight.read)
                place_check(place, single_begin(place));
}

static void single_on_listed(const ZkReply *reply, void *userdata) {
        Place *place = userdata;
        bool taken = reply->code == ZK_OK && g_strv_contains(reply->children, SINGLE_NODE_NAME);

        place->flight.read = NULL;
        if (reply->code != ZK_OK)
                place->relist.children = zk_watch_free(place->relist.children);
        if (outcome_is_over(place->outcome) || reply->code == ZK_CLOSED ||
            (taken && place->relist.children))
                return;
        if (taken)
                single_await(place); /* it changed and was taken again meanwhile */
        else if (reply->code == ZK_OK || reply->code == ZK_NO_NODE)
                place_check(place, single_begin(place));
        else if (reply->code == ZK_UNKNOWN)
                place_stall(place);
        else
                outcome_fail(place->outcome, "cannot list %s: %s", place->node.directory,
                             zk_code_to_string(reply->code));
}

static void single_await(Place *place) {
        place->relist.children = zk_watch_free(place->relist.children);
        place_check(place, zk_get_children(place_zk(place), place->node.directory, single_on_listed,
                                           place, &place->flight.read, single_on_directory_changed,
                                           place, &place->relist.children));
}

/* Searching: whose is the node that stands there? */

static bool single_is_own(const Place *place, const ZkReply *reply) {
        g_autofree char *uuid = data_get_single(reply->data, reply->data_size);
        const LiveNode *node = &place->node;
        Session *session = place->outcome->session;

        if (reply->stat.ephemeral_owner != session_id(session))
                return false;
        if (place->node.czxid != 0)
                return reply->stat.czxid == place->node.czxid;
        if (uuid && place->node.uuid[0])
                return strcmp(uuid, place->node.uuid) == 0;
        return (outcome_adopts(place->outcome) || place->node.unsure) &&
               !live_owns_single(session, node->directory, uuid, reply->stat.czxid, node);
}

static void single_found(Place *place, const ZkReply *reply) {
        if (!single_is_own(place, reply)) {
                place_forget_contender(place);
                single_is_taken(place);
                return;
        }
        if (!place->node.path)
                place->node.path = single_path(place);
        place_identify(place, &reply->stat);
        single_confirm(place);
}

static void single_on_searched(const ZkReply *reply, void *userdata) {
        Place *place = userdata;

        place->flight.read = NULL;
        if (outcome_is_over(place->outcome) || reply->code == ZK_CLOSED)
                return;
        if (!place->flight.barrier.passed || reply->code == ZK_UNKNOWN)
                place_stall(place); /* another server answered, which may be behind */
        else if (reply->code == ZK_OK)
                single_found(place, reply);
        else if (reply->code == ZK_NO_NODE && outcome_adopts(place->outcome))
                outcome_announce(place->outcome, LOCK_EVENT_LOST);
        else if (reply->code == ZK_NO_NODE) {
                place_forget_contender(place);
                place_check(place, single_begin(place));
        } else if (reply->code == ZK_NO_AUTH && !outcome_adopts(place->outcome))
                single_is_taken(place); /* we may read what we made */
        else
                outcome_fail(place->outcome, "cannot read " SINGLE_NODE_NAME " in %s: %s",
                             place->node.directory, zk_code_to_string(reply->code));
}

static int single_search(Place *place) {
        Zk *zk = place_zk(place);
        g_autofree char *path = single_path(place);
        int r;

        if (!zk)
                return -ENOTCONN;
        place_happen(place, PLACE_EVENT_SEARCH);
        r = barrier_send(&place->flight.barrier, zk, path);
        if (r < 0)
                return r;
        place->flight.read = zk_call_free(place->flight.read);
        return zk_get(zk, path, single_on_searched, place, &place->flight.read, NULL, NULL, NULL);
}

static int single_start(Place *place) {
        return outcome_adopts(place->outcome) ? single_search(place) : single_begin(place);
}

static void single_retry(Place *place) {
        if (place->state == PLACE_STALLED)
                place_check(place, single_search(place));
        else
                place_retry_sights(place);
}

/* It holds, or it watches the directory: what is known of its own node makes no difference. */
static void single_look(Place *place, bool present) {
}

static void single_erase(const Place *place) {
        single_delete(place->outcome->session, place->node.directory, place->node.uuid,
                      place->node.czxid);
}

const PlaceRecipe lock_single_recipe = {
    .begin = single_start,
    .search = single_search,
    .retry = single_retry,
    .look = single_look,
    .erase = single_erase,
};
