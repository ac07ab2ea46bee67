/* A run whose end a person says, in a whole daemon (bus-fixture.h): of which it is taken, what is
 * recorded then, what becomes of its tick, and that whoever saw the end does not change it. */
#include <string.h>
#include <unistd.h>

#include "bus-fixture.h"
#include "ledger-change.h"
#include "ledger.h"
#include "paths.h"
#include "runs.h"

#define ROOT "/jobkeeper"
#define LEDGER ROOT "/jobs/a"
#define RUNS LEDGER "/runs/"
#define FAR "    schedule: \"2096-02-29 00:00:00\"\n    exec: [/bin/true]\n"
#define SECOND ((usec_t)USEC_PER_SEC)

TestSuite(resolve, .init = setup_bus, .fini = teardown_bus, .timeout = 60);

/* Return: the run's record; borrowed. */
static const char *record_of(const char *run) {
        g_autofree char *path = g_strconcat(RUNS, run, NULL);

        return server_data(path);
}

static Ledger *ledger_at(const char *path) {
        const char *data = server_data(path);
        Ledger *ledger = NULL;

        cr_assert_eq(ledger_decode(data, strlen(data), &ledger), 0, "%s", data);
        return ledger;
}

static Ledger *the_ledger(void) {
        return ledger_at(LEDGER);
}

static bool has_ledger(void) {
        return server_node(LEDGER) && strstr(server_data(LEDGER), "\"digest\"");
}

static void open_idle_daemon(const char *keys) {
        g_autofree char *job = g_strconcat(FAR, keys, NULL);

        write_job(job);
        open_daemon_on_bus();
        await(has_ledger, "a ledger");
}

/* Of node n2, claimed two minutes ago. */
static RunRecord *claim_elsewhere(int64_t tick, unsigned attempt) {
        g_autofree char *run = run_id_for_tick(tick, attempt);
        RunRecord *record = run_record_new("a", run);

        record->tick = tick;
        record->attempt = attempt;
        record->node = g_strdup("n2");
        record->nonce = g_strdup("0123");
        record->state = RUN_CLAIMED;
        record->claimed = clock_realtime() - 120 * SECOND;
        return record;
}

static void write_record(const RunRecord *record) {
        g_autofree char *path = g_strconcat(RUNS, record->run, NULL),
                        *data = run_record_encode(record);

        if (server_node(path))
                server_write(path, data);
        else
                server_create(path, data, 0);
}

/* Its node disappeared, and others recorded that. */
static void settle_elsewhere(RunRecord *record, RunState state) {
        record->state = state;
        record->why = g_strdup("node n2 disappeared during the run");
        record->ended = clock_realtime() - 60 * SECOND;
        write_record(record);
}

/* Return: the run, which is recorded so, and stands in the ledger; newly allocated. */
static char *run_elsewhere(RunState state, unsigned retries, bool rerun) {
        _cleanup_(run_record_freep) RunRecord *record =
            claim_elsewhere((int64_t)(clock_realtime() / SECOND) - 180, 1);
        _cleanup_(ledger_freep) Ledger *ledger = the_ledger();
        g_autofree char *data = NULL;

        record->terms.rerun = rerun;
        record->terms.attempts = retries;
        record->terms.delay = record->terms.max_delay = 3600 * SECOND;
        ledger->mark = 0;
        ledger->from = record->tick - 100;
        cr_assert_eq(ledger_claim(ledger, record), 0);
        if (run_state_is_final(state)) {
                settle_elsewhere(record, state);
                /* far off, so that nobody begins it */
                (void)ledger_settle(ledger, record, NULL, clock_realtime() + 3600 * SECOND);
        } else {
                write_record(record);
        }
        data = ledger_encode(ledger);
        server_write(LEDGER, data);
        return g_strdup(record->run);
}

static void ask_resolve(const char *run, const char *state, const char *why) {
        ask_as(bus, BUS_NAME_ROOT, "Resolve", "sssss", "a", run, state, why, "alice");
}

static void expect_record(const char *run, const char *part) {
        cr_expect(strstr(record_of(run), part), "%s: %s", part, record_of(run));
}

/* The command says who types it; the bus takes any text. */
Test(resolve, who_it_was_is_fit_to_be_shown) {
        g_autofree char *run = NULL, *long_one = g_strnfill(100000, 'x'),
                        *who = g_strconcat("eve\x1b[2J\n", long_one, NULL);

        open_idle_daemon("");
        run = run_elsewhere(RUN_UNKNOWN, 0, false);
        ask_as(bus, BUS_NAME_ROOT, "Resolve", "sssss", "a", run, "failed", "seen", who);
        expect_said("\"state\":\"failed\"");
        expect_record(run, "\"resolved_by\":\"eve?[2J?xxx");
        cr_expect_lt(strlen(record_of(run)), 2000);
}

Test(resolve, what_is_unknown_is_recorded_as_it_is_said) {
        g_autofree char *run = NULL;
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        open_idle_daemon("");
        run = run_elsewhere(RUN_UNKNOWN, 1, false);
        ask_resolve(run, "succeeded", "the dump is there");
        expect_said("\"state\":\"succeeded\"");
        expect_record(run, "\"state\":\"succeeded\"");
        expect_record(run, "\"why\":\"resolved by alice on n1: the dump is there\"");
        expect_record(run, "\"resolved_by\":\"alice on n1\"");
        expect_record(run, "\"was_unknown\":\"node n2 disappeared during the run\"");
        expect_record(run, "\"nonce\":\"0123\"");
        ledger = the_ledger();
        cr_assert_not_null(ledger->last);
        cr_expect_eq(ledger->last->state, RUN_SUCCEEDED);
        cr_expect_eq(ledger->succeeded, ledger->last->ended, "a success, when it was found gone");
        ask("History", "su", "a", 1);
        expect_said("resolved by alice on n1: the dump is there");
        ask("Status", NULL);
        expect_said("resolved by alice on n1: the dump is there");
        ask("Explain", "sx", "a", ledger->last->tick);
        expect_said("resolved by alice on n1: the dump is there");
}

Test(resolve, but_only_once) {
        g_autofree char *run = NULL;

        open_idle_daemon("");
        run = run_elsewhere(RUN_UNKNOWN, 1, false);
        ask_resolve(run, "failed", "it is empty");
        expect_said("\"state\":\"failed\"");
        ask_resolve(run, "succeeded", "no, it is there");
        expect_said("is known to have ended: failed: resolved by alice on n1: it is empty");
        expect_record(run, "\"state\":\"failed\"");
}

static const LedgerEntry *retry(const Ledger *ledger) {
        return ledger_first_retry(ledger);
}

Test(resolve, a_rerun_that_has_not_begun_is_given_up) {
        g_autofree char *run = NULL;
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        open_idle_daemon("    on-owner-lost: rerun\n");
        run = run_elsewhere(RUN_UNKNOWN, 1, true);
        ledger = the_ledger();
        cr_assert_not_null(retry(ledger), "it is to be attempted again");
        ask_resolve(run, "succeeded", "seen");
        expect_said("\"state\":\"succeeded\"");
        ledger_free(ledger);
        ledger = the_ledger();
        cr_expect_null(retry(ledger));
        cr_expect_geq(ledger->freed, clock_realtime() - 10 * SECOND, "until now others waited");
}

/* A failure is followed by what follows failures. */
Test(resolve, a_failure_is_attempted_again_where_attempts_are_left) {
        g_autofree char *run = NULL;
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        open_idle_daemon(
            "    retries: {attempts: 3, delay: 1h, max-delay: 1h}\n    on-owner-lost: rerun\n");
        run = run_elsewhere(RUN_UNKNOWN, 3, true);
        ask_resolve(run, "failed", "seen");
        expect_said("\"state\":\"failed\"");
        ledger = the_ledger();
        cr_assert_not_null(retry(ledger));
        cr_expect_eq(retry(ledger)->state, RUN_FAILED);
}

Test(resolve, what_was_not_to_be_attempted_again_is_not_because_it_failed) {
        g_autofree char *run = NULL;
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        open_idle_daemon("    retries: {attempts: 3, delay: 1h, max-delay: 1h}\n");
        run = run_elsewhere(RUN_UNKNOWN, 3, false);
        ask_resolve(run, "failed", "seen");
        expect_said("\"state\":\"failed\"");
        ledger = the_ledger();
        cr_expect_null(retry(ledger));
        cr_expect_eq(ledger->last->state, RUN_FAILED);
}

/* Another attempt has begun: its end is that of the tick. */
Test(resolve, not_what_was_followed_by_another_attempt) {
        g_autofree char *run = NULL;
        _cleanup_(run_record_freep) RunRecord *next = NULL;

        open_idle_daemon("");
        run = run_elsewhere(RUN_UNKNOWN, 1, false);
        next = claim_elsewhere(run_id_tick(run), 2);
        write_record(next);
        ask_resolve(run, "succeeded", "seen");
        expect_said("was followed by attempt 2 of its tick, whose end counts");
        expect_record(run, "\"state\":\"unknown\"");
}

Test(resolve, not_what_is_known_or_under_way) {
        g_autofree char *claimed = NULL;
        static const RunState known[] = {RUN_SUCCEEDED, RUN_FAILED,    RUN_INTERRUPTED,
                                         RUN_STOPPED,   RUN_TIMED_OUT, RUN_SKIPPED};

        open_idle_daemon("");
        for (size_t i = 0; i < G_N_ELEMENTS(known); i++) {
                _cleanup_(run_record_freep) RunRecord *record =
                    claim_elsewhere(1000 + (int64_t)i, 1);
                g_autofree char *plain =
                    g_strdup_printf("is known to have ended: %s", run_state_to_string(known[i]));

                settle_elsewhere(record, known[i]);
                ask_resolve(record->run, "failed", "seen");
                expect_said(plain);
        }
        claimed = run_elsewhere(RUN_CLAIMED, 1, false);
        ask_resolve(claimed, "failed", "seen");
        expect_said("is under way on n2");
        expect_record(claimed, "\"state\":\"claimed\"");
}

Test(resolve, what_cannot_be) {
        g_autofree char *run = NULL, *longer = g_strnfill(201, 'x'), *path = NULL;

        open_idle_daemon("");
        run = run_elsewhere(RUN_UNKNOWN, 1, false);
        ask_as(bus, BUS_NAME_ROOT, "Resolve", "sssss", "../a", run, "failed", "seen", "alice");
        expect_said("that can be no job's name, or no run's id");
        ask_resolve("../x", "failed", "seen");
        expect_said("that can be no job's name, or no run's id");
        ask_resolve(run, "stopped", "seen");
        expect_said("a run is resolved as \"succeeded\" or \"failed\"");
        ask_resolve(run, "unknown", "seen");
        expect_said("a run is resolved as \"succeeded\" or \"failed\"");
        ask_resolve(run, "failed", " ");
        expect_said("the reason is empty");
        ask_resolve(run, "failed", "seen\nnot");
        expect_said("the reason has a control character");
        ask_resolve(run, "failed", longer);
        expect_said("the reason is too long: write 200 bytes at most");
        ask_resolve("1000-7", "failed", "seen");
        expect_said("there is no record of a run 1000-7 of job \"a\"");
        path = g_strconcat(RUNS, "1000-8", NULL);
        server_create(path, "][", 0);
        ask_resolve("1000-8", "failed", "seen");
        expect_said("the record of run 1000-8 of job \"a\" cannot be read");
        expect_record(run, "\"state\":\"unknown\"");
}

/* ---- what comes in between ---- */

static unsigned tries;

static bool is_word(const ZkCall *call) {
        return call->request == REQUEST_MULTI && call_has(call, ZK_OP_SET, "/runs/");
}

static ServerWay lose_the_first_answer(const ZkCall *call) {
        return is_word(call) && tries++ == 0 ? SERVER_LOSE_ANSWER : SERVER_ANSWER;
}

Test(resolve, an_answer_that_was_lost_is_read_back) {
        g_autofree char *run = NULL, *path = NULL;
        int32_t version;

        open_idle_daemon("");
        run = run_elsewhere(RUN_UNKNOWN, 1, false);
        path = g_strconcat(RUNS, run, NULL);
        version = server_node(path)->stat.version;
        server.way = lose_the_first_answer;
        ask_resolve(run, "succeeded", "seen");
        expect_said("\"state\":\"succeeded\"");
        cr_expect_eq(tries, 1);
        cr_expect_eq(server_node(path)->stat.version, version + 1, "written once");
}

static char *raced; /* the run */

/* Its node is back and has told its end, between our reading and our writing. */
static ServerWay tell_the_end_first(const ZkCall *call) {
        _cleanup_(run_record_freep) RunRecord *record = NULL;

        if (!is_word(call) || tries++ > 0)
                return SERVER_ANSWER;
        cr_assert_eq(run_record_decode(record_of(raced), strlen(record_of(raced)), &record), 0);
        record->state = RUN_FAILED;
        write_record(record);
        return SERVER_ANSWER;
}

Test(resolve, who_saw_the_end_was_quicker) {
        open_idle_daemon("");
        raced = run_elsewhere(RUN_UNKNOWN, 1, false);
        server.way = tell_the_end_first;
        ask_resolve(raced, "succeeded", "seen");
        expect_said("more has become known of run");
        expect_record(raced, "\"state\":\"failed\"");
        cr_expect_null(strstr(record_of(raced), "resolved"));
        g_free(raced);
}

/* It goes with its record. */
static ServerWay prune_first(const ZkCall *call) {
        g_autofree char *path = g_strconcat(RUNS, raced, NULL);

        if (is_word(call) && tries++ == 0)
                server_remove(path);
        return SERVER_ANSWER;
}

Test(resolve, what_is_not_kept_any_more_does_not_come_back) {
        g_autofree char *path = NULL;

        open_idle_daemon("");
        raced = run_elsewhere(RUN_UNKNOWN, 1, false);
        path = g_strconcat(RUNS, raced, NULL);
        server.way = prune_first;
        ask_resolve(raced, "succeeded", "seen");
        expect_said("more has become known of run");
        cr_expect_null(server_node(path));
        g_free(raced);
}

/* ---- what a service waits for ---- */

/* Return: its run on n2, which may be alive; newly allocated. `record_is`: what stands in its
 * place; NULL: nothing. */
static char *service_elsewhere(const char *record_is) {
        _cleanup_(run_record_freep) RunRecord *record = NULL;
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        g_autofree char *data = NULL, *path = NULL;

        write_job("    mode: service\n    exec: [/bin/true]\n    nodes: n2\n");
        open_daemon_on_bus();
        await(has_ledger, "a ledger");
        ledger = the_ledger();
        record = claim_elsewhere(ledger_service_tick(ledger), 1);
        record->terms.service = record->continues = true;
        cr_assert_eq(ledger_claim(ledger, record), 0);
        record->state = RUN_UNKNOWN;
        record->ended = clock_realtime();
        (void)ledger_settle(ledger, record, NULL, clock_realtime());
        cr_assert(ledger_may_be_alive(ledger_first_claimed(ledger)));
        data = ledger_encode(ledger);
        server_write(LEDGER, data);
        record->terms.service = false; /* as who knew nothing of it wrote it */
        write_record(record);
        path = g_strconcat(RUNS, record->run, NULL);
        if (!record_is)
                server_remove(path);
        else if (*record_is)
                server_set(server_node(path), record_is);
        return g_strdup(record->run);
}

static void expect_followed(const char *run, RunState state) {
        _cleanup_(ledger_freep) Ledger *ledger = the_ledger();
        _cleanup_(run_record_freep) RunRecord *record = NULL;

        cr_assert_not_null(ledger_first_retry(ledger), "nothing follows: %s", server_data(LEDGER));
        cr_expect_str_eq(ledger_first_retry(ledger)->run, run);
        cr_assert_eq(run_record_decode(record_of(run), strlen(record_of(run)), &record), 0);
        cr_expect_eq(record->state, state);
        cr_expect(record->terms.service);
}

Test(resolve, a_service_is_run_again_whose_record_says_little) {
        g_autofree char *run = service_elsewhere("");

        ask_resolve(run, "failed", "the machine is gone");
        expect_said("\"state\":\"failed\"");
        expect_said("\"service\":true");
        expect_followed(run, RUN_FAILED);
}

Test(resolve, a_service_is_run_again_whose_record_is_damaged) {
        g_autofree char *run = service_elsewhere("][");

        ask_resolve(run, "succeeded", "seen");
        expect_said("\"state\":\"succeeded\"");
        expect_followed(run, RUN_SUCCEEDED);
        expect_record(run, "\"resolved_by\":\"alice on n1\"");
}

Test(resolve, a_service_is_run_again_whose_record_is_gone) {
        g_autofree char *run = service_elsewhere(NULL);

        ask_resolve(run, "failed", "the machine is gone");
        expect_said("\"state\":\"failed\"");
        expect_followed(run, RUN_FAILED);
        expect_record(run, "\"node\":\"n2\"");
        ask_resolve(run, "failed", "the machine is gone");
        expect_said("is known to have ended");
}

/* Nothing waits for that. */
Test(resolve, what_has_no_record_and_no_entry_has_no_end) {
        g_autofree char *run = service_elsewhere(NULL);

        cr_assert_str_neq(run, "7-1");
        ask_resolve("7-1", "failed", "seen");
        expect_said("there is no record of a run 7-1");
}

/* ---- a job with another name ---- */

#define NEW ROOT "/jobs/b"

/* The job goes on as b, which owes what a did. */
static void go_on_as_b(void) {
        _cleanup_(ledger_freep) Ledger *ledger = the_ledger(),
                                       *next = ledger_move(ledger, "a", "b");
        g_autofree char *left = NULL, *data = ledger_encode(next);

        ledger_leave(ledger, "b", next->from);
        left = ledger_encode(ledger);
        server_create(NEW, data, 0);
        server_create(NEW "/runs", "", 0);
        server_write(LEDGER, left);
}

static void ask_resolve_of(const char *job, const char *run) {
        ask_as(bus, BUS_NAME_ROOT, "Resolve", "sssss", job, run, "succeeded", "seen", "alice");
}

/* What is owed for it stands under the one name, and its record under the other. */
static void expect_resolved_by(const char *job) {
        g_autofree char *run = NULL;
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        open_idle_daemon("");
        run = run_elsewhere(RUN_UNKNOWN, 1, true);
        go_on_as_b();
        ledger = ledger_at(NEW);
        cr_assert_not_null(ledger_first_retry(ledger));
        ask_resolve_of(job, run);
        expect_said("\"state\":\"succeeded\"");
        expect_record(run, "\"resolved_by\":\"alice on n1\"");
        ledger_free(ledger);
        ledger = ledger_at(NEW);
        cr_expect_null(ledger_first_retry(ledger), "%s", server_data(NEW));
        cr_expect_eq(ledger->last->state, RUN_SUCCEEDED);
}

Test(resolve, a_run_of_a_job_with_another_name_by_the_old_one) {
        expect_resolved_by("a");
}

Test(resolve, a_run_of_a_job_with_another_name_by_the_new_one) {
        expect_resolved_by("b");
}

Test(resolve, a_run_since_then_by_the_old_one) {
        g_autofree char *run = NULL, *path = NULL, *data = NULL;
        _cleanup_(run_record_freep) RunRecord *record = NULL;

        open_idle_daemon("");
        run = run_elsewhere(RUN_UNKNOWN, 1, false);
        go_on_as_b();
        record = claim_elsewhere(2000, 1);
        g_free(record->job);
        record->job = g_strdup("b");
        record->state = RUN_UNKNOWN;
        record->ended = clock_realtime();
        path = g_strconcat(NEW "/runs/", record->run, NULL);
        data = run_record_encode(record);
        server_create(path, data, 0);
        ask_resolve_of("a", record->run);
        expect_said("\"job\":\"b\"");
        cr_expect(strstr(server_data(path), "\"state\":\"succeeded\""), "%s", server_data(path));
        ask_resolve_of("a", "1000-7");
        expect_said("there is no record of a run 1000-7 of job \"a\"");
}

Test(resolve, not_what_was_followed_by_another_attempt_by_the_new_name) {
        g_autofree char *run = NULL, *path = NULL;

        open_idle_daemon("");
        run = run_elsewhere(RUN_UNKNOWN, 1, true);
        go_on_as_b();
        path = g_strdup_printf(NEW "/runs/%" G_GINT64_FORMAT "-2", run_id_tick(run));
        server_create(path, "{}", 0);
        ask_resolve_of("a", run);
        expect_said("was followed by attempt 2 of its tick, whose end counts");
        ask_resolve_of("b", run);
        expect_said("was followed by attempt 2 of its tick, whose end counts");
        expect_record(run, "\"state\":\"unknown\"");
}

static bool goes_on_as_b(void) {
        return strstr(server_data(NEW), "\"was\":\"a\"");
}

/* The new name waits for it, and has no ledger yet. */
static void expect_waited_for_by(const char *record_is) {
        g_autofree char *run = service_elsewhere(record_is),
                        *path = tree_path(root, "etc/jobkeeper/jobs.d/a.yaml");

        cr_assert_eq(unlink(path), 0);
        write_job_named("b",
                        "    was: a\n    mode: service\n    exec: [/bin/true]\n    nodes: n2\n");
        reload();
        await_quiet();
        cr_assert_null(server_node(NEW));
        ask_resolve_of("b", run);
        expect_said("\"service\":true");
        expect_record(run, "\"state\":\"succeeded\"");
        await(goes_on_as_b, "it goes on");
}

Test(resolve, a_service_that_another_name_waits_for) {
        expect_waited_for_by("");
}

Test(resolve, a_service_that_another_name_waits_for_and_whose_record_is_gone) {
        expect_waited_for_by(NULL);
}

/* ---- the node that ran it ---- */

static bool is_running(void) {
        return service_newest() && service_newest()->state == SERVICE_RUNNING &&
               service_newest()->unit;
}

static bool is_over(void) {
        return runs_count(coordinator->runs) == 0;
}

/* Return: the run that is under way here, and that others have recorded as unknown. */
static char *found_gone(void) {
        int64_t tick = due_soon("");
        g_autofree char *run = run_id_for_tick(tick, 1), *path = g_strconcat(RUNS, run, NULL),
                        *data = NULL;
        _cleanup_(run_record_freep) RunRecord *record = NULL;

        await_daemon_on_bus();
        await(is_running, "a run");
        cr_assert_eq(run_record_decode(record_of(run), strlen(record_of(run)), &record), 0);
        record->state = RUN_UNKNOWN;
        record->ended = clock_realtime();
        data = run_record_encode(record);
        server_set(server_node(path), data);
        return g_steal_pointer(&run);
}

Test(resolve, whoever_ran_it_does_not_change_what_was_said) {
        g_autofree char *run = found_gone();

        ask_resolve(run, "failed", "the dump is empty");
        expect_said("\"state\":\"failed\"");
        cr_expect_gt(server_count(ROOT "/locks/job:a"), 0, "what may live keeps its locks");
        service_exit(service_newest(), 0);
        await(is_over, "it has ended");
        expect_record(run, "\"state\":\"failed\"");
        expect_record(run, "\"why\":\"resolved by alice on n1: the dump is empty\"");
        cr_expect_eq(server_count(ROOT "/locks/job:a"), 0, "its contender goes all the same");
}

Test(resolve, a_run_is_found_where_it_is) {
        g_autofree char *run = NULL;

        open_idle_daemon("");
        run = run_elsewhere(RUN_CLAIMED, 1, false);
        ask_as(bus, BUS_NAME_ROOT, "FindRun", "ss", "a", run);
        expect_said("\"here\":\"n1\"");
        ask_as(bus, BUS_NAME_ROOT, "FindRun", "ss", "a", run);
        expect_said("\"node\":\"n2\"");
        ask_as(bus, BUS_NAME_ROOT, "FindRun", "ss", "a", "1000-7");
        expect_said("\"run\":null");
        ask_as(bus, BUS_NAME_ROOT, "FindRun", "ss", "nosuch", "1000-7");
        expect_said("there is no job");
        ask_as(bus, BUS_NAME_ROOT, "FindRun", "ss", "a", "../x");
        expect_said("the run \"../x\"");
}
