/* The search for our own open runs, cell by cell, against a second table written from what was
 * promised and not from the code; and every path through it: a look during which anything was lost
 * never counts, and what was lost is always looked for again. */
#include <criterion/criterion.h>
#include <glib.h>

#include "recovery-phase.h"

static const char *const action_words[] = {
    [RECOVERY_ACTION_NONE] = "-",
    [RECOVERY_ACTION_CANCEL] = "cancel",
    [RECOVERY_ACTION_LOOK] = "look",
    [RECOVERY_ACTION_PAUSE] = "pause",
    [RECOVERY_ACTION_TAKE] = "take",
    [RECOVERY_ACTION_TAKE_DOUBT] = "take-doubt",
    [RECOVERY_ACTION_IMPOSSIBLE] = "impossible",
};

/* One row an event: what it does in each phase, as "phase action"; NULL where it cannot come. */
static const struct {
        RecoveryEvent event;
        const char *cells[RECOVERY_PHASE_COUNT]; /* idle, looking, spoiled, pausing, clear */
} rows[] = {
    {RECOVERY_EVENT_REGISTERED,
     {"looking look", "looking look", "looking look", "looking look", "looking look"}},
    {RECOVERY_EVENT_NO_SESSION,
     {"idle -", "idle cancel", "idle cancel", "idle cancel", "idle cancel"}},
    {RECOVERY_EVENT_CLAIM_LOST, {"idle -", "spoiled -", "spoiled -", "pausing -", "pausing pause"}},
    {RECOVERY_EVENT_ANSWER_LOST, {NULL, "spoiled -", "spoiled -", NULL, NULL}},
    {RECOVERY_EVENT_ANSWERED, {NULL, "clear take", "pausing pause", NULL, NULL}},
    {RECOVERY_EVENT_ANSWERED_DOUBT, {NULL, "pausing take-doubt", "pausing pause", NULL, NULL}},
    {RECOVERY_EVENT_TIME, {NULL, NULL, NULL, "looking look", NULL}},
};

static void expect_cell(RecoveryPhase phase, RecoveryEvent event, const char *expected) {
        RecoveryStep step = recovery_phase_step(phase, event);
        g_autofree char *found = g_strdup_printf("%s %s", recovery_phase_to_string(step.phase),
                                                 action_words[step.action]);

        if (expected)
                cr_expect_str_eq(found, expected, "%s in %s: %s", recovery_event_to_string(event),
                                 recovery_phase_to_string(phase), found);
        else
                cr_expect(step.action == RECOVERY_ACTION_IMPOSSIBLE && step.phase == phase,
                          "%s in %s: %s", recovery_event_to_string(event),
                          recovery_phase_to_string(phase), found);
}

Test(recovery_phase, cell_by_cell) {
        cr_assert_eq(G_N_ELEMENTS(rows), (size_t)RECOVERY_EVENT_COUNT);
        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++) {
                cr_assert_eq((size_t)rows[i].event, i);
                for (int phase = 0; phase < RECOVERY_PHASE_COUNT; phase++)
                        expect_cell((RecoveryPhase)phase, rows[i].event, rows[i].cells[phase]);
        }
}

/* ---- every path ---- */

#define DEPTH 8

typedef struct Path {
        RecoveryPhase phase;
        bool lost;   /* something, since the look under way or the last one began */
        bool asking; /* answers are on their way */
        bool timed;  /* a pause is running */
} Path;

static unsigned paths;

static void walk(Path path, unsigned depth);

/* Return: whether the loop could bring this now. */
static bool can_come(const Path *path, RecoveryEvent event) {
        switch (event) {
        case RECOVERY_EVENT_ANSWER_LOST:
        case RECOVERY_EVENT_ANSWERED:
        case RECOVERY_EVENT_ANSWERED_DOUBT:
                return path->asking;
        case RECOVERY_EVENT_TIME:
                return path->timed;
        default:
                return true;
        }
}

static void follow(Path path, RecoveryEvent event, unsigned depth) {
        RecoveryStep step = recovery_phase_step(path.phase, event);
        bool takes =
            step.action == RECOVERY_ACTION_TAKE || step.action == RECOVERY_ACTION_TAKE_DOUBT;

        cr_assert_neq(step.action, RECOVERY_ACTION_IMPOSSIBLE, "%s in %s",
                      recovery_event_to_string(event), recovery_phase_to_string(path.phase));
        path.lost |= event == RECOVERY_EVENT_CLAIM_LOST || event == RECOVERY_EVENT_ANSWER_LOST;
        cr_assert(!takes || !path.lost, "what a spoiled look found does not count");
        if (event == RECOVERY_EVENT_ANSWERED || event == RECOVERY_EVENT_ANSWERED_DOUBT)
                path.asking = false;
        if (event == RECOVERY_EVENT_TIME)
                path.timed = false;
        switch (step.action) {
        case RECOVERY_ACTION_LOOK:
                path.asking = true;
                path.lost = path.timed = false;
                break;
        case RECOVERY_ACTION_CANCEL:
                path.asking = path.timed = false;
                break;
        case RECOVERY_ACTION_PAUSE:
        case RECOVERY_ACTION_TAKE_DOUBT:
                path.timed = true;
                path.asking = false;
                break;
        default:
                break;
        }
        path.phase = step.phase;
        cr_assert(path.phase == RECOVERY_PHASE_IDLE || !path.lost || path.asking || path.timed,
                  "what was lost is looked for again");
        walk(path, depth + 1);
}

static void walk(Path path, unsigned depth) {
        paths++;
        for (int event = 0; depth < DEPTH && event < RECOVERY_EVENT_COUNT; event++)
                if (can_come(&path, (RecoveryEvent)event))
                        follow(path, (RecoveryEvent)event, depth);
}

Test(recovery_phase, no_path_takes_a_spoiled_look_or_forgets_to_look_again) {
        walk((Path){.phase = RECOVERY_PHASE_IDLE}, 0);
        cr_expect_gt(paths, 10000U);
}

/* For the line that says what was impossible. */
Test(recovery_phase, every_phase_and_event_has_a_name_of_its_own) {
        g_autoptr(GHashTable) names = g_hash_table_new(g_str_hash, g_str_equal);

        for (RecoveryPhase phase = 0; phase < RECOVERY_PHASE_COUNT; phase++)
                cr_expect(g_hash_table_add(names, (char *)recovery_phase_to_string(phase)));
        for (RecoveryEvent event = 0; event < RECOVERY_EVENT_COUNT; event++)
                cr_expect(g_hash_table_add(names, (char *)recovery_event_to_string(event)));
}
