/* See skip-record.h. */
#include "skip-record.h"

#include "paths.h"
#include "run-record.h"

/* Appends the stretches in (after, until] to the `n` that there are. Return: how many there are. */
static size_t owed_stretches(const Ledger *ledger, const Schedule *schedule, int64_t after,
                             int64_t until, DecisionWhy why, DecisionSkip *skips, size_t n) {
        int64_t from, to;

        while (n < DECISION_SKIPS_MAX &&
               ledger_next_stretch(ledger, schedule, after, until, &from, &to)) {
                skips[n++] = (DecisionSkip){
                    .from = from,
                    .to = to,
                    .count = schedule_count(schedule, from - 1, to, DECISION_COUNT_MAX),
                    .why = why};
                after = to;
        }
        return n;
}

size_t owed_skips(const char *job, const Ledger *ledger, const Schedule *schedule, int64_t until,
                  const char *why, const DecisionPause *pause, DecisionSkip *ret_skips) {
        int64_t paused = 0;
        size_t n = 0;

        if (!schedule)
                return 0;
        if (pause)
                paused =
                    decision_pause_lasts(pause)
                        ? until
                        : schedule_started(schedule, job, MIN(decision_pause_last(pause), until));
        if (paused > 0)
                n = owed_stretches(ledger, schedule, 0, paused,
                                   (DecisionWhy){DECISION_KIND_PAUSED, pause->why}, ret_skips, n);
        return owed_stretches(ledger, schedule, paused, until,
                              (DecisionWhy){DECISION_KIND_OTHER, why}, ret_skips, n);
}

bool owed_attempt(const Ledger *ledger, const char *why, DecisionSkip *ret_skip) {
        const LedgerEntry *retry = ledger_first_retry_by_ticks(ledger);

        if (!retry)
                return false;
        *ret_skip = (DecisionSkip){.from = retry->tick,
                                   .to = retry->tick,
                                   .due = ledger_due(ledger, retry->tick, retry->tick),
                                   .count = 1,
                                   .gives_up = true,
                                   .why = {DECISION_KIND_OTHER, why}};
        return true;
}

char *skip_record_encode(const char *node, const char *job, const LedgerEntry *entry) {
        _cleanup_(run_record_freep) RunRecord *record = run_record_new(job, entry->run);

        record->tick = entry->tick;
        record->stretch.to = entry->to == entry->tick ? 0 : entry->to;
        record->stretch.count = entry->count;
        record->state = RUN_SKIPPED;
        record->why = g_strdup(entry->why);
        record->node = g_strdup(node);
        record->ended = clock_realtime();
        return run_record_encode(record);
}

RunRecord *skip_record_by_hand(const char *job, const char *run, const char *who,
                               const RunParent *parent, const char *why) {
        RunRecord *record = run_record_new(job, run);

        record->tick = run_id_tick(run);
        if (record->tick)
                record->attempt = run_id_attempt(run);
        record->state = RUN_SKIPPED;
        record->why = g_strdup(why);
        record->who = g_strdup(who);
        if (parent)
                record->terms.parent = run_parent_copy(parent);
        record->ended = clock_realtime();
        return record;
}

char *skips_note(const DecisionSkip *skips, size_t n) {
        unsigned count = 0;

        if (skips[0].gives_up)
                return g_strdup_printf("tick %" G_GINT64_FORMAT " is not retried: %s",
                                       skips[0].from, skips[0].why.text);
        for (size_t i = 0; i < n; i++)
                count += skips[i].count;
        if (count == 1)
                return g_strdup_printf("tick %" G_GINT64_FORMAT " skipped: %s", skips[0].from,
                                       skips[0].why.text);
        return g_strdup_printf("%u ticks skipped, from %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT
                               ": %s",
                               count, skips[0].from, skips[n - 1].to, skips[0].why.text);
}
