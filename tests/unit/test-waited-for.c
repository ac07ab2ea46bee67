/* What is waited for is not skipped: who waits, and for what it matters. What becomes of it is
 * tested with the daemon's own jobs (test-scheduled-job.c). */
#include "waited-for.h"

#include "ledger-fixture.h"

static GPtrArray *no_resources;
static JobSpec spec;
static WaitedFor *waited;
static int64_t now;

static void setup_waited(void) {
        now = (int64_t)(clock_realtime() / USEC_PER_SEC);
        no_resources = g_ptr_array_new();
        spec = (JobSpec){.lock = JOB_LOCK_EXCLUSIVE,
                         .resources = no_resources,
                         .start_deadline = 10 * USEC_PER_SEC,
                         .lock_wait = USEC_PER_HOUR,
                         .lock_wait_set = true};
        waited = waited_for_new(NULL, "a", NULL, NULL);
}

static void teardown_waited(void) {
        waited = waited_for_free(waited);
        g_ptr_array_unref(no_resources);
}

TestSuite(waited_for, .init = setup_waited, .fini = teardown_waited);

static Decision skip_of(int64_t from, int64_t to, DecisionKind kind, const char *why) {
        return (Decision){.skips = {{.from = from, .to = to, .count = 1, .why = {kind, why}}},
                          .n_skips = 1};
}

Test(waited_for, only_what_nobody_started_and_may_be_waited_for_matters) {
        Decision missed = skip_of(now - 60, now - 30, DECISION_KIND_MISSED,
                                  "missed: the start deadline passed"),
                 no_node = skip_of(now - 60, now - 30, DECISION_KIND_OTHER, "no node could run it"),
                 overlap = skip_of(now - 60, now - 30, DECISION_KIND_UNDER_WAY, "overlap"),
                 old = skip_of(now - 8000, now - 7000, DECISION_KIND_MISSED,
                               "missed: the start deadline passed"),
                 nothing = {.n_skips = 0};

        cr_expect(waited_for_matters(&spec, &missed));
        cr_expect(waited_for_matters(&spec, &no_node), "it may be no member for a moment");
        cr_expect_not(waited_for_matters(&spec, &overlap), "that is so whoever waits");
        cr_expect_not(waited_for_matters(&spec, &old), "nobody waits so long");
        cr_expect_not(waited_for_matters(&spec, &nothing));
        spec.lock = JOB_LOCK_NONE;
        cr_expect_not(waited_for_matters(&spec, &missed), "there is nothing to wait for");
        spec.lock = JOB_LOCK_SHARED;
        cr_expect(waited_for_matters(&spec, &missed));
        spec.lock_wait_set = false;
        cr_expect_not(waited_for_matters(&spec, &missed));
}

static bool may_run = true;

static WaitedForVerdict judge(const Waiter *waiter, const Decision *decision) {
        g_autoptr(GPtrArray) found = g_ptr_array_new();

        if (waiter)
                g_ptr_array_add(found, (gpointer)waiter);
        return waited_for_judge(waited, &spec, found, decision, may_run);
}

Test(waited_for, who_waits) {
        Decision decision = skip_of(now - 60, now - 30, DECISION_KIND_MISSED, "missed");
        Waiter other = {.job = (char *)"a", .tick = now - 40},
               elsewhere = {.job = (char *)"b", .tick = now - 40},
               newer = {.job = (char *)"a", .tick = now},
               ours = {.job = (char *)"a", .tick = now - 60, .ours = true};

        cr_expect_eq(judge(NULL, &decision), WAITED_FOR_BY_NOBODY);
        cr_expect_eq(judge(&elsewhere, &decision), WAITED_FOR_BY_NOBODY);
        cr_expect_eq(judge(&newer, &decision), WAITED_FOR_BY_NOBODY);
        cr_expect_eq(judge(&other, &decision), WAITED_FOR_BY_OTHERS);
        cr_expect_eq(waited_for_tick(waited), 0);
        cr_expect_eq(judge(&ours, &decision), WAITED_FOR_BY_US);
        cr_expect_eq(waited_for_tick(waited), now - 60);
        may_run = false;
        cr_expect_eq(judge(&ours, &decision), WAITED_FOR_BY_NOBODY, "we do not wait again");
        may_run = true;
        /* It is remembered, also where others wait for another one. */
        cr_expect_eq(judge(&other, &decision), WAITED_FOR_BY_US);
        waited_for_set_tick(waited, 0);
        cr_expect_eq(judge(&other, &decision), WAITED_FOR_BY_OTHERS);
}

/* Of a retry it is counted from when that was due. */
Test(waited_for, a_retry_that_is_waited_for_is_not_given_up) {
        Decision decision = {.skips = {{.from = now - 8000,
                                        .to = now - 8000,
                                        .count = 1,
                                        .why = {DECISION_KIND_MISSED, "missed"},
                                        .gives_up = true,
                                        .due = now - 30}},
                             .n_skips = 1};
        Waiter other = {.job = (char *)"a", .tick = now - 8000};

        cr_expect(waited_for_matters(&spec, &decision));
        cr_expect_eq(judge(&other, &decision), WAITED_FOR_BY_OTHERS);
        decision.skips[0].due = now - 8000;
        cr_expect_not(waited_for_matters(&spec, &decision));
        cr_expect_eq(judge(&other, &decision), WAITED_FOR_BY_NOBODY);
}

/* Of a tick that is delayed, from when it starts. */
Test(waited_for, what_started_late_is_waited_for_longer) {
        _cleanup_(schedule_freep) Schedule *schedule = every(20000);
        int64_t tick = now / 20000 * 20000, start;
        Decision decision = skip_of(tick, tick, DECISION_KIND_MISSED, "missed");
        Waiter other = {.job = (char *)"a", .tick = tick};
        g_autofree char *fault = NULL;

        cr_assert_eq(schedule_set_random_delay(schedule, 19999 * USEC_PER_SEC, &fault), 0);
        start = schedule_start(schedule, "a", tick);
        spec.name = (char *)"a";
        spec.schedule = schedule;
        spec.lock_wait = (usec_t)(now - tick + 60) * USEC_PER_SEC;
        spec.start_deadline = 0;
        cr_assert_gt(start, tick);
        cr_expect(waited_for_matters(&spec, &decision));
        spec.lock_wait -= 70 * USEC_PER_SEC;
        cr_expect_eq(waited_for_matters(&spec, &decision), start >= tick + 11);
        cr_expect_eq(judge(&other, &decision),
                     start >= tick + 11 ? WAITED_FOR_BY_OTHERS : WAITED_FOR_BY_NOBODY);
}

Test(waited_for, nobody_waits_beyond_the_end_of_the_wait) {
        Decision decision = skip_of(now - 8000, now - 30, DECISION_KIND_MISSED, "missed");
        Waiter late = {.job = (char *)"a", .tick = now - 8000};

        cr_expect_eq(judge(&late, &decision), WAITED_FOR_BY_NOBODY);
        cr_expect_null(waited_for_free(NULL));
}
