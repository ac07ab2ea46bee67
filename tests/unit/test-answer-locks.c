/* What is said on the bus of locks, in a whole daemon (bus-fixture.h): who holds and who waits,
 * what may not be looked into, and looks that have to wait, are cut off, or whose callers leave. */
#include "answer-locks.h"

#include "bus-fixture.h"

#define LOCKS "/jobkeeper/locks"
#define DB LOCKS "/db"
#define HOLDER DB "/_c_00000000-0000-0000-0000-000000000001-__WRIT__0000000001"
#define WAITER DB "/_c_00000000-0000-0000-0000-000000000002-__READ__0000000002"

TestSuite(answer_locks, .init = setup_bus, .fini = teardown_bus);

static void begin(void) {
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        open_daemon_on_bus();
}

static void begin_with_locks(void) {
        begin();
        server_create(DB, "", 0);
        server_create(HOLDER, "{\"node\":\"n1\",\"job\":\"a\",\"tick\":1000000000}", 0x77);
        server_create(WAITER, "somebody else's", 0x78);
}

static json_t *resource_said(const json_t *answer, size_t i) {
        return json_array_get(json_object_get(answer, "resources"), i);
}

static json_t *entry_said(const json_t *answer, size_t i) {
        return json_array_get(json_object_get(resource_said(answer, 0), "entries"), i);
}

static const char *string_of(const json_t *object, const char *member) {
        const char *text = json_string_value(json_object_get(object, member));

        return text ? text : "(none)";
}

/* ---- who holds, and who waits ---- */

Test(answer_locks, a_resource_is_shown_with_its_queue) {
        json_t *answer = NULL;

        begin_with_locks();
        ask("Locks", "s", "db");
        answer = expect_json();
        cr_expect_eq(json_array_size(json_object_get(answer, "resources")), 1U);
        cr_expect_str_eq(string_of(resource_said(answer, 0), "resource"), "db");
        cr_expect_eq(json_array_size(json_object_get(resource_said(answer, 0), "entries")), 2U);
        cr_expect(json_is_true(json_object_get(entry_said(answer, 0), "holds")));
        cr_expect_str_eq(string_of(entry_said(answer, 0), "mode"), "exclusive");
        cr_expect_str_eq(string_of(entry_said(answer, 0), "job"), "a");
        cr_expect_str_eq(string_of(entry_said(answer, 0), "node"), "n1");
        cr_expect_not(json_is_true(json_object_get(entry_said(answer, 1), "holds")));
        cr_expect_eq(json_integer_value(json_object_get(entry_said(answer, 1), "before")), 1);
        cr_expect_str_eq(string_of(entry_said(answer, 1), "payload"), "somebody else's");
        cr_expect_null(strstr(said, "session"), "%s", said);
        json_decref(answer);
        ask_as(bus, BUS_NAME_ROOT, "Locks", "s", "db");
        expect_said("\"session\":\"0x77\"");
}

Test(answer_locks, all_that_somebody_uses_is_shown) {
        json_t *answer = NULL;

        begin_with_locks();
        server_create(LOCKS "/job:a", "", 0);
        server_create(LOCKS "/job:a/_c_00000000-0000-0000-0000-000000000003-__WRIT__0000000001", "",
                      0x77);
        server_create(LOCKS "/unused", "", 0);
        server_create(LOCKS "/NO NAME", "", 0);
        ask("Locks", "s", "");
        answer = expect_json();
        cr_expect_eq(json_array_size(json_object_get(answer, "resources")), 2U, "%s", said);
        cr_expect_str_eq(string_of(resource_said(answer, 0), "resource"), "db");
        cr_expect_str_eq(string_of(resource_said(answer, 1), "resource"), "job:a");
        json_decref(answer);
}

Test(answer_locks, a_resource_that_nobody_uses_is_free) {
        json_t *answer = NULL;

        begin();
        ask("Locks", "s", "db");
        answer = expect_json();
        cr_expect_str_eq(string_of(resource_said(answer, 0), "resource"), "db");
        cr_expect_eq(json_array_size(json_object_get(resource_said(answer, 0), "entries")), 0U);
        json_decref(answer);
}

Test(answer_locks, what_is_no_resources_name_is_refused) {
        static const char *const names[] = {"UPPER", "../db", "a/b", "job:", "job:UPPER", "a b"};

        begin();
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                g_autofree char *start = g_strdup_printf(
                    SD_BUS_ERROR_INVALID_ARGS ": the resource name \"%s\" ", names[i]);
                ask("Locks", "s", names[i]);
                expect_said(start);
        }
}

/* ---- what cannot be read ---- */

static ServerWay refuse_to_list_db(const ZkCall *call) {
        server.refusal = ZK_NO_AUTH;
        return call->request == REQUEST_LIST && g_str_equal(call->path, DB) ? SERVER_REFUSE
                                                                            : SERVER_ANSWER;
}

Test(answer_locks, what_may_not_be_looked_into_is_said) {
        begin_with_locks();
        server.way = refuse_to_list_db;
        ask("Locks", "s", "db");
        expect_said(BUS_ERROR_FAILED ": the locks cannot be read: Permission denied");
        ask("Locks", "s", "");
        expect_said("\"unreadable\":true");
}

Test(answer_locks, locks_need_a_session) {
        begin();
        port_tell(ports->pdata[0], ZK_STATE_SUSPENDED);
        ask("Locks", "s", "");
        expect_said(BUS_ERROR_NOT_CONNECTED ": no ZooKeeper session");
}

static bool is_faulty(void) {
        return *session_fault(coordinator->session);
}

Test(answer_locks, why_there_is_no_session_is_said) {
        begin();
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_AUTH_FAILED);
        await(is_faulty, "a fault");
        ask("Locks", "s", "");
        expect_said(BUS_ERROR_NOT_CONNECTED
                    ": no ZooKeeper session: the ZooKeeper server refuses our credentials");
}

/* ---- looks that see much ---- */

static bool has_answer(void) {
        return said;
}

Test(answer_locks, a_long_queue_is_shown_whole_to_all_who_ask) {
        json_t *answer = NULL;

        begin_with_locks();
        for (unsigned i = 3; i < 1000; i++) {
                g_autofree char *path =
                    g_strdup_printf(DB "/_c_00000000-0000-0000-0000-%012u-__WRIT__%010u", i, i);
                server_create(path, "", 0x79);
        }
        ask("Locks", "s", "");
        answer = expect_json();
        cr_expect_eq(json_array_size(json_object_get(resource_said(answer, 0), "entries")), 999U);
        cr_expect_eq(json_integer_value(json_object_get(entry_said(answer, 998), "before")), 998);
        json_decref(answer);
}

/* Somebody put many contenders there that have much to say. */
Test(answer_locks, an_answer_that_would_be_too_long_is_refused) {
        g_autofree char *name = g_strnfill(30000, 'n');

        begin();
        server_create(DB, "", 0);
        for (unsigned i = 0; i < 600; i++) {
                g_autofree char *path = g_strdup_printf(DB "/%s-%u", name, i);
                server_create(path, "", 0x79);
        }
        ask("Locks", "s", "db");
        await(has_answer, "an answer");
        cr_assert_lt(strlen(said), 400U);
        expect_said(SD_BUS_ERROR_LIMITS_EXCEEDED);
}

/* ---- looks that wait ---- */

static unsigned looks;

static ServerWay keep_looks(const ZkCall *call) {
        bool is_look = g_str_equal(call->path, LOCKS) && call->request == REQUEST_LIST;

        looks += is_look;
        return is_look ? SERVER_KEEP : SERVER_ANSWER;
}

static bool are_two_under_way(void) {
        return looks == 2;
}

static void ask_for_all(sd_bus *caller, unsigned times) {
        for (unsigned i = 0; i < times; i++)
                ask_as(caller, BUS_NAME, "Locks", "s", "");
}

static bool is_next_told(void) {
        return n_said == 1;
}

static bool all_three_are_told(void) {
        return n_said == 3;
}

static bool all_four_are_told(void) {
        return n_said == 4;
}

/* Two are under way, and one waits: what was asked after them has its answer. */
static void begin_with_three_looks(void) {
        begin();
        server.way = keep_looks;
        ask_for_all(bus, 3);
        ask("Next", "su", "a", 1U);
        await(is_next_told, "all questions have come");
        await(are_two_under_way, "two looks");
}

Test(answer_locks, who_waits_when_the_session_ends_is_told) {
        begin_with_three_looks();
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        await(all_four_are_told, "all are told");
        expect_said(BUS_ERROR_NOT_CONNECTED
                    ": the locks cannot be read: the connection to ZooKeeper is lost");
        cr_expect_eq(looks, 2U);
}

Test(answer_locks, who_waits_when_the_daemon_ends_is_told) {
        begin_with_three_looks();
        close_daemon();
        await(all_four_are_told, "all are told");
        expect_said("jobkeeperd is stopping");
}

static bool is_told(void) {
        return n_said == 1;
}

static bool is_the_third_under_way(void) {
        return looks == 3 && n_said >= 2;
}

Test(answer_locks, nothing_is_read_for_who_left_before_his_turn) {
        sd_bus *other = NULL;

        begin();
        server.way = keep_looks;
        other = another_caller();
        ask_for_all(bus, 2);
        await(are_two_under_way, "two looks");
        ask_for_all(other, 2);
        serve_for(USEC_PER_SEC / 10);
        sd_bus_flush_close_unref(other);
        serve_for(USEC_PER_SEC / 10);
        ask_for_all(bus, 1);
        serve_for(USEC_PER_SEC / 10);
        cr_expect_eq(looks, 2U);
        server_release();
        await(is_the_third_under_way, "the next look");
        cr_expect_eq(n_said, 2U);
        server_release();
        await(all_three_are_told, "all are told");
        cr_expect_eq(looks, 3U);
}

/* Leaving and asking again costs ZooKeeper no more than staying. */
Test(answer_locks, a_look_keeps_its_place_though_its_caller_left) {
        sd_bus *other = NULL;

        begin();
        server.way = keep_looks;
        other = another_caller();
        ask_for_all(other, 2);
        await(are_two_under_way, "two looks");
        sd_bus_flush_close_unref(other);
        serve_for(USEC_PER_SEC / 10);
        ask_for_all(bus, 1);
        serve_for(USEC_PER_SEC / 10);
        cr_expect_eq(looks, 2U);
        server.way = NULL;
        server_release();
        await(is_told, "an answer");
        expect_said("\"resources\":[]");
}

Test(answer_locks, there_may_be_none) {
        cr_expect_null(lock_looks_free(NULL));
}
