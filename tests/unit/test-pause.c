/* A job that is paused, or all, in a whole daemon (bus-fixture.h): nothing of it begins, what runs
 * goes on, what comes due is skipped as paused and never caught up with; and how it is asked for.
 */
#include <string.h>

#include "bus-fixture.h"
#include "control-pause.h"
#include "journal.h"
#include "runs.h"
#include "tree.h"

#define ROOT "/jobkeeper"
#define CONTROL ROOT "/control"
#define PAUSED_A                                                                                   \
        "{\"paused\":{\"jobs\":{\"a\":{\"by\":\"alice on n2\",\"why\":\"new "                      \
        "db\",\"since\":1763000000}}}}"
#define PAUSED_ALL "{\"paused\":{\"all\":{\"by\":\"bob\",\"since\":1763000000}}}"

TestSuite(pause, .init = setup_bus, .fini = teardown_bus, .timeout = 60);

static bool is_ready(void) {
        return node_is_ready(coordinator->node);
}

static bool is_paused(void) {
        const json_t *control = drain_view_control(tree_drain_view(coordinator->tree));

        return control_is_paused(control, "a", clock_realtime(), NULL) ||
               control_is_paused(control, NULL, clock_realtime(), NULL);
}

static void each_second(void) {
        write_job("    every: 1s\n    exec: [/bin/true]\n");
}

static void with_control(const char *data) {
        server_create(ROOT, "", 0);
        server_create(CONTROL, data, 0);
}

static bool three_are_skipped(void) {
        return records_that_say("\"count\":3") > 0;
}

static bool one_is_skipped(void) {
        return records_that_say("\"state\":\"skipped\"") > 0;
}

/* ---- what it means ---- */

Test(pause, what_comes_due_is_skipped_in_one_record_and_then_it_begins_again) {
        with_control(PAUSED_A);
        each_second();
        open_daemon();
        await(three_are_skipped, "three ticks");
        cr_expect_eq(started->len, 0U);
        cr_expect_eq(records_that_say("\"why\":\"paused by alice on n2: new db\""), 1U);
        server_write(CONTROL, "{}");
        await(a_run_goes_on, "a run");
        cr_expect_eq(records_that_say("\"state\":\"skipped\""), 1U);
}

Test(pause, all_are_paused) {
        with_control(PAUSED_ALL);
        each_second();
        open_daemon();
        await(one_is_skipped, "a tick");
        cr_expect_eq(started->len, 0U);
        cr_expect_eq(records_that_say("\"why\":\"all jobs are paused by bob\""), 1U);
}

/* Each would be a line of the log otherwise, of whoever can write there. */
Test(pause, many_at_once_are_told_in_a_few_lines) {
        GString *control = g_string_new("{\"paused\":{\"jobs\":{\"a\":{}");

        for (unsigned i = 0; i < 99; i++)
                g_string_append_printf(control, ",\"j%u\":{}", i);
        g_string_append(control, "}}}");
        with_control("{}");
        each_second();
        open_daemon();
        await(is_ready, "ready");
        server_write(CONTROL, control->str);
        await(is_paused, "paused");
        cr_expect_eq(journal_count(MESSAGE_PAUSED), 17U);
        cr_expect(journal_has("the same changed of 84 more jobs (jobkeeper status)"));
        g_string_free(control, TRUE);
}

Test(pause, another_job_is_none_of_its_business) {
        with_control("{\"paused\":{\"jobs\":{\"b\":{},\"aa\":{}}}}");
        each_second();
        open_daemon();
        await(a_run_goes_on, "a run");
}

Test(pause, what_runs_goes_on_and_nothing_follows_it) {
        each_second();
        open_daemon();
        await(a_run_goes_on, "a run");
        server_write(CONTROL, PAUSED_A);
        await(is_paused, "paused");
        serve_for(300 * USEC_PER_MSEC);
        cr_expect_eq(service_newest()->stops + service_newest()->kills, 0);
        service_exit(service_newest(), 0);
        await(three_are_skipped, "three ticks");
        cr_expect_eq(started->len, 1U);
        cr_expect_eq(runs_count(coordinator->runs), 0U, "it is settled");
}

/* It is over, and nobody looked while it lasted. */
Test(pause, what_came_by_its_end_is_not_caught_up_with) {
        g_autofree char *over = NULL;
        int64_t tick = due_soon("    start-deadline: 1h\n");

        over = g_strdup_printf("{\"paused\":{\"all\":{\"by\":\"bob\",\"since\":1763000000,"
                               "\"until\":%" G_GINT64_FORMAT ".5}}}",
                               tick);
        server_write(CONTROL, over);
        await(one_is_skipped, "the tick");
        cr_expect_eq(started->len, 0U);
        cr_expect_eq(records_that_say("\"why\":\"all jobs are paused by bob\""), 1U);
}

/* A second later it is none of the pause's. */
Test(pause, what_comes_after_its_end_begins) {
        g_autofree char *over = NULL;
        int64_t tick = due_soon("    start-deadline: 1h\n");

        over = g_strdup_printf("{\"paused\":{\"jobs\":{\"a\":{\"by\":\"bob\",\"since\":1763000000,"
                               "\"until\":%" G_GINT64_FORMAT ".999}}}}",
                               tick - 1);
        server_write(CONTROL, over);
        await(a_run_goes_on, "the run");
}

static bool queues(void) {
        return server_count(ROOT "/locks/db") > 1;
}

static bool queues_no_more(void) {
        return server_count(ROOT "/locks/db") == 1;
}

Test(pause, what_queues_for_a_lock_leaves_the_queue) {
        with_control("{}");
        server_create(ROOT "/locks", "", 0);
        server_create(ROOT "/locks/db", "", 0);
        server_create(ROOT "/locks/db/_c_00000000-0000-0000-0000-000000000001-__WRIT__0000000000",
                      "", 77);
        (void)due_soon("    locks: {db: exclusive}\n    lock-wait: 1h\n");
        await(queues, "it queues");
        server_write(CONTROL, PAUSED_A);
        await(queues_no_more, "it has left");
        await(one_is_skipped, "the tick");
        cr_expect_eq(records_that_say("\"why\":\"paused by alice on n2: new db\""), 1U);
}

static ServerWay keep_claims(const ZkCall *call) {
        return call->request == REQUEST_MULTI && runs_count_claims(coordinator->runs) > 0
                   ? SERVER_KEEP
                   : SERVER_ANSWER;
}

static bool is_claiming(void) {
        return runs_count_claims(coordinator->runs) > 0 && g_queue_get_length(&server.kept) > 0;
}

/* It was written before the claim: the claim's own check says so. */
Test(pause, a_claim_that_comes_too_late_is_none) {
        each_second();
        open_daemon();
        await(is_ready, "ready");
        server.way = keep_claims;
        await(is_claiming, "a claim");
        server_write(CONTROL, PAUSED_A);
        server.way = NULL;
        server_release();
        await(three_are_skipped, "three ticks");
        cr_expect_eq(started->len, 0U);
        cr_expect_eq(server_count(ROOT "/open/n1"), 0);
}

static bool is_retry_owed(void) {
        const char *ledger = server_data(ROOT "/jobs/a");

        return ledger && strstr(ledger, "not_before");
}

static bool is_given_up(void) {
        return records_that_say("attempt 2 is not made: paused by alice on n2: new db") > 0;
}

Test(pause, a_retry_waits_and_is_given_up_at_its_start_deadline) {
        (void)due_soon("    retries: {attempts: 3, delay: 1s}\n    start-deadline: 2s\n");
        await(a_run_goes_on, "a run");
        service_exit(service_newest(), 1);
        await(is_retry_owed, "a retry");
        server_write(CONTROL, PAUSED_A);
        await(is_given_up, "given up");
        cr_expect_eq(started->len, 1U);
}

static bool has_started_again(void) {
        return started->len > 1;
}

Test(pause, a_retry_that_waited_begins_afterwards) {
        (void)due_soon("    retries: {attempts: 3, delay: 1s}\n    start-deadline: 1h\n");
        await(a_run_goes_on, "a run");
        service_exit(service_newest(), 1);
        await(is_retry_owed, "a retry");
        server_write(CONTROL, PAUSED_A);
        serve_for(1500 * USEC_PER_MSEC);
        cr_expect_eq(started->len, 1U);
        server_write(CONTROL, "{\"paused\":{\"jobs\":{\"a\":{\"until\":1763000001}}}}");
        await(has_started_again, "the retry");
}

/* ---- asking for it ---- */

static void ask_pause(const char *job, const char *why) {
        ask_as(bus, BUS_NAME_ROOT, "Pause", "sss", job, why, "alice");
}

static void ask_resume(const char *job) {
        ask_as(bus, BUS_NAME_ROOT, "Resume", "s", job);
}

static void begin(void) {
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        open_daemon_on_bus();
}

Test(pause, a_job_and_back) {
        begin();
        ask_pause("a", "new db");
        expect_said("\"job\":\"a\",\"paused\":{\"all\":false,\"by\":\"alice on n1\",\"why\":\"new "
                    "db\",\"since\":");
        expect_said("\"all\":null,\"changed\":true");
        await(is_paused, "paused");
        ask_as(bus, BUS_NAME_ROOT, "Status", NULL);
        expect_said("\"paused\":null");
        expect_said("\"state\":\"paused\",\"why\":\"paused by alice on n1: new db\",\"paused\":{");
        ask_as(bus, BUS_NAME_ROOT, "Next", "su", "a", 1U);
        expect_said("\"paused\":{\"all\":false,\"by\":\"alice on n1\"");
        ask_as(bus, BUS_NAME_ROOT, "Pause", "sss", "a", "", "bob");
        expect_said("\"by\":\"alice on n1\"");
        expect_said("\"changed\":false");
        ask_as(bus, BUS_NAME_ROOT, "Pause", "sss", "a", "for long", "bob");
        expect_said("\"by\":\"bob on n1\",\"why\":\"for long\"");
        ask_resume("a");
        expect_said("\"paused\":null,\"all\":null,\"changed\":true");
        ask_resume("a");
        expect_said("\"changed\":false");
        cr_expect_not_null(strstr(server_data(CONTROL), "\"until\":"));
        ask_as(bus, BUS_NAME_ROOT, "Status", NULL);
        expect_said("\"state\":\"idle\"");
}

Test(pause, all_and_back) {
        begin();
        ask_pause("", "");
        expect_said("\"job\":null,\"paused\":null,\"all\":{\"all\":true,\"by\":\"alice on n1\"");
        await(is_paused, "paused");
        ask_as(bus, BUS_NAME_ROOT, "Status", NULL);
        expect_said("\"paused\":{\"all\":true,\"by\":\"alice on n1\"");
        expect_said("\"state\":\"paused\",\"why\":\"all jobs are paused by alice on n1\"");
        ask_resume("a");
        expect_said("\"paused\":null,\"all\":{\"all\":true");
        expect_said("\"changed\":false");
        ask_resume("");
        expect_said("\"all\":null,\"changed\":true");
}

Test(pause, how_many_stay_paused_by_name) {
        begin();
        ask_pause("", "");
        expect_said("\"by_name\":0");
        ask_pause("a", "");
        expect_said("\"by_name\":1");
        ask_resume("");
        expect_said("\"by_name\":1");
}

/* Somebody put it there, or it was resumed by a clock that was ahead. */
Test(pause, one_with_an_end_far_ahead_is_shown_and_can_be_ended) {
        with_control("{\"paused\":{\"jobs\":{\"a\":{\"by\":\"x\",\"until\":4000000000}}}}");
        begin();
        await(is_paused, "paused");
        ask_as(bus, BUS_NAME_ROOT, "Status", NULL);
        expect_said("\"state\":\"paused\",\"why\":\"paused by x\"");
        ask_as(bus, BUS_NAME_ROOT, "Run", "s", "a");
        expect_said("job \"a\" is paused by x");
        ask_resume("a");
        expect_said("\"changed\":true");
        ask_as(bus, BUS_NAME_ROOT, "Run", "s", "a");
        expect_said("\"run\":");
}

/* Ours may be years ahead, and the end of a pause is for all to go by. */
Test(pause, none_is_ended_by_a_clock_that_was_not_compared) {
        begin();
        ask_pause("a", "");
        expect_said("\"changed\":true");
        coordinator->node->skew = (ClockSkew){0};
        ask_resume("a");
        expect_said("this node's clock was not compared with ZooKeeper's yet");
        cr_expect_null(strstr(server_data(CONTROL), "\"until\":"));
}

/* Neither now nor what was asked for just before. */
Test(pause, a_manual_run_is_refused) {
        begin();
        ask_pause("a", "new db");
        expect_said("\"changed\":true");
        await(is_paused, "paused");
        ask_as(bus, BUS_NAME_ROOT, "Run", "s", "a");
        expect_said("job \"a\" is paused by alice on n1: new db (jobkeeper resume a)");
        cr_expect_eq(server_count(ROOT "/requests"), 0);
        ask_resume("a");
        expect_said("\"changed\":true");
        ask_pause("", "");
        expect_said("\"changed\":true");
        ask_as(bus, BUS_NAME_ROOT, "Run", "s", "a");
        expect_said("all jobs are paused by alice on n1 (jobkeeper resume --all)");
}

static ServerWay lose_watches(const ZkCall *call) {
        return call->request == REQUEST_GET && g_str_equal(call->path, CONTROL) ? SERVER_KEEP
                                                                                : SERVER_ANSWER;
}

static bool is_requested(void) {
        return server_count(ROOT "/requests") > 0;
}

/* Whoever took the request did not know of the pause: its claim is refused, and then it is told. */
Test(pause, a_manual_run_that_was_asked_for_before_is_skipped) {
        begin();
        server.way = lose_watches;
        server_write(CONTROL, PAUSED_A);
        ask_as(bus, BUS_NAME_ROOT, "Run", "s", "a");
        await(is_requested, "the request");
        server.way = NULL;
        server_release();
        await(one_is_skipped, "refused");
        cr_expect_eq(started->len, 0U);
        cr_expect_eq(records_that_say("\"why\":\"paused by alice on n2: new db\""), 1U);
}

static ServerWay keep_writes(const ZkCall *call) {
        return call->request == REQUEST_SET && g_str_equal(call->path, CONTROL) ? SERVER_KEEP
                                                                                : SERVER_ANSWER;
}

static bool is_kept(void) {
        return g_queue_get_length(&server.kept) > 0;
}

Test(pause, what_somebody_else_wrote_meanwhile_is_kept) {
        begin();
        server.way = keep_writes;
        ask_pause("a", "");
        await(is_kept, "it is to be written");
        server_write(CONTROL, "{\"id\":\"x\",\"drained\":{\"n8\":{}}}");
        server.way = NULL;
        server_release();
        expect_said("\"changed\":true");
        cr_expect(g_str_has_prefix(server_data(CONTROL),
                                   "{\"id\":\"x\",\"drained\":{\"n8\":{}},\"paused"));
}

static ServerWay lose_answers(const ZkCall *call) {
        return call->request == REQUEST_SET && g_str_equal(call->path, CONTROL) ? SERVER_LOSE_ANSWER
                                                                                : SERVER_ANSWER;
}

static ServerWay refuse_writes(const ZkCall *call) {
        return call->request == REQUEST_SET && g_str_equal(call->path, CONTROL) ? SERVER_REFUSE
                                                                                : SERVER_ANSWER;
}

Test(pause, what_cannot_be) {
        begin();
        ask_pause("../x", "");
        expect_said("there is no job \"../x\" on this node");
        ask_pause("aa", "");
        expect_said("there is no job \"aa\" on this node (did you mean \"a\"?)");
        ask_resume("zzzz");
        expect_said("there is no job \"zzzz\" on this node");
        server.way = refuse_writes;
        server.refusal = ZK_NO_AUTH;
        ask_pause("a", "");
        expect_said("ZooKeeper permits no change of the control node");
        server.refusal = ZK_BAD_VERSION;
        ask_pause("a", "");
        expect_said("others change the control node in ZooKeeper all the time: try again");
        server.way = lose_answers;
        ask_pause("a", "");
        expect_said("no reply from ZooKeeper: it may still be done; try again");
        server.way = NULL;
        server_write(CONTROL, "rubbish");
        ask_pause("a", "");
        expect_said("the control node in ZooKeeper is damaged");
        cr_expect_str_eq(server_data(CONTROL), "rubbish");
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        ask_pause("a", "");
        expect_said("ZooKeeper");
}

/* A job that has left the files may be paused still. */
Test(pause, one_that_is_gone_is_resumed) {
        with_control("{\"paused\":{\"jobs\":{\"gone\":{}}}}");
        begin();
        ask_pause("gone", "");
        expect_said("there is no job \"gone\" on this node");
        ask_resume("gone");
        expect_said("\"changed\":true");
}

/* What somebody says reaches the log, the ledger and terminals. */
Test(pause, what_is_said_is_cleaned) {
        begin();
        ask_pause("a", "x\x1b[31m\ny");
        expect_said("\"why\":\"x?[31m?y\"");
}
