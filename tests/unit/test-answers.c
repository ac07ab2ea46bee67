/* What is asked over a bus of the test's own, in a whole daemon (daemon-fixture.h): what is said
 * when ZooKeeper's answers are lost, late or cannot be read, to callers who have left, and to those
 * who ask for more than their share.
 */
#include "answer.h"
#include "bus-fixture.h"

#define RUNS "/jobkeeper/jobs/a/runs"

TestSuite(answers, .init = setup_bus, .fini = teardown_bus);

static void begin(void) {
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        open_daemon_on_bus();
}

static void ask_history(void) {
        ask("History", "su", "a", 0U);
}

static void ask_wait(const char *run) {
        ask("WaitRun", "ss", "a", run);
}

Test(answers, history_without_the_list_is_an_error) {
        begin();
        server.broken = RUNS;
        ask_history();
        expect_said(BUS_ERROR_NOT_CONNECTED);
}

Test(answers, history_without_a_record_is_an_error) {
        begin();
        server_create(RUNS "/10-0", "{\"run\":\"10-0\",\"job\":\"a\",\"state\":\"skipped\"}", 0);
        server_create(RUNS "/20-0", "{\"run\":\"20-0\",\"job\":\"a\",\"state\":\"skipped\"}", 0);
        server.broken = RUNS "/10-0";
        ask_history();
        expect_said(BUS_ERROR_NOT_CONNECTED);
}

Test(answers, history_shows_what_it_cannot_read) {
        begin();
        server_create(RUNS "/10-0", "{\"run\":\"10-0\",\"job\":\"a\",\"state\":\"skipped\"}", 0);
        server_create(RUNS "/20-0", "][", 0);
        ask_history();
        expect_said("\"run\":\"20-0\"");
        expect_said("its record in ZooKeeper cannot be read");
        expect_said("\"run\":\"10-0\"");
}

Test(answers, no_name_is_waited_for_in_vain) {
        static const char *const names[] = {"", ".", "..", "a/b", "UPPER"};

        begin();
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                ask_wait(names[i]);
                expect_said(SD_BUS_ERROR_INVALID_ARGS);
        }
}

Test(answers, a_run_is_waited_for_until_it_is_final) {
        begin();
        server_create(RUNS "/10-m1", "{\"run\":\"10-m1\",\"job\":\"a\",\"state\":\"claimed\"}", 0);
        ask_wait("10-m1");
        serve_for(USEC_PER_SEC);
        cr_expect_null(said);
        server_set(server_node(RUNS "/10-m1"),
                   "{\"run\":\"10-m1\",\"job\":\"a\",\"state\":\"succeeded\"}");
        expect_said("succeeded");
}

/* ---- who left ---- */

static unsigned looks_at_m1, looks_at_m2;

static ServerWay count_looks(const ZkCall *call) {
        looks_at_m1 += g_str_equal(call->path, RUNS "/10-m1");
        looks_at_m2 += g_str_equal(call->path, RUNS "/10-m2");
        return SERVER_ANSWER;
}

static bool both_are_looked_at(void) {
        return looks_at_m1 >= 2 && looks_at_m2 >= 2;
}

static bool m2_is_looked_at_again(void) {
        return looks_at_m2 >= 4;
}

Test(answers, who_left_is_not_waited_for) {
        sd_bus *other = NULL;

        begin();
        other = another_caller();
        server_create(RUNS "/10-m1", "{\"run\":\"10-m1\",\"job\":\"a\",\"state\":\"claimed\"}", 0);
        server_create(RUNS "/10-m2", "{\"run\":\"10-m2\",\"job\":\"a\",\"state\":\"claimed\"}", 0);
        server.way = count_looks;
        ask_wait("10-m1");
        ask_as(other, BUS_NAME, "WaitRun", "ss", "a", "10-m2");
        await(both_are_looked_at, "both are looked at");
        bus = sd_bus_flush_close_unref(bus);
        /* The daemon hears of it between two looks; the one who stays goes by the same clock. */
        looks_at_m2 = 0;
        await(m2_is_looked_at_again, "it is waited for still");
        looks_at_m1 = looks_at_m2 = 0;
        await(m2_is_looked_at_again, "it is waited for still");
        cr_expect_eq(looks_at_m1, 0);
        sd_bus_flush_close_unref(other);
}

/* ---- how much may be asked ---- */

static ServerWay keep_reads(const ZkCall *call) {
        return call->request == REQUEST_GET || call->request == REQUEST_LIST ? SERVER_KEEP
                                                                             : SERVER_ANSWER;
}

static unsigned refusals;

static int on_kept(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        (void)userdata;
        (void)error;
        refusals += sd_bus_message_is_method_error(message, SD_BUS_ERROR_LIMITS_EXCEEDED);
        return 0;
}

static void ask_often(sd_bus *caller, unsigned times) {
        for (unsigned i = 0; i < times; i++)
                cr_assert_geq(sd_bus_call_method_async(caller, NULL, BUS_NAME, BUS_PATH,
                                                       BUS_INTERFACE, "History", on_kept, NULL,
                                                       "su", "a", 0U),
                              0);
}

static bool one_is_refused(void) {
        return refusals > 0;
}

Test(answers, one_caller_does_not_take_the_room_of_others) {
        begin();
        server.way = keep_reads;
        ask_often(bus, ANSWERS_OF_CALLER_MAX + 1);
        await(one_is_refused, "a question is refused");
        cr_expect_eq(refusals, 1U);
}

static bool each_is_refused_one(void) {
        return refusals == ANSWERS_MAX / ANSWERS_OF_CALLER_MAX;
}

/* Asks until it is not refused. */
static bool there_is_room(void) {
        if (said && !strstr(said, SD_BUS_ERROR_LIMITS_EXCEEDED))
                return true;
        if (said)
                ask_history();
        return false;
}

Test(answers, the_room_of_callers_who_left_is_free_while_zookeeper_hangs) {
        sd_bus *others[ANSWERS_MAX / ANSWERS_OF_CALLER_MAX];

        begin();
        server.way = keep_reads;
        for (size_t i = 0; i < G_N_ELEMENTS(others); i++) {
                others[i] = another_caller();
                ask_often(others[i], ANSWERS_OF_CALLER_MAX + 1);
        }
        await(each_is_refused_one, "all have their share");
        ask_history();
        expect_said("too many questions wait");
        for (size_t i = 0; i < G_N_ELEMENTS(others); i++)
                sd_bus_flush_close_unref(others[i]);
        server.way = NULL;
        server_release();
        await(there_is_room, "there is room");
        cr_expect_not_null(strstr(said, "runs"), "%s", said);
}

Test(answers, a_question_ends_with_the_session) {
        begin();
        server.way = keep_reads;
        ask_history();
        serve_for(100 * USEC_PER_MSEC);
        cr_expect_null(said);
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        expect_said(BUS_ERROR_NOT_CONNECTED);
}

/* ---- status ---- */

static unsigned ledgers_read;

static ServerWay count_ledgers(const ZkCall *call) {
        bool is_ledger = g_str_equal(call->path, "/jobkeeper/jobs/a") &&
                         call->request == REQUEST_GET && !call->watch;

        ledgers_read += is_ledger;
        return is_ledger && ledgers_read == 1 ? SERVER_KEEP : SERVER_ANSWER;
}

static void ask_status(const char *name) {
        ask_as(bus, name, "Status", NULL);
}

static bool a_ledger_is_read(void) {
        return ledgers_read > 0;
}

static bool all_statuses_are_there(void) {
        return n_said == 9;
}

Test(answers, who_asks_while_a_status_is_made_shares_the_next) {
        begin();
        server.way = count_ledgers;
        ask_status(BUS_NAME_ROOT);
        await(a_ledger_is_read, "the ledger is read");
        for (unsigned i = 0; i < 8; i++)
                ask_status(BUS_NAME_ROOT);
        serve_for(100 * USEC_PER_MSEC);
        cr_expect_eq(n_said, 0U);
        server_release();
        await(all_statuses_are_there, "everybody has his answer");
        cr_expect_eq(ledgers_read, 2U);
        cr_expect_not_null(strstr(said, "\"complete\":true"), "%s", said);
}

static bool runs(void) {
        return started->len > 0 && service_is_alive(service_newest());
}

Test(answers, status_does_not_wait_for_a_zookeeper_that_hangs) {
        usec_t asked_at = 0;

        write_job("    every: 1s\n    exec: [/bin/true]\n");
        open_daemon();
        await(runs, "a run");
        await_daemon_on_bus();
        server.way = keep_reads;
        asked_at = clock_monotonic();
        ask_status(BUS_NAME);
        expect_said("\"complete\":false");
        cr_expect_leq(clock_monotonic() - asked_at, 8 * USEC_PER_SEC);
        cr_expect_not_null(strstr(said, "\"state\":\"running\""), "%s", said);
        cr_expect_not_null(strstr(said, "\"started\""), "%s", said);
}

Test(answers, the_sessions_id_is_for_root) {
        begin();
        ask_status(BUS_NAME_ROOT);
        expect_said("\"id\":\"0x1001\"");
        ask_status(BUS_NAME);
        expect_said("\"session\"");
        cr_expect_null(strstr(said, "0x1001"), "%s", said);
}

/* ---- locks ---- */

static unsigned looks_begun;

static ServerWay keep_looks(const ZkCall *call) {
        bool is_look = g_str_equal(call->path, "/jobkeeper/locks") && call->request == REQUEST_LIST;

        looks_begun += is_look;
        return is_look ? SERVER_KEEP : SERVER_ANSWER;
}

static bool two_looks_are_begun(void) {
        return looks_begun == 2;
}

static bool all_six_are_answered(void) {
        return n_said == 6;
}

Test(answers, few_look_at_all_locks_at_a_time_and_all_are_answered) {
        begin();
        server.way = keep_looks;
        for (unsigned i = 0; i < 6; i++)
                ask("Locks", "s", "");
        await(two_looks_are_begun, "two looks");
        serve_for(200 * USEC_PER_MSEC);
        cr_expect_eq(looks_begun, 2U);
        server.way = NULL;
        server_release();
        await(all_six_are_answered, "answers for all");
        cr_expect_not_null(strstr(said, "\"resources\":[]"), "%s", said);
}

/* ---- the two names ---- */

static unsigned introspections;

static int on_introspection(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        (void)message;
        (void)userdata;
        (void)error;
        introspections++;
        return 0;
}

Test(answers, what_everybody_may_ask_does_not_hold_up_a_lease) {
        enum { FLOOD = 100 }; /* the bus lets nobody wait for many more */

        begin();
        for (unsigned i = 0; i < FLOOD; i++)
                cr_assert_geq(sd_bus_call_method_async(bus, NULL, BUS_NAME, BUS_PATH,
                                                       "org.freedesktop.DBus.Introspectable",
                                                       "Introspect", on_introspection, NULL, NULL),
                              0);
        ask_as(bus, BUS_NAME_ROOT, "LockLease", "s", "x");
        /* The bus serves a connection in order: when it answers this, all of those are with the
         * daemon, which has not had its turn yet. */
        cr_assert_geq(sd_bus_call_method(bus, "org.freedesktop.DBus", "/org/freedesktop/DBus",
                                         "org.freedesktop.DBus", "GetId", NULL, NULL, NULL),
                      0);
        expect_said(BUS_ERROR_NO_SUCH_LOCK);
        cr_expect_lt(introspections, (unsigned)FLOOD / 2);
}

Test(answers, a_thousand_ticks_come_in_order) {
        json_t *object = NULL, *ticks = NULL;

        begin();
        ask("Next", "su", "a", 1000U);
        expect_said("\"schedule\":\"every 1h\"");
        object = expect_json();
        ticks = json_object_get(object, "ticks");
        cr_assert_eq(json_array_size(ticks), 1000U);
        for (size_t i = 1; i < 1000; i++)
                cr_expect_eq(json_integer_value(json_array_get(ticks, i)) -
                                 json_integer_value(json_array_get(ticks, i - 1)),
                             3600);
        json_decref(object);
}

/* ---- a job that is gone ---- */

Test(answers, the_history_of_a_job_that_left_the_files_can_be_read) {
        begin();
        server_create("/jobkeeper/jobs/gone", "{}", 0);
        server_create("/jobkeeper/jobs/gone/runs", "", 0);
        server_create("/jobkeeper/jobs/gone/runs/10-1",
                      "{\"run\":\"10-1\",\"job\":\"gone\",\"state\":\"skipped\"}", 0);
        ask("History", "su", "gone", 0U);
        expect_said("\"run\":\"10-1\"");
        ask("History", "su", "never", 0U);
        expect_said(BUS_ERROR_NO_SUCH_JOB);
}

/* ---- names that are none ---- */

static void expect_short_refusal(void) {
        await(is_said, "an answer");
        cr_assert_lt(strlen(said), 400U, "%zu", strlen(said));
        cr_expect_not_null(strstr(said, "aa…\""), "%s", said);
}

Test(answers, a_name_of_millions_is_not_repeated) {
        static const struct {
                const char *method, *types;
        } questions[] = {{"History", "su"}, {"Next", "su"}, {"Run", "s"}, {"Locks", "s"}};
        g_autofree char *name = g_strnfill(4 << 20, 'a');

        begin();
        for (size_t i = 0; i < G_N_ELEMENTS(questions); i++) {
                ask(questions[i].method, questions[i].types, name, 1U);
                expect_short_refusal();
        }
        ask("WaitRun", "ss", name, "10-1");
        expect_short_refusal();
        ask("WaitRun", "ss", "a", name);
        expect_short_refusal();
}

/* ---- how much is read for everybody ---- */

#define QUEUE "/jobkeeper/locks/db"
enum { MUCH = 1000, OFTEN = 4 };

static unsigned reads_of_much;

static ServerWay count_much(const ZkCall *call) {
        reads_of_much += g_str_has_prefix(call->path, RUNS) || g_str_has_prefix(call->path, QUEUE);
        return SERVER_ANSWER;
}

static void begin_with_much(void) {
        begin();
        server_create(QUEUE, "", 0);
        for (unsigned i = 0; i < MUCH; i++) {
                g_autofree char *run = g_strdup_printf(RUNS "/%u-1", 1000000000 + i),
                                *contender = g_strdup_printf(
                                    QUEUE "/_c_00000000-0000-0000-0000-%012u-__WRIT__%010u", i, i);
                server_create(run, "{\"run\":\"10-1\",\"job\":\"a\",\"state\":\"skipped\"}", 0);
                server_create(contender, "", 0x77);
        }
        server.way = count_much;
}

static bool all_that_was_asked_is_answered(void) {
        return n_said == OFTEN;
}

static void expect_reads_within_bounds(usec_t since) {
        usec_t took = clock_monotonic() - since;

        cr_assert_geq(reads_of_much, (unsigned)OFTEN * MUCH);
        cr_expect_leq(reads_of_much,
                      READS_AT_ONCE + 1 + 2 + (READS_PER_SECOND + 1) * took / USEC_PER_SEC,
                      "%u in %u ms", reads_of_much, (unsigned)(took / USEC_PER_MSEC));
}

Test(answers, histories_are_read_within_bounds) {
        usec_t since = 0;

        begin_with_much();
        since = clock_monotonic();
        for (unsigned i = 0; i < OFTEN; i++)
                ask_history();
        await(all_that_was_asked_is_answered, "all are answered");
        expect_reads_within_bounds(since);
        cr_expect_not_null(strstr(said, "\"runs\""));
}

Test(answers, locks_are_read_within_bounds) {
        usec_t since = 0;

        begin_with_much();
        since = clock_monotonic();
        for (unsigned i = 0; i < OFTEN; i++)
                ask("Locks", "s", i % 2 ? "" : "db");
        await(all_that_was_asked_is_answered, "all are answered");
        expect_reads_within_bounds(since);
        cr_expect_not_null(strstr(said, "\"resources\""));
}

static bool all_at_once_is_spent(void) {
        return reads_of_much >= READS_AT_ONCE;
}

static bool is_root_answered;

static int on_roots_answer(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        (void)message;
        (void)userdata;
        (void)error;
        is_root_answered = true;
        return 0;
}

static bool root_is_answered(void) {
        return is_root_answered;
}

Test(answers, root_does_not_wait_for_what_everybody_asks) {
        begin_with_much();
        for (unsigned i = 0; i < 8; i++)
                ask_history();
        await(all_at_once_is_spent, "much is read");
        reads_of_much = 0;
        cr_assert_geq(sd_bus_call_method_async(bus, NULL, BUS_NAME_ROOT, BUS_PATH, BUS_INTERFACE,
                                               "History", on_roots_answer, NULL, "su", "a", 0U),
                      0);
        await(root_is_answered, "root is answered");
        cr_expect_geq(reads_of_much, (unsigned)MUCH);
        cr_expect_lt(n_said, 8U, "not behind all that everybody asked");
}

static char *flood_said, *run_said; /* the last error of each */

static int on_told(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const sd_bus_error *told = sd_bus_message_get_error(message);
        char **said_error = userdata;

        (void)error;
        if (told) {
                g_free(*said_error);
                *said_error = g_strdup(told->message);
        }
        return 0;
}

static bool are_both_told(void) {
        return flood_said && run_said;
}

static ServerWay keep_requests_to_run(const ZkCall *call) {
        return call->request == REQUEST_CREATE ? SERVER_KEEP : count_much(call);
}

/* Of a run that may be written nobody may hear that it is to be asked for again. */
Test(answers, what_would_take_too_long_says_so_but_a_run, .timeout = 60) {
        enum { FLOOD = 15 };

        begin_with_much();
        server.way = keep_requests_to_run;
        for (unsigned i = 0; i < FLOOD; i++)
                cr_assert_geq(sd_bus_call_method_async(bus, NULL, BUS_NAME, BUS_PATH, BUS_INTERFACE,
                                                       "History", on_told, &flood_said, "su", "a",
                                                       0U),
                              0);
        cr_assert_geq(sd_bus_call_method_async(bus, NULL, BUS_NAME, BUS_PATH, BUS_INTERFACE, "Run",
                                               on_told, &run_said, "s", "a"),
                      0);
        await_within(are_both_told, "both are told", 40 * USEC_PER_SEC);
        cr_expect_not_null(strstr(flood_said, "would take too long: ask for less"), "%s",
                           flood_said);
        cr_expect_str_eq(run_said,
                         "ZooKeeper did not answer in time: the run may still take place");
        g_clear_pointer(&flood_said, g_free);
        g_clear_pointer(&run_said, g_free);
}

static void write_many_jobs(unsigned n) {
        for (unsigned file = 0; file < n / 500; file++) {
                g_autoptr(GString) text = g_string_new("jobs:\n");
                g_autofree char *name = g_strdup_printf("etc/jobkeeper/jobs.d/many%u.yaml", file);

                for (unsigned i = 0; i < 500; i++)
                        g_string_append_printf(text, "  m%u-%u: {exec: [/bin/true]}\n", file, i);
                tree_write(root, name, text->str);
        }
}

static char *status_said;

static int on_status_said(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const char *text = NULL;

        (void)userdata;
        (void)error;
        if (sd_bus_message_read(message, "s", &text) >= 0)
                status_said = g_strdup(text);
        return 0;
}

static bool is_status_said(void) {
        return status_said;
}

/* Histories and two looks at locks want the same: a fourth of what there is goes to the status. */
Test(answers, a_status_that_others_leave_too_little_for_says_so, .timeout = 60) {
        enum { JOBS = 2000, FLOOD = 14 };
        sd_bus *readers = NULL, *lookers = NULL;
        json_t *object = NULL;

        write_many_jobs(JOBS);
        begin_with_much();
        readers = another_caller();
        lookers = another_caller();
        for (unsigned i = 0; i < FLOOD; i++) {
                ask_as(readers, BUS_NAME, "History", "su", "a", 0U);
                ask_as(lookers, BUS_NAME, "Locks", "s", "db");
        }
        await(all_at_once_is_spent, "much is read");
        cr_assert_geq(sd_bus_call_method_async(bus, NULL, BUS_NAME, BUS_PATH, BUS_INTERFACE,
                                               "Status", on_status_said, NULL, NULL),
                      0);
        await_within(is_status_said, "a status", 30 * USEC_PER_SEC);
        object = json_loads(status_said, 0, NULL);
        cr_expect(json_is_false(json_object_get(object, "complete")));
        cr_expect_not_null(strstr(json_string_value(json_object_get(object, "note")),
                                  "more is asked of it than it reads for everybody"));
        cr_expect_eq(json_array_size(json_object_get(object, "jobs")), JOBS + 1U);
        json_decref(object);
        g_free(status_said);
        sd_bus_flush_close_unref(readers);
        sd_bus_flush_close_unref(lookers);
}
