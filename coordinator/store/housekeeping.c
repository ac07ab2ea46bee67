/* See housekeeping.h. One job after another: its ledger, what stands beside its records, its
 * records; these go first, and the ledger with what is left in one transaction that names the
 * version on which all of it was decided. Whoever adds the job again meanwhile writes the ledger,
 * and keeps it. */
#include "housekeeping.h"

#include <string.h>

#include "duration.h"
#include "ledger.h"
#include "log.h"
#include "message-id.h"
#include "name.h"
#include "paths.h"
#include "timer.h"
#include "zk-ops.h"

#define FIRST_LOOK (10 * USEC_PER_MINUTE)
#define LOOK_PERIOD (1 * USEC_PER_HOUR)
/* In one transaction. */
#define DELETE_MAX 64

struct Housekeeping {
        Node *node;           /* weak */
        Members *members;     /* weak */
        const JobSet *jobset; /* weak */
        HousekeepingClockFunc measure_clock;
        void *userdata;
        sd_event_source *timer;
        ZkCall *call;
        GHashTable *ledgers; /* a set: the jobs that have one, or an instance that has */
        GQueue *candidates;  /* names of jobs that our files do not have */
        char *job, *path;    /* the one that is looked at */
        char *why;           /* it is forgotten: a sentence */
        int32_t version;     /* of its ledger */
        GPtrArray *beside;   /* paths of what stands beside its records */
};

static void housekeeping_next(Housekeeping *housekeeping);
static void housekeeping_list_records(Housekeeping *housekeeping);

static void housekeeping_drop_job(Housekeeping *housekeeping) {
        g_clear_pointer(&housekeeping->job, g_free);
        g_clear_pointer(&housekeeping->path, g_free);
        g_clear_pointer(&housekeeping->why, g_free);
        g_ptr_array_set_size(housekeeping->beside, 0);
}

static void housekeeping_cancel(Housekeeping *housekeeping) {
        housekeeping->call = zk_call_free(housekeeping->call);
        g_hash_table_remove_all(housekeeping->ledgers);
        g_queue_clear_full(housekeeping->candidates, g_free);
        housekeeping_drop_job(housekeeping);
}

static Zk *housekeeping_zk(const Housekeeping *housekeeping) {
        return node_zk(housekeeping->node);
}

static const char *housekeeping_root(const Housekeeping *housekeeping) {
        return housekeeping->node->config->root;
}

/* ---- lock directories ---- */

/* What is not empty, or gone already, is refused by the server. */
static void housekeeping_on_locks(const ZkReply *reply, void *userdata) {
        Housekeeping *housekeeping = userdata;
        g_autofree char *prefix = resource_of_job(""),
                        *parent = path_locks(housekeeping_root(housekeeping));

        housekeeping->call = NULL;
        for (size_t i = 0; i < reply->n_children; i++) {
                const char *name = reply->children[i], *job = name + strlen(prefix);
                g_autofree char *path = g_strconcat(parent, "/", name, NULL);

                if (g_str_has_prefix(name, prefix) &&
                    !g_hash_table_contains(housekeeping->ledgers, job) &&
                    !jobset_find(housekeeping->jobset, job) &&
                    !jobset_find_each(housekeeping->jobset, job))
                        (void)zk_delete(housekeeping_zk(housekeeping), path, -1, NULL, NULL, NULL);
        }
        housekeeping_cancel(housekeeping);
}

static void housekeeping_list_locks(Housekeeping *housekeeping) {
        g_autofree char *path = path_locks(housekeeping_root(housekeeping));

        if (zk_get_children(housekeeping_zk(housekeeping), path, housekeeping_on_locks,
                            housekeeping, &housekeeping->call, NULL, NULL, NULL) < 0)
                housekeeping_cancel(housekeeping);
}

/* ---- a job's tree ---- */

/* Which of the jobs that it waited for had come. */
static void housekeeping_delete_meeting(const Housekeeping *housekeeping) {
        g_autofree char *path = path_meeting(housekeeping_root(housekeeping), housekeeping->job);

        (void)zk_delete(housekeeping_zk(housekeeping), path, -1, NULL, NULL, NULL);
}

/* Return: whether the job of mode each-node has an instance left, of whatever node. */
static bool housekeeping_has_instances(const Housekeeping *housekeeping) {
        g_autofree char *base = job_name_base(housekeeping->job);
        GHashTableIter iterator;
        gpointer job;

        g_hash_table_iter_init(&iterator, housekeeping->ledgers);
        while (g_hash_table_iter_next(&iterator, &job, NULL)) {
                g_autofree char *other = job_name_base(job);

                if (job_name_node(job) && g_str_equal(other, base))
                        return true;
        }
        return false;
}

/* Whose runs were under way in its rolls, or have failed: it goes with the last instance. */
static void housekeeping_delete_roll(const Housekeeping *housekeeping) {
        g_autofree char *path = path_roll(housekeeping_root(housekeeping), housekeeping->job);

        if (job_name_node(housekeeping->job) && !housekeeping_has_instances(housekeeping))
                (void)zk_delete(housekeeping_zk(housekeeping), path, -1, NULL, NULL, NULL);
}

static void housekeeping_on_deleted(const ZkReply *reply, void *userdata) {
        const LogAbout about = {.message_id = MESSAGE_RELOADED,
                                .job = ((Housekeeping *)userdata)->job};
        Housekeeping *housekeeping = userdata;

        housekeeping->call = NULL;
        if (reply->code == ZK_OK) {
                log_info(&about, "%s: its history is deleted", housekeeping->why);
                housekeeping_delete_meeting(housekeeping);
                g_hash_table_remove(housekeeping->ledgers, housekeeping->job);
                housekeeping_delete_roll(housekeeping);
        }
        housekeeping_next(housekeeping);
}

static void housekeeping_delete_rest(Housekeeping *housekeeping) {
        g_autoptr(GArray) ops = zk_ops_new();

        for (guint i = 0; i < housekeeping->beside->len; i++)
                zk_ops_add(ops, ZK_OP_DELETE, housekeeping->beside->pdata[i], NULL, -1);
        zk_ops_add(ops, ZK_OP_DELETE, housekeeping->path, NULL, housekeeping->version);
        if (zk_ops_send(ops, housekeeping_zk(housekeeping), housekeeping_on_deleted, housekeeping,
                        &housekeeping->call) < 0)
                housekeeping_cancel(housekeeping);
}

static void housekeeping_on_records_deleted(const ZkReply *reply, void *userdata) {
        Housekeeping *housekeeping = userdata;

        housekeeping->call = NULL;
        if (reply->code == ZK_OK)
                housekeeping_list_records(housekeeping);
        else
                housekeeping_next(housekeeping);
}

static void housekeeping_on_records(const ZkReply *reply, void *userdata) {
        Housekeeping *housekeeping = userdata;
        g_autoptr(GArray) ops = zk_ops_new();
        g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
        bool foreign = reply->code != ZK_OK && reply->code != ZK_NO_NODE;

        housekeeping->call = NULL;
        for (size_t i = 0; i < reply->n_children; i++)
                foreign |= !run_id_is_valid(reply->children[i]);
        if (foreign) {
                housekeeping_next(housekeeping);
                return;
        }
        if (reply->n_children == 0) {
                housekeeping_delete_rest(housekeeping);
                return;
        }
        zk_ops_add(ops, ZK_OP_CHECK, housekeeping->path, NULL, housekeeping->version);
        for (size_t i = 0; i < MIN(reply->n_children, DELETE_MAX); i++) {
                g_ptr_array_add(paths, path_run(housekeeping_root(housekeeping), housekeeping->job,
                                                reply->children[i]));
                zk_ops_add(ops, ZK_OP_DELETE, paths->pdata[i], NULL, -1);
        }
        if (zk_ops_send(ops, housekeeping_zk(housekeeping), housekeeping_on_records_deleted,
                        housekeeping, &housekeeping->call) < 0)
                housekeeping_cancel(housekeeping);
}

static void housekeeping_list_records(Housekeeping *housekeeping) {
        g_autofree char *path = path_runs(housekeeping_root(housekeeping), housekeeping->job);

        if (zk_get_children(housekeeping_zk(housekeeping), path, housekeeping_on_records,
                            housekeeping, &housekeeping->call, NULL, NULL, NULL) < 0)
                housekeeping_cancel(housekeeping);
}

static void housekeeping_on_beside(const ZkReply *reply, void *userdata) {
        Housekeeping *housekeeping = userdata;
        bool foreign = reply->code != ZK_OK;

        housekeeping->call = NULL;
        for (size_t i = 0; i < reply->n_children; i++) {
                const char *name = reply->children[i];

                foreign |= strcmp(name, "runs") != 0 && !g_str_has_prefix(name, "damaged-");
                g_ptr_array_add(housekeeping->beside,
                                g_strconcat(housekeeping->path, "/", name, NULL));
        }
        if (foreign)
                housekeeping_next(housekeeping);
        else
                housekeeping_list_records(housekeeping);
}

static bool housekeeping_knows_the_time(const Housekeeping *housekeeping) {
        return clock_skew_is_known(&housekeeping->node->skew, clock_realtime(), clock_boottime()) &&
               !node_is_skewed(housekeeping->node);
}

/* Return: whether the job is one of mode each-node, of a node that is no member: nobody else would
 * ever withdraw it. */
static bool housekeeping_is_of_nobody(const Housekeeping *housekeeping) {
        const char *node = job_name_node(housekeeping->job);

        return node && members_registered(housekeeping->members) &&
               strcmp(node, housekeeping->node->config->node_name) != 0 &&
               !members_contains(housekeeping->members, node);
}

/* Return: whether a member has the job in its files still, under the name that it had: once nothing
 * said that it goes on as another, it would begin there anew, beside that. */
static bool housekeeping_is_held(const Housekeeping *housekeeping, const Ledger *ledger) {
        const GPtrArray *members = members_list(housekeeping->members);

        for (guint i = 0; ledger->renamed && i < members->len; i++)
                if (member_is_drifted(members->pdata[i], housekeeping->job))
                        return true;
        return false;
}

/* Return: whether it was withdrawn for good, long ago, or has been nobody's for so long, and
 * nothing of it is under way. */
static bool housekeeping_is_forgotten(const Housekeeping *housekeeping, const Ledger *ledger) {
        bool nobodys = ledger->withdrawn && housekeeping_is_of_nobody(housekeeping),
             withdrawn = (!*ledger->digest || ledger->renamed) && !ledger->withdrawn;
        usec_t since = (usec_t)(nobodys ? ledger->withdrawn : ledger->from) * USEC_PER_SEC;

        return (nobodys || withdrawn) && !ledger_first_claimed(ledger) &&
               !housekeeping_is_held(housekeeping, ledger) &&
               housekeeping_knows_the_time(housekeeping) &&
               usec_add(since, HOUSEKEEPING_KEEP) < clock_realtime();
}

/* Return: newly allocated, why it is forgotten, a sentence. */
static char *housekeeping_why(const Housekeeping *housekeeping, const Ledger *ledger) {
        g_autofree char *keep = duration_to_string(HOUSEKEEPING_KEEP);

        if (ledger->renamed)
                return g_strdup_printf("the job was renamed long ago, and goes on as %s",
                                       ledger->renamed);
        return ledger->withdrawn ? g_strdup_printf("its machine %s was not seen for %s",
                                                   job_name_node(housekeeping->job), keep)
                                 : g_strdup("the job was removed long ago");
}

static void housekeeping_on_marked(const ZkReply *reply, void *userdata) {
        Housekeeping *housekeeping = userdata;

        (void)reply;
        housekeeping->call = NULL;
        housekeeping_next(housekeeping);
}

/* A node that comes back has the job, and says so there (in-force.c). Return: whether the ledger is
 * told that it is nobody's. */
static bool housekeeping_mark(Housekeeping *housekeeping, Ledger *ledger) {
        g_autofree char *data = NULL;

        if (!*ledger->digest || ledger->withdrawn || !housekeeping_is_of_nobody(housekeeping) ||
            !housekeeping_knows_the_time(housekeeping))
                return false;
        ledger_withdraw(ledger, (int64_t)(clock_realtime() / USEC_PER_SEC));
        data = ledger_encode(ledger);
        if (zk_set(housekeeping_zk(housekeeping), housekeeping->path, data, housekeeping->version,
                   housekeeping_on_marked, housekeeping, &housekeeping->call) < 0)
                housekeeping_cancel(housekeeping);
        return true;
}

static void housekeeping_on_ledger(const ZkReply *reply, void *userdata) {
        Housekeeping *housekeeping = userdata;
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        housekeeping->call = NULL;
        housekeeping->version = reply->stat.version;
        if (reply->code != ZK_OK || ledger_decode(reply->data, reply->data_size, &ledger) < 0) {
                housekeeping_next(housekeeping);
                return;
        }
        if (housekeeping_mark(housekeeping, ledger))
                return;
        if (!housekeeping_is_forgotten(housekeeping, ledger)) {
                housekeeping_next(housekeeping);
                return;
        }
        housekeeping->why = housekeeping_why(housekeeping, ledger);
        if (zk_get_children(housekeeping_zk(housekeeping), housekeeping->path,
                            housekeeping_on_beside, housekeeping, &housekeeping->call, NULL, NULL,
                            NULL) < 0)
                housekeeping_cancel(housekeeping);
}

static void housekeeping_next(Housekeeping *housekeeping) {
        housekeeping_drop_job(housekeeping);
        housekeeping->job = g_queue_pop_head(housekeeping->candidates);
        if (!housekeeping->job) {
                housekeeping_list_locks(housekeeping);
                return;
        }
        housekeeping->path = path_job(housekeeping_root(housekeeping), housekeeping->job);
        if (zk_get(housekeeping_zk(housekeeping), housekeeping->path, housekeeping_on_ledger,
                   housekeeping, &housekeeping->call, NULL, NULL, NULL) < 0)
                housekeeping_cancel(housekeeping);
}

/* ---- a look ---- */

static void housekeeping_on_jobs(const ZkReply *reply, void *userdata) {
        Housekeeping *housekeeping = userdata;

        housekeeping->call = NULL;
        if (reply->code != ZK_OK)
                return;
        for (size_t i = 0; i < reply->n_children; i++) {
                const char *name = reply->children[i];

                g_hash_table_add(housekeeping->ledgers, g_strdup(name));
                if (job_name_node(name))
                        g_hash_table_add(housekeeping->ledgers, job_name_base(name));
                if (!jobset_find(housekeeping->jobset, name) &&
                    !jobset_find_was(housekeeping->jobset, name))
                        g_queue_push_tail(housekeeping->candidates, g_strdup(name));
        }
        housekeeping_next(housekeeping);
}

void housekeeping_look(Housekeeping *housekeeping) {
        g_autofree char *path = path_jobs(housekeeping_root(housekeeping));

        if (housekeeping->call || !housekeeping_zk(housekeeping) ||
            ranking_among_all(members_ranking(housekeeping->members), "housekeeping") != 0)
                return;
        housekeeping_cancel(housekeeping);
        /* Nothing that is old is judged by a clock that was not compared lately. */
        housekeeping->measure_clock(housekeeping->userdata);
        (void)zk_get_children(housekeeping_zk(housekeeping), path, housekeeping_on_jobs,
                              housekeeping, &housekeeping->call, NULL, NULL, NULL);
}

static void housekeeping_on_timer(void *userdata) {
        Housekeeping *housekeeping = userdata;

        (void)timer_in(housekeeping->node->event, &housekeeping->timer, LOOK_PERIOD,
                       housekeeping_on_timer, housekeeping);
        housekeeping_look(housekeeping);
}

void housekeeping_start(Housekeeping *housekeeping) {
        housekeeping_reset(housekeeping);
        (void)timer_in(housekeeping->node->event, &housekeeping->timer, FIRST_LOOK,
                       housekeeping_on_timer, housekeeping);
}

void housekeeping_reset(Housekeeping *housekeeping) {
        housekeeping_cancel(housekeeping);
        housekeeping->timer = sd_event_source_disable_unref(housekeeping->timer);
}

Housekeeping *housekeeping_new(Node *node, Members *members, const JobSet *jobset,
                               HousekeepingClockFunc measure_clock, void *userdata) {
        Housekeeping *housekeeping = g_new0(Housekeeping, 1);

        housekeeping->node = node;
        housekeeping->jobset = jobset;
        housekeeping->members = members;
        housekeeping->measure_clock = measure_clock;
        housekeeping->userdata = userdata;
        housekeeping->ledgers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        housekeeping->candidates = g_queue_new();
        housekeeping->beside = g_ptr_array_new_with_free_func(g_free);
        return housekeeping;
}

Housekeeping *housekeeping_free(Housekeeping *housekeeping) {
        if (!housekeeping)
                return NULL;
        housekeeping_reset(housekeeping);
        g_hash_table_unref(housekeeping->ledgers);
        g_queue_free(housekeeping->candidates);
        g_ptr_array_unref(housekeeping->beside);
        g_free(housekeeping);
        return NULL;
}
