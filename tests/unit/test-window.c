/* A job with a window in a whole daemon (bus-fixture.h): what comes due outside is skipped in one
 * record, what waits for a lock leaves the queue when the window closes, and what is asked for by
 * hand begins all the same. */
#include <string.h>

#include "bus-fixture.h"
#include "runs.h"
#include "tree.h"

#define ROOT "/jobkeeper"

TestSuite(window, .init = setup_bus, .fini = teardown_bus, .timeout = 60);

static bool three_are_outside(void) {
        return records_that_say("\"count\":3") > 0 &&
               records_that_say("\"why\":\"outside its window; the next begins at ") > 0;
}

/* A job of every second, whose window begins in so many seconds, and lasts for so long. */
static void with_window_in(int64_t ahead, const char *length, const char *more) {
        g_autoptr(GDateTime) begin =
            g_date_time_new_from_unix_utc((int64_t)(clock_realtime() / USEC_PER_SEC) + ahead);
        g_autofree char *from = g_date_time_format(begin, "%Y-%m-%d %H:%M:%S"),
                        *keys = g_strdup_printf("    every: 1s\n    exec: [/bin/true]\n"
                                                "    window: {from: \"%s\", for: %s}\n%s",
                                                from, length, more);

        write_job(keys);
}

Test(window, what_comes_outside_is_one_record_and_inside_it_begins) {
        with_window_in(6, "1h", "");
        open_daemon();
        await(three_are_outside, "three ticks");
        cr_expect_eq(started->len, 0U);
        await(a_run_goes_on, "a run");
        cr_expect_eq(records_that_say("\"state\":\"skipped\""), 1U);
}

static bool closed_before(void) {
        return records_that_say("\"why\":\"its window closed before it could begin\"") > 0;
}

static bool stands_in_line(void) {
        return server_count(ROOT "/locks/db") > 1;
}

static bool has_left_line(void) {
        return server_count(ROOT "/locks/db") == 1;
}

static void lock_that_another_has(void) {
        server_create(ROOT, "", 0);
        server_create(ROOT "/locks", "", 0);
        server_create(ROOT "/locks/db", "", 0);
        server_create(ROOT "/locks/db/_c_00000000-0000-0000-0000-000000000001-__WRIT__0000000000",
                      "", 77);
}

/* However long it would wait. */
Test(window, what_queues_for_a_lock_leaves_it_when_the_window_closes) {
        lock_that_another_has();
        with_window_in(-1, "5s", "    locks: {db: exclusive}\n    lock-wait: infinity\n");
        open_daemon();
        await(stands_in_line, "it queues");
        await(has_left_line, "it has left");
        await(closed_before, "the tick");
        cr_expect_eq(started->len, 0U);
        cr_expect_eq(server_count(ROOT "/open/n1"), 0);
}

Test(window, without_a_lock_wait_as_well) {
        lock_that_another_has();
        with_window_in(-1, "5s", "    locks: {db: exclusive}\n");
        open_daemon();
        await(stands_in_line, "it queues");
        await(closed_before, "the tick");
        cr_expect(has_left_line());
        cr_expect_eq(records_that_say("lock-wait"), 0U);
        cr_expect_eq(started->len, 0U);
}

/* Outside of what does not begin any more. */
static bool three_are_last(void) {
        return records_that_say("\"count\":3") > 0 &&
               records_that_say("\"why\":\"outside its window, which does not begin any more\"") >
                   0;
}

Test(window, what_runs_goes_on_when_it_closes) {
        with_window_in(-1, "5s", "");
        open_daemon();
        await(a_run_goes_on, "a run");
        await(three_are_last, "three ticks after it");
        cr_expect_eq(service_newest()->stops + service_newest()->kills, 0);
        cr_expect(a_run_goes_on());
        cr_expect_eq(started->len, 1U);
}

Test(window, what_is_asked_for_by_hand_begins_all_the_same) {
        write_job("    schedule: \"2199-01-01\"\n    exec: [/bin/true]\n"
                  "    window: {from: \"2199-01-01\", for: 1h}\n");
        open_daemon_on_bus();
        ask_as(bus, BUS_NAME_ROOT, "Run", "s", "a");
        expect_said("\"note\":\"job \\\"a\\\" is outside its window; the next begins at "
                    "2199-01-01T00:00:00Z: what is asked for by hand begins all the same\"");
        await(a_run_goes_on, "the run");
}
