/* What the process before this one waited for, while max-runs has no place for it any more, in a
 * whole daemon (daemon-fixture.h): the others are told that it is waited for still, nothing but the
 * job itself waits for that, and it is told no longer than it is so. */
#include "daemon-fixture.h"
#include "gate.h"
#include "job-table.h"
#include "ledger.h"
#include "members.h"
#include "runs.h"

#define ROOT "/jobkeeper"
#define RESOURCE ROOT "/locks/r"
#define BLOCKER RESOURCE "/_c_00000000-0000-0000-0000-000000000000-__WRIT__0000000000"
#define OTHERS 5
#define WAITS "    start-deadline: 1s\n    locks: {r: exclusive}\n"

TestSuite(restored_waits, .init = setup, .fini = teardown);

static int64_t the_tick;
static unsigned n_waiting; /* jobs, w0 and so on */

static int64_t now(void) {
        return (int64_t)(clock_realtime() / USEC_PER_SEC);
}

/* ---- the jobs ---- */

static const char *name_of(unsigned i) {
        static const char *const names[] = {"w0", "w1", "w2", "w3", "w4", "w5"};

        return names[i];
}

static char *path_of(unsigned i) {
        return g_strconcat(ROOT "/jobs/", name_of(i), NULL);
}

static unsigned contenders_of(unsigned i) {
        g_autofree char *path = g_strconcat(ROOT "/locks/job:", name_of(i), NULL);

        return server_count(path);
}

static void write_job_of(const char *name, const char *keys) {
        g_autoptr(GDateTime) when = g_date_time_new_from_unix_utc(the_tick);
        g_autofree char *text = g_date_time_format(when, "%Y-%m-%d %H:%M:%S"),
                        *all =
                            g_strdup_printf("    schedule: \"%s\"\n    exec: [/bin/true, %s]\n%s",
                                            text, name, keys);

        write_job_named(name, all);
}

static void configure(const char *node, unsigned max_runs) {
        g_autofree char *text = g_strdup_printf(
            "node: {name: %s}\ntakeover-delay: 100ms\nmax-runs: %u\n", node, max_runs);

        tree_write(root, "jobkeeper.yaml", text);
}

static Ledger *ledger_of(unsigned i) {
        g_autofree char *path = path_of(i);
        Ledger *ledger = NULL;

        cr_assert_eq(ledger_decode(server_data(path), strlen(server_data(path)), &ledger), 0);
        return ledger;
}

static void write_ledger_of(unsigned i, const Ledger *ledger) {
        g_autofree char *path = path_of(i), *data = ledger_encode(ledger);

        server_write(path, data);
}

/* Return: what the record of the job's tick says, or "". */
static const char *record_of(unsigned i) {
        g_autofree char *path =
            g_strdup_printf(ROOT "/jobs/%s/runs/%" G_GINT64_FORMAT "-0", name_of(i), the_tick);

        return server_data(path);
}

/* ---- the scene ---- */

static bool all_are_there(void) {
        return node_is_ready(coordinator->node) &&
               server_count(ROOT "/jobs") == job_table_size(coordinator->jobs);
}

static bool has_started(void) {
        return started->len > 0;
}

static bool are_late_and_wait(void) {
        for (unsigned i = 0; i < n_waiting; i++)
                if (scheduled_job_state(job_table_find(coordinator->jobs, name_of(i))) !=
                    JOB_WAITING)
                        return false;
        return clock_realtime() > (usec_t)(the_tick + 1) * USEC_PER_SEC + USEC_PER_SEC / 10;
}

static bool are_in_line(void) {
        for (unsigned i = 0; i < n_waiting; i++)
                if (!gate_waits_for_place(coordinator->gate, name_of(i)))
                        return false;
        return true;
}

/* What was left in the resource's queue is gone; each still stands in its own. */
static bool are_told_to_wait(void) {
        for (unsigned i = 0; i < n_waiting; i++)
                if (contenders_of(i) != 1)
                        return false;
        return are_in_line() && server_count(RESOURCE) == 1;
}

/* One job runs, others wait for a lock until their start deadline is over; then the daemon is
 * restarted, and may run no more than that one. */
static void begin(unsigned n, const char *const *keys) {
        the_tick = now() + 3;
        n_waiting = n;
        server_create(ROOT, "", 0);
        server_create(ROOT "/locks", "", 0);
        server_create(RESOURCE, "", 0);
        server_create(BLOCKER, "", 99);
        configure("n1", n + 1);
        write_job_of("runs", "");
        for (unsigned i = 0; i < n; i++)
                write_job_of(name_of(i), keys[i]);
        open_daemon();
        await(all_are_there, "all ledgers");
        await(has_started, "the other one runs");
        await(are_late_and_wait, "the start deadline");
        close_daemon();
        server_forget_watches();
        configure("n1", 1);
        open_daemon_again();
        await(are_in_line, "they wait again");
        await(are_told_to_wait, "that is told, and nothing else is left");
}

static const char *const long_wait[] = {WAITS "    lock-wait: 4h\n"};
static const char *const without_lock[] = {WAITS "    lock: none\n    lock-wait: 4h\n"};

static void free_the_resource(void) {
        server_delete(BLOCKER);
}

/* ---- tests ---- */

static unsigned looks;

static ServerWay count_looks(const ZkCall *call) {
        looks += call->request == REQUEST_LIST && strcmp(call->path, ROOT "/locks/job:w0") == 0;
        return SERVER_ANSWER;
}

static bool has_looked(void) {
        return looks > 0;
}

/* The other node would record it as missed: its start deadline is over. */
static void expect_nothing_missed_elsewhere(void) {
        close_daemon(); /* its session, its node and what it says of itself stay */
        server_forget_watches();
        service_exit(service_newest(), 0);
        service_vanish(service_newest());
        configure("n2", 0);
        server.way = count_looks;
        open_daemon();
        await(has_looked, "the other node looks who waits");
        serve_for(300 * USEC_PER_MSEC);
        cr_expect_str_eq(record_of(0), "");
}

Test(restored_waits, the_others_know_of_one) {
        begin(1, long_wait);
        expect_nothing_missed_elsewhere();
}

Test(restored_waits, the_others_know_of_one_without_a_lock_of_its_own) {
        begin(1, without_lock);
        expect_nothing_missed_elsewhere();
}

static bool is_queued(void) {
        return server_count(RESOURCE) == 2;
}

static bool has_started_too(void) {
        return started->len == 2;
}

Test(restored_waits, one_that_gets_a_place_queues_and_runs) {
        begin(1, long_wait);
        service_exit(service_newest(), 0);
        await(is_queued, "it stands in the queue");
        cr_expect_eq(contenders_of(0), 1, "and nothing stands in for it: %u", contenders_of(0));
        free_the_resource();
        await(has_started_too, "it runs");
        cr_expect_eq(contenders_of(0), 1);
        cr_expect_str_eq(record_of(0), "");
}

/* As it would not have given up its place in the queue for it. */
Test(restored_waits, one_goes_before_what_is_asked_for_meanwhile) {
        g_autofree char *data = NULL, *record = NULL;

        begin(1, long_wait);
        data = g_strdup_printf("{\"job\":\"w0\",\"not_after\":%" G_GINT64_FORMAT "}", now() + 60);
        server_write(ROOT "/requests/1000000000-m0badcafe", data);
        await_quiet();
        service_exit(service_newest(), 0);
        await(is_queued, "something stands in the queue");
        free_the_resource();
        await(has_started_too, "it runs");
        record = g_strdup_printf(ROOT "/jobs/w0/runs/%" G_GINT64_FORMAT "-1", the_tick);
        cr_expect_not_null(server_node(record), "it is the tick");
        cr_expect_str_eq(record_of(0), "");
}

/* The process after the next one knows it as well. */
Test(restored_waits, another_restart_ends_none) {
        begin(1, long_wait);
        close_daemon();
        server_forget_watches();
        configure("n1", 2);
        open_daemon_again();
        await(is_queued, "it stands in the queue");
        free_the_resource();
        await(has_started_too, "it runs");
        cr_expect_str_eq(record_of(0), "");
}

static bool is_told_full(void) {
        return !gate_is_waiting(coordinator->gate) &&
               strstr(server_data(ROOT "/nodes/n1"), "\"busy\":\"max-runs\"");
}

static bool knows_the_others(void) {
        return members_list(coordinator->members)->len == 1 + OTHERS;
}

/* They stand before us at whatever else is due, and leave to us what we wait for. */
Test(restored_waits, one_is_kept_beside_many_that_have_room) {
        begin(1, long_wait);
        for (unsigned i = 0; i < OTHERS; i++) {
                g_autofree char *path = g_strdup_printf(ROOT "/nodes/p%u", i),
                                *data = g_strdup_printf("{\"node\":\"p%u\",\"machine\":\"m%u\","
                                                        "\"boot\":\"b\",\"busy\":\"\"}",
                                                        i, i);
                server_write(path, data);
        }
        await(knows_the_others, "the others");
        await(is_told_full, "we have no room");
        serve_for(300 * USEC_PER_MSEC);
        cr_expect(are_told_to_wait());
}

static bool nobody_waits(void) {
        for (unsigned i = 0; i < n_waiting; i++)
                if (contenders_of(i) > 0)
                        return false;
        return true;
}

static ServerWay refuse_one_ledger(const ZkCall *call) {
        return call->request == REQUEST_GET && strcmp(call->path, ROOT "/jobs/w4") == 0
                   ? SERVER_REFUSE
                   : SERVER_ANSWER;
}

Test(restored_waits, one_that_is_given_up_is_let_go_of) {
        static const char *const keys[] = {
            WAITS "    lock-wait: infinity\n", WAITS "    lock-wait: infinity\n",
            WAITS "    lock-wait: infinity\n", WAITS "    lock-wait: infinity\n",
            WAITS "    lock-wait: infinity\n", WAITS "    lock-wait: 5s\n"};
        _cleanup_(ledger_freep) Ledger *settled = NULL, *changed = NULL, *refused = NULL;

        begin(G_N_ELEMENTS(keys), keys);
        await(is_told_full, "nothing else has the ledgers read");
        serve_for(100 * USEC_PER_MSEC);
        tree_delete(root, "etc/jobkeeper/jobs.d/w0.yaml");
        write_job_of("w1", "");
        reload();
        settled = ledger_of(2);
        settled->mark = the_tick;
        write_ledger_of(2, settled);
        changed = ledger_of(3);
        ledger_adopt_digest(changed, "other", now());
        write_ledger_of(3, changed);
        refused = ledger_of(4);
        server.refusal = ZK_NO_AUTH;
        server.way = refuse_one_ledger;
        write_ledger_of(4, refused);
        await(nobody_waits, "all are let go of");
        cr_expect(strstr(record_of(5), "missed"), "%s", record_of(5));
        cr_expect_eq(server_count(RESOURCE), 1);
}
