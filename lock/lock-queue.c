/* Getting into a queue; the essay in lock.c says why it is done so.
 *
 * The usual way is one flight: create and list leave together and are answered in that order.
 * Everything else starts from an answer that did not come (PLACE_STALLED, then PLACE_SEARCHING) or
 * from a directory that is not there.
 */
#include "lock-private.h"

#include <errno.h>
#include <string.h>

/* A directory that vanishes again each time we made it, as an empty container may: somebody works
 * against us. */
#define ATTEMPTS_MAX 10

void lock_on_ignored(const ZkReply *reply, void *userdata) {
        /* A later request of the same flight tells. */
}

static void sight_destroy(gpointer sight) {
        sight_free(sight);
}

Place *place_new(LockSet *set, const char *directory, const char *resource, LockNaming naming,
                 ContenderKind kind) {
        Place *place = g_new0(Place, 1);

        place->set = set;
        place->directory = g_strdup(directory);
        place->resource = resource ? g_strdup(resource) : g_path_get_basename(directory);
        place->naming = naming;
        place->kind = kind;
        place->uuid = contender_uuid_new(naming, set->may_downgrade);
        place->ahead = g_ptr_array_new_with_free_func(sight_destroy);
        place->gone = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        return place;
}

void place_cancel(Place *place) {
        if (place->create)
                place->unsure = true;
        place->create = zk_call_free(place->create);
        place->list = zk_call_free(place->list);
        place->make = zk_call_free(place->make);
        place->barrier = zk_call_free(place->barrier);
        place->step = zk_call_free(place->step);
        place->read = zk_call_free(place->read);
        place->children = zk_watch_free(place->children);
        place->data_watch = zk_watch_free(place->data_watch);
        place->poll = sd_event_source_disable_unref(place->poll);
        place->self = sight_free(place->self);
        if (place->ahead->len > 0)
                place->before = place->ahead->len;
        g_ptr_array_set_size(place->ahead, 0);
}

Place *place_free(Place *place) {
        if (!place)
                return NULL;
        place_cancel(place);
        g_ptr_array_unref(place->ahead);
        g_hash_table_unref(place->gone);
        g_free(place->contender);
        g_free(place->uuid);
        g_free(place->directory);
        g_free(place->resource);
        g_free(place);
        return NULL;
}

/* What others may rely on once our contender is gone. */
static Departure place_departure(const Place *place) {
        bool served =
            place->state == PLACE_HELD && place->waited && place->kind == CONTENDER_WRITER;

        return (Departure){
            .path = place->contender,
            .served = served ? place->sequence : -1,
            .empty_directory = place->used_up,
        };
}

/* Its contender, wherever it is, is deleted by somebody who outlives us. */
static void place_delete(const Place *place, Session *session, const Departure *departure) {
        bool unsure = place->unsure || place->stepping; /* of its name */

        if (!place->contender && !place->unsure)
                return; /* nothing was made */
        if (place->naming == LOCK_NAMING_SINGLE_NODE)
                single_delete(session, place->directory, place->uuid, place->czxid);
        else if (unsure)
                contender_search_and_delete(session, place->directory, place->uuid);
        else if (place->czxid != 0)
                contender_delete(session, departure);
        else /* adopted, or about to be: whose is it? */
                contender_delete_if_ours(session, place->contender);
}

void place_release(Place *place) {
        const Departure departure = place_departure(place);

        place_cancel(place);
        if (place->set->session)
                place_delete(place, place->set->session, &departure);
        place->unsure = false;
        g_clear_pointer(&place->contender, g_free);
        place->state = PLACE_IDLE;
}

void place_stall(Place *place) {
        place->state = PLACE_STALLED;
        if (place->set->try_only)
                set_announce(place->set, LOCK_EVENT_TIMEOUT);
        else
                set_stall(place->set);
}

void place_check(Place *place, int r) {
        if (r < 0 && r != -ENOTCONN)
                set_fail(place->set, "cannot queue at %s: %s", place->directory, g_strerror(-r));
}

/* The directory */

static void on_made(const ZkReply *reply, void *userdata) {
        Place *place = userdata;

        place->make = NULL;
        place->made = reply->code;
        if (reply->code == ZK_UNIMPLEMENTED)
                place->no_containers = true;
}

/* From the second time on its parents are made too; answers but the last one's do not matter. */
int place_make_directory(Place *place, Zk *zk) {
        bool container = !place->set->persistent && !place->no_containers;
        g_autofree char *data = directory_data(place);

        if (place->attempts == 0)
                return 0;
        for (const char *slash = strchr(place->directory + 1, '/'); slash && place->attempts > 1;
             slash = strchr(slash + 1, '/')) {
                g_autofree char *parent =
                    g_strndup(place->directory, (gsize)(slash - place->directory));
                int r = zk_create(zk, parent, "", 0, lock_on_ignored, NULL, NULL);

                if (r < 0)
                        return r;
        }
        place->make = zk_call_free(place->make);
        return zk_create(zk, place->directory, data, container ? ZK_CREATE_CONTAINER : 0, on_made,
                         place, &place->make);
}

void place_on_directory_missing(Place *place, int (*again)(Place *place)) {
        bool in_vain = place->attempts > 1 && place->made != ZK_OK &&
                       place->made != ZK_NODE_EXISTS && place->made != ZK_NO_NODE &&
                       place->made != ZK_UNIMPLEMENTED && place->made != ZK_UNKNOWN;

        if (in_vain || ++place->attempts > ATTEMPTS_MAX)
                set_fail(place->set, "cannot make %s: %s", place->directory,
                         in_vain ? zk_code_to_string(place->made) : "it vanishes again each time");
        else
                place_check(place, again(place));
}

/* Create and list */

void place_identify(Place *place, const ZkStat *stat) {
        const LockSet *set = place->set;

        place->czxid = stat->czxid;
        place->token = set->adopting && set->fresh_token ? stat->mzxid : stat->czxid;
}

void place_forget_contender(Place *place) {
        g_clear_pointer(&place->contender, g_free);
        place->czxid = 0;
        place->unsure = false;
        set_refresh_paths(place->set);
}

void place_note_created(Place *place, const ZkReply *reply) {
        LockSet *set = place->set;

        g_free(place->contender); /* of a node that somebody deleted before it was confirmed */
        place->contender = g_strdup(reply->path);
        place_identify(place, &reply->stat);
        set_refresh_paths(set);
        if (set->sampled)
                return;
        set->sampled = true;
        set->sample_server = (usec_t)reply->stat.ctime_ms * USEC_PER_MSEC;
        set->sample_sent = reply->sent_realtime;
        set->sample_received = clock_realtime();
}

static void on_created(const ZkReply *reply, void *userdata) {
        Place *place = userdata;

        place->create = NULL;
        place->created = reply->code;
        if (reply->code == ZK_UNKNOWN)
                place->unsure = true;
        if (reply->code == ZK_OK)
                place_note_created(place, reply);
}

/* Our contender is the lowest with our uuid. More than one are the work of a creation that was
 * repeated while the first was still under way; what does not belong must not stay. */
static void recognise_own(Place *place, const ZkReply *reply) {
        g_autoptr(GArray) own = g_array_new(FALSE, FALSE, sizeof(Contender));

        for (size_t i = 0; i < reply->n_children; i++) {
                Contender contender;

                contender_parse(reply->children[i], &contender);
                if (contender.kind != CONTENDER_FOREIGN && strcmp(contender.uuid, place->uuid) == 0)
                        g_array_append_val(own, contender);
        }
        g_array_sort(own, contender_compare);
        for (guint i = 0; i < own->len; i++) {
                const char *name = g_array_index(own, Contender, i).name;
                g_autofree char *path = g_strconcat(place->directory, "/", name, NULL);

                if (i > 0) {
                        g_hash_table_add(place->gone, g_strdup(name));
                        contender_delete(place->set->session, &(Departure){path, -1, false});
                } else if (g_strcmp0(place->contender, path) != 0) {
                        g_free(place->contender);
                        place->contender = g_steal_pointer(&path);
                        place->czxid = 0; /* to be read */
                }
        }
        set_refresh_paths(place->set);
}

static int place_queue(Place *place);

static void on_listed(const ZkReply *reply, void *userdata) {
        Place *place = userdata;

        place_list_came(place, reply);
        if (place->set->over)
                return;
        switch (place->created) {
        case ZK_OK:
                if (place->unsure && reply->code == ZK_OK)
                        recognise_own(place, reply);
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
                set_fail(place->set, "cannot create a contender in %s: %s", place->directory,
                         zk_code_to_string(place->created));
        }
}

char *place_data(const Place *place) {
        if (place->naming == LOCK_NAMING_SINGLE_NODE)
                return single_data(place);
        return g_strdup(place->set->payload ? place->set->payload : "");
}

static int place_queue(Place *place) {
        Zk *zk = session_zk(place->set->session);
        g_autofree char *prefix = contender_prefix(place->naming, place->kind, place->uuid);
        g_autofree char *path = g_strconcat(place->directory, "/", prefix, NULL);
        int r;

        if (!zk)
                return -ENOTCONN;
        place->state = PLACE_QUEUEING;
        place->created = ZK_CLOSED;
        r = place_make_directory(place, zk);
        if (r >= 0)
                r = zk_create(zk, path, place->set->payload,
                              ZK_CREATE_EPHEMERAL | ZK_CREATE_SEQUENTIAL, on_created, place,
                              &place->create);
        if (r >= 0)
                r = place_ask_slots(place, zk);
        if (r >= 0)
                r = place_send_list(place, zk, on_listed);
        return r;
}

/* Barrier and list */

void place_on_barrier(const ZkReply *reply, void *userdata) {
        Place *place = userdata;

        place->barrier = NULL;
        place->current = barrier_is_done(reply);
}

static void on_searched(const ZkReply *reply, void *userdata) {
        Place *place = userdata;

        place_list_came(place, reply);
        if (place->set->over)
                return;
        /* The connection broke between the two: another server answered, which may be behind and
         * show neither what we made nor what others deleted. */
        if (!place->current && reply->code != ZK_CLOSED) {
                place_stall(place);
                return;
        }
        if (reply->code == ZK_OK && !place->set->adopting)
                recognise_own(place, reply);
        if (place->contender || (reply->code != ZK_OK && reply->code != ZK_NO_NODE))
                place_on_own_list(place, reply);
        else
                place_check(place, place_queue(place));
}

int place_search(Place *place) {
        Zk *zk = session_zk(place->set->session);
        int r;

        if (!zk)
                return -ENOTCONN;
        place->state = PLACE_SEARCHING;
        place->current = place->read_lost = false;
        place->barrier = zk_call_free(place->barrier);
        place->list = zk_call_free(place->list);
        r = barrier_send(zk, place->directory, place_on_barrier, place, &place->barrier);
        if (r >= 0)
                r = place_ask_slots(place, zk);
        if (r >= 0)
                r = place_send_list(place, zk, on_searched);
        return r;
}

/* The recipe without a queue differs from here on. */

int place_begin(Place *place) {
        if (place->naming == LOCK_NAMING_SINGLE_NODE)
                return place->set->adopting ? single_search(place) : single_begin(place);
        return place->set->adopting ? place_search(place) : place_queue(place);
}

void place_retry(Place *place) {
        if (place->state == PLACE_STALLED && place->naming == LOCK_NAMING_SINGLE_NODE) {
                place_check(place, single_search(place));
        } else if (place->state == PLACE_STALLED) {
                place_check(place, place_search(place));
        } else {
                if (place->read_lost && place->state == PLACE_WAITING)
                        place_check(place, place_ask_slots(place, session_zk(place->set->session)));
                place->mark_wanted = place->mark_wanted || place->read_lost;
                place->read_lost = false;
                if (place->stepping && place->kind == CONTENDER_WRITER && !place->step)
                        place_step_down(place);
                place_retry_sights(place);
        }
}
