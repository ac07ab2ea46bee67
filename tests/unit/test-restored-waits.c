/* What the process before this one waited for, past its start deadline, in a whole daemon
 * (daemon-fixture.h): nothing but its contenders tells the others of it, so they stay until it
 * stands in the queues anew, and its place of max-runs is not given to what is due meanwhile. */
#include "daemon-fixture.h"
#include "gate.h"
#include "job-table.h"
#include "left-queues.h"
#include "members.h"
#include "placement.h"

#define ROOT "/jobkeeper"
#define RESOURCE ROOT "/locks/r"
#define OWN ROOT "/locks/job:w0"
#define BLOCKER RESOURCE "/_c_00000000-0000-0000-0000-000000000000-__WRIT__0000000000"
#define ALONE "node: {name: n1}\ntakeover-delay: 1s\n"
#define WAITS "    start-deadline: 1s\n    locks: {r: exclusive}\n"

TestSuite(restored_waits, .init = setup, .fini = teardown);

static int64_t the_tick;

static int64_t now(void) {
        return (int64_t)(clock_realtime() / USEC_PER_SEC);
}

/* ---- the jobs ---- */

static unsigned contenders(void) {
        return server_count(OWN);
}

static void write_job_of(const char *name, const char *keys) {
        g_autoptr(GDateTime) when = g_date_time_new_from_unix_utc(the_tick);
        g_autofree char *text = g_date_time_format(when, "%Y-%m-%d %H:%M:%S"),
                        *all =
                            g_strdup_printf("    schedule: \"%s\"\n    exec: [/bin/true, %s]\n%s",
                                            text, name, keys);

        write_job_named(name, all);
}

static void configure(unsigned max_runs) {
        g_autofree char *text =
            g_strdup_printf("node: {name: n1}\ntakeover-delay: 100ms\nmax-runs: %u\n", max_runs);

        tree_write(root, "jobkeeper.yaml", text);
}

/* ---- the scene ---- */

static bool all_are_there(void) {
        return node_is_ready(coordinator->node) &&
               server_count(ROOT "/jobs") == job_table_size(coordinator->jobs);
}

static bool has_started(void) {
        return started->len > 0;
}

static bool is_late_and_waits(void) {
        return scheduled_job_state(job_table_find(coordinator->jobs, "w0")) == JOB_WAITING &&
               clock_realtime() > (usec_t)(the_tick + 1) * USEC_PER_SEC + USEC_PER_SEC / 10;
}

static void make_scene(void) {
        the_tick = now() + 3;
        server_create(ROOT, "", 0);
        server_create(ROOT "/nodes", "", 0);
        server_create(ROOT "/locks", "", 0);
        server_create(RESOURCE, "", 0);
        server_create(BLOCKER, "", 99);
}

/* The job alone, until it waits. */
static void begin_alone(const char *configuration, const char *keys) {
        make_scene();
        tree_write(root, "jobkeeper.yaml", configuration);
        write_job_of("w0", keys);
        open_daemon();
        await(all_are_there, "the ledger");
        await(is_late_and_waits, "it waits");
        close_daemon();
        server_forget_watches();
}

/* One job runs, another waits for a lock until its start deadline is over; then the daemon is
 * restarted with that max-runs. */
static void begin_with(unsigned max_runs, ServerWay (*way)(const ZkCall *call)) {
        make_scene();
        configure(2);
        write_job_of("runs", "");
        write_job_of("w0", WAITS "    lock-wait: 4h\n");
        open_daemon();
        await(all_are_there, "all ledgers");
        await(has_started, "the other one runs");
        await(is_late_and_waits, "the start deadline");
        close_daemon();
        server_forget_watches();
        write_job_named("due", "    schedule: \"*-*-* *:*:*\"\n    exec: [/bin/true]\n");
        configure(max_runs);
        server.way = way;
        open_daemon_again();
}

static void free_the_resource(void) {
        server_delete(BLOCKER);
}

static bool has_started_too(void) {
        return started->len == 2;
}

/* Return: whether the tick's run is what started. */
static bool is_claimed(void) {
        g_autofree char *path =
            g_strdup_printf(ROOT "/jobs/w0/runs/%" G_GINT64_FORMAT "-1", the_tick);

        return has_started() && server_node(path);
}

static bool has_run(void) {
        return has_started_too() && is_claimed();
}

static bool due_is_in_line(void) {
        return gate_waits_for_place(coordinator->gate, "due");
}

/* ---- tests ---- */

static bool keeps;

/* And what is asked of their directory after them. */
static ServerWay keep_new_contenders(const ZkCall *call) {
        keeps |= call->request == REQUEST_CREATE && g_str_has_prefix(call->path, OWN "/");
        return keeps && call->path && g_str_has_prefix(call->path, OWN) ? SERVER_KEEP
                                                                        : SERVER_ANSWER;
}

static bool is_kept(void) {
        return keeps;
}

static bool stands_beside(void) {
        return contenders() == 2;
}

static bool stands_alone(void) {
        return contenders() == 1 && server_count(RESOURCE) == 2;
}

/* There is no moment at which nothing tells of it. */
Test(restored_waits, what_was_left_of_one_stays_until_it_stands_there_anew) {
        begin_with(2, keep_new_contenders);
        await(is_kept, "it queues again");
        await_quiet();
        cr_expect_eq(contenders(), 1);
        cr_expect_eq(server_count(RESOURCE), 2);
        server.way = NULL;
        server_release();
        await(stands_beside, "it does");
        await(stands_alone, "and what was left goes");
        free_the_resource();
        await(has_run, "it runs");
}

static ServerWay keep_looks(const ZkCall *call) {
        bool is_look = call->request == REQUEST_LIST && g_str_equal(call->path, OWN);

        keeps |= is_look;
        return is_look ? SERVER_KEEP : SERVER_ANSWER;
}

Test(restored_waits, one_has_its_place_before_whatever_is_due_by_then) {
        begin_with(2, keep_looks);
        await(is_kept, "what was waited for is looked at");
        serve_for(1200 * USEC_PER_MSEC);
        cr_expect_eq(started->len, 1, "nothing begins meanwhile");
        cr_expect_eq(server_count(RESOURCE), 2, "and nothing goes");
        server_release();
        await(due_is_in_line, "what is due stands in line");
        cr_expect(gate_has_place(coordinator->gate, "w0"), "it has not looked itself so far");
        server.way = NULL;
        server_release();
        free_the_resource();
        await(has_run, "the one that waited runs");
}

static bool is_known(void) {
        return !left_queues_busy(coordinator->left.queues);
}

/* Anybody may fill a queue: nothing here waits for its end. */
Test(restored_waits, a_look_that_takes_too_long_is_given_up) {
        usec_t begun;

        begin_with(2, keep_looks);
        await(is_kept, "what was waited for is looked at");
        begun = clock_boottime();
        await_within(is_known, "the end of the look", 6 * USEC_PER_SEC);
        cr_expect_geq(clock_boottime() - begun, 4 * USEC_PER_SEC);
        await(has_started_too, "what is due starts");
}

static bool is_suspended(void) {
        return session_state(coordinator->session) == SESSION_SUSPENDED;
}

static void lose_connection_for(usec_t span) {
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_SUSPENDED);
        await(is_suspended, "the connection is lost");
        serve_for(span);
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_CONNECTED);
}

/* Then nothing could be started anyway, and the answer has not had its time yet. */
Test(restored_waits, without_a_connection_a_look_is_not_given_up) {
        begin_with(2, keep_looks);
        await(is_kept, "what was waited for is looked at");
        lose_connection_for(4500 * USEC_PER_MSEC);
        serve_for(2 * USEC_PER_SEC);
        cr_expect(left_queues_busy(coordinator->left.queues));
        server.way = NULL;
        server_release();
        await(due_is_in_line, "what is due stands in line");
        cr_expect(gate_has_place(coordinator->gate, "w0"));
}

/* Nothing can stand there anew meanwhile. */
Test(restored_waits, without_a_connection_what_was_left_stays) {
        begin_with(2, keep_new_contenders);
        await(is_kept, "it queues again");
        await_quiet();
        lose_connection_for(5500 * USEC_PER_MSEC);
        await_quiet();
        cr_expect_eq(server_count(RESOURCE), 2);
        server.way = NULL;
        server_release();
        await(stands_alone, "it stands there anew, and what was left goes");
}

static bool is_given_up(void) {
        return contenders() == 0 && server_count(RESOURCE) == 1;
}

/* The others decide what becomes of it. */
Test(restored_waits, one_without_a_place_is_in_nobodys_way_for_long) {
        begin_with(1, NULL);
        await(due_is_in_line, "there is no place");
        cr_expect_eq(contenders(), 1);
        await(is_given_up, "what was left goes");
}

static unsigned sweeps;

static ServerWay count_sweeps(const ZkCall *call) {
        sweeps += call->request == REQUEST_LIST && g_str_equal(call->path, ROOT "/locks");
        return SERVER_ANSWER;
}

static bool is_running(void) {
        return has_started() && contenders() == 1;
}

/* Its contenders stay. */
Test(restored_waits, what_runs_is_not_one) {
        the_tick = now() + 2;
        configure(2);
        write_job_of("w0", WAITS "    lock-wait: 4h\n");
        open_daemon();
        await(is_running, "it runs");
        close_daemon();
        server_forget_watches();
        server.way = count_sweeps;
        open_daemon_again();
        serve_for(6 * USEC_PER_SEC); /* longer than what waited stays */
        cr_expect_eq(contenders(), 1);
        cr_expect_eq(sweeps, 1);
}

static void leave_waiter_of_another(void) {
        g_autofree char *payload = g_strdup_printf(
            "{\"node\":\"n2\",\"job\":\"w0\",\"tick\":%" G_GINT64_FORMAT "}", the_tick);

        server_create(OWN "/_c_11111111-0000-0000-0000-000000000000-__WRIT__0000000000", payload,
                      98);
}

static bool is_late(void) {
        return clock_realtime() > (usec_t)(the_tick + 1) * USEC_PER_SEC + USEC_PER_SEC / 10;
}

/* Another node waits for it, and goes on. */
Test(restored_waits, what_others_wait_for_is_not_ours) {
        make_scene();
        configure(2);
        write_job_of("w0", WAITS "    lock-wait: 4h\n");
        open_daemon();
        await(all_are_there, "the ledger");
        close_daemon();
        server_forget_watches();
        server_create(OWN, "", 0);
        leave_waiter_of_another();
        await(is_late, "its start deadline");
        open_daemon_again();
        await(all_are_there, "the ledger");
        await(is_known, "what was waited for");
        cr_expect_not(gate_has_place(coordinator->gate, "w0"));
        await_quiet();
        cr_expect_eq(contenders(), 1);
}

static bool is_skipped(void) {
        g_autofree char *path =
            g_strdup_printf(ROOT "/jobs/w0/runs/%" G_GINT64_FORMAT "-0", the_tick);

        return server_node(path);
}

static void leave_job_to_another(void) {
        make_scene();
        configure(2);
        write_job_of("w0", WAITS "    lock-wait: 4h\n    nodes: [n2]\n");
        open_daemon();
        await(all_are_there, "the ledger");
        server_create(OWN, "", 0);
}

/* It is no member at the moment, and nobody else can run it. */
Test(restored_waits, what_the_only_node_that_can_run_it_waits_for_is_not_skipped) {
        leave_job_to_another();
        leave_waiter_of_another();
        await(is_late, "its start deadline");
        serve_for(USEC_PER_SEC);
        cr_expect_not(is_skipped());
}

Test(restored_waits, what_no_node_can_run_and_nobody_waits_for_is_skipped) {
        leave_job_to_another();
        await(is_skipped, "it is skipped");
}

/* ---- its place of max-runs ---- */

#define ONE_PLACE ALONE "max-runs: 1\n"

static void add_due(void) {
        write_job_named("due", "    schedule: \"*-*-* *:*:*\"\n    exec: [/bin/true]\n");
}

static ServerWay refuse_ledger(const ZkCall *call) {
        return call->request == REQUEST_GET && g_str_equal(call->path, ROOT "/jobs/w0")
                   ? SERVER_REFUSE
                   : SERVER_ANSWER;
}

/* That may last. */
Test(restored_waits, one_whose_ledger_cannot_be_read_keeps_no_place) {
        begin_alone(ONE_PLACE, WAITS "    lock-wait: 4h\n");
        add_due();
        server.refusal = ZK_NO_AUTH;
        server.way = refuse_ledger;
        open_daemon_again();
        await(has_started, "what is due starts");
}

static void add_node(const char *name) {
        g_autofree char *path = g_strconcat(ROOT "/nodes/", name, NULL);

        server_create(path, "{\"machine\":\"m\",\"boot\":\"b\"}", 99);
}

Test(restored_waits, one_that_is_for_others_by_now_keeps_no_place) {
        begin_alone(ONE_PLACE, WAITS "    lock-wait: 4h\n");
        write_job_of("w0", WAITS "    lock-wait: 4h\n    nodes: [n2]\n");
        add_node("n2");
        add_due();
        open_daemon_again();
        await(has_started, "what is due starts");
}

/* Somebody stands there who cannot see ours. */
Test(restored_waits, one_whose_locks_cannot_be_had_keeps_no_place) {
        begin_alone(ONE_PLACE,
                    "    start-deadline: 1h\n    locks: {r: exclusive}\n    lock-wait: 4h\n");
        server_create(RESOURCE "/nonsense", "", 99);
        add_due();
        open_daemon_again();
        await(has_started, "what is due starts");
}

/* ---- a session that is lost meanwhile ---- */

static unsigned lists;

static ServerWay count_lists(const ZkCall *call) {
        lists += call->request == REQUEST_LIST &&
                 (g_str_equal(call->path, OWN) || g_str_equal(call->path, RESOURCE));
        return SERVER_ANSWER;
}

static void lose_session(void) {
        server.way = NULL;
        server_release();
        server_expire(last_session);
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_EXPIRED);
        cr_expect(is_known(), "nothing is looked for any more");
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_CONNECTED);
}

/* What was left went with it, and nobody looks after it. */
Test(restored_waits, nothing_is_left_of_one_in_the_next_session) {
        begin_with(2, keep_new_contenders);
        await(is_kept, "it queues again");
        await_quiet();
        lose_session();
        await(is_skipped, "nobody waits any more");
        server.way = count_lists;
        serve_for(6 * USEC_PER_SEC); /* longer than what was left would have stayed */
        cr_expect_eq(lists, 0);
}

Test(restored_waits, the_next_session_looks_for_nothing) {
        begin_with(2, keep_looks);
        await(is_kept, "what was waited for is looked at");
        lose_session();
        server.way = count_sweeps;
        await(is_skipped, "nobody waits any more");
        await_quiet();
        cr_expect_eq(sweeps, 0);
}

/* ---- in whose way ---- */

static bool is_ready_again(void) {
        return node_is_ready(coordinator->node);
}

/* Otherwise there would be one more each time, and nobody's at the front. */
Test(restored_waits, what_was_left_goes_also_where_the_daemon_ends_again_and_again) {
        begin_alone(ALONE, WAITS "    lock-wait: 4h\n");
        for (unsigned i = 0; i < 3; i++) {
                open_daemon_again();
                await(is_ready_again, "ready");
                await(stands_beside, "it stands there anew");
                await_within(stands_alone, "and what was left goes", 2 * USEC_PER_SEC);
                close_daemon();
                server_forget_watches();
        }
        open_daemon_again();
        await(is_ready_again, "ready");
        free_the_resource();
        await_within(is_claimed, "it runs", 2 * USEC_PER_SEC);
}

static bool little_time_is_left(void) {
        return clock_realtime() > (usec_t)(the_tick + 5) * USEC_PER_SEC - USEC_PER_SEC / 2;
}

/* Some of it would be left if that stayed for as long as it may. */
Test(restored_waits, what_was_left_is_not_long_in_the_way_of_one_with_little_time_left) {
        make_scene();
        tree_write(root, "jobkeeper.yaml", ALONE);
        write_job_of("w0", WAITS "    lock-wait: 9s\n");
        open_daemon();
        await(all_are_there, "the ledger");
        await(little_time_is_left, "it waits");
        close_daemon();
        server_forget_watches();
        open_daemon_again();
        await(is_ready_again, "ready");
        free_the_resource();
        await_within(is_claimed, "it runs", 2 * USEC_PER_SEC);
}

/* Its new contender stands behind the old one, and has not the time to wait for that. */
Test(restored_waits, one_that_waits_for_less_is_not_in_its_own_way) {
        begin_alone(ALONE,
                    "    start-deadline: 1h\n    locks: {r: exclusive}\n    lock-wait: 4s\n");
        open_daemon_again();
        serve_for(500 * USEC_PER_MSEC);
        free_the_resource();
        await(is_claimed, "it runs");
}

static void add_better_nodes(unsigned n) {
        for (unsigned i = 0; n > 0; i++) {
                g_autofree char *name = g_strdup_printf("p%u", i),
                                *path = g_strconcat(ROOT "/nodes/", name, NULL);

                if (placement_score("w0", name) <= placement_score("w0", "n1"))
                        continue;
                server_create(path, "{\"machine\":\"m\",\"boot\":\"b\"}", 99);
                n--;
        }
}

static bool is_past_its_deadline(void) {
        return clock_realtime() > (usec_t)(the_tick + 3) * USEC_PER_SEC;
}

/* Those would take the tick, were it due now, and our turn comes 9 s after it. */
Test(restored_waits, one_is_not_left_to_better_nodes) {
        begin_alone("node: {name: n1}\ntakeover-delay: 3s\n",
                    "    start-deadline: 3s\n    locks: {r: exclusive}\n    lock-wait: 4h\n");
        await(is_past_its_deadline, "it is late");
        add_better_nodes(3);
        open_daemon_again();
        await_within(stands_beside, "it stands there anew", 3 * USEC_PER_SEC);
        await(stands_alone, "what was left goes");
}

static unsigned looks;

static ServerWay count_looks(const ZkCall *call) {
        looks += call->request == REQUEST_GET && g_str_has_prefix(call->path, ROOT "/locks/");
        return SERVER_ANSWER;
}

static bool is_registered_anew(void) {
        return server_node(ROOT "/nodes/n1");
}

/* What stands there is not what the process before us left. */
Test(restored_waits, what_waits_goes_on_where_somebody_deletes_the_member) {
        begin_alone(ALONE, WAITS "    lock-wait: 4h\n");
        open_daemon_again();
        await(stands_beside, "it stands there anew");
        await(stands_alone, "what was left goes");
        serve_for(2 * MEMBERS_LIST_PERIOD); /* then they are read again at once */
        server.way = count_looks;
        server_delete(ROOT "/nodes/n1");
        await(is_registered_anew, "it is registered anew");
        free_the_resource();
        await(is_claimed, "it runs");
        cr_expect_eq(looks, 0);
}

static void wait_alone(void) {
        begin_alone(ALONE, WAITS "    lock-wait: 4h\n");
        open_daemon_again();
        await(stands_beside, "it stands there anew");
        await(stands_alone, "what was left goes");
}

/* It is no member yet, then begins anew, and looks what was left here. */
Test(restored_waits, what_waits_gets_its_locks_while_the_member_is_missing) {
        wait_alone();
        server_delete(ROOT "/nodes/n1");
        await(is_registered_anew, "it is registered anew");
        free_the_resource();
        await(is_claimed, "it runs");
}

/* ... likewise, and its clock was not compared for long. */
Test(restored_waits, what_waits_keeps_its_locks_until_the_clock_is_known) {
        wait_alone();
        coordinator->node->skew = (ClockSkew){0};
        server_delete(ROOT "/nodes/n1");
        free_the_resource();
        await(is_claimed, "it runs");
}

static ServerWay keep_the_member(const ZkCall *call) {
        return call->request == REQUEST_CREATE && g_str_equal(call->path, ROOT "/nodes/n1")
                   ? SERVER_KEEP
                   : SERVER_ANSWER;
}

static bool is_no_member(void) {
        return !members_registered(coordinator->members);
}

/* ... nor when it waits for the first time, and its lock comes before it is a member again. */
Test(restored_waits, who_waits_keeps_its_locks_until_it_is_a_member) {
        make_scene();
        configure(2);
        write_job_of("w0", WAITS "    lock-wait: 4h\n");
        open_daemon();
        await(all_are_there, "the ledger");
        await(is_late_and_waits, "the start deadline");
        coordinator->node->skew = (ClockSkew){0};
        server.way = keep_the_member;
        server_delete(ROOT "/nodes/n1");
        await(is_no_member, "it is no member");
        free_the_resource();
        serve_for(200 * USEC_PER_MSEC);
        server.way = NULL;
        server_release();
        await(has_started, "it runs");
}

static unsigned stands;

static ServerWay count_stands(const ZkCall *call) {
        stands += call->request == REQUEST_CREATE && g_str_has_prefix(call->path, OWN "/");
        return SERVER_ANSWER;
}

static bool has_left(void) {
        return contenders() == 0;
}

/* Its start deadline was over before the pause: it is late then, and not again and again in line.
 */
Test(restored_waits, one_leaves_the_queues_once_where_it_is_paused) {
        g_autofree char *pause = NULL;

        wait_alone();
        pause = g_strdup_printf(
            "{\"paused\":{\"jobs\":{\"w0\":{\"by\":\"bob\",\"since\":%" G_GINT64_FORMAT ".0}}}}",
            now());
        server.way = count_stands;
        server_write(ROOT "/control", pause);
        await(has_left, "it leaves the queues");
        serve_for(USEC_PER_SEC);
        cr_expect_eq(stands, 0);
        cr_expect_not(has_started());
}
