/* What a job is about, cell by cell, against a second table written from what was promised and not
 * from the code; and every path through it: whatever comes in whatever order, nothing is claimed
 * before the locks are held and the ledger was read after they were asked for, and everything ends.
 */
#include <criterion/criterion.h>
#include <glib.h>
#include <string.h>

#include "job-phase.h"

static const char *const action_words[] = {
    [JOB_ACTION_NONE] = "-",
    [JOB_ACTION_CONSIDER] = "consider",
    [JOB_ACTION_RECONSIDER] = "reconsider",
    [JOB_ACTION_REMEMBER] = "remember",
    [JOB_ACTION_DECIDE] = "decide",
    [JOB_ACTION_READ] = "read",
    [JOB_ACTION_GIVE_UP] = "give-up",
    [JOB_ACTION_IMPOSSIBLE] = "impossible",
};

/* One row an event: the phases in which it can come, and what it does there; in all others it
 * cannot come. */
static const struct {
        JobEvent event;
        const char *cells; /* "PHASE>PHASE ACTION", separated by semicolons; no action: none */
} rows[] = {
    {JOB_EVENT_CONSIDER, "idle>idle consider;reading>reading remember;looking>looking remember;"
                         "queueing>queueing remember;waiting>waiting remember;held>held remember;"
                         "holding>holding decide;late>late remember;claiming>claiming remember;"
                         "writing>writing remember"},
    {JOB_EVENT_LEDGER_READ, "reading>reading decide;queueing>waiting decide;held>holding decide;"
                            "late>late give-up"},
    {JOB_EVENT_LEDGER_CHANGED,
     "idle>idle reconsider;reading>reading;looking>looking;queueing>queueing;"
     "waiting>queueing read;held>held;holding>held read;late>late;claiming>claiming;"
     "writing>writing"},
    {JOB_EVENT_LOCKS_HELD, "queueing>held;waiting>holding decide"},
    {JOB_EVENT_LOCKS_LATE, "queueing>late;waiting>late give-up;claiming>late give-up"},
    {JOB_EVENT_CLAIM_STALE, "claiming>held read"},
    {JOB_EVENT_CLAIM_WAITS, "claiming>holding"},
    {JOB_EVENT_READ, "idle>reading;reading>reading;looking>reading;waiting>reading;"
                     "holding>reading;claiming>reading"},
    {JOB_EVENT_WATCH, "waiting>queueing"},
    {JOB_EVENT_LOOK, "reading>looking;waiting>looking;holding>looking"},
    {JOB_EVENT_QUEUE, "idle>queueing;reading>queueing;looking>queueing;waiting>queueing;"
                      "holding>queueing"},
    {JOB_EVENT_QUEUE_FREE, "idle>held;reading>held;looking>held;waiting>held;holding>held"},
    {JOB_EVENT_CLAIM, "holding>claiming"},
    {JOB_EVENT_WRITE, "reading>writing;looking>writing;queueing>writing;waiting>writing;"
                      "held>writing;holding>writing;late>writing;claiming>writing"},
    {JOB_EVENT_END, "idle>idle;reading>idle;looking>idle;queueing>idle;waiting>idle;held>idle;"
                    "holding>idle;late>idle;claiming>idle;writing>idle"},
};

/* Return: what the row says of the phase, newly allocated; NULL: nothing. */
static char *cell_of(const char *cells, const char *phase) {
        g_auto(GStrv) all = g_strsplit(cells, ";", -1);
        g_autofree char *prefix = g_strconcat(phase, ">", NULL);

        for (char **cell = all; *cell; cell++)
                if (g_str_has_prefix(*cell, prefix))
                        return g_strdup(*cell + strlen(prefix));
        return NULL;
}

static char *cell_found(JobPhase phase, JobEvent event) {
        JobStep step = job_phase_step(phase, event);

        if (step.action == JOB_ACTION_NONE)
                return g_strdup(job_phase_to_string(step.phase));
        return g_strdup_printf("%s %s", job_phase_to_string(step.phase), action_words[step.action]);
}

Test(job_phase, cell_by_cell) {
        cr_assert_eq(G_N_ELEMENTS(rows), (size_t)JOB_EVENT_COUNT);
        for (int event = 0; event < JOB_EVENT_COUNT; event++)
                for (int phase = 0; phase < JOB_PHASE_COUNT; phase++) {
                        const char *word = job_phase_to_string((JobPhase)phase);
                        g_autofree char *expected = cell_of(rows[event].cells, word),
                                        *found = cell_found((JobPhase)phase, (JobEvent)event),
                                        *impossible = g_strconcat(word, " impossible", NULL);

                        cr_assert_eq((int)rows[event].event, event);
                        cr_expect_str_eq(found, expected ? expected : impossible, "%s while %s: %s",
                                         job_event_to_string((JobEvent)event), word, found);
                }
}

Test(job_phase, words_are_told_apart) {
        g_autoptr(GHashTable) words = g_hash_table_new(g_str_hash, g_str_equal);

        for (int phase = 0; phase < JOB_PHASE_COUNT; phase++)
                g_hash_table_add(words, (gpointer)job_phase_to_string((JobPhase)phase));
        cr_expect_eq(g_hash_table_size(words), (guint)JOB_PHASE_COUNT);
        g_hash_table_remove_all(words);
        for (int event = 0; event < JOB_EVENT_COUNT; event++)
                g_hash_table_add(words, (gpointer)job_event_to_string((JobEvent)event));
        cr_expect_eq(g_hash_table_size(words), (guint)JOB_EVENT_COUNT);
}

Test(job_phase, who_is_in_the_queues) {
        static const JobPhase in[] = {JOB_PHASE_QUEUEING, JOB_PHASE_WAITING, JOB_PHASE_HELD,
                                      JOB_PHASE_HOLDING, JOB_PHASE_LATE};
        unsigned n = 0;

        for (int phase = 0; phase < JOB_PHASE_COUNT; phase++)
                n += job_phase_is_in_queues((JobPhase)phase);
        cr_expect_eq(n, G_N_ELEMENTS(in));
        for (size_t i = 0; i < G_N_ELEMENTS(in); i++)
                cr_expect(job_phase_is_in_queues(in[i]));
}

/* What is true of the world, as far as the events told. */
typedef struct Walk {
        JobPhase phase;
        bool asked, held,
            read; /* locks; the ledger since they were asked for, or since it changed */
        unsigned depth;
} Walk;

static unsigned claims_seen;

static bool is_begun(JobEvent event) {
        return event == JOB_EVENT_QUEUE || event == JOB_EVENT_QUEUE_FREE;
}

static bool is_dropped(JobEvent event) {
        return event == JOB_EVENT_READ || event == JOB_EVENT_LOOK || event == JOB_EVENT_WRITE ||
               event == JOB_EVENT_END;
}

static Walk walk_on(Walk walk, JobEvent event, JobStep step) {
        if (event == JOB_EVENT_CLAIM) {
                cr_expect(walk.asked && walk.held && walk.read, "claims before all is there");
                claims_seen++;
        }
        if (is_begun(event))
                walk = (Walk){
                    .depth = walk.depth, .asked = true, .held = event == JOB_EVENT_QUEUE_FREE};
        else if (is_dropped(event))
                walk = (Walk){.depth = walk.depth};
        else if (event == JOB_EVENT_LOCKS_HELD)
                walk.held = true;
        else if (event == JOB_EVENT_LOCKS_LATE)
                walk.held = false; /* it has waited for its turn with them */
        else if (event == JOB_EVENT_LEDGER_READ)
                walk.read = true;
        if (step.action == JOB_ACTION_READ || event == JOB_EVENT_WATCH)
                walk.read = false;
        walk.phase = step.phase;
        walk.depth++;
        return walk;
}

/* Locks are held, as the world says, exactly where the phase says so. */
static void expect_true(const Walk *walk) {
        bool held = walk->phase == JOB_PHASE_HELD || walk->phase == JOB_PHASE_HOLDING ||
                    walk->phase == JOB_PHASE_CLAIMING;

        cr_expect_eq(walk->held, held, "%s", job_phase_to_string(walk->phase));
        cr_expect(walk->phase != JOB_PHASE_WAITING || walk->read);
        cr_expect(walk->phase != JOB_PHASE_HOLDING || walk->read);
        cr_expect_eq(walk->asked,
                     job_phase_is_in_queues(walk->phase) || walk->phase == JOB_PHASE_CLAIMING);
}

static void walk_all(Walk walk) {
        expect_true(&walk);
        if (walk.depth == 6)
                return;
        for (int event = 0; event < JOB_EVENT_COUNT; event++) {
                JobStep step = job_phase_step(walk.phase, (JobEvent)event);

                if (step.action != JOB_ACTION_IMPOSSIBLE)
                        walk_all(walk_on(walk, (JobEvent)event, step));
        }
}

Test(job_phase, nothing_is_claimed_before_all_is_there) {
        walk_all((Walk){.phase = JOB_PHASE_IDLE});
        cr_expect_gt(claims_seen, 100);
}

/* A job that is asked to look again does, or will: the question is never lost. */
Test(job_phase, no_question_is_lost) {
        for (int phase = 0; phase < JOB_PHASE_COUNT; phase++) {
                JobAction action = job_phase_step((JobPhase)phase, JOB_EVENT_CONSIDER).action;

                cr_expect(action == JOB_ACTION_CONSIDER || action == JOB_ACTION_REMEMBER ||
                          action == JOB_ACTION_DECIDE);
        }
}
