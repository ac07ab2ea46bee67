/* See recovery.h. */
#include "recovery.h"

#include "clearing.h"
#include "damaged.h"
#include "log.h"
#include "message-id.h"
#include "open-run.h"
#include "paths.h"
#include "timer.h"
#include "unit-spec.h"

#define RECOVERY_RETRY_DELAY (1 * USEC_PER_SEC)

struct Recovery {
        const Node *node;         /* weak */
        const UnitManager *units; /* weak */
        Runs *runs;               /* weak */
        const RecoveryEvents *events;
        void *userdata;
        char *path;
        bool attached, done;
        ZkCall *sync_call, *call;
        bool synced;
        GPtrArray *reads; /* OpenRun */
        unsigned pending;
        bool failed, again;
        GHashTable *doubts; /* a set: units that live and whose records cannot be read */
        GHashTable *found;  /* those of the look under way */
        GHashTable *told;   /* a set: entries that people were told of */
        sd_event_source *retry;
};

static void recovery_list_open(Recovery *recovery);

Recovery *recovery_new(const Node *node, const UnitManager *units, Runs *runs,
                       const RecoveryEvents *events, void *userdata) {
        Recovery *recovery = g_new0(Recovery, 1);

        recovery->node = node;
        recovery->units = units;
        recovery->runs = runs;
        recovery->events = events;
        recovery->userdata = userdata;
        recovery->path = path_open_node(node->config->root, node->config->node_name);
        recovery->reads = g_ptr_array_new_with_free_func(open_run_free);
        recovery->doubts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        recovery->found = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        recovery->told = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        return recovery;
}

static void recovery_cancel(Recovery *recovery) {
        recovery->sync_call = zk_call_free(recovery->sync_call);
        recovery->call = zk_call_free(recovery->call);
        g_ptr_array_set_size(recovery->reads, 0);
        g_hash_table_remove_all(recovery->found);
        recovery->pending = 0;
        recovery->failed = recovery->again = false;
        recovery->retry = sd_event_source_disable_unref(recovery->retry);
}

void recovery_reset(Recovery *recovery) {
        recovery_cancel(recovery);
        recovery->done = recovery->attached = false;
        g_hash_table_remove_all(recovery->doubts);
}

Recovery *recovery_free(Recovery *recovery) {
        if (!recovery)
                return NULL;
        recovery_cancel(recovery);
        g_ptr_array_unref(recovery->reads);
        g_hash_table_unref(recovery->doubts);
        g_hash_table_unref(recovery->found);
        g_hash_table_unref(recovery->told);
        g_free(recovery->path);
        g_free(recovery);
        return NULL;
}

static void recovery_on_retry(void *userdata) {
        recovery_list_open(userdata);
}

static void recovery_retry_later(Recovery *recovery) {
        recovery_cancel(recovery);
        (void)timer_in(recovery->node->event, &recovery->retry, RECOVERY_RETRY_DELAY,
                       recovery_on_retry, recovery);
}

/* The look is complete: what it found is what there is. */
static void recovery_take_doubts(Recovery *recovery) {
        GHashTable *before = recovery->doubts;

        recovery->doubts = recovery->found;
        recovery->found = before;
        g_hash_table_remove_all(before);
}

static void recovery_answered(Recovery *recovery) {
        if (recovery->pending > 0 && --recovery->pending > 0)
                return;
        if (recovery->failed || (recovery->done && recovery->again)) {
                recovery_retry_later(recovery);
                return;
        }
        recovery_take_doubts(recovery);
        if (!recovery->done) {
                recovery->done = true;
                recovery->events->recovered(recovery->userdata);
        }
        if (g_hash_table_size(recovery->doubts) > 0)
                recovery_retry_later(recovery);
        else
                recovery->events->undoubted(recovery->userdata);
}

bool recovery_doubts(const Recovery *recovery, const char *unit) {
        return unit ? g_hash_table_contains(recovery->doubts, unit)
                    : g_hash_table_size(recovery->doubts) > 0;
}

static bool recovery_is_known(const Recovery *recovery, const OpenRun *open) {
        g_autofree char *key = run_key(open->job, open->run);

        return runs_knows(recovery->runs, key);
}

static void recovery_tell_doubt(Recovery *recovery, const OpenRun *open) {
        const LogAbout about = {
            .message_id = MESSAGE_FOREIGN_DATA, .job = open->job, .run = open->run};
        g_autofree char *key = run_key(open->job, open->run);

        if (!g_hash_table_contains(recovery->told, key))
                log_warning(&about,
                            "%s/%s:%s: is open, but its record cannot be read; its unit continues, "
                            "and its locks are kept",
                            recovery->path, open->job, open->run);
        g_hash_table_add(recovery->told, g_steal_pointer(&key));
}

/* There is no record, or none that we can read. */
static void recovery_without_record(Recovery *recovery, const OpenRun *open, bool deleted) {
        g_autofree char *unit = unit_name_for_run(open->job, open->run);

        if (unit_is_populated(recovery->units, UNIT_SLICE, unit)) {
                recovery_tell_doubt(recovery, open);
                g_hash_table_add(recovery->found, g_steal_pointer(&unit));
                return;
        }
        if (recovery_is_known(recovery, open))
                return;
        runs_recover_nothing(
            recovery->runs, open_run_record_of_nothing(open, recovery->node->config->node_name),
            g_strdup(deleted ? "its record was deleted from ZooKeeper" : DAMAGED_WHY));
}

static void recovery_on_record(OpenRun *open, ZkCode code, RunRecord *record, int32_t version,
                               void *userdata) {
        Recovery *recovery = userdata;

        if (code != ZK_OK && code != ZK_NO_NODE)
                recovery->failed = true;
        else if (!record)
                recovery_without_record(recovery, open, code == ZK_NO_NODE);
        else if (record->state == RUN_CLAIMED && !recovery_is_known(recovery, open))
                runs_recover(recovery->runs, g_steal_pointer(&record), version, recovery->attached);
        run_record_free(record);
        recovery_answered(recovery);
}

static void recovery_on_synced(const ZkReply *reply, void *userdata) {
        Recovery *recovery = userdata;

        recovery->sync_call = NULL;
        recovery->synced = reply->code == ZK_OK;
}

static void recovery_on_listed(const ZkReply *reply, void *userdata) {
        Recovery *recovery = userdata;

        recovery->call = NULL;
        recovery->failed = !recovery->synced || (reply->code != ZK_OK && reply->code != ZK_NO_NODE);
        for (size_t i = 0; i < reply->n_children; i++) {
                OpenRun *open =
                    open_run_new(recovery->node, reply->children[i], recovery_on_record, recovery);
                if (!open)
                        continue;
                if (recovery_is_known(recovery, open) || open_run_read(open) < 0) {
                        open_run_free(open);
                        continue;
                }
                g_ptr_array_add(recovery->reads, open);
                recovery->pending++;
        }
        if (recovery->pending == 0)
                recovery_answered(recovery);
}

static void recovery_list_open(Recovery *recovery) {
        Zk *zk = session_zk(recovery->node->session);

        recovery_cancel(recovery);
        if (!zk)
                return; /* begun again with the next session */
        /* What the process before us did last may be news to the server that we are connected to.
         */
        recovery->synced = false;
        if (zk_sync(zk, recovery->path, recovery_on_synced, recovery, &recovery->sync_call) < 0 ||
            zk_get_children(zk, recovery->path, recovery_on_listed, recovery, &recovery->call, NULL,
                            NULL, NULL) < 0)
                recovery_retry_later(recovery);
}

void recovery_start(Recovery *recovery, bool attached) {
        recovery_reset(recovery);
        recovery->attached = attached;
        recovery_list_open(recovery);
}

void recovery_check(Recovery *recovery) {
        /* What we would find now is ours in this session: its locks live. */
        recovery->attached = true;
        if (recovery->call || recovery->pending > 0)
                recovery->again = true; /* this look may have come too early */
        else if (recovery->done && !recovery->retry)
                recovery_retry_later(recovery);
}
