/* The life of a run, cell by cell, against a second table written from what was promised and not
 * from the code; and every path through it: whatever comes in whatever order, a run's result is
 * taken once, and the locks go only after the cgroup was empty and the result written. */
#include <criterion/criterion.h>
#include <glib.h>
#include <string.h>

#include "run-table.h"

static const char *const action_words[] = {
    [RUN_ACTION_NONE] = "-",
    [RUN_ACTION_ANNOUNCE] = "announce",
    [RUN_ACTION_STOP_UNIT] = "stop-unit",
    [RUN_ACTION_SETTLE] = "settle",
    [RUN_ACTION_SETTLE_UNKNOWN] = "settle-unknown",
    [RUN_ACTION_FORSAKE] = "forsake",
    [RUN_ACTION_DISCARD] = "discard",
    [RUN_ACTION_IMPOSSIBLE] = "impossible",
};

/* One row an event: what it does in each phase, as "phase action"; NULL where it cannot come. */
static const struct {
        RunEvent event;
        const char *in_claimed, *in_running, *in_stopping, *in_draining, *in_settling, *in_settled;
} rows[] = {
    {RUN_EVENT_UNIT_STARTED, "running announce", "running -", "stopping stop-unit", "draining -",
     NULL, NULL},
    {RUN_EVENT_UNIT_EXITED, "draining -", "draining -", "stopping -", "draining -", NULL, NULL},
    {RUN_EVENT_UNIT_ENDED, "settling settle", "settling settle", "settling settle",
     "settling settle", NULL, NULL},
    {RUN_EVENT_UNIT_ABSENT, "settling settle-unknown", "settling settle-unknown",
     "settling settle-unknown", "settling settle-unknown", NULL, NULL},
    {RUN_EVENT_FORBIDDEN, "settling forsake", "running -", "settling forsake", "draining -",
     "settling -", "settled -"},
    {RUN_EVENT_STOP, "stopping stop-unit", "stopping stop-unit", "stopping -", "stopping stop-unit",
     "settling -", "settled -"},
    {RUN_EVENT_SETTLED, NULL, NULL, NULL, NULL, "settled discard", NULL},
};

static void expect_cell(RunPhase phase, RunEvent event, const char *expected) {
        RunStep step = run_table_step(phase, event);
        g_autofree char *found =
            g_strdup_printf("%s %s", run_phase_to_string(step.phase), action_words[step.action]);

        if (expected)
                cr_expect_str_eq(found, expected, "%s in %s: %s", run_event_to_string(event),
                                 run_phase_to_string(phase), found);
        else
                cr_expect(step.action == RUN_ACTION_IMPOSSIBLE && step.phase == phase,
                          "%s in %s: %s", run_event_to_string(event), run_phase_to_string(phase),
                          found);
}

Test(run_table, cell_by_cell) {
        cr_assert_eq(G_N_ELEMENTS(rows), (size_t)RUN_EVENT_COUNT);
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                cr_assert_eq((size_t)rows[i].event, i);
                expect_cell(RUN_PHASE_CLAIMED, rows[i].event, rows[i].in_claimed);
                expect_cell(RUN_PHASE_RUNNING, rows[i].event, rows[i].in_running);
                expect_cell(RUN_PHASE_STOPPING, rows[i].event, rows[i].in_stopping);
                expect_cell(RUN_PHASE_DRAINING, rows[i].event, rows[i].in_draining);
                expect_cell(RUN_PHASE_SETTLING, rows[i].event, rows[i].in_settling);
                expect_cell(RUN_PHASE_SETTLED, rows[i].event, rows[i].in_settled);
        }
}

/* The impossible ones once more, as a list: whoever adds a cell has to come by here. */
Test(run_table, impossible_cells) {
        static const RunEvent once_settling[] = {RUN_EVENT_UNIT_STARTED, RUN_EVENT_UNIT_EXITED,
                                                 RUN_EVENT_UNIT_ENDED, RUN_EVENT_UNIT_ABSENT};
        unsigned impossible = 0;

        for (int phase = 0; phase < RUN_PHASE_COUNT; phase++)
                for (int event = 0; event < RUN_EVENT_COUNT; event++)
                        impossible += run_table_step((RunPhase)phase, (RunEvent)event).action ==
                                      RUN_ACTION_IMPOSSIBLE;
        for (size_t i = 0; i < G_N_ELEMENTS(once_settling); i++) {
                cr_expect_eq(run_table_step(RUN_PHASE_SETTLING, once_settling[i]).action,
                             RUN_ACTION_IMPOSSIBLE);
                cr_expect_eq(run_table_step(RUN_PHASE_SETTLED, once_settling[i]).action,
                             RUN_ACTION_IMPOSSIBLE);
        }
        for (int phase = 0; phase < RUN_PHASE_COUNT; phase++)
                if (phase != RUN_PHASE_SETTLING)
                        cr_expect_eq(run_table_step((RunPhase)phase, RUN_EVENT_SETTLED).action,
                                     RUN_ACTION_IMPOSSIBLE);
        cr_expect_eq(impossible, 4 + 4 + 5);
}

Test(run_table, words) {
        static const char *const phases[] = {"claimed",  "running",  "stopping",
                                             "draining", "settling", "settled"};
        static const char *const events[] = {"unit started", "unit exited", "unit ended",
                                             "unit absent",  "forbidden",   "stop",
                                             "settled"};

        for (int i = 0; i < RUN_PHASE_COUNT; i++)
                cr_expect_str_eq(run_phase_to_string((RunPhase)i), phases[i]);
        for (int i = 0; i < RUN_EVENT_COUNT; i++)
                cr_expect_str_eq(run_event_to_string((RunEvent)i), events[i]);
}

/* Events by their first letters: Started, eXited, Ended, Absent, Forbidden, stoP, seTtled. */
static RunEvent event_of(char letter) {
        static const char letters[] = "SXEAFPT";

        return (RunEvent)(strchr(letters, letter) - letters);
}

static char *actions_on(const char *path) {
        GString *actions = g_string_new(NULL);
        RunPhase phase = RUN_PHASE_CLAIMED;

        for (const char *letter = path; *letter; letter++) {
                RunStep step = run_table_step(phase, event_of(*letter));

                if (step.action != RUN_ACTION_NONE)
                        g_string_append_printf(actions, "%s%s", actions->len > 0 ? " " : "",
                                               action_words[step.action]);
                phase = step.phase;
        }
        cr_expect_eq(phase, RUN_PHASE_SETTLED, "%s ends in %s", path, run_phase_to_string(phase));
        return g_string_free(actions, FALSE);
}

Test(run_table, paths_from_claimed_to_settled) {
        static const struct {
                const char *path, *actions;
        } cells[] = {
            {"SXET", "announce settle discard"},
            {"SET", "announce settle discard"},
            {"XET", "settle discard"}, /* over before we were told of its start */
            {"ET", "settle discard"},  /* refused by PID 1 */
            {"AT", "settle-unknown discard"},
            {"SAT", "announce settle-unknown discard"},
            {"SPXET", "announce stop-unit settle discard"},
            {"SPET", "announce stop-unit settle discard"},
            {"PSXET", "stop-unit stop-unit settle discard"}, /* the start overtook our stop */
            {"PAT", "stop-unit settle-unknown discard"},
            {"SXPET", "announce stop-unit settle discard"}, /* children are left, and we must go */
            {"SSXET", "announce settle discard"},           /* the bus was lost and came back */
            {"SXSXET", "announce settle discard"},
            {"SXEPT", "announce settle discard"}, /* a stop when nothing is left to stop */
            {"SXETP", "announce settle discard"},
            {"FT", "forsake discard"}, /* PID 1 does not answer, and it is too late */
            {"PFT", "stop-unit forsake discard"},
            {"FPT", "forsake discard"},
            {"SFXET", "announce settle discard"}, /* it has begun */
            {"SPPPET", "announce stop-unit settle discard"},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cells); i++) {
                g_autofree char *actions = actions_on(cells[i].path);

                cr_expect_str_eq(actions, cells[i].actions, "%s: %s", cells[i].path, actions);
        }
}

typedef struct Walk {
        RunPhase phase;
        unsigned settles, discards, depth;
        bool gone; /* the unit ended, or is not there */
} Walk;

static unsigned walks_over;

static Walk walk_on(Walk walk, RunEvent event, RunStep step) {
        bool never = step.action == RUN_ACTION_FORSAKE,
             is_settle = never || step.action == RUN_ACTION_SETTLE ||
                         step.action == RUN_ACTION_SETTLE_UNKNOWN;

        /* What was forbidden before it began never lives. */
        walk.gone |= never || event == RUN_EVENT_UNIT_ENDED || event == RUN_EVENT_UNIT_ABSENT;
        walk.settles += is_settle;
        walk.discards += step.action == RUN_ACTION_DISCARD;
        walk.phase = step.phase;
        walk.depth++;
        cr_expect(!is_settle || walk.gone, "settled while something may live");
        cr_expect(step.action != RUN_ACTION_DISCARD || walk.settles == 1,
                  "the lock goes before the settle");
        cr_expect(step.action != RUN_ACTION_STOP_UNIT || !walk.gone, "stops what is gone");
        cr_expect(walk.gone ==
                  (walk.phase == RUN_PHASE_SETTLING || walk.phase == RUN_PHASE_SETTLED));
        return walk;
}

static void walk_all(Walk walk) {
        cr_assert(walk.settles <= 1 && walk.discards <= 1);
        cr_assert_eq(walk.phase == RUN_PHASE_SETTLED, walk.discards == 1);
        walks_over += walk.phase == RUN_PHASE_SETTLED;
        if (walk.depth == 7)
                return;
        for (int event = 0; event < RUN_EVENT_COUNT; event++) {
                RunStep step = run_table_step(walk.phase, (RunEvent)event);

                if (step.action != RUN_ACTION_IMPOSSIBLE)
                        walk_all(walk_on(walk, (RunEvent)event, step));
        }
}

Test(run_table, no_order_of_events_breaks_promise_3) {
        walk_all((Walk){.phase = RUN_PHASE_CLAIMED});
        cr_expect_gt(walks_over, 1000);
}

/* From every phase the end can be reached, and settled is never left. */
Test(run_table, every_phase_leads_to_the_end) {
        for (int phase = 0; phase < RUN_PHASE_SETTLING; phase++) {
                RunStep step = run_table_step((RunPhase)phase, RUN_EVENT_UNIT_ENDED);

                cr_expect_eq(step.phase, RUN_PHASE_SETTLING);
                cr_expect_eq(run_table_step(step.phase, RUN_EVENT_SETTLED).phase,
                             RUN_PHASE_SETTLED);
        }
        for (int event = 0; event < RUN_EVENT_COUNT; event++)
                cr_expect_eq(run_table_step(RUN_PHASE_SETTLED, (RunEvent)event).phase,
                             RUN_PHASE_SETTLED);
}
