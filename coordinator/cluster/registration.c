/* See registration.h. */
#include "registration.h"

#include <string.h>

#include "log.h"
#include "member.h"
#include "message-id.h"
#include "paths.h"
#include "remarks.h"
#include "session-file.h"
#include "timer.h"

#define RETRY_DELAY (2 * USEC_PER_SEC)

struct Registration {
        Node *node; /* weak */
        Tree *tree; /* weak */
        RegistrationFunc registered_func;
        void *userdata;
        Member *self;
        char *path;
        char *written; /* what stands in our node, as far as we know */
        bool registered;
        bool unpublished;     /* what we say of ourselves may have changed since it was written */
        unsigned encoded;     /* how often */
        usec_t published_at;  /* CLOCK_MONOTONIC: written the last time */
        int64_t former;       /* the session whose node is ours to replace; 0: none */
        int64_t in_our_place; /* another session that has our name, */
        usec_t in_our_place_since; /* for so long: CLOCK_BOOTTIME */
        char *fault;
        ZkCall *register_call, *publish_call;
        sd_event_source *publish_timer, *retry;
        struct {
                usec_t at; /* CLOCK_MONOTONIC: the last */
                sd_event_source *timer;
                Remarks *remarks;
        } correction; /* of what somebody else has written over it */
};

static void registration_register(Registration *registration);

/* Return: the session that the process before us left, 0 when there is none. */
static int64_t session_left(const Node *node) {
        g_autofree char *path = g_build_filename(node->runtime_dir, "session", NULL),
                        *identity = node_identity(node);
        SessionFile file = {0};
        int64_t id;

        (void)session_file_load(path, identity, &file);
        id = file.session.id;
        explicit_bzero(&file, sizeof(file)); /* its password */
        return id;
}

Registration *registration_new(Node *node, Tree *tree, RegistrationFunc registered,
                               void *userdata) {
        const DaemonConfig *config = node->config;
        Registration *registration = g_new0(Registration, 1);
        GHashTableIter iterator;
        gpointer name, value;

        registration->node = node;
        registration->tree = tree;
        registration->registered_func = registered;
        registration->userdata = userdata;
        registration->former = session_left(node);
        registration->path = path_node(config->root, config->node_name);
        registration->correction.remarks = remarks_new(registration->path);
        registration->self = member_new(config->node_name);
        registration->self->machine = g_strdup(node->machine_id);
        registration->self->boot = g_strdup(node->boot_id);
        registration->self->version = g_strdup(JOBKEEPER_VERSION);
        g_hash_table_iter_init(&iterator, config->labels);
        while (g_hash_table_iter_next(&iterator, &name, &value))
                g_hash_table_insert(registration->self->labels, g_strdup(name), g_strdup(value));
        return registration;
}

void registration_reset(Registration *registration) {
        registration->register_call = zk_call_free(registration->register_call);
        registration->publish_call = zk_call_free(registration->publish_call);
        registration->publish_timer = sd_event_source_disable_unref(registration->publish_timer);
        registration->correction.timer =
            sd_event_source_disable_unref(registration->correction.timer);
        registration->retry = sd_event_source_disable_unref(registration->retry);
        g_clear_pointer(&registration->written, g_free);
        registration->registered = false;
}

Registration *registration_free(Registration *registration) {
        if (!registration)
                return NULL;
        registration_reset(registration);
        member_free(registration->self);
        remarks_free(registration->correction.remarks);
        g_free(registration->path);
        g_free(registration->fault);
        g_free(registration);
        return NULL;
}

static Zk *registration_port(const Registration *registration) {
        return session_zk(registration->node->session);
}

static void registration_on_retry(void *userdata) {
        Registration *registration = userdata;

        if (registration_port(registration))
                registration_resume(registration);
}

static void registration_retry_later(Registration *registration) {
        (void)timer_in(registration->node->event, &registration->retry, RETRY_DELAY,
                       registration_on_retry, registration);
}

/* ---- creating it ---- */

static void registration_done(Registration *registration) {
        registration->registered = true;
        registration->former = session_id(registration->node->session);
        registration->in_our_place = 0;
        g_clear_pointer(&registration->fault, g_free);
        registration_publish(registration);
        registration->registered_func(registration->userdata);
}

static void registration_on_old_deleted(const ZkReply *reply, void *userdata) {
        Registration *registration = userdata;

        registration->register_call = NULL;
        if (reply->code == ZK_OK || reply->code == ZK_NO_NODE)
                registration_register(registration);
        else
                registration_retry_later(registration);
}

/* Why we are no member, said once. Takes the sentence. */
static void registration_set_fault(Registration *registration, int priority, const char *message_id,
                                   char *sentence) {
        if (g_strcmp0(registration->fault, sentence) != 0)
                log_write(priority, &(LogAbout){.message_id = message_id}, "%s", sentence);
        g_free(registration->fault);
        registration->fault = sentence;
        registration_retry_later(registration);
}

static void registration_refuse(Registration *registration, const Member *other) {
        registration_set_fault(
            registration, LOG_ERR, MESSAGE_NODE_NAME_TAKEN,
            g_strdup_printf("another machine (machine id %s) is registered as node \"%s\"; this "
                            "node starts no runs until one of the two has another node.name",
                            other ? other->machine : "unreadable", registration->self->node));
}

/* Something with our machine id is registered, and not by a session that we know of. */
static void registration_wait_for_other(Registration *registration, int64_t owner) {
        const DaemonConfig *config = registration->node->config;
        usec_t life = config->session_timeout + 2 * config->tick_time;

        if (registration->in_our_place != owner) {
                registration->in_our_place = owner;
                registration->in_our_place_since = clock_boottime();
        }
        if (clock_boottime() < usec_add(registration->in_our_place_since, life))
                registration_set_fault(
                    registration, LOG_NOTICE, MESSAGE_NODE_STILL_REGISTERED,
                    g_strdup_printf(
                        "node \"%s\" is still registered by an earlier session, or by another "
                        "machine; this node starts no runs until that session has expired",
                        registration->self->node));
        else
                registration_set_fault(
                    registration, LOG_ERR, MESSAGE_NODE_NAME_TAKEN,
                    g_strdup_printf("another machine with this machine's id (%s) is registered as "
                                    "node \"%s\"; this node starts no runs until it has a machine "
                                    "id and a node.name of its own",
                                    registration->self->machine, registration->self->node));
}

/* Somebody stands in /nodes under our name. */
static void registration_on_taken(const ZkReply *reply, void *userdata) {
        Registration *registration = userdata;
        _cleanup_(member_freep) Member *other = NULL;

        registration->register_call = NULL;
        if (reply->code == ZK_NO_NODE) {
                registration_register(registration);
                return;
        }
        if (reply->code != ZK_OK) {
                registration_retry_later(registration);
                return;
        }
        if (reply->stat.ephemeral_owner == session_id(registration->node->session)) {
                /* The process before us may have written it, and said other things of itself. */
                g_free(registration->written);
                registration->written = g_strndup(reply->data, reply->data_size);
                registration_done(registration);
                return;
        }
        (void)member_decode(registration->self->node, reply->data, reply->data_size, &other);
        if (!other || strcmp(other->machine, registration->self->machine) != 0)
                registration_refuse(registration, other);
        else if (reply->stat.ephemeral_owner != registration->former)
                registration_wait_for_other(registration, reply->stat.ephemeral_owner);
        else if (zk_delete(registration_port(registration), registration->path, reply->stat.version,
                           registration_on_old_deleted, registration,
                           &registration->register_call) < 0)
                registration_retry_later(registration);
}

static void registration_on_created(const ZkReply *reply, void *userdata) {
        Registration *registration = userdata;

        registration->register_call = NULL;
        if (reply->code == ZK_OK) {
                node_clock_sample(registration->node, reply->stat.ctime_ms, reply->sent_realtime);
                registration_done(registration);
        } else if (reply->code == ZK_NO_NODE) {
                tree_repair(registration->tree);
                registration_retry_later(registration);
        } else if (reply->code != ZK_NODE_EXISTS ||
                   zk_get(registration_port(registration), registration->path,
                          registration_on_taken, registration, &registration->register_call, NULL,
                          NULL, NULL) < 0) {
                registration_retry_later(registration);
        }
}

static char *registration_encode(Registration *registration) {
        registration->encoded++;
        registration->unpublished = false;
        return member_encode(registration->self);
}

/* What the session before ours has asked for may be on its way still, while it lives: a claim that
 * comes after this comes to nothing, and one that came before it is found when we look for what is
 * ours. */
static void registration_end_former(const Registration *registration) {
        const DaemonConfig *config = registration->node->config;
        g_autofree char *path = path_session(config->root, config->node_name, registration->former);

        if (registration->former != 0 &&
            registration->former != session_id(registration->node->session))
                (void)zk_delete(registration_port(registration), path, -1, NULL, NULL, NULL);
}

static void registration_register(Registration *registration) {
        g_autofree char *data = registration_encode(registration);

        registration_end_former(registration);
        if (zk_create(registration_port(registration), registration->path, data,
                      ZK_CREATE_EPHEMERAL, registration_on_created, registration,
                      &registration->register_call) < 0) {
                registration_retry_later(registration);
                return;
        }
        g_free(registration->written);
        registration->written = g_steal_pointer(&data);
}

void registration_start(Registration *registration) {
        registration_reset(registration);
        registration_register(registration);
}

void registration_resume(Registration *registration) {
        if (!registration->registered && !registration->register_call)
                registration_register(registration);
        registration_publish(registration);
}

void registration_missing(Registration *registration) {
        if (!registration->registered || registration->register_call)
                return;
        registration->registered = false;
        registration_register(registration);
}

bool registration_is_done(const Registration *registration) {
        return registration->registered;
}

/* ---- what it says ---- */

static void registration_on_published(const ZkReply *reply, void *userdata) {
        Registration *registration = userdata;

        registration->publish_call = NULL;
        if (reply->code == ZK_OK) {
                node_clock_sample(registration->node, reply->stat.mtime_ms, reply->sent_realtime);
                if (registration->unpublished) /* it changed again meanwhile */
                        registration_publish(registration);
        } else if (reply->code == ZK_NO_NODE) { /* somebody deleted it: we are not dead */
                registration_missing(registration);
        } else {
                g_clear_pointer(&registration->written, g_free);
                registration_retry_later(registration);
        }
}

/* Before we are registered, and while an answer is on its way, it waits for that. */
static void registration_on_publish(void *userdata) {
        Registration *registration = userdata;
        g_autofree char *data = NULL;

        if (!registration->registered || registration->publish_call ||
            !registration_port(registration))
                return;
        data = registration_encode(registration);
        if (g_strcmp0(data, registration->written) == 0)
                return;
        if (zk_set(registration_port(registration), registration->path, data, -1,
                   registration_on_published, registration, &registration->publish_call) < 0) {
                registration_retry_later(registration);
                return;
        }
        registration->published_at = clock_monotonic();
        g_free(registration->written);
        registration->written = g_steal_pointer(&data);
}

void registration_publish(Registration *registration) {
        usec_t at = registration->published_at
                        ? usec_add(registration->published_at, REGISTRATION_PUBLISH_PERIOD)
                        : 0;

        registration->unpublished = true;
        if (!registration->publish_timer)
                (void)timer_at(registration->node->event, &registration->publish_timer,
                               CLOCK_MONOTONIC, at, registration_on_publish, registration);
}

static void registration_on_correct(void *userdata) {
        Registration *registration = userdata;

        registration->correction.at = clock_monotonic();
        registration_publish(registration);
}

/* Requests are answered in their order: while none of our own is on its way, nothing newer than
 * what stands there was written by us. */
void registration_seen(Registration *registration, const char *data, size_t size) {
        const char *ours = registration->written;
        usec_t at = registration->correction.at
                        ? usec_add(registration->correction.at, REGISTRATION_CORRECT_PERIOD)
                        : 0;

        if (!registration->registered || registration->publish_call || !ours ||
            (strlen(ours) == size && memcmp(ours, data, size) == 0))
                return;
        g_clear_pointer(&registration->written, g_free); /* so that it is written in any case */
        if (remarks_judge(registration->correction.remarks, registration->path,
                          clock_monotonic()) == REMARK_PATH)
                log_warning(&(LogAbout){.message_id = MESSAGE_FOREIGN_DATA},
                            "%s: somebody else has written over what this node says of itself; it "
                            "is written again",
                            registration->path);
        (void)timer_at(registration->node->event, &registration->correction.timer, CLOCK_MONOTONIC,
                       at, registration_on_correct, registration);
}

void registration_set_unfit(Registration *registration, const char *job, const char *why) {
        if (why)
                g_hash_table_insert(registration->self->unfit, g_strdup(job), g_strdup(why));
        else
                g_hash_table_remove(registration->self->unfit, job);
}

void registration_set_absent(Registration *registration, const char *job, bool absent) {
        if (absent)
                g_hash_table_add(registration->self->absent, g_strdup(job));
        else
                g_hash_table_remove(registration->self->absent, job);
}

void registration_set_drifted(Registration *registration, const char *job, bool drifted) {
        if (drifted)
                g_hash_table_add(registration->self->drifted, g_strdup(job));
        else
                g_hash_table_remove(registration->self->drifted, job);
}

void registration_set_skewed(Registration *registration, bool skewed) {
        registration->self->skewed = skewed;
}

void registration_set_busy(Registration *registration, MemberBusy busy) {
        registration->self->busy = busy;
}

void registration_set_outside(Registration *registration, int64_t outside) {
        registration->self->outside = outside;
}

const char *registration_unfit(const Registration *registration, const char *job) {
        if (g_hash_table_contains(registration->self->drifted, job))
                return "this node's definition differs from the one in force in the cluster";
        return g_hash_table_lookup(registration->self->unfit, job);
}

const char *registration_fault(const Registration *registration) {
        return registration->fault ? registration->fault : "";
}

unsigned registration_encoded(const Registration *registration) {
        return registration->encoded;
}
