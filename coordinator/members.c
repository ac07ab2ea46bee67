/* See members.h.
 *
 * Registration: create our ephemeral. If a node of our name stands there: of our own session, it is
 * ours; of the session before it (this process's, or the one in the state file of the process
 * before this one), it is what we left, and is replaced. Any other is tried again later, because
 * two machines must not share a name: one would settle the other's runs. It is refused at once
 * where the machine ids differ. Where they are the same, it is most likely what we left before a
 * crash of the whole machine, and goes when its session expires; a machine that was cloned without
 * a machine id of its own says so by staying.
 */
#include "members.h"

#include <string.h>

#include "log.h"
#include "message-id.h"
#include "name.h"
#include "paths.h"
#include "session-file.h"
#include "tree.h"

#define RETRY_DELAY (2 * USEC_PER_SEC)
#define MEMBERS_MAX 2000

typedef struct Peer {
        Members *members; /* weak: owns us */
        char *path;
        Member *member; /* NULL until read */
        char *data;     /* what it was read from */
        char *node;
        ZkCall *call;
        ZkWatch *watch;
        bool listed; /* seen in the listing at hand */
} Peer;

struct Members {
        Coordinator *coordinator; /* weak: owns us */
        Member *self;
        char *self_path, *path;
        char *written;     /* what stands in our node, as far as we know */
        GHashTable *peers; /* node → Peer, ourselves included */
        ZkCall *register_call, *list_call, *publish_call;
        ZkWatch *list_watch;
        bool registered, listed, announced;
        sd_event_source *retry;
        char *fault;
        int64_t former;            /* the session whose node is ours to replace; 0: none */
        int64_t in_our_place;      /* another session that has our name */
        usec_t in_our_place_since; /* CLOCK_BOOTTIME: for so long */
};

static void list_members(Members *members);
static void register_self(Members *members);

static void peer_free(void *data) {
        Peer *peer = data;

        zk_call_free(peer->call);
        zk_watch_free(peer->watch);
        member_free(peer->member);
        g_free(peer->data);
        g_free(peer->path);
        g_free(peer->node);
        g_free(peer);
}

/* Return: the session that the process before us left, 0 when there is none. */
static int64_t session_left(const Coordinator *coordinator) {
        g_autofree char *path = g_build_filename(coordinator->runtime_dir, "session", NULL);
        ZkSessionId session = {0};
        int64_t id;

        (void)session_file_load(path, &session);
        id = session.id;
        explicit_bzero(&session, sizeof(session)); /* its password */
        return id;
}

Members *members_new(Coordinator *coordinator) {
        const DaemonConfig *config = coordinator->config;
        Members *members = g_new0(Members, 1);
        GHashTableIter iterator;
        gpointer name, value;

        members->coordinator = coordinator;
        members->former = session_left(coordinator);
        members->path = path_nodes(config->root);
        members->self_path = path_node(config->root, config->node_name);
        members->peers = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, peer_free);
        members->self = member_new(config->node_name);
        members->self->machine = g_strdup(coordinator->machine_id);
        members->self->boot = g_strdup(coordinator->boot_id);
        members->self->version = g_strdup(JOBKEEPER_VERSION);
        g_hash_table_iter_init(&iterator, config->labels);
        while (g_hash_table_iter_next(&iterator, &name, &value))
                g_hash_table_insert(members->self->labels, g_strdup(name), g_strdup(value));
        return members;
}

void members_reset(Members *members) {
        members->register_call = zk_call_free(members->register_call);
        members->list_call = zk_call_free(members->list_call);
        members->publish_call = zk_call_free(members->publish_call);
        members->list_watch = zk_watch_free(members->list_watch);
        members->retry = sd_event_source_disable_unref(members->retry);
        g_hash_table_remove_all(members->peers);
        g_clear_pointer(&members->written, g_free);
        members->registered = members->listed = members->announced = false;
}

Members *members_free(Members *members) {
        if (!members)
                return NULL;
        members_reset(members);
        g_hash_table_unref(members->peers);
        member_free(members->self);
        g_free(members->self_path);
        g_free(members->path);
        g_free(members->fault);
        g_free(members);
        return NULL;
}

static Zk *port(const Members *members) {
        return session_zk(members->coordinator->session);
}

static void changed(Members *members) {
        if (!members->registered || !members->listed)
                return;
        if (members->announced) {
                coordinator_members_changed(members->coordinator);
                return;
        }
        members->announced = true;
        coordinator_registered(members->coordinator);
}

/* ---- our own node ---- */

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata) {
        Members *members = userdata;

        if (port(members))
                members_resume(members);
        return 0;
}

static void retry_later(Members *members) {
        members->retry = sd_event_source_disable_unref(members->retry);
        (void)sd_event_add_time_relative(members->coordinator->event, &members->retry,
                                         CLOCK_MONOTONIC, RETRY_DELAY, USEC_PER_MSEC, on_retry,
                                         members);
}

static void registered(Members *members) {
        members->registered = true;
        members->former = session_id(members->coordinator->session);
        members->in_our_place = 0;
        g_clear_pointer(&members->fault, g_free);
        members_publish(members);
        changed(members);
}

static void on_old_deleted(const ZkReply *reply, void *userdata) {
        Members *members = userdata;

        members->register_call = NULL;
        if (reply->code == ZK_OK || reply->code == ZK_NO_NODE)
                register_self(members);
        else
                retry_later(members);
}

/* Why we are no member, said once. Takes the sentence. */
static void set_fault(Members *members, int priority, const char *message_id, char *sentence) {
        if (g_strcmp0(members->fault, sentence) != 0)
                log_write(priority, &(LogAbout){.message_id = message_id}, "%s", sentence);
        g_free(members->fault);
        members->fault = sentence;
        retry_later(members);
}

static void refuse_name(Members *members, const Member *other) {
        set_fault(members, LOG_ERR, MESSAGE_NODE_NAME_TAKEN,
                  g_strdup_printf("another machine (machine id %s) is registered as node \"%s\"; "
                                  "this node runs nothing until one of the two gets another "
                                  "node.name",
                                  other ? other->machine : "unreadable", members->self->node));
}

/* Something with our machine id is registered, and not by a session that we know of. */
static void wait_for_other(Members *members, int64_t owner) {
        const DaemonConfig *config = members->coordinator->config;
        usec_t life = config->session_timeout + 2 * config->tick_time;

        if (members->in_our_place != owner) {
                members->in_our_place = owner;
                members->in_our_place_since = clock_boottime();
        }
        if (clock_boottime() < usec_add(members->in_our_place_since, life))
                set_fault(
                    members, LOG_NOTICE, MESSAGE_NODE_STILL_REGISTERED,
                    g_strdup_printf("node \"%s\" is registered still by a session of before, "
                                    "or by another machine; this node runs nothing until that "
                                    "session has ended",
                                    members->self->node));
        else
                set_fault(
                    members, LOG_ERR, MESSAGE_NODE_NAME_TAKEN,
                    g_strdup_printf("another machine with this machine's id (%s) is registered "
                                    "as node \"%s\"; this node runs nothing until it has a "
                                    "machine id and a node.name of its own",
                                    members->self->machine, members->self->node));
}

/* Somebody stands in /nodes under our name. */
static void on_taken(const ZkReply *reply, void *userdata) {
        Members *members = userdata;
        _cleanup_(member_freep) Member *other = NULL;

        members->register_call = NULL;
        if (reply->code == ZK_NO_NODE) {
                register_self(members);
                return;
        }
        if (reply->code != ZK_OK) {
                retry_later(members);
                return;
        }
        if (reply->stat.ephemeral_owner == session_id(members->coordinator->session)) {
                registered(members);
                return;
        }
        (void)member_decode(members->self->node, reply->data, reply->data_size, &other);
        if (!other || strcmp(other->machine, members->self->machine) != 0)
                refuse_name(members, other);
        else if (reply->stat.ephemeral_owner != members->former)
                wait_for_other(members, reply->stat.ephemeral_owner);
        else if (zk_delete(port(members), members->self_path, reply->stat.version, on_old_deleted,
                           members, &members->register_call) < 0)
                retry_later(members);
}

static void on_registered(const ZkReply *reply, void *userdata) {
        Members *members = userdata;

        members->register_call = NULL;
        if (reply->code == ZK_OK) {
                coordinator_clock_sample(members->coordinator, reply->stat.ctime_ms,
                                         reply->sent_realtime);
                registered(members);
        } else if (reply->code == ZK_NO_NODE) {
                tree_repair(members->coordinator->tree);
                retry_later(members);
        } else if (reply->code != ZK_NODE_EXISTS ||
                   zk_get(port(members), members->self_path, on_taken, members,
                          &members->register_call, NULL, NULL, NULL) < 0) {
                retry_later(members);
        }
}

static void register_self(Members *members) {
        g_autofree char *data = member_encode(members->self);

        if (zk_create(port(members), members->self_path, data, ZK_CREATE_EPHEMERAL, on_registered,
                      members, &members->register_call) < 0) {
                retry_later(members);
                return;
        }
        g_free(members->written);
        members->written = g_steal_pointer(&data);
}

static void on_published(const ZkReply *reply, void *userdata) {
        Members *members = userdata;

        members->publish_call = NULL;
        if (reply->code == ZK_OK) {
                coordinator_clock_sample(members->coordinator, reply->stat.mtime_ms,
                                         reply->sent_realtime);
                members_publish(members);       /* it may have changed again meanwhile */
        } else if (reply->code == ZK_NO_NODE) { /* somebody deleted it: we are not dead */
                members->registered = members->announced = false;
                register_self(members);
        } else {
                g_clear_pointer(&members->written, g_free);
        }
}

void members_measure(Members *members) {
        g_autofree char *data = member_encode(members->self);

        if (!members->registered || members->publish_call || !port(members))
                return;
        if (zk_set(port(members), members->self_path, data, -1, on_published, members,
                   &members->publish_call) < 0)
                return;
        g_free(members->written);
        members->written = g_steal_pointer(&data);
}

void members_publish(Members *members) {
        g_autofree char *data = member_encode(members->self);

        if (g_strcmp0(data, members->written) != 0)
                members_measure(members);
}

void members_set_unfit(Members *members, const char *job, const char *why) {
        if (why)
                g_hash_table_insert(members->self->unfit, g_strdup(job), g_strdup(why));
        else
                g_hash_table_remove(members->self->unfit, job);
}

void members_set_drifted(Members *members, const char *job, bool drifted) {
        if (drifted)
                g_hash_table_add(members->self->drifted, g_strdup(job));
        else
                g_hash_table_remove(members->self->drifted, job);
}

void members_set_skewed(Members *members, bool skewed) {
        members->self->skewed = skewed;
}

const char *members_unfit(const Members *members, const char *job) {
        if (g_hash_table_contains(members->self->drifted, job))
                return "this node's definition differs from the one in force in the cluster";
        return g_hash_table_lookup(members->self->unfit, job);
}

/* ---- the others ---- */

static void on_peer_event(ZkWatchEvent event, const char *path, void *userdata);

static void on_peer(const ZkReply *reply, void *userdata) {
        Peer *peer = userdata;
        Member *member = NULL;

        peer->call = NULL;
        if (reply->code != ZK_OK) {
                peer->watch = zk_watch_free(peer->watch);
                if (reply->code != ZK_NO_NODE) /* gone: the listing's watch tells */
                        retry_later(peer->members);
                return;
        }
        /* It wrote only to measure its clock. */
        if (peer->member && g_strcmp0(peer->data, reply->data) == 0)
                return;
        if (member_decode(peer->node, reply->data, reply->data_size, &member) < 0) {
                log_warning(&(LogAbout){.message_id = MESSAGE_FOREIGN_DATA},
                            "%s: not a node of jobkeeper; ignored", peer->path);
                return;
        }
        member->owner = reply->stat.ephemeral_owner;
        member_free(peer->member);
        peer->member = member;
        g_free(peer->data);
        peer->data = g_strdup(reply->data);
        changed(peer->members);
}

static void read_peer(Peer *peer) {
        peer->call = zk_call_free(peer->call);
        peer->watch = zk_watch_free(peer->watch);
        (void)zk_get(port(peer->members), peer->path, on_peer, peer, &peer->call, on_peer_event,
                     peer, &peer->watch);
}

static void on_peer_event(ZkWatchEvent event, const char *path, void *userdata) {
        Peer *peer = userdata;

        peer->watch = zk_watch_free(peer->watch);
        if (event != ZK_WATCH_CHANGED || !port(peer->members))
                return; /* a deletion shows in the listing */
        read_peer(peer);
}

static void add_peer(Members *members, const char *node) {
        Peer *peer = g_hash_table_lookup(members->peers, node);

        if (!peer) {
                peer = g_new0(Peer, 1);
                peer->members = members;
                peer->node = g_strdup(node);
                peer->path = path_node(members->coordinator->config->root, node);
                g_hash_table_insert(members->peers, peer->node, peer);
        }
        peer->listed = true;
        if (!peer->watch && !peer->call)
                read_peer(peer);
}

/* Forgets whoever is not listed any more, then tells of each. */
static void remove_unlisted(Members *members) {
        g_autoptr(GPtrArray) left = g_ptr_array_new_with_free_func(g_free);
        GHashTableIter iterator;
        gpointer value;

        g_hash_table_iter_init(&iterator, members->peers);
        while (g_hash_table_iter_next(&iterator, NULL, &value)) {
                Peer *peer = value;
                if (!peer->listed) {
                        g_ptr_array_add(left, g_strdup(peer->node));
                        g_hash_table_iter_remove(&iterator);
                }
        }
        for (guint i = 0; i < left->len; i++)
                coordinator_member_left(members->coordinator, left->pdata[i]);
}

static void on_listed(const ZkReply *reply, void *userdata) {
        Members *members = userdata;
        GHashTableIter iterator;
        gpointer value;

        members->list_call = NULL;
        if (reply->code != ZK_OK) {
                members->list_watch = zk_watch_free(members->list_watch);
                if (reply->code == ZK_NO_NODE)
                        tree_repair(members->coordinator->tree);
                retry_later(members);
                return;
        }
        g_hash_table_iter_init(&iterator, members->peers);
        while (g_hash_table_iter_next(&iterator, NULL, &value))
                ((Peer *)value)->listed = false;
        for (size_t i = 0; i < reply->n_children && i < MEMBERS_MAX; i++)
                if (name_is_valid(reply->children[i]))
                        add_peer(members, reply->children[i]);
        members->listed = true;
        remove_unlisted(members);
        changed(members);
        if (members->announced && !g_hash_table_contains(members->peers, members->self->node) &&
            !members->register_call) {
                members->registered = members->announced = false; /* somebody deleted our node */
                register_self(members);
        }
}

static void on_list_event(ZkWatchEvent event, const char *path, void *userdata) {
        Members *members = userdata;

        members->list_watch = zk_watch_free(members->list_watch);
        if (port(members))
                list_members(members);
}

static void list_members(Members *members) {
        members->list_call = zk_call_free(members->list_call);
        members->list_watch = zk_watch_free(members->list_watch);
        (void)zk_get_children(port(members), members->path, on_listed, members, &members->list_call,
                              on_list_event, members, &members->list_watch);
}

void members_start(Members *members) {
        members_reset(members);
        register_self(members);
        list_members(members);
}

void members_resume(Members *members) {
        GHashTableIter iterator;
        gpointer value;

        if (!members->registered && !members->register_call)
                register_self(members);
        /* A watch whose request failed was not set, so whatever was on its way is asked again. */
        if (!members->list_call && !members->list_watch)
                list_members(members);
        g_hash_table_iter_init(&iterator, members->peers);
        while (g_hash_table_iter_next(&iterator, NULL, &value)) {
                Peer *peer = value;
                if (!peer->watch && !peer->call)
                        read_peer(peer);
        }
        members_publish(members);
}

static gint member_compare(gconstpointer a, gconstpointer b) {
        return strcmp((*(const Member *const *)a)->node, (*(const Member *const *)b)->node);
}

GPtrArray *members_list(const Members *members) {
        GPtrArray *list = g_ptr_array_new();
        GHashTableIter iterator;
        gpointer value;

        g_hash_table_iter_init(&iterator, members->peers);
        while (g_hash_table_iter_next(&iterator, NULL, &value)) {
                const Peer *peer = value;
                if (peer->member)
                        g_ptr_array_add(list, peer->member);
        }
        g_ptr_array_sort(list, member_compare);
        return list;
}

bool members_contains(const Members *members, const char *node) {
        return g_hash_table_contains(members->peers, node);
}

bool members_registered(const Members *members) {
        return members->registered && members->listed;
}

const char *members_self_path(const Members *members) {
        return members->self_path;
}

const char *members_fault(const Members *members) {
        return members->fault ? members->fault : "";
}
