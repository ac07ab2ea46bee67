/* Our own member node (members.h), and what it says.
 *
 * Registration: create our ephemeral. If a node of our name stands there: of our own session, it is
 * ours; of the session before it (this process's, or the one in the state file of the process
 * before this one), it is what we left, and is replaced. Any other is tried again later, because
 * two machines must not share a name: one would settle the other's runs. It is refused at once
 * where the machine ids differ. Where they are the same, it is most likely what we left before a
 * crash of the whole machine, and goes when its session expires; a machine that was cloned without
 * a machine id of its own says so by staying.
 */
#include <string.h>

#include "log.h"
#include "members-internal.h"
#include "message-id.h"
#include "paths.h"
#include "session-file.h"
#include "tree.h"

int64_t members_session_left(const Coordinator *coordinator) {
        g_autofree char *path = g_build_filename(coordinator->node->runtime_dir, "session", NULL),
                        *identity = node_identity(coordinator->node);
        SessionFile file = {0};
        int64_t id;

        (void)session_file_load(path, identity, &file);
        id = file.session.id;
        explicit_bzero(&file, sizeof(file)); /* its password */
        return id;
}

static void registered(Members *members) {
        members->registered = true;
        members->former = session_id(members->coordinator->session);
        members->in_our_place = 0;
        g_clear_pointer(&members->fault, g_free);
        members_publish(members);
        members_known(members);
}

static void on_old_deleted(const ZkReply *reply, void *userdata) {
        Members *members = userdata;

        members->register_call = NULL;
        if (reply->code == ZK_OK || reply->code == ZK_NO_NODE)
                members_register(members);
        else
                members_retry_later(members);
}

/* Why we are no member, said once. Takes the sentence. */
static void set_fault(Members *members, int priority, const char *message_id, char *sentence) {
        if (g_strcmp0(members->fault, sentence) != 0)
                log_write(priority, &(LogAbout){.message_id = message_id}, "%s", sentence);
        g_free(members->fault);
        members->fault = sentence;
        members_retry_later(members);
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
                members_register(members);
                return;
        }
        if (reply->code != ZK_OK) {
                members_retry_later(members);
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
        else if (zk_delete(members_port(members), members->self_path, reply->stat.version,
                           on_old_deleted, members, &members->register_call) < 0)
                members_retry_later(members);
}

static void on_registered(const ZkReply *reply, void *userdata) {
        Members *members = userdata;

        members->register_call = NULL;
        if (reply->code == ZK_OK) {
                node_clock_sample(members->coordinator->node, reply->stat.ctime_ms,
                                  reply->sent_realtime);
                registered(members);
        } else if (reply->code == ZK_NO_NODE) {
                tree_repair(members->coordinator->tree);
                members_retry_later(members);
        } else if (reply->code != ZK_NODE_EXISTS ||
                   zk_get(members_port(members), members->self_path, on_taken, members,
                          &members->register_call, NULL, NULL, NULL) < 0) {
                members_retry_later(members);
        }
}

static char *members_encode(Members *members) {
        members->encoded++;
        members->unpublished = false;
        return member_encode(members->self);
}

void members_register(Members *members) {
        g_autofree char *data = members_encode(members);

        if (zk_create(members_port(members), members->self_path, data, ZK_CREATE_EPHEMERAL,
                      on_registered, members, &members->register_call) < 0) {
                members_retry_later(members);
                return;
        }
        g_free(members->written);
        members->written = g_steal_pointer(&data);
}

/* ---- what it says ---- */

static void on_published(const ZkReply *reply, void *userdata) {
        Members *members = userdata;

        members->publish_call = NULL;
        if (reply->code == ZK_OK) {
                node_clock_sample(members->coordinator->node, reply->stat.mtime_ms,
                                  reply->sent_realtime);
                if (members->unpublished) /* it changed again meanwhile */
                        members_publish(members);
        } else if (reply->code == ZK_NO_NODE) { /* somebody deleted it: we are not dead */
                members->registered = members->announced = false;
                members_register(members);
        } else {
                g_clear_pointer(&members->written, g_free);
                members_retry_later(members);
        }
}

/* Before we are registered, and while an answer is on its way, it waits for that. */
static int members_on_publish(sd_event_source *source, uint64_t usec, void *userdata) {
        Members *members = userdata;
        g_autofree char *data = NULL;

        members->publish_timer = sd_event_source_disable_unref(members->publish_timer);
        if (!members->registered || members->publish_call || !members_port(members))
                return 0;
        data = members_encode(members);
        if (g_strcmp0(data, members->written) == 0)
                return 0;
        if (zk_set(members_port(members), members->self_path, data, -1, on_published, members,
                   &members->publish_call) < 0) {
                members_retry_later(members);
                return 0;
        }
        members->published_at = clock_monotonic();
        g_free(members->written);
        members->written = g_steal_pointer(&data);
        return 0;
}

void members_publish(Members *members) {
        usec_t at =
            members->published_at ? usec_add(members->published_at, MEMBERS_PUBLISH_PERIOD) : 0;

        members->unpublished = true;
        if (!members->publish_timer)
                (void)sd_event_add_time(members->coordinator->event, &members->publish_timer,
                                        CLOCK_MONOTONIC, at, 1, members_on_publish, members);
}

void members_set_unfit(Members *members, const char *job, const char *why) {
        if (why)
                g_hash_table_insert(members->self->unfit, g_strdup(job), g_strdup(why));
        else
                g_hash_table_remove(members->self->unfit, job);
}

void members_set_absent(Members *members, const char *job, bool absent) {
        if (absent)
                g_hash_table_add(members->self->absent, g_strdup(job));
        else
                g_hash_table_remove(members->self->absent, job);
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

const char *members_fault(const Members *members) {
        return members->fault ? members->fault : "";
}

unsigned members_encoded(const Members *members) {
        return members->encoded;
}
