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
#include "lock-private.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

char *single_uuid(const char *data, size_t size) {
        json_t *object = json_loadb(data ? data : "", data ? size : 0, 0, NULL);
        char *uuid = g_strdup(json_string_value(json_object_get(object, "id")));

        json_decref(object);
        return uuid;
}

char *single_data(const Place *place) {
        g_autofree char *payload = g_utf8_make_valid(place->set->payload, -1);
        json_t *object = json_pack("{s:s, s:s}", "id", place->uuid, "payload", payload);
        char *text = json_dumps(object, JSON_COMPACT), *data = g_strdup(text);

        json_decref(object);
        free(text);
        return data;
}

static char *node_path(const Place *place) {
        return g_strconcat(place->directory, "/" SINGLE_NODE_NAME, NULL);
}

static void on_taken(Place *place) {
        place->state = PLACE_WAITING;
        place->before = 1;
        place->set->failures = 0;
        if (place->set->try_only || place->set->adopting)
                set_announce(place->set,
                             place->set->adopting ? LOCK_EVENT_LOST : LOCK_EVENT_TIMEOUT);
        else
                single_await(place);
}

/* The node is ours; is it the lock? Those who queue here look for such a node after they have made
 * their contender, we look for theirs after we have made our node: one at least sees the other. */
static void on_confirmed(const ZkReply *reply, void *userdata) {
        Place *place = userdata;

        place->list = NULL;
        if (place->set->over || reply->code == ZK_CLOSED)
                return;
        if (reply->code == ZK_UNKNOWN) {
                place_stall(place);
                return;
        }
        if (reply->code != ZK_OK) {
                set_fail(place->set, "cannot list %s: %s", place->directory,
                         zk_code_to_string(reply->code));
                return;
        }
        for (size_t i = 0; i < reply->n_children; i++) {
                Contender contender;

                contender_parse(reply->children[i], &contender);
                if (contender.kind == CONTENDER_FOREIGN)
                        continue;
                set_fail(place->set,
                         "%s/%s queues for it, which a single node cannot see: all who use it must "
                         "name their contenders in one way",
                         place->directory, contender.name);
                return;
        }
        if (!g_strv_contains(reply->children, SINGLE_NODE_NAME)) {
                set_announce(place->set, LOCK_EVENT_LOST); /* somebody has deleted it */
                return;
        }
        place->set->failures = 0;
        place_hold(place);
}

static void single_confirm(Place *place) {
        place->state = PLACE_SEARCHING;
        place_check(place, zk_get_children(session_zk(place->set->session), place->directory,
                                           on_confirmed, place, &place->list, NULL, NULL, NULL));
}

static void on_created(const ZkReply *reply, void *userdata) {
        Place *place = userdata;

        place->create = NULL;
        if (reply->code == ZK_UNKNOWN)
                place->unsure = true;
        if (reply->code == ZK_OK)
                place_note_created(place, reply);
        if (place->set->over)
                return;
        switch (reply->code) {
        case ZK_OK:
                single_confirm(place);
                break;
        case ZK_NODE_EXISTS:
                on_taken(place);
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
                set_fail(place->set, "cannot create " SINGLE_NODE_NAME " in %s: %s",
                         place->directory, zk_code_to_string(reply->code));
        }
}

int single_begin(Place *place) {
        Zk *zk = session_zk(place->set->session);
        g_autofree char *path = node_path(place);
        g_autofree char *data = single_data(place);
        int r;

        if (!zk)
                return -ENOTCONN;
        place->state = PLACE_QUEUEING;
        r = place_make_directory(place, zk);
        if (r < 0)
                return r;
        return zk_create(zk, path, data, ZK_CREATE_EPHEMERAL, on_created, place, &place->create);
}

/* Waiting: the directory is watched, and when nobody is in it any more, we try. */

static void on_directory_changed(ZkWatchEvent event, const char *path, void *userdata) {
        Place *place = userdata;

        place->children = zk_watch_free(place->children);
        if (!place->set->over && place->state == PLACE_WAITING && !place->list)
                place_check(place, single_begin(place));
}

static void on_listed(const ZkReply *reply, void *userdata) {
        Place *place = userdata;
        bool taken = reply->code == ZK_OK && g_strv_contains(reply->children, SINGLE_NODE_NAME);

        place->list = NULL;
        if (reply->code != ZK_OK)
                place->children = zk_watch_free(place->children);
        if (place->set->over || reply->code == ZK_CLOSED || (taken && place->children))
                return;
        if (taken)
                single_await(place); /* it changed and was taken again meanwhile */
        else if (reply->code == ZK_OK || reply->code == ZK_NO_NODE)
                place_check(place, single_begin(place));
        else if (reply->code == ZK_UNKNOWN)
                place_stall(place);
        else
                set_fail(place->set, "cannot list %s: %s", place->directory,
                         zk_code_to_string(reply->code));
}

void single_await(Place *place) {
        place->children = zk_watch_free(place->children);
        place_check(place, zk_get_children(session_zk(place->set->session), place->directory,
                                           on_listed, place, &place->list, on_directory_changed,
                                           place, &place->children));
}

/* Searching: whose is the node that stands there? */

static bool is_own(const Place *place, const ZkReply *reply) {
        g_autofree char *uuid = single_uuid(reply->data, reply->data_size);
        const SingleNode node = {place->directory, uuid, reply->stat.czxid};
        Session *session = place->set->session;

        if (reply->stat.ephemeral_owner != session_id(session))
                return false;
        if (place->czxid != 0)
                return reply->stat.czxid == place->czxid;
        if (uuid && place->uuid[0])
                return strcmp(uuid, place->uuid) == 0;
        return (place->set->adopting || place->unsure) &&
               !lock_is_owned_single(session, &node, place);
}

static void on_found(Place *place, const ZkReply *reply) {
        if (!is_own(place, reply)) {
                place_forget_contender(place);
                on_taken(place);
                return;
        }
        if (!place->contender)
                place->contender = node_path(place);
        place_identify(place, &reply->stat);
        set_refresh_paths(place->set);
        single_confirm(place);
}

static void on_searched(const ZkReply *reply, void *userdata) {
        Place *place = userdata;

        place->read = NULL;
        if (place->set->over || reply->code == ZK_CLOSED)
                return;
        if (!place->current || reply->code == ZK_UNKNOWN)
                place_stall(place); /* another server answered, which may be behind */
        else if (reply->code == ZK_OK)
                on_found(place, reply);
        else if (reply->code == ZK_NO_NODE && place->set->adopting)
                set_announce(place->set, LOCK_EVENT_LOST);
        else if (reply->code == ZK_NO_NODE) {
                place_forget_contender(place);
                place_check(place, single_begin(place));
        } else if (reply->code == ZK_NO_AUTH && !place->set->adopting)
                on_taken(place); /* we may read what we made */
        else
                set_fail(place->set, "cannot read " SINGLE_NODE_NAME " in %s: %s", place->directory,
                         zk_code_to_string(reply->code));
}

int single_search(Place *place) {
        Zk *zk = session_zk(place->set->session);
        g_autofree char *path = node_path(place);
        int r;

        if (!zk)
                return -ENOTCONN;
        place->state = PLACE_SEARCHING;
        place->current = false;
        place->barrier = zk_call_free(place->barrier);
        r = barrier_send(zk, path, place_on_barrier, place, &place->barrier);
        if (r < 0)
                return r;
        place->read = zk_call_free(place->read);
        return zk_get(zk, path, on_searched, place, &place->read, NULL, NULL, NULL);
}
