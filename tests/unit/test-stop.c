/* A run that somebody wants to end, in a whole daemon (bus-fixture.h): what it is asked by, who
 * does it, what is recorded, and what is none of this node's. */
#include <string.h>

#include "bus-fixture.h"
#include "runs.h"

#define ROOT "/jobkeeper"
#define LEDGER ROOT "/jobs/a"
#define RUNS LEDGER "/runs/"
#define REQUESTS ROOT "/requests"

TestSuite(stop, .init = setup_bus, .fini = teardown_bus, .timeout = 60);

static Run *the_run(void) {
        g_autoptr(GPtrArray) runs = runs_list(coordinator->runs);

        return runs->len > 0 ? runs->pdata[0] : NULL;
}

static bool is_running(void) {
        return the_run() && the_run()->phase == RUN_PHASE_RUNNING;
}

static bool is_being_stopped(void) {
        return service_newest()->stops > 0;
}

static bool is_settled(void) {
        return runs_count(coordinator->runs) == 0;
}

static bool is_not_asked(void) {
        return server_count(REQUESTS) == 0;
}

static bool is_asked(void) {
        return server_count(REQUESTS) > 0;
}

/* Return: the run's record; borrowed. */
static const char *record_of(const char *run) {
        g_autofree char *path = g_strconcat(RUNS, run, NULL);

        return server_data(path);
}

static char *begin(const char *keys) {
        char *run;

        (void)due_soon(keys);
        await_daemon_on_bus();
        await(is_running, "a run");
        run = g_strdup(the_run()->record->run);
        return run;
}

static void ask_stop(const char *job, const char *run) {
        ask_as(bus, BUS_NAME_ROOT, "Stop", "sss", job, run, "alice");
}

Test(stop, what_runs_here_is_stopped_and_recorded_so) {
        g_autofree char *run = begin("    retries: {attempts: 3}\n    on-owner-lost: rerun\n"),
                        *expected = g_strdup_printf(
                            "\"run\":\"%s\",\"node\":\"n1\",\"member\":true,\"service\":false",
                            run);

        ask_stop("a", "");
        expect_said(expected);
        await(is_being_stopped, "its unit is stopped");
        cr_expect(is_asked(), "should the machine crash now, the others are to see it");
        await(is_settled, "settled");
        await(is_not_asked, "the wish is gone");
        cr_expect(strstr(record_of(run), "\"state\":\"stopped\""), "%s", record_of(run));
        cr_expect(strstr(record_of(run), "\"why\":\"stopped by alice on n1\""), "%s",
                  record_of(run));
        cr_expect_null(strstr(server_data(LEDGER), "not_before"), "no attempt follows");
        ask_stop("a", "");
        expect_said("\"run\":null,\"node\":null");
        ask_stop("a", run);
        expect_said("\"run\":null,\"node\":null");
        cr_expect(is_not_asked());
}

Test(stop, of_a_service_it_is_told_that_it_is_one) {
        write_job("    mode: service\n    exec: [/bin/true]\n");
        open_daemon_on_bus();
        await(is_running, "a run");
        ask_stop("a", "");
        expect_said("\"member\":true,\"service\":true");
        await(is_being_stopped, "its unit is stopped");
}

Test(stop, one_run_by_its_id) {
        g_autofree char *run = begin("");

        ask_stop("a", "1000-1");
        expect_said("\"run\":null");
        ask_stop("a", run);
        expect_said("\"member\":true");
        await(is_being_stopped, "its unit is stopped");
}

static ServerWay keep_settles(const ZkCall *call) {
        return call->request == REQUEST_MULTI ? SERVER_KEEP : SERVER_ANSWER;
}

static bool is_final(void) {
        g_autoptr(GPtrArray) runs = runs_list(coordinator->runs);

        return runs->len == 0 && !strstr(server_data(LEDGER), "\"state\":\"claimed\"");
}

/* It ends, and before that is written another process comes. */
Test(stop, a_process_after_us_knows_who_had_it_ended) {
        g_autofree char *run = begin("    retries: {attempts: 3}\n    on-owner-lost: rerun\n");

        server.way = keep_settles;
        ask_stop("a", "");
        expect_said("\"member\":true");
        await(is_being_stopped, "its unit is stopped");
        close_daemon();
        server.way = NULL;
        open_daemon_again();
        await(is_final, "settled");
        cr_expect(strstr(record_of(run), "\"state\":\"stopped\""), "%s", record_of(run));
        cr_expect(strstr(record_of(run), "\"why\":\"stopped by alice on n1\""), "%s",
                  record_of(run));
        cr_expect_null(strstr(server_data(LEDGER), "not_before"), "no attempt follows");
}

/* Return: the run; newly allocated. */
static char *begin_again_if_lost(void) {
        return begin("    retries: {attempts: 3, delay: 0}\n    on-owner-lost: rerun\n");
}

static bool is_in_phase(RunPhase phase) {
        return the_run() && the_run()->phase == phase;
}

static bool is_stopping(void) {
        return is_in_phase(RUN_PHASE_STOPPING);
}

static bool is_draining(void) {
        return is_in_phase(RUN_PHASE_DRAINING);
}

static bool is_unwanted(void) {
        return the_run() && the_run()->unwanted;
}

/* By itself that would be tried again. */
Test(stop, a_run_that_is_being_ended_for_another_reason) {
        g_autofree char *run = begin_again_if_lost();

        service_manager.deaf = true;
        server_delete(the_run()->record->locks[0]);
        await(is_stopping, "its lock is lost");
        ask_stop("a", "");
        expect_said("\"member\":true");
        await(is_unwanted, "the wish is heard");
        service_manager.deaf = false;
        service_obey(service_newest());
        await(is_settled, "settled");
        cr_expect(strstr(record_of(run), "\"state\":\"stopped\""), "%s", record_of(run));
        cr_expect(strstr(record_of(run), "\"why\":\"stopped by alice on n1\""), "%s",
                  record_of(run));
        cr_expect_null(strstr(server_data(LEDGER), "not_before"), "no attempt follows");
        cr_expect_eq(started->len, 1);
}

/* Its command has failed, and what that left is still there. */
Test(stop, a_run_that_has_failed_meanwhile) {
        g_autofree char *run = begin_again_if_lost();

        service_newest()->lingers = true;
        service_exit(service_newest(), 5);
        await(is_draining, "what it left is ended");
        ask_stop("a", "");
        expect_said("\"member\":true");
        await(is_unwanted, "the wish is heard");
        service_empty(service_newest());
        await(is_settled, "settled");
        cr_expect(strstr(record_of(run), "\"state\":\"failed\""), "%s", record_of(run));
        cr_expect_null(strstr(server_data(LEDGER), "not_before"), "no attempt follows");
        cr_expect_eq(started->len, 1);
}

static bool has_ended(void) {
        return !service_is_alive(service_newest());
}

static bool its_end_is_noted(void) {
        g_autoptr(GHashTable) ended = ended_units_load(coordinator->node->runtime_dir);

        return g_hash_table_contains(ended, service_newest()->name);
}

static bool its_end_is_taken_back(void) {
        return !its_end_is_noted();
}

/* Its lock is lost; PID 1 hangs, so that what is asked of it is not heard before the command ends
 * by itself. */
static void lose_its_lock_unheard(void) {
        server.way = keep_settles;
        service_manager.deaf = true;
        server_delete(the_run()->record->locks[0]);
        await(is_stopping, "its lock is lost");
        await(its_end_is_noted, "that is noted");
        service_newest()->stops = 0;
}

/* What the process before saw is not known to this one, which finds the unit. */
static void restart_with_answers(void) {
        await(has_ended, "it has ended");
        serve_for(100 * USEC_PER_MSEC);
        close_daemon();
        server.way = NULL;
        open_daemon_again();
        await(is_final, "settled");
}

Test(stop, what_failed_by_itself_is_not_said_to_have_been_ended_by_a_process_after_us) {
        g_autofree char *run = begin_again_if_lost();

        lose_its_lock_unheard();
        service_exit(service_newest(), 5);
        await(its_end_is_taken_back, "the note is taken back");
        restart_with_answers();
        cr_expect(strstr(record_of(run), "\"state\":\"failed\""), "%s", record_of(run));
}

Test(stop, what_took_too_long_is_not_said_to_have_been_ended_by_a_process_after_us) {
        g_autofree char *run = begin_again_if_lost();

        lose_its_lock_unheard();
        service_end(service_newest(), UNIT_OUTCOME_TIMEOUT, SIGTERM, "timeout");
        await(its_end_is_taken_back, "the note is taken back");
        restart_with_answers();
        cr_expect(strstr(record_of(run), "\"state\":\"timed-out\""), "%s", record_of(run));
}

/* Somebody asked for that end: whatever it came to, no attempt follows. */
Test(stop, what_failed_while_somebody_had_it_ended_keeps_its_note) {
        g_free(begin_again_if_lost());
        server.way = keep_settles;
        service_manager.deaf = true;
        ask_stop("a", "");
        await(is_stopping, "it is to end");
        service_newest()->stops = 0; /* not heard either */
        service_exit(service_newest(), 5);
        restart_with_answers();
        cr_expect(its_end_is_noted());
        cr_expect_null(strstr(server_data(LEDGER), "not_before"), "no attempt follows");
}

/* Asked for on another node, by somebody whose words are not fit for a log. */
static void wish(const char *id, const char *run, const char *node) {
        g_autofree char *path = g_strconcat(REQUESTS "/", id, NULL),
                        *data = g_strdup_printf(
                            "{\"job\":\"a\",\"run\":\"%s\",\"on\":\"%s\",\"by\":\"bob "
                            "\\u001b[1m\\non n2\",\"node\":\"n2\",\"not_after\":%" G_GINT64_FORMAT
                            "}",
                            run, node, (int64_t)(clock_realtime() / USEC_PER_SEC) + 1);

        server_create(path, data, 0);
        server_fire_parent(path);
}

Test(stop, what_was_asked_for_on_another_node) {
        g_autofree char *run = begin("");

        wish("1000-s0badcafe", run, "n1");
        await(is_being_stopped, "its unit is stopped");
        await(is_settled, "settled");
        cr_expect(strstr(record_of(run), "\"why\":\"stopped by bob ?[1m?on n2\""), "%s",
                  record_of(run));
        cr_expect(strstr(record_of(run), "\"state\":\"stopped\""), "%s", record_of(run));
}

/* It goes when its time is over. */
Test(stop, what_is_none_of_ours_is_left_alone) {
        g_autofree char *run = begin("");

        wish("1000-s0badcafe", run, "n2");
        wish("1000-s1badcafe", "1000-1", "n1");
        wish("1000-s2badcafe", "../../x", "n1");
        wish("1000-m2badcaf-", run, "n1");
        serve_for(1500 * USEC_PER_MSEC);
        cr_expect_not(is_being_stopped());
        cr_expect_eq(server_count(REQUESTS), 4);
}

/* What is no wish, and what is of another node: whoever settles for that is to see it. */
static bool is_one_gone(void) {
        return server_count(REQUESTS) == 4;
}

Test(stop, a_wish_whose_time_is_over_goes) {
        g_autofree char *run = begin("");

        server_write(ROOT "/nodes/n2", "{\"machine\":\"m2\",\"boot\":\"b\"}");
        wish("1000-s0badcafe", "1000-1", "n1");
        wish("1000-s1badcafe", run, "n2");
        wish("1000-s2badcafe", "../../x", "n1");
        wish("1000-s3badcafe", "1000-1", "n9");
        wish("1000-sxyz", run, "n1");
        await_within(is_one_gone, "those that are none of ours stay", 15 * USEC_PER_SEC);
        cr_expect_str_eq(server_data(REQUESTS "/1000-s0badcafe"), "");
        cr_expect_not(is_being_stopped());
}

static bool is_one_left(void) {
        return server_count(REQUESTS) == 1;
}

/* What is asked to end takes its time: should this machine crash meanwhile, the wish is to be
 * there. */
Test(stop, a_wish_outlives_its_time_while_its_run_is_being_ended) {
        g_autofree char *run = begin("");

        service_manager.deaf = true;
        wish("1000-s0badcafe", run, "n1");
        wish("1000-s1badcafe", "1000-1", "n1");
        await(is_being_stopped, "its unit is asked to stop");
        await_within(is_one_left, "the one with no run goes", 15 * USEC_PER_SEC);
        serve_for(2 * USEC_PER_SEC);
        cr_expect_str_neq(server_data(REQUESTS "/1000-s0badcafe"), "",
                          "the one that is heeded stays");
        service_manager.deaf = false;
        service_obey(service_newest());
        await(is_not_asked, "gone with the run");
}

/* The claim is written, and its answer is not there yet: the wish waits for it. */
Test(stop, a_run_that_is_about_to_begin) {
        int64_t tick = due_soon("");
        g_autofree char *run = g_strdup_printf("%" G_GINT64_FORMAT "-1", tick);

        await_daemon_on_bus();
        wish("1000-s0badcafe", run, "n1");
        await(is_running, "a run");
        await(is_being_stopped, "its unit is stopped");
}

/* Its node is out of touch: whoever asks hears that. */
Test(stop, what_runs_on_a_node_that_is_away) {
        g_autofree char *ledger = NULL;
        g_auto(GStrv) parts = NULL;

        g_free(begin(""));
        parts = g_strsplit(server_data(LEDGER), "\"node\":\"n1\"", -1);
        ledger = g_strjoinv("\"node\":\"n9\"", parts);
        server_write(LEDGER, ledger);
        ask_stop("a", "");
        expect_said("\"node\":\"n9\",\"member\":false");
        await(is_asked, "it is asked all the same");
        serve_for(500 * USEC_PER_MSEC);
        cr_expect_not(is_being_stopped());
}

static ServerWay lose_requests(const ZkCall *call) {
        return call->path && g_str_has_prefix(call->path, REQUESTS "/") ? SERVER_LOSE
                                                                        : SERVER_ANSWER;
}

static ServerWay refuse_requests(const ZkCall *call) {
        return call->path && g_str_has_prefix(call->path, REQUESTS "/") ? SERVER_REFUSE
                                                                        : SERVER_ANSWER;
}

Test(stop, what_cannot_be) {
        g_free(begin(""));
        ask_stop("../a", "");
        expect_said("that can be no job's name, or no run's id");
        ask_stop("a", "../x");
        expect_said("that can be no job's name, or no run's id");
        ask_stop("nosuch", "");
        expect_said("there is no job \"nosuch\" on this node");
        server.way = refuse_requests;
        server.refusal = ZK_NO_AUTH;
        ask_stop("a", "");
        expect_said("the request could not be written");
        server.way = lose_requests;
        ask_stop("a", "");
        expect_said("no reply from ZooKeeper: the run may still be stopped");
}
