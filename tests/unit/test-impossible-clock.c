/* A wall clock that shows a time before 2000 or after 2099, and the servers' with it, in a whole
 * daemon (daemon-fixture.h): nothing is begun, skipped or put in force by it, it is said, and once
 * it is right again nothing is lost and nothing is done twice. */
#include <time.h>

#include "clock-watch.h"
#include "daemon-fixture.h"
#include "gate.h"
#include "journal.h"
#include "ledger.h"
#include "paths.h"
#include "runs.h"

#define ROOT "/jobkeeper"
#define JOB_PATH ROOT "/jobs/a"
#define RUNS_PATH JOB_PATH "/runs"
#define IN_1970 (UINT64_C(3600) * USEC_PER_SEC)
#define IN_2150 (UINT64_C(5680281600) * USEC_PER_SEC)
#define IN_2238 (UINT64_C(8457523200) * USEC_PER_SEC)

static int64_t ahead; /* of the wall clock, µs */

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
        return read_clock(CLOCK_REALTIME) + (usec_t)ahead;
}

TestSuite(impossible_clock, .init = setup, .fini = teardown, .timeout = 60);

static void set_clock(usec_t time) {
        ahead = time == 0 ? 0 : (int64_t)(time - read_clock(CLOCK_REALTIME));
}

static bool is_measured(void) {
        return node_is_ready(coordinator->node) && coordinator->node->skew.measured;
}

static bool is_told(void) {
        return journal_has("which cannot be right: no job is claimed until");
}

static bool is_running(void) {
        return services_alive() == 1;
}

static bool is_over(void) {
        return services_alive() == 0 && runs_count(coordinator->runs) == 0;
}

static Ledger *ledger_there(void) {
        Ledger *ledger = NULL;

        cr_assert_eq(ledger_decode(server_data(JOB_PATH), strlen(server_data(JOB_PATH)), &ledger),
                     0);
        return ledger;
}

static void expect_right_ledger(void) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_there();
        int64_t now = (int64_t)(read_clock(CLOCK_REALTIME) / USEC_PER_SEC);

        cr_expect_lt(llabs(ledger->from - now), 60);
        cr_expect_leq(ledger->mark, now);
        cr_expect(ledger->mark == 0 || now - ledger->mark < 60);
        for (guint i = 0; i < ledger->open->len; i++)
                cr_expect_lt(((const LedgerEntry *)ledger->open->pdata[i])->not_before,
                             read_clock(CLOCK_REALTIME) + USEC_PER_MINUTE);
}

static void expect_shut(void) {
        cr_expect_str_eq(gate_closed(coordinator->gate) ? gate_closed(coordinator->gate) : "open",
                         "the clock shows a time before 2000 or after 2099");
        cr_expect_not(clock_watch_is_good(coordinator->clock));
        cr_expect_null(server_data(RUNS_PATH) && server_count(RUNS_PATH) > 0 ? "runs" : NULL);
}

/* ... from the boot on. */
static void begin_at(usec_t time) {
        set_clock(time);
        write_job("    every: 1s\n    exec: [/bin/true]\n");
        open_daemon();
        await(is_measured, "it is compared");
        await(is_told, "it is said");
        serve_for(3 * USEC_PER_SEC);
        expect_shut();
        cr_expect(!server_data(JOB_PATH) || !*server_data(JOB_PATH), "%s", server_data(JOB_PATH));
        cr_expect_eq(started->len, 0);
        set_clock(0);
        await_within(is_running, "it runs", 20 * USEC_PER_SEC);
        cr_expect(journal_has("agrees with the ZooKeeper server's again"));
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        expect_right_ledger();
}

Test(impossible_clock, from_the_boot_on_in_1970) {
        begin_at(IN_1970);
}

Test(impossible_clock, from_the_boot_on_in_2150) {
        begin_at(IN_2150);
}

Test(impossible_clock, from_the_boot_on_in_2238) {
        begin_at(IN_2238);
}

/* ... all at once, while a run is under way that is to be attempted again. */
static void jump_to(usec_t time) {
        (void)due_soon("    retries: {attempts: 2, delay: 1s}\n");
        await(is_running, "it runs");
        set_clock(time);
        serve_for(USEC_PER_SEC);
        service_exit(service_newest(), 5);
        await(is_over, "it is settled");
        serve_for(2 * USEC_PER_SEC);
        cr_expect_eq(started->len, 1, "not by this clock");
        set_clock(0);
        await_within(is_running, "it is attempted again", 20 * USEC_PER_SEC);
        cr_expect_eq(started->len, 2);
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        expect_right_ledger();
}

Test(impossible_clock, from_one_moment_to_the_next_in_1970) {
        jump_to(IN_1970);
}

Test(impossible_clock, from_one_moment_to_the_next_in_2150) {
        jump_to(IN_2150);
}

Test(impossible_clock, from_one_moment_to_the_next_in_2238) {
        jump_to(IN_2238);
}

/* Ticks that come meanwhile are caught up with. */
Test(impossible_clock, what_was_due_meanwhile_is_run) {
        (void)due_soon("    start-deadline: 1min\n");
        set_clock(IN_2150);
        serve_for(4 * USEC_PER_SEC);
        cr_expect_eq(started->len, 0);
        set_clock(0);
        await_within(is_running, "it runs", 20 * USEC_PER_SEC);
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        cr_expect_eq(started->len, 1);
        expect_right_ledger();
}
