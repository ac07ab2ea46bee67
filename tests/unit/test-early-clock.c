/* A wall clock that was ahead for a moment, in a whole daemon (daemon-fixture.h): what it queued
 * for is not skipped before it is due. */
#include <time.h>

#include "daemon-fixture.h"
#include "job-table.h"
#include "paths.h"

#define ROOT "/jobkeeper"
#define RUNS_PATH ROOT "/jobs/a/runs"
#define LOCK_PATH ROOT "/locks/r"
#define BLOCKER LOCK_PATH "/_c_00000000-0000-0000-0000-000000000000-__WRIT__0000000000"

static usec_t set_back; /* the wall clock, by so much */

static usec_t read_clock(clockid_t id) {
        struct timespec now;

        clock_gettime(id, &now);
        return (usec_t)now.tv_sec * USEC_PER_SEC + (usec_t)now.tv_nsec / 1000;
}

usec_t clock_boottime(void) {
        return read_clock(CLOCK_BOOTTIME);
}

usec_t clock_monotonic(void) {
        return read_clock(CLOCK_MONOTONIC);
}

usec_t clock_realtime(void) {
        return read_clock(CLOCK_REALTIME) - set_back;
}

TestSuite(early_clock, .init = setup, .fini = teardown);

static bool stands_in_the_queue(void) {
        return server_count(LOCK_PATH) == 2;
}

static bool has_left_the_queue(void) {
        return server_count(LOCK_PATH) == 1;
}

static bool has_ledger(void) {
        return server_data(ROOT "/jobs/a") && *server_data(ROOT "/jobs/a");
}

static void lock_that_another_has(void) {
        server_create(ROOT, "", 0);
        server_create(ROOT "/locks", "", 0);
        server_create(LOCK_PATH, "", 0);
        server_create(BLOCKER, "", 99);
}

static void queue_behind_another(void) {
        lock_that_another_has();
        (void)due_soon("    locks: {r: exclusive}\n    start-deadline: 3s\n");
}

static void wait_in_vain(void) {
        await(has_left_the_queue, "its time is over");
        serve_for(USEC_PER_SEC);
        cr_expect_eq(server_count(RUNS_PATH), 0);
}

Test(early_clock, what_was_queued_for_by_it_is_not_skipped_before_it_is_due) {
        queue_behind_another();
        await(stands_in_the_queue, "it queues");
        set_back = USEC_PER_MINUTE; /* the server's too: it is right now */
        wait_in_vain();
}

Test(early_clock, nor_by_one_that_is_ahead_still) {
        usec_t now;

        queue_behind_another();
        await(stands_in_the_queue, "it queues");
        now = clock_realtime();
        server.clock = -(int64_t)USEC_PER_MINUTE;
        node_clock_sample_at(coordinator->node, now - USEC_PER_MINUTE, now, now);
        cr_assert(node_is_skewed(coordinator->node));
        wait_in_vain();
}

/* ... nor by one that was set meanwhile, which nobody has compared. */
static void set_ahead_and_wait_in_vain(const char *more) {
        int64_t tick = (int64_t)(clock_realtime() / USEC_PER_SEC) + 62;
        g_autofree char *keys = g_strconcat("    locks: {r: exclusive}\n", more, NULL);

        lock_that_another_has();
        write_job_due_at(tick, keys);
        open_daemon();
        await(has_ledger, "the ledger");
        serve_for(USEC_PER_SEC);
        coordinator->node->skew.measured -= 2 * USEC_PER_MINUTE;
        set_back = (usec_t)0 - USEC_PER_MINUTE;
        server.clock = -(int64_t)USEC_PER_MINUTE;
        while (clock_realtime() < (usec_t)tick * USEC_PER_SEC)
                turn();
        job_table_sweep(coordinator->jobs, JOB_SWEEP_CONSIDER); /* as the timer of the tick does */
        await(stands_in_the_queue, "it queues");
        wait_in_vain();
        cr_assert(node_is_skewed(coordinator->node));
}

Test(early_clock, nor_by_one_that_nobody_has_compared) {
        set_ahead_and_wait_in_vain("    start-deadline: 3s\n");
}

Test(early_clock, nor_for_a_wait_of_its_own) {
        set_ahead_and_wait_in_vain("    start-deadline: 3s\n    lock-wait: 4s\n");
}

static bool is_skipped(void) {
        return records_that_say("\"state\":\"skipped\"") > 0;
}

/* Job "a", which is due in three seconds, and until its window closes, some seconds later. */
static void with_window(const char *length, const char *lock_wait) {
        int64_t tick = (int64_t)(clock_realtime() / USEC_PER_SEC) + 3;
        g_autoptr(GDateTime) when = g_date_time_new_from_unix_utc(tick);
        g_autofree char *from = g_date_time_format(when, "%Y-%m-%d %H:%M:%S"),
                        *keys = g_strdup_printf("    window: {from: \"%s\", for: %s}\n"
                                                "    locks: {r: exclusive}\n"
                                                "    lock-wait: %s\n",
                                                from, length, lock_wait);

        lock_that_another_has();
        write_job_due_at(tick, keys);
        open_daemon();
}

/* The clock was slewed back while it waited: its window closes in a moment, and that is why. */
Test(early_clock, what_waits_until_its_window_closes_is_skipped_for_that) {
        with_window("3s", "infinity");
        await(stands_in_the_queue, "it queues");
        set_back = 100 * USEC_PER_MSEC;
        await(is_skipped, "it is skipped");
        cr_expect_eq(records_that_say("its window closed before it could begin"), 1U);
        cr_expect_eq(records_that_say("lock-wait"), 0U);
}

/* However soon that closes. */
Test(early_clock, what_only_tries_is_not_tried_until_then) {
        with_window("1s", "0s");
        await(is_skipped, "it is skipped");
        cr_expect_eq(records_that_say("lock-wait: its locks were not free in time"), 1U);
}

static bool is_claimed(void) {
        return server_count(RUNS_PATH) == 1;
}

/* After a boot (wait-for-clock). The tick is late then, and not lost. */
Test(early_clock, before_it_is_synchronised_nothing_is_claimed) {
        int64_t tick;

        server_create(ROOT, "", 0);
        tick = due_soon("    start-deadline: 1min\n");
        coordinator->node->waits_for_clock = true;
        while (clock_realtime() < (usec_t)(tick + 1) * USEC_PER_SEC)
                turn();
        cr_expect_eq(server_count(RUNS_PATH), 0);
        coordinator->node->waits_for_clock = false;
        await(is_claimed, "it is synchronised");
}
