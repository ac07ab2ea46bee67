/* See ledger-fixture.h. */
#include "ledger-fixture.h"
#include "ledger-change.h"

#include <criterion/criterion.h>
#include <string.h>

Schedule *every(unsigned seconds) {
        g_autofree char *message = NULL;
        Schedule *schedule = NULL;

        cr_assert_eq(schedule_new(NULL, &schedule, &message), 0);
        cr_assert_eq(schedule_add_every(schedule, seconds * USEC_PER_SEC, &message), 0);
        return schedule;
}

Ledger *ledger_of(int64_t mark, int64_t from, const char *entries) {
        g_autofree char *text =
            g_strdup_printf("{'v':1,'mark':%" G_GINT64_FORMAT ",'from':%" G_GINT64_FORMAT
                            ",'digest':'d','open':[%s]}",
                            mark, from, entries);
        Ledger *ledger = NULL;

        g_strdelimit(text, "'", '"');
        cr_assert_eq(ledger_decode(text, strlen(text), &ledger), 0, "%s", text);
        return ledger;
}

char *ledger_to_text(const Ledger *ledger) {
        GString *text = g_string_new(NULL);

        g_string_append_printf(text, "mark %" G_GINT64_FORMAT, ledger->mark);
        for (guint i = 0; i < ledger->open->len; i++) {
                const LedgerEntry *entry = ledger->open->pdata[i];

                g_string_append_printf(text, " | %" G_GINT64_FORMAT, entry->tick);
                if (entry->to != entry->tick)
                        g_string_append_printf(text, "-%" G_GINT64_FORMAT " x%u", entry->to,
                                               entry->count);
                g_string_append_printf(text, " %s %s", run_state_to_string(entry->state),
                                       entry->run);
                if (entry->why)
                        g_string_append_printf(text, " (%s)", entry->why);
        }
        return g_string_free(text, FALSE);
}

void expect_ledger(const Ledger *ledger, const char *expected) {
        g_autofree char *text = ledger_to_text(ledger);

        cr_expect_str_eq(text, expected, "\n  %s\nrather than\n  %s", text, expected);
}

RunRecord *run_of(int64_t tick, const char *run, const char *node, RunState state) {
        RunRecord *record = run_record_new("a", run);

        record->tick = tick;
        record->attempt = 1;
        record->node = g_strdup(node);
        record->state = state;
        record->claimed = (usec_t)tick * USEC_PER_SEC + 1;
        return record;
}

int claim_tick(Ledger *ledger, int64_t tick, const char *run) {
        _cleanup_(run_record_freep) RunRecord *record = run_of(tick, run, "n1", RUN_CLAIMED);

        return ledger_claim(ledger, record);
}

int settle_tick(Ledger *ledger, const Schedule *schedule, int64_t tick, const char *run,
                RunState state) {
        _cleanup_(run_record_freep) RunRecord *record = run_of(tick, run, "n1", state);

        return ledger_settle(ledger, record, schedule, record->ended);
}
