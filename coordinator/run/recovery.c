/* See recovery.h. */
#include "recovery.h"

#include <stdlib.h>

#include "clearing.h"
#include "damaged.h"
#include "log.h"
#include "message-id.h"
#include "open-run.h"
#include "paths.h"
#include "recovery-phase.h"
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
        RecoveryPhase phase;
        bool attached; /* what a look finds has locks that live */
        bool told;     /* recovered(), since recovery_start() */
        ZkCall *sync_call, *call;
        ReadWindow *window;
        GPtrArray *reads; /* OpenRun */
        unsigned pending;
        GHashTable *doubts; /* a set: units that live and whose records cannot be read */
        GHashTable *found;  /* those of the look under way */
        GHashTable *named;  /* a set: entries that people were told of */
        sd_event_source *retry;
};

static void recovery_on_event(Recovery *recovery, RecoveryEvent event);

Recovery *recovery_new(const Node *node, const UnitManager *units, Runs *runs,
                       const RecoveryEvents *events, void *userdata) {
        Recovery *recovery = g_new0(Recovery, 1);

        recovery->node = node;
        recovery->units = units;
        recovery->runs = runs;
        recovery->events = events;
        recovery->userdata = userdata;
        recovery->path = path_open_node(node->config->root, node->config->node_name);
        recovery->window = read_window_new(node, NULL);
        recovery->reads = g_ptr_array_new_with_free_func(open_run_free);
        recovery->doubts = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        recovery->found = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        recovery->named = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        return recovery;
}

static void recovery_cancel(Recovery *recovery) {
        recovery->sync_call = zk_call_free(recovery->sync_call);
        recovery->call = zk_call_free(recovery->call);
        g_ptr_array_set_size(recovery->reads, 0);
        g_hash_table_remove_all(recovery->found);
        recovery->pending = 0;
        recovery->retry = sd_event_source_disable_unref(recovery->retry);
}

void recovery_reset(Recovery *recovery) {
        recovery_on_event(recovery, RECOVERY_EVENT_NO_SESSION);
        read_window_lost(recovery->window);
        recovery->told = recovery->attached = false;
        g_hash_table_remove_all(recovery->doubts);
}

Recovery *recovery_free(Recovery *recovery) {
        if (!recovery)
                return NULL;
        recovery_cancel(recovery);
        g_ptr_array_unref(recovery->reads);
        read_window_lost(recovery->window);
        read_window_free(recovery->window);
        g_hash_table_unref(recovery->doubts);
        g_hash_table_unref(recovery->found);
        g_hash_table_unref(recovery->named);
        g_free(recovery->path);
        g_free(recovery);
        return NULL;
}

static void recovery_on_time(void *userdata) {
        recovery_on_event(userdata, RECOVERY_EVENT_TIME);
}

static void recovery_pause(Recovery *recovery) {
        recovery_cancel(recovery);
        (void)timer_in(recovery->node->event, &recovery->retry, RECOVERY_RETRY_DELAY,
                       recovery_on_time, recovery);
}

/* The look is complete: what it found is what there is. */
static void recovery_take_doubts(Recovery *recovery) {
        GHashTable *before = recovery->doubts;

        recovery->doubts = recovery->found;
        recovery->found = before;
        g_hash_table_remove_all(before);
}

/* One more answer of the look was dealt with, or it had none to wait for. */
static void recovery_answered(Recovery *recovery) {
        if (recovery->pending > 0 && --recovery->pending > 0)
                return;
        recovery_on_event(recovery, g_hash_table_size(recovery->found) > 0
                                        ? RECOVERY_EVENT_ANSWERED_DOUBT
                                        : RECOVERY_EVENT_ANSWERED);
}

bool recovery_doubts(const Recovery *recovery, const char *unit) {
        return unit ? g_hash_table_contains(recovery->doubts, unit)
                    : g_hash_table_size(recovery->doubts) > 0;
}

static bool recovery_is_known(const Recovery *recovery, const OpenRun *open) {
        g_autofree char *key = run_key(open->job, open->run);

        return runs_knows(recovery->runs, key);
}

static void recovery_tell(Recovery *recovery, const OpenRun *open, const char *what_follows) {
        const LogAbout about = {
            .message_id = MESSAGE_FOREIGN_DATA, .job = open->job, .run = open->run};
        g_autofree char *key = run_key(open->job, open->run);

        if (!g_hash_table_contains(recovery->named, key))
                log_warning(&about, "%s/%s:%s: is open, but its record cannot be read; %s",
                            recovery->path, open->job, open->run, what_follows);
        g_hash_table_add(recovery->named, g_steal_pointer(&key));
}

/* Return: whether its unit lives: then that is in doubt. */
static bool recovery_take_doubt(Recovery *recovery, const OpenRun *open) {
        g_autofree char *unit = unit_name_for_run(open->job, open->run);

        if (!unit_is_populated(recovery->units, unit_slices, unit))
                return false;
        recovery_tell(recovery, open, "its unit continues, and its locks are kept");
        g_hash_table_add(recovery->found, g_steal_pointer(&unit));
        return true;
}

/* There is no record, or none that we can read. */
static void recovery_without_record(Recovery *recovery, const OpenRun *open, bool deleted) {
        if (recovery_take_doubt(recovery, open) || recovery_is_known(recovery, open))
                return;
        runs_recover_nothing(
            recovery->runs, open_run_record_of_nothing(open, recovery->node->config->node_name),
            g_strdup(deleted ? "its record was deleted from ZooKeeper" : DAMAGED_WHY));
}

/* Whoever may not read it may not write it either. Nothing else waits until people have seen to
 * that. */
static void recovery_refused(Recovery *recovery, const OpenRun *open) {
        if (!recovery_take_doubt(recovery, open))
                recovery_tell(recovery, open,
                              "its job is not run until it can be, and jobkeeperd is reloaded");
}

static void recovery_on_record(OpenRun *open, ZkCode code, RunRecord *record, int32_t version,
                               void *userdata) {
        Recovery *recovery = userdata;

        if (zk_code_is_refusal(code))
                recovery_refused(recovery, open);
        else if (code != ZK_OK && code != ZK_NO_NODE)
                recovery_on_event(recovery, RECOVERY_EVENT_ANSWER_LOST);
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
        if (reply->code != ZK_OK)
                recovery_on_event(recovery, RECOVERY_EVENT_ANSWER_LOST);
}

static void recovery_on_listed(const ZkReply *reply, void *userdata) {
        Recovery *recovery = userdata;

        recovery->call = NULL;
        if (reply->code != ZK_OK && reply->code != ZK_NO_NODE)
                recovery_on_event(recovery, RECOVERY_EVENT_ANSWER_LOST);
        for (size_t i = 0; i < reply->n_children; i++) {
                OpenRun *open =
                    open_run_new(recovery->node, reply->children[i], recovery_on_record, recovery);
                if (!open)
                        continue;
                if (recovery_is_known(recovery, open)) {
                        open_run_free(open);
                        continue;
                }
                if (open_run_read(open, recovery->window) < 0) {
                        open_run_free(open);
                        recovery_on_event(recovery, RECOVERY_EVENT_ANSWER_LOST);
                        continue;
                }
                g_ptr_array_add(recovery->reads, open);
                recovery->pending++;
        }
        if (recovery->pending == 0)
                recovery_answered(recovery);
}

static void recovery_look(Recovery *recovery) {
        Zk *zk = session_zk(recovery->node->session);

        recovery_cancel(recovery);
        if (!zk) { /* begun again with the next session */
                recovery_on_event(recovery, RECOVERY_EVENT_NO_SESSION);
                return;
        }
        /* What the process before us did last may be news to the server that we are connected to.
         */
        if (zk_sync(zk, recovery->path, recovery_on_synced, recovery, &recovery->sync_call) < 0 ||
            zk_get_children(zk, recovery->path, recovery_on_listed, recovery, &recovery->call, NULL,
                            NULL, NULL) < 0) {
                recovery_on_event(recovery, RECOVERY_EVENT_ANSWER_LOST);
                recovery_answered(recovery);
        }
}

/* What it found is what there is, and what will be found after it was claimed in this session. */
static void recovery_take(Recovery *recovery, bool doubt) {
        recovery_take_doubts(recovery);
        if (doubt)
                recovery_pause(recovery);
        else
                recovery->attached = true;
        if (!recovery->told) {
                recovery->told = true;
                recovery->events->recovered(recovery->userdata);
        }
        if (!doubt)
                recovery->events->undoubted(recovery->userdata);
}

static void recovery_on_event(Recovery *recovery, RecoveryEvent event) {
        RecoveryStep step = recovery_phase_step(recovery->phase, event);

        recovery->phase = step.phase;
        switch (step.action) {
        case RECOVERY_ACTION_NONE:
                return;
        case RECOVERY_ACTION_CANCEL:
                recovery_cancel(recovery);
                return;
        case RECOVERY_ACTION_LOOK:
                recovery_look(recovery);
                return;
        case RECOVERY_ACTION_PAUSE:
                recovery_pause(recovery);
                return;
        case RECOVERY_ACTION_TAKE:
        case RECOVERY_ACTION_TAKE_DOUBT:
                recovery_take(recovery, step.action == RECOVERY_ACTION_TAKE_DOUBT);
                return;
        case RECOVERY_ACTION_IMPOSSIBLE:
                log_error(NULL, "recovery: event \"%s\" in phase \"%s\" cannot happen",
                          recovery_event_to_string(event), recovery_phase_to_string(step.phase));
                abort();
        }
}

void recovery_start(Recovery *recovery, bool attached) {
        recovery_reset(recovery);
        recovery->attached = attached;
        recovery_on_event(recovery, RECOVERY_EVENT_REGISTERED);
}

void recovery_check(Recovery *recovery) {
        recovery_on_event(recovery, RECOVERY_EVENT_CLAIM_LOST);
}
