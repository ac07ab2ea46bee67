/* A node outside of its window, in a whole daemon (bus-fixture.h): nothing begins there, what runs
 * goes on, the others hear of it, and people are told until when. */
#include <inttypes.h>
#include <string.h>

#include "bus-fixture.h"
#include "gate.h"
#include "members.h"
#include "runs.h"
#include "tree.h"

#define ROOT "/jobkeeper"
#define LONG_AGO "2020-01-01"

TestSuite(outside, .init = setup_bus, .fini = teardown_bus, .timeout = 60);

static int64_t opens; /* a second */

static void with_window(const char *from, unsigned seconds) {
        g_autofree char *text =
            g_strdup_printf("node: {name: n1, window: {from: \"%s\", for: %u}}\ntakeover-delay: "
                            "100ms\ndrain-timeout: 0\n",
                            from, seconds);

        tree_write(root, "jobkeeper.yaml", text);
}

/* In so many seconds from now, which may be past. */
static void with_window_in(int64_t in, unsigned seconds) {
        g_autoptr(GDateTime) time = NULL;
        g_autofree char *from = NULL;

        opens = (int64_t)(clock_realtime() / USEC_PER_SEC) + in;
        time = g_date_time_new_from_unix_utc(opens);
        from = g_date_time_format(time, "%Y-%m-%d %H:%M:%S");
        with_window(from, seconds);
}

static bool is_running(void) {
        g_autoptr(GPtrArray) runs = runs_list(coordinator->runs);

        return runs->len > 0 && ((Run *)runs->pdata[0])->phase == RUN_PHASE_RUNNING;
}

static bool member_has(const char *part) {
        const char *data = server_data(ROOT "/nodes/n1");

        return data && strstr(data, part);
}

static bool says_until_when(void) {
        g_autofree char *part = g_strdup_printf("\"outside\":%" PRId64, opens);

        return member_has(part);
}

static bool says_for_good(void) {
        return member_has("\"outside\":null");
}

static bool is_inside(void) {
        return server_data(ROOT "/nodes/n1") && !member_has("\"outside\"");
}

static void each_second(void) {
        write_job("    every: 1s\n    exec: [/bin/true]\n");
}

/* ---- what it means ---- */

Test(outside, nothing_begins_until_it_opens) {
        with_window_in(6, 3600);
        each_second();
        open_daemon();
        await(says_until_when, "its member says so from the first on");
        cr_expect(member_has("\"busy\":\"\""));
        while (clock_realtime() < (usec_t)opens * USEC_PER_SEC - 20 * USEC_PER_MSEC)
                turn();
        cr_expect_eq(started->len, 0);
        await(is_running, "and then it does");
        await(is_inside, "its member says so");
        cr_expect_geq(clock_realtime(), (usec_t)opens * USEC_PER_SEC);
}

static bool is_overlap(void) {
        return records_that_say("\"why\":\"overlap: the previous run") > 0;
}

/* The next ticks are said to overlap, as others would wait for our word of them. */
Test(outside, what_runs_when_it_closes_goes_on_and_nothing_follows_it) {
        with_window_in(0, 5);
        each_second();
        open_daemon();
        await(is_running, "a run");
        await(says_for_good, "it closes, and its member says so");
        await(is_overlap, "what comes meanwhile is skipped");
        cr_expect_eq(service_newest()->stops + service_newest()->kills, 0);
        service_exit(service_newest(), 0);
        serve_for(2500 * USEC_PER_MSEC);
        cr_expect_eq(started->len, 1);
        cr_expect_eq(runs_count(coordinator->runs), 0, "it is settled");
}

static bool queues(void) {
        return server_count(ROOT "/locks/db") > 1;
}

static bool queues_no_more(void) {
        return server_count(ROOT "/locks/db") == 1;
}

/* Others are to have it. */
Test(outside, what_queues_for_a_lock_leaves_the_queue_when_it_closes) {
        server_create(ROOT, "", 0);
        server_create(ROOT "/control", "{}", 0);
        server_create(ROOT "/locks", "", 0);
        server_create(ROOT "/locks/db", "", 0);
        server_create(ROOT "/locks/db/_c_00000000-0000-0000-0000-000000000001-__WRIT__0000000000",
                      "", 77);
        with_window_in(0, 8);
        (void)due_soon("    locks: {db: exclusive}\n");
        await(queues, "it queues");
        await(queues_no_more, "it has left");
        cr_expect(gate_outside(coordinator->gate));
}

/* ---- what people are told ---- */

static void member_is(const char *node, const char *more) {
        g_autofree char *path = g_strconcat(ROOT "/nodes/", node, NULL),
                        *data =
                            g_strdup_printf("{\"machine\":\"%s\",\"boot\":\"b\"%s}", node, more);

        server_write(path, data);
}

static bool is_ready(void) {
        return node_is_ready(coordinator->node);
}

static bool are_two(void) {
        return members_list(coordinator->members)->len == 2;
}

static void begin(const char *job, const char *other) {
        write_job(job);
        open_daemon();
        await(is_ready, "ready");
        await_daemon_on_bus();
        member_is("n2", other);
        await(are_two, "another is there");
}

static void expect_refused_on(const char *node, const char *why) {
        ask_as(bus, BUS_NAME_ROOT, "RunOn", "ss", "a", node);
        expect_said(why);
        cr_expect_eq(server_count(ROOT "/requests"), 0U);
}

Test(outside, a_run_on_that_node_is_refused) {
        with_window(LONG_AGO, 1);
        begin("    exec: [/bin/true]\n", ",\"outside\":4102444800");
        expect_refused_on("n1", BUS_ERROR_NO_CANDIDATE
                          ": n1 is outside of its window, which does not open any more");
        expect_refused_on("n2", BUS_ERROR_NO_CANDIDATE
                          ": n2 is outside of its window until 2100-01-01T00:00:00Z");
        member_is("n2", "");
        do {
                ask_as(bus, BUS_NAME_ROOT, "RunOn", "ss", "a", "n2");
                while (!is_said())
                        turn();
        } while (g_str_has_prefix(said, BUS_ERROR_NO_CANDIDATE));
        expect_said("\"note\":\"\"");
}

/* Nobody takes the request, unless one of them opens in time. */
Test(outside, who_asks_for_a_run_hears_that_no_window_is_open) {
        with_window(LONG_AGO, 1);
        begin("    exec: [/bin/true]\n", ",\"busy\":\"drained\"");
        ask_as(bus, BUS_NAME_ROOT, "Run", "s", "a");
        expect_said("\"note\":\"\"");
        server_write(ROOT "/control", "{\"drained\":{\"n2\":{}}}");
        serve_for(100 * USEC_PER_MSEC);
        ask_as(bus, BUS_NAME_ROOT, "Run", "s", "a");
        expect_said("\"note\":\"all nodes that can run job \\\"a\\\" are outside of their windows "
                    "or drained: it is run only where one of them is not any more within 1min\"");
}

Test(outside, status_and_explain_say_until_when) {
        with_window(LONG_AGO, 1);
        begin("    every: 1h\n    exec: [/bin/true]\n", ",\"outside\":4102444800");
        ask("Status", NULL);
        expect_said("\"outside\":{\"until\":null}");
        expect_said("\"outside\":{\"until\":4102444800}");
        ask("Explain", "sx", "a", (int64_t)0);
        expect_said("\"why\":\"it is outside of its window, which does not open any more\"");
        expect_said("\"why\":\"it is outside of its window until 2100-01-01T00:00:00Z\"");
        member_is("n2", ",\"outside\":4102444800,\"busy\":\"drained\"");
        serve_for(100 * USEC_PER_MSEC);
        ask("Explain", "sx", "a", (int64_t)0);
        expect_said("\"why\":\"it is drained\"");
}
