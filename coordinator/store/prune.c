/* See prune.h. */
#include "prune.h"

#include <limits.h>
#include <string.h>

#include "ledger.h"
#include "log.h"
#include "message-id.h"
#include "paths.h"
#include "zk-ops.h"

/* In one transaction; what is beyond follows in the next one. */
#define PRUNE_MAX 64

typedef struct Pruning {
        const Pruner *pruner; /* weak: owns us */
        char *job;
        unsigned added; /* since the last look */
        bool looked;    /* in this session */
        bool told;      /* people, of what cannot be deleted */
        ZkCall *ledger_call, *list_call, *write_call;
        GPtrArray *names;  /* of the records that were listed, oldest first; NULL: none were */
        GPtrArray *chosen; /* paths, while they are being deleted */
        bool more;         /* there are more than those */
        guint before;      /* how many there were when it last looked for the rest; 0: never */
} Pruning;

struct Pruner {
        const Node *node;     /* weak */
        const JobSet *jobset; /* weak */
        GHashTable *jobs;     /* name → Pruning */
};

static void pruning_look(Pruning *pruning);

static void pruning_cancel(Pruning *pruning) {
        pruning->ledger_call = zk_call_free(pruning->ledger_call);
        pruning->list_call = zk_call_free(pruning->list_call);
        pruning->write_call = zk_call_free(pruning->write_call);
        g_clear_pointer(&pruning->names, g_ptr_array_unref);
        g_ptr_array_set_size(pruning->chosen, 0);
}

static void pruning_free(void *data) {
        Pruning *pruning = data;

        pruning_cancel(pruning);
        g_ptr_array_unref(pruning->chosen);
        g_free(pruning->job);
        g_free(pruning);
}

/* Return: how many are to be kept. A node that does not have the job cannot know, and deletes none:
 * it may settle a run of it all the same, one that goes on after the job left its files, or a dead
 * node's. */
static unsigned pruning_history(const Pruning *pruning) {
        const JobSpec *spec = jobset_find_of_run(pruning->pruner->jobset, pruning->job);

        return spec ? spec->books.history : UINT_MAX;
}

/* ---- the transaction ---- */

/* Return: whether it is, or nobody can say. */
static bool pruning_is_gone(ZkCode code) {
        return code == ZK_OK || code == ZK_NO_NODE || code == ZK_UNKNOWN || code == ZK_CLOSED;
}

/* The rest is looked at as long as they get fewer. */
static void pruning_go_on(Pruning *pruning, ZkCode code) {
        g_ptr_array_set_size(pruning->chosen, 0);
        if (pruning->more && code != ZK_UNKNOWN && code != ZK_CLOSED)
                pruning_look(pruning);
        else
                pruning->before = 0;
}

static void pruning_on_refused(const ZkReply *reply, void *userdata) {
        Pruning *pruning = userdata;
        const LogAbout about = {.message_id = MESSAGE_FOREIGN_DATA, .job = pruning->job};

        pruning->write_call = NULL;
        if (!pruning_is_gone(reply->code) && !pruning->told)
                log_warning(&about,
                            "some of its oldest records cannot be deleted (%s); they are left",
                            zk_code_to_string(reply->code));
        pruning->told |= !pruning_is_gone(reply->code);
        pruning_go_on(pruning, reply->code);
}

/* One of them could not be deleted, or another node was quicker: each by itself. All but the
 * refused one's answers are of no use. */
static void pruning_delete_singly(Pruning *pruning, const ZkReply *reply) {
        Zk *zk = session_zk(pruning->pruner->node->session);
        guint refused = 0;

        for (guint i = 0; i < pruning->chosen->len && i < reply->n_results; i++)
                if (reply->results[i].code == reply->code)
                        refused = i;
        for (guint i = 0; zk && i < pruning->chosen->len; i++)
                if (i != refused)
                        (void)zk_delete(zk, pruning->chosen->pdata[i], -1, NULL, NULL, NULL);
        if (!zk || zk_delete(zk, pruning->chosen->pdata[refused], -1, pruning_on_refused, pruning,
                             &pruning->write_call) < 0)
                g_ptr_array_set_size(pruning->chosen, 0);
}

static void pruning_on_written(const ZkReply *reply, void *userdata) {
        Pruning *pruning = userdata;

        pruning->write_call = NULL;
        if (reply->code != ZK_OK && reply->code != ZK_UNKNOWN && reply->code != ZK_CLOSED) {
                pruning_delete_singly(pruning, reply);
                return;
        }
        pruning_go_on(pruning, reply->code);
}

static void pruning_delete(Pruning *pruning) {
        g_autoptr(GArray) ops = zk_ops_new();

        for (guint i = 0; i < pruning->chosen->len; i++)
                zk_ops_add(ops, ZK_OP_DELETE, pruning->chosen->pdata[i], NULL, -1);
        if (zk_ops_send(ops, session_zk(pruning->pruner->node->session), pruning_on_written,
                        pruning, &pruning->write_call) < 0)
                g_ptr_array_set_size(pruning->chosen, 0);
}

/* ---- what is too much ---- */

/* What is said of a tick beside its attempts goes before them: as long as anything is there of it,
 * its last attempt is, and with that the number of the next. */
static gint pruning_name_compare(gconstpointer a, gconstpointer b) {
        const char *one = *(const char *const *)a, *other = *(const char *const *)b;
        bool one_says = run_id_attempt(one) == 0, other_says = run_id_attempt(other) == 0;

        if (one_says != other_says && run_id_tick(one) == run_id_tick(other))
                return one_says ? -1 : 1;
        return run_id_compare(one, other);
}

/* The runs that stand there, oldest first. */
static GPtrArray *pruning_runs_of(const ZkReply *reply) {
        GPtrArray *names = g_ptr_array_new_with_free_func(g_free);

        for (size_t i = 0; i < reply->n_children; i++)
                if (run_id_is_valid(reply->children[i]))
                        g_ptr_array_add(names, g_strdup(reply->children[i]));
        g_ptr_array_sort(names, pruning_name_compare);
        return names;
}

/* Return: whether it is open, or the last attempt of a tick of which the ledger still says
 * something: that stays, too, and would be all there is to tell the number of the next one by. */
static bool pruning_is_kept(const GPtrArray *names, guint i, const Ledger *ledger) {
        const char *name = names->pdata[i], *next = i + 1 < names->len ? names->pdata[i + 1] : NULL;
        int64_t tick = run_id_tick(name);
        bool is_last = run_id_attempt(name) > 0 && (!next || run_id_tick(next) != tick);

        return ledger_find_run(ledger, name) ||
               (tick > 0 && is_last && ledger_find_tick(ledger, tick));
}

static void pruning_choose(Pruning *pruning, const Ledger *ledger) {
        const char *root = pruning->pruner->node->config->root;
        const GPtrArray *names = pruning->names;
        guint surplus = names->len - MIN(names->len, pruning_history(pruning));

        pruning->more = false;
        for (guint i = 0; i < surplus; i++) {
                const char *name = names->pdata[i];

                if (pruning_is_kept(names, i, ledger))
                        continue;
                pruning->more = pruning->chosen->len == PRUNE_MAX;
                if (pruning->more)
                        return;
                g_ptr_array_add(pruning->chosen, path_run(root, pruning->job, name));
        }
}

static void pruning_on_listed(const ZkReply *reply, void *userdata) {
        Pruning *pruning = userdata;

        pruning->list_call = NULL;
        pruning->looked = reply->code == ZK_OK;
        g_clear_pointer(&pruning->names, g_ptr_array_unref);
        if (reply->code == ZK_OK)
                pruning->names = pruning_runs_of(reply);
}

static void pruning_on_ledger(const ZkReply *reply, void *userdata) {
        Pruning *pruning = userdata;
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        guint n = pruning->names ? pruning->names->len : 0;
        bool stuck = pruning->before > 0 && n >= pruning->before;

        pruning->ledger_call = NULL;
        pruning->before = 0;
        if (reply->code == ZK_OK)
                (void)ledger_decode(reply->data, reply->data_size, &ledger);
        /* Where the job goes on under another name, that ledger says what is open of these. */
        if (!ledger || ledger->renamed || !pruning->names || stuck)
                return;
        pruning_choose(pruning, ledger);
        if (pruning->chosen->len == 0)
                return;
        pruning->before = n;
        pruning_delete(pruning);
}

/* The list is read before what is open is: whatever it has was claimed by then, also another
 * attempt of an old tick, and is open still where it has not ended. */
static void pruning_look(Pruning *pruning) {
        const char *root = pruning->pruner->node->config->root;
        g_autofree char *ledger = path_job(root, pruning->job),
                        *runs = path_runs(root, pruning->job);
        Zk *zk = session_zk(pruning->pruner->node->session);

        pruning->added = 0;
        if (!zk ||
            zk_get_children(zk, runs, pruning_on_listed, pruning, &pruning->list_call, NULL, NULL,
                            NULL) < 0 ||
            zk_get(zk, ledger, pruning_on_ledger, pruning, &pruning->ledger_call, NULL, NULL,
                   NULL) < 0)
                pruning_cancel(pruning);
}

static bool pruning_is_busy(const Pruning *pruning) {
        return pruning->ledger_call || pruning->list_call || pruning->write_call;
}

void pruner_note(Pruner *pruner, const char *job) {
        Pruning *pruning = g_hash_table_lookup(pruner->jobs, job);

        if (!pruning) {
                pruning = g_new0(Pruning, 1);
                pruning->pruner = pruner;
                pruning->job = g_strdup(job);
                pruning->chosen = g_ptr_array_new_with_free_func(g_free);
                g_hash_table_insert(pruner->jobs, pruning->job, pruning);
        }
        pruning->added++;
        if (!pruning_is_busy(pruning) &&
            (!pruning->looked ||
             pruning->added >= CLAMP(pruning_history(pruning) / 4, 1, PRUNE_SLACK_MAX)))
                pruning_look(pruning);
}

void pruner_reset(Pruner *pruner) {
        g_hash_table_remove_all(pruner->jobs);
}

Pruner *pruner_new(const Node *node, const JobSet *jobset) {
        Pruner *pruner = g_new0(Pruner, 1);

        pruner->node = node;
        pruner->jobset = jobset;
        pruner->jobs = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, pruning_free);
        return pruner;
}

Pruner *pruner_free(Pruner *pruner) {
        if (!pruner)
                return NULL;
        g_hash_table_unref(pruner->jobs);
        g_free(pruner);
        return NULL;
}
