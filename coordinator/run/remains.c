/* See remains.h. */
#include "remains.h"

#include "open-run.h"
#include "paths.h"
#include "timer.h"

#define REMAINS_RETRY_DELAY (1 * USEC_PER_SEC)

struct Remains {
        const Node *node;        /* weak */
        Runs *runs;              /* weak */
        const EndedUnits *ended; /* weak */
        ReadWindow *window;
        GHashTable *looks; /* unit → RemainsLook */
        sd_event_source *retry;
};

typedef struct RemainsLook {
        Remains *remains; /* weak: owns us */
        char *unit;
        OpenRun *record;
        bool is_there; /* PID 1 has the unit */
        bool failed;   /* to be read again */
} RemainsLook;

static void remains_look_free(void *data) {
        RemainsLook *look = data;

        open_run_free(look->record);
        g_free(look->unit);
        g_free(look);
}

Remains *remains_new(const Node *node, Runs *runs, const EndedUnits *ended) {
        Remains *remains = g_new0(Remains, 1);

        remains->node = node;
        remains->runs = runs;
        remains->ended = ended;
        remains->window = read_window_new(node, NULL);
        remains->looks = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, remains_look_free);
        return remains;
}

void remains_reset(Remains *remains) {
        remains->retry = sd_event_source_disable_unref(remains->retry);
        g_hash_table_remove_all(remains->looks);
        read_window_lost(remains->window);
}

Remains *remains_free(Remains *remains) {
        if (!remains)
                return NULL;
        remains_reset(remains);
        g_hash_table_unref(remains->looks);
        read_window_free(remains->window);
        g_free(remains);
        return NULL;
}

/* ---- the record ---- */

/* Return: whether that is what this machine ran under the unit's name, and since it was booted. */
static bool remains_is_ours(const RemainsLook *look, const RunRecord *record) {
        const Node *node = look->remains->node;

        return record->nonce && g_strcmp0(record->unit, look->unit) == 0 &&
               g_strcmp0(record->node, node->config->node_name) == 0 &&
               g_strcmp0(record->boot, node->boot_id) == 0;
}

/* One that is settled for good has merely a unit that was not forgotten. What stands as claimed is
 * the recovery's. */
static bool remains_concerns_us(const RemainsLook *look, const RunRecord *record) {
        return record->state == RUN_UNKNOWN ||
               (look->is_there && run_state_is_final(record->state));
}

static void remains_retry(void *userdata);

static void remains_retry_later(RemainsLook *look) {
        Remains *remains = look->remains;

        look->failed = true;
        if (!remains->retry)
                (void)timer_in(remains->node->event, &remains->retry, REMAINS_RETRY_DELAY,
                               remains_retry, remains);
}

static void remains_on_record(OpenRun *open, ZkCode code, RunRecord *record, int32_t version,
                              void *userdata) {
        RemainsLook *look = userdata;
        g_autofree char *key = run_key(open->job, open->run);

        if (code != ZK_OK && code != ZK_NO_NODE && !zk_code_is_refusal(code))
                remains_retry_later(look);
        else if (record && remains_is_ours(look, record) && remains_concerns_us(look, record) &&
                 !runs_knows(look->remains->runs, key)) {
                run_record_forget_resolution(record); /* here it is seen how it ended */
                runs_recover_result(look->remains->runs, g_steal_pointer(&record));
        }
        run_record_free(record);
}

static void remains_read(RemainsLook *look) {
        look->failed = false;
        if (open_run_read(look->record, look->remains->window) < 0)
                remains_retry_later(look);
}

static void remains_retry(void *userdata) {
        Remains *remains = userdata;
        GHashTableIter iterator;
        gpointer look;

        g_hash_table_iter_init(&iterator, remains->looks);
        while (g_hash_table_iter_next(&iterator, NULL, &look))
                if (((RemainsLook *)look)->failed)
                        remains_read(look);
}

/* ---- the units ---- */

/* That PID 1 has it is news where so far it was only remembered. */
static void remains_look_again(RemainsLook *look, bool is_there) {
        if (!is_there || look->is_there)
                return;
        look->is_there = true;
        if (look->record && !look->record->read && !look->failed)
                remains_read(look);
}

static void remains_look_at(Remains *remains, const char *unit, bool is_there) {
        g_autofree char *name = open_name_of_unit(unit);
        RemainsLook *look = g_hash_table_lookup(remains->looks, unit);
        OpenRun *record = NULL;

        if (look) {
                remains_look_again(look, is_there);
                return;
        }
        if (!name || runs_has_unit(remains->runs, unit))
                return;
        look = g_new0(RemainsLook, 1);
        record = open_run_new(remains->node, name, remains_on_record, look);
        *look = (RemainsLook){
            .remains = remains, .unit = g_strdup(unit), .record = record, .is_there = is_there};
        g_hash_table_insert(remains->looks, look->unit, look);
        if (record)
                remains_read(look);
}

void remains_found(const char *unit, Remains *remains) {
        if (node_is_ready(remains->node))
                remains_look_at(remains, unit, true);
}

void remains_begin(Remains *remains) {
        g_autofree const char **units = ended_units_list(remains->ended);

        for (const char **unit = units; *unit; unit++)
                remains_look_at(remains, *unit, false);
}
