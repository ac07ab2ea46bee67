/* The writer of a ledger by itself, on top of a whole daemon (daemon-fixture.h): what is written,
 * what is said when it fails, and records that are there already or not any more. */
#include "ledger-writer.h"

#include <errno.h>

#include "daemon-fixture.h"
#include "ledger-change.h"
#include "ledger-fixture.h"
#include "paths.h"

#define ROOT "/jobkeeper"
#define JOB ROOT "/jobs/a"
#define RUNS JOB "/runs"
#define REQUEST ROOT "/requests/1000000000-m0badcafe"

static LedgerWriter *writer;
static JobSpec *spec;
static Schedule *schedule; /* every 10 s */
static unsigned n_told;
static LedgerWriteOutcome outcome;
static char *refused;

static bool is_ready(void) {
        return node_is_ready(coordinator->node) && server_node(RUNS);
}

static void on_over(LedgerWriteOutcome told, const char *told_refused, void *userdata) {
        n_told++;
        outcome = told;
        g_free(refused);
        refused = g_strdup(told_refused);
}

static LedgerWriterParts parts_of(const Node *node) {
        return (LedgerWriterParts){.node = node,
                                   .tree = coordinator->tree,
                                   .ledgers = coordinator->store.ledgers,
                                   .pruner = coordinator->store.pruner};
}

/* The ledger as it stands there is known. */
static void know(void) {
        const ServerNode *node = server_node(JOB);
        Ledger *ledger = NULL;

        cr_assert_eq(ledger_decode(node->data, strlen(node->data), &ledger), 0);
        ledger_cache_set(coordinator->store.ledgers, "a", ledger, node->stat.version);
}

static void write_ledger(int64_t mark, const char *entries) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_of(mark, 0, entries);
        g_autofree char *data = NULL;

        ledger_set_schedule(ledger, schedule);
        data = ledger_encode(ledger);
        server_set(server_node(JOB), data);
        know();
}

static void setup_writer(void) {
        LedgerWriterParts parts;

        setup();
        write_job("    exec: [/bin/true]\n");
        open_daemon();
        await(is_ready, "ready");
        serve_for(100 * USEC_PER_MSEC);
        parts = parts_of(coordinator->node);
        writer = ledger_writer_new(&parts, "a", on_over, NULL);
        schedule = every(10);
        spec = job_spec_ref(jobset_find(coordinator->jobset, "a"));
        write_ledger(100, "");
}

static void teardown_writer(void) {
        writer = ledger_writer_free(writer);
        schedule = schedule_free(schedule);
        spec = job_spec_free(spec);
        g_clear_pointer(&refused, g_free);
        teardown();
}

TestSuite(ledger_writer, .init = setup_writer, .fini = teardown_writer);

static bool is_told(void) {
        return n_told > 0;
}

static void expect_outcome(LedgerWriteOutcome expected) {
        await(is_told, "it is over");
        cr_expect_eq(n_told, 1);
        cr_expect_eq(outcome, expected, "%u rather than %u", outcome, expected);
        n_told = 0;
}

static const Ledger *known(int32_t *ret_version) {
        return ledger_cache_get(coordinator->store.ledgers, "a", ret_version);
}

/* What is known is what stands there. */
static void expect_known(const char *expected) {
        int32_t version = -1;
        const Ledger *ledger = known(&version);
        _cleanup_(ledger_freep) Ledger *there = NULL;

        cr_assert_not_null(ledger);
        cr_expect_eq(version, server_node(JOB)->stat.version);
        expect_ledger(ledger, expected);
        cr_assert_eq(ledger_decode(server_data(JOB), strlen(server_data(JOB)), &there), 0);
        expect_ledger(there, expected);
}

/* Somebody else writes it, and nobody here knows. */
static void write_elsewhere(void) {
        g_autofree char *data = g_strdup(server_data(JOB));

        server_set(server_node(JOB), data);
}

static int skip(int64_t from, int64_t to, bool more_follows) {
        DecisionSkip one = {.from = from,
                            .to = to,
                            .count = (unsigned)((to - from) / 10 + 1),
                            .why = {DECISION_KIND_OVERLAP, "overlap"}};

        return ledger_writer_skip(writer, schedule, &one, 1, more_follows);
}

/* ---- skips ---- */

Test(ledger_writer, a_skip_is_in_the_ledger_and_has_a_record) {
        cr_assert_eq(skip(110, 120, false), 0);
        expect_outcome(LEDGER_WRITE_DONE);
        expect_known("mark 120 | 110-120 x2 skipped 110-0 (overlap)");
        cr_expect_not_null(strstr(server_data(RUNS "/110-0"), "overlap"));
        cr_expect_null(refused);
        /* The next one goes into the same record. */
        cr_assert_eq(skip(130, 130, false), 0);
        expect_outcome(LEDGER_WRITE_DONE);
        expect_known("mark 130 | 110-130 x3 skipped 110-0 (overlap)");
        cr_expect_not_null(strstr(server_data(RUNS "/110-0"), "\"to\":130"));
        cr_expect_eq(server_count(RUNS), 1);
}

/* Its attempts have their records; why no further one is made stands beside them. */
Test(ledger_writer, of_what_is_not_retried_it_is_said_why) {
        DecisionSkip one = {.from = 110,
                            .to = 110,
                            .count = 1,
                            .why = {DECISION_KIND_MISSED, "missed: x"},
                            .gives_up = true};

        write_ledger(100, "{'run':'110-1','state':'failed','tick':110,'attempt':1,'node':'n2',"
                          "'not_before':115}");
        cr_assert_eq(ledger_writer_skip(writer, schedule, &one, 1, false), 0);
        expect_outcome(LEDGER_WRITE_DONE);
        expect_known("mark 110");
        cr_expect_eq(server_count(RUNS), 1);
        cr_expect_not_null(
            strstr(server_data(RUNS "/110-0"), "\"why\":\"attempt 2 is not made: missed: x\""),
            "%s", server_data(RUNS "/110-0"));
        /* Somebody was first. */
        cr_expect_eq(ledger_writer_skip(writer, schedule, &one, 1, false), -ENOSPC);
}

Test(ledger_writer, what_follows_is_decided_on_what_is_read_again) {
        cr_assert_eq(skip(110, 120, true), 0);
        expect_outcome(LEDGER_WRITE_DONE);
        cr_expect_null(known(NULL));
}

Test(ledger_writer, a_record_that_is_there_already_is_written_over) {
        server_create(RUNS "/110-0", "old", 0);
        cr_assert_eq(skip(110, 110, false), 0);
        expect_outcome(LEDGER_WRITE_AGAIN);
        cr_expect_null(known(NULL), "what it was based on is to be read again");
        know();
        cr_assert_eq(skip(110, 110, false), 0);
        expect_outcome(LEDGER_WRITE_DONE);
        cr_expect_not_null(strstr(server_data(RUNS "/110-0"), "overlap"));
        /* That is over with it: the next one is made. */
        write_ledger(200, "");
        cr_assert_eq(skip(210, 210, false), 0);
        expect_outcome(LEDGER_WRITE_DONE);
        cr_expect_not_null(server_node(RUNS "/210-0"));
}

Test(ledger_writer, a_record_that_is_gone_is_made_again) {
        cr_assert_eq(skip(110, 110, false), 0);
        expect_outcome(LEDGER_WRITE_DONE);
        server_remove(RUNS "/110-0");
        cr_assert_eq(skip(120, 120, false), 0);
        expect_outcome(LEDGER_WRITE_FAILED);
        know();
        cr_assert_eq(skip(120, 120, false), 0);
        expect_outcome(LEDGER_WRITE_DONE);
        cr_expect_not_null(strstr(server_data(RUNS "/110-0"), "\"to\":120"));
}

/* Of some the records exist, of others not. */
static bool there_is_a_directory(void) {
        return server_node(RUNS);
}

/* Nothing else would see to it: what is owed is skipped before anything is claimed. */
Test(ledger_writer, so_is_the_directory_of_the_records) {
        ledger_writer_look_for_records(writer);
        serve_for(100 * USEC_PER_MSEC);
        server_remove(RUNS);
        cr_assert_eq(skip(110, 110, false), 0);
        expect_outcome(LEDGER_WRITE_FAILED);
        await(there_is_a_directory, "it is made");
        know();
        cr_assert_eq(skip(110, 110, false), 0);
        expect_outcome(LEDGER_WRITE_DONE);
        cr_expect_eq(server_count(RUNS), 1);
}

Test(ledger_writer, where_records_are_not_what_they_should_be_it_is_one_skip_at_a_time) {
        static const DecisionSkip two[] = {
            {.from = 110, .to = 110, .count = 1, .why = {DECISION_KIND_OVERLAP, "overlap"}},
            {.from = 130, .to = 130, .count = 1, .why = {DECISION_KIND_MISSED, "missed"}}};

        server_create(RUNS "/130-0", "old", 0);
        cr_assert_eq(ledger_writer_skip(writer, schedule, two, 2, false), 0);
        expect_outcome(LEDGER_WRITE_AGAIN);
        know();
        cr_assert_eq(ledger_writer_skip(writer, schedule, two, 2, false), 0);
        expect_outcome(LEDGER_WRITE_FAILED); /* the first one's is not there to be written over */
        know();
        cr_assert_eq(ledger_writer_skip(writer, schedule, two, 2, false), 0);
        expect_outcome(LEDGER_WRITE_DONE);
        expect_known("mark 110 | 110 skipped 110-0 (overlap)");
        cr_expect_str_eq(server_data(RUNS "/130-0"), "old");
}

Test(ledger_writer, a_full_ledger_takes_none_and_is_read_again) {
        g_autoptr(GString) entries = g_string_new(NULL);

        for (unsigned i = 0; i < LEDGER_OPEN_MAX; i++)
                g_string_append_printf(entries,
                                       "%s{'tick':0,'attempt':1,'state':'claimed',"
                                       "'run':'%u-m1','node':'n1','claimed':1}",
                                       i ? "," : "", 1000 + i);
        write_ledger(100, entries->str);
        cr_expect_eq(skip(120, 120, false), -ENOSPC);
        cr_expect_null(known(NULL));
        cr_expect_eq(ledger_writer_outcome(-ENOSPC), LEDGER_WRITE_FAILED);
        cr_expect_eq(n_told, 0);
}

Test(ledger_writer, what_somebody_else_wrote_meanwhile_is_decided_again) {
        write_elsewhere();
        cr_assert_eq(skip(110, 110, false), 0);
        expect_outcome(LEDGER_WRITE_AGAIN);
        cr_expect_null(known(NULL));
        cr_expect_null(server_node(RUNS "/110-0"));
}

/* Such as that it was resumed, of which nothing is known here yet. */
Test(ledger_writer, what_somebody_told_the_cluster_meanwhile_is_decided_again) {
        server_set(server_node(ROOT "/control"), "{}");
        cr_assert_eq(skip(110, 110, false), 0);
        expect_outcome(LEDGER_WRITE_AGAIN);
        cr_expect_null(server_node(RUNS "/110-0"));
}

Test(ledger_writer, nobody_hears_of_what_was_cancelled) {
        cr_assert_eq(skip(110, 110, false), 0);
        ledger_writer_cancel(writer);
        serve_for(100 * USEC_PER_MSEC);
        cr_expect_eq(n_told, 0);
        cr_expect_null(ledger_writer_free(NULL));
}

/* ---- without a session ---- */

static int refuse(LedgerWriter *by, const char *run, const char *why) {
        return ledger_writer_refuse(by, &(ManualRun){.id = (char *)run, .who = (char *)"me"}, why);
}

Test(ledger_writer, without_a_session_nothing_is_begun) {
        Node bare = {.config = coordinator->config};
        const LedgerWriterParts parts = parts_of(&bare);
        _cleanup_(ledger_writer_freep) LedgerWriter *other =
            ledger_writer_new(&parts, "a", on_over, NULL);

        cr_expect_eq(ledger_writer_outcome(ledger_writer_repair(other, "110-1", 110, spec)),
                     LEDGER_WRITE_CLOSED);
        cr_expect_eq(ledger_writer_outcome(refuse(other, "1-m1", "late")), LEDGER_WRITE_CLOSED);
        cr_expect_null(known(NULL));
        cr_expect_eq(n_told, 0);
}

static ServerWay end_session(const ZkCall *call) {
        return call->request == REQUEST_MULTI ? SERVER_REFUSE : SERVER_ANSWER;
}

Test(ledger_writer, a_session_that_ends_is_told) {
        server.refusal = ZK_CLOSED;
        server.way = end_session;
        cr_assert_eq(skip(110, 110, false), 0);
        expect_outcome(LEDGER_WRITE_CLOSED);
}

/* ---- refused requests ---- */

static ServerWay lose(const ZkCall *call) {
        return call->request == REQUEST_MULTI ? SERVER_LOSE : SERVER_ANSWER;
}

Test(ledger_writer, a_refused_request_goes_and_leaves_a_record) {
        server_create(REQUEST, "{}", 0);
        server.way = lose;
        cr_assert_eq(refuse(writer, "1000000000-m0badcafe", "too late"), 0);
        expect_outcome(LEDGER_WRITE_FAILED);
        cr_expect_null(refused, "nobody knows");
        server.way = NULL;
        await(is_ready, "connected again");
        cr_assert_eq(refuse(writer, "1000000000-m0badcafe", "too late"), 0);
        expect_outcome(LEDGER_WRITE_DONE);
        cr_expect_str_eq(refused, "1000000000-m0badcafe");
        cr_expect_null(server_node(REQUEST));
        cr_expect_not_null(strstr(server_data(RUNS "/1000000000-m0badcafe"), "too late"));
        cr_expect_not_null(strstr(server_data(RUNS "/1000000000-m0badcafe"), "\"me\""));
        /* Once more: somebody did that already. */
        cr_assert_eq(refuse(writer, "1000000000-m0badcafe", "too late"), 0);
        expect_outcome(LEDGER_WRITE_FAILED);
        cr_expect_str_eq(refused, "1000000000-m0badcafe");
}

static void refuse_again(int64_t tick, const char *run) {
        const ManualRun again = {
            .id = (char *)run, .request = (char *)"1-r1", .who = (char *)"me", .tick = tick};

        server_create(ROOT "/requests/1-r1", "{}", 0);
        cr_assert_eq(ledger_writer_refuse(writer, &again, "too late"), 0);
        expect_outcome(LEDGER_WRITE_DONE);
        cr_expect_null(server_node(ROOT "/requests/1-r1"));
}

Test(ledger_writer, a_refused_attempt_is_recorded_where_none_comes_by_itself) {
        refuse_again(100, "100-2");
        cr_expect(strstr(server_data(RUNS "/100-2"), "\"attempt\":2"), "%s",
                  server_data(RUNS "/100-2"));
        refuse_again(110, "110-1");
        cr_expect_null(server_node(RUNS "/110-1"));
}

/* ---- repair ---- */

static void put_record(int64_t tick, RunState state) {
        g_autofree char *run = run_id_for_tick(tick, 1), *path = path_run(ROOT, "a", run),
                        *data = NULL;
        _cleanup_(run_record_freep) RunRecord *record = run_of(tick, run, "n2", state);

        g_free(record->job);
        record->job = g_strdup("a");
        data = run_record_encode(record);
        server_create(path, data, 0);
}

Test(ledger_writer, a_record_without_an_entry_is_taken_in) {
        put_record(110, RUN_CLAIMED);
        cr_assert_eq(ledger_writer_repair(writer, "110-1", 110, spec), 0);
        expect_outcome(LEDGER_WRITE_DONE);
        expect_known("mark 100 | 110 claimed 110-1");
        put_record(120, RUN_FAILED);
        cr_assert_eq(ledger_writer_repair(writer, "120-1", 120, spec), 0);
        expect_outcome(LEDGER_WRITE_DONE);
        expect_known("mark 100 | 110 claimed 110-1 | 120 failed 120-1");
}

/* Somebody wrote it there who did not look: it is the tick's own all the same. */
Test(ledger_writer, so_is_one_that_somebody_asked_for) {
        server_create(RUNS "/110-1",
                      "{\"run\":\"110-1\",\"job\":\"a\",\"tick\":110,\"attempt\":1,"
                      "\"state\":\"skipped\",\"who\":\"me\"}",
                      0);
        cr_assert_eq(ledger_writer_repair(writer, "110-1", 110, spec), 0);
        expect_outcome(LEDGER_WRITE_DONE);
        cr_expect(ledger_is_settled(known(NULL), 110));
}

/* Ours has none, and would have the mark stay. */
Test(ledger_writer, the_mark_moves_by_the_schedule_in_force) {
        put_record(110, RUN_SUCCEEDED);
        cr_assert_null(spec->schedule);
        cr_assert_eq(ledger_writer_repair(writer, "110-1", 110, spec), 0);
        expect_outcome(LEDGER_WRITE_DONE);
        expect_known("mark 110");
}

/* Where it is too long to stand in the ledger, it is the one that was to be claimed by. */
Test(ledger_writer, or_by_ours_where_that_is_not_known) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_of(100, 0, "");
        g_autofree char *data = ledger_encode(ledger);

        server_set(server_node(JOB), data);
        know();
        put_record(110, RUN_SUCCEEDED);
        spec->schedule = schedule;
        cr_assert_eq(ledger_writer_repair(writer, "110-1", 110, spec), 0);
        expect_outcome(LEDGER_WRITE_DONE);
        spec->schedule = NULL;
        expect_known("mark 110");
}

/* The schedule in force is one of local time. */
static void write_ledger_in_berlin(const char *zones) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_of(100, 0, "");
        _cleanup_(schedule_freep) Schedule *local = NULL;
        g_autofree char *data = NULL;

        cr_assert_eq(schedule_from_string("*-*-* *:*:00/10 Europe/Berlin", &local), 0);
        ledger_set_schedule(ledger, local);
        ledger_set_zones(ledger, local, (int64_t)(clock_realtime() / USEC_PER_SEC));
        if (zones) {
                g_free(ledger->zones);
                ledger->zones = g_strdup(zones);
        }
        data = ledger_encode(ledger);
        server_set(server_node(JOB), data);
        know();
}

/* Nor by ours where the ledger's is of other time zone data: the ticks between would be others. */
Test(ledger_writer, nor_does_the_mark_move_by_zones_that_are_not_in_force) {
        put_record(110, RUN_SUCCEEDED);
        write_ledger_in_berlin("Europe/Berlin +0\n");
        cr_assert_eq(ledger_writer_repair(writer, "110-1", 110, spec), 0);
        expect_outcome(LEDGER_WRITE_DONE);
        expect_known("mark 100 | 110 succeeded 110-1");
        write_ledger_in_berlin(NULL);
        cr_assert_eq(ledger_writer_repair(writer, "110-1", 110, spec), 0);
        expect_outcome(LEDGER_WRITE_DONE);
        expect_known("mark 110");
}

static unsigned n_kept;

static ServerWay count_kept(const ZkCall *call) {
        g_autofree char *path = path_damaged(ROOT, "a", "110-1");

        n_kept += call->request == REQUEST_CREATE && strcmp(call->path, path) == 0;
        return SERVER_ANSWER;
}

/* ... however often it takes to write it. */
Test(ledger_writer, a_damaged_record_is_kept_aside_once) {
        g_autofree char *kept = path_damaged(ROOT, "a", "110-1");

        server.way = count_kept;
        server_create(RUNS "/110-1", "][", 0);
        write_elsewhere(); /* so that it is based on an old one */
        cr_assert_eq(ledger_writer_repair(writer, "110-1", 110, spec), 0);
        expect_outcome(LEDGER_WRITE_AGAIN);
        know();
        cr_assert_eq(ledger_writer_repair(writer, "110-1", 110, spec), 0);
        expect_outcome(LEDGER_WRITE_DONE);
        expect_known("mark 110");
        cr_expect_eq(n_kept, 1);
        cr_expect_str_eq(server_data(kept), "][");
        cr_expect_not_null(strstr(server_data(RUNS "/110-1"), "\"unknown\""));
        /* Another one is another matter. */
        server_create(RUNS "/120-1", "][", 0);
        cr_assert_eq(ledger_writer_repair(writer, "120-1", 120, spec), 0);
        expect_outcome(LEDGER_WRITE_DONE);
        expect_known("mark 120");
}

static void put_second(int64_t tick, unsigned attempt) {
        _cleanup_(run_record_freep) RunRecord *record = run_of(tick, "110-2", "n2", RUN_CLAIMED);
        g_autofree char *data = NULL;

        g_free(record->job);
        record->job = g_strdup("a");
        record->attempt = attempt;
        data = run_record_encode(record);
        server_create(RUNS "/110-2", data, 0);
}

static void owe_second(void) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_of(
            100, 0,
            "{'run':'110-1','state':'failed','tick':110,'attempt':1,'node':'n2','not_before':115}");
        g_autofree char *data = NULL;

        ledger_set_schedule(ledger, schedule);
        data = ledger_encode(ledger);
        server_set(server_node(JOB), data);
        know();
}

Test(ledger_writer, the_record_of_the_next_attempt_is_taken_in) {
        owe_second();
        put_second(110, 2);
        cr_assert_eq(ledger_writer_repair(writer, "110-2", 110, spec), 0);
        expect_outcome(LEDGER_WRITE_DONE);
        expect_known("mark 100 | 110 claimed 110-2");
}

/* It would never be: the next claim would meet it again. */
Test(ledger_writer, one_that_tells_of_another_attempt_is_damaged) {
        owe_second();
        put_second(110, 7);
        cr_assert_eq(ledger_writer_repair(writer, "110-2", 110, spec), 0);
        expect_outcome(LEDGER_WRITE_DONE);
        expect_known("mark 110");
}

Test(ledger_writer, and_so_is_one_of_another_tick) {
        owe_second();
        put_second(120, 2);
        cr_assert_eq(ledger_writer_repair(writer, "110-2", 110, spec), 0);
        expect_outcome(LEDGER_WRITE_DONE);
        expect_known("mark 110");
}

Test(ledger_writer, a_record_that_is_gone_by_then_is_nothing_to_be_taken_in) {
        cr_assert_eq(ledger_writer_repair(writer, "110-1", 110, spec), 0);
        expect_outcome(LEDGER_WRITE_FAILED);
}

Test(ledger_writer, nor_is_one_beside_a_ledger_that_is_not_known) {
        put_record(110, RUN_SUCCEEDED);
        cr_assert_eq(ledger_writer_repair(writer, "110-1", 110, spec), 0);
        ledger_cache_forget(coordinator->store.ledgers, "a");
        expect_outcome(LEDGER_WRITE_FAILED);
}

/* ---- the directory of the records ---- */

static bool is_there(void) {
        return server_node(RUNS);
}

static unsigned looks;

static ServerWay count_looks(const ZkCall *call) {
        looks += call->request == REQUEST_EXISTS && strcmp(call->path, RUNS) == 0;
        return SERVER_ANSWER;
}

Test(ledger_writer, the_directory_of_the_records_is_made_again_and_looked_for_once) {
        server.way = count_looks;
        server_remove(RUNS);
        ledger_writer_look_for_records(writer);
        await(is_there, "it is made again");
        ledger_writer_look_for_records(writer);
        serve_for(50 * USEC_PER_MSEC);
        ledger_writer_look_for_records(writer);
        serve_for(50 * USEC_PER_MSEC);
        cr_expect_eq(looks, 2, "%u", looks);
        ledger_writer_reset(writer); /* with the next session it is looked for again */
        ledger_writer_look_for_records(writer);
        serve_for(50 * USEC_PER_MSEC);
        cr_expect_eq(looks, 3, "%u", looks);
}
