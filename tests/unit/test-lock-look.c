/* Looking at the locks, in the session of a whole daemon (daemon-fixture.h): which directories are
 * looked into for one resource and for all of them, what is told to whom, and what is said when
 * they cannot be read. What the report makes of contenders is in test-locks-view.c. */
#include "daemon-fixture.h"

#include <errno.h>

#include "lock-look.h"

#define FIRST "_c_00000000-0000-0000-0000-000000000001-__WRIT__0000000001"
#define SECOND "_c_00000000-0000-0000-0000-000000000002-__WRIT__0000000002"
#define SLOT_1 "_c_00000000-0000-0000-0000-000000000004-__SLOT__0000000004"
#define SLOT_2 "_c_00000000-0000-0000-0000-000000000005-__SLOT__0000000005"
#define OF_JAVA "_c_00000000-0000-0000-0000-000000000003-lock-0000000003"

/* Somebody who looks. */
static struct {
        LockLook *look;
        unsigned calls;
        int error;
        json_t *report;
} seen;

static void look_on_report(LockLook *look, int error, void *userdata) {
        cr_expect_eq(userdata, &seen);
        cr_expect_eq(look, seen.look);
        seen.calls++;
        seen.error = error;
        seen.report = error < 0 ? NULL : lock_look_report(look);
        seen.look = lock_look_free(look);
}

static bool is_ready(void) {
        return node_is_ready(coordinator->node);
}

static void setup_looks(void) {
        setup();
        tree_write(root, "jobkeeper.yaml",
                   "node: {name: n1}\nresources:\n"
                   "  java: {path: /java, naming: curator-mutex}\n"
                   "  pool: {slots: 2}\n");
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        open_daemon();
        await(is_ready, "ready");
        server_create("/jobkeeper/locks/db", "", 0);
        server_create("/jobkeeper/locks/db/" SECOND, "{\"node\":\"n2\"}", 0x22);
        server_create("/jobkeeper/locks/db/" FIRST, "{\"node\":\"n1\"}", 0x11);
        server_create("/java", "", 0);
        server_create("/java/" OF_JAVA, "somebody", 0x33);
}

static void teardown_looks(void) {
        seen.look = lock_look_free(seen.look);
        g_clear_pointer(&seen.report, json_decref);
        teardown();
}

TestSuite(lock_look, .init = setup_looks, .fini = teardown_looks);

static int begin(const char *resource, bool privileged) {
        return lock_look_new(coordinator->session, coordinator->config, resource, privileged, NULL,
                             look_on_report, &seen, &seen.look);
}

static bool is_seen(void) {
        return seen.calls > 0;
}

/* Return: borrowed, the resources of the report. */
static const json_t *look_at(const char *resource, bool privileged) {
        g_clear_pointer(&seen.report, json_decref);
        seen.calls = 0;
        cr_assert_eq(begin(resource, privileged), 0);
        cr_expect_eq(seen.calls, 0, "from the loop");
        await(is_seen, "a report");
        cr_assert_eq(seen.error, 0, "%s", g_strerror(-seen.error));
        cr_expect_eq(seen.calls, 1);
        return json_object_get(seen.report, "resources");
}

static void expect_error(const char *resource, int error) {
        cr_assert_eq(begin(resource, true), 0);
        await(is_seen, "an answer");
        serve_for(50 * USEC_PER_MSEC);
        cr_expect_eq(seen.calls, 1);
        cr_expect_eq(seen.error, error, "%s", g_strerror(-seen.error));
        cr_expect_null(seen.look);
}

static const char *name_at(const json_t *resources, size_t i) {
        const char *name =
            json_string_value(json_object_get(json_array_get(resources, i), "resource"));

        return name ? name : "none";
}

static const json_t *entry_at(const json_t *resources, size_t i, size_t n) {
        return json_array_get(json_object_get(json_array_get(resources, i), "entries"), n);
}

static const char *text(const json_t *object, const char *name) {
        const char *value = json_string_value(json_object_get(object, name));

        return value ? value : "none";
}

/* ---- one ---- */

Test(lock_look, one_resource_is_told_in_the_order_of_its_queue) {
        const json_t *resources = look_at("db", false);

        cr_assert_eq(json_array_size(resources), 1);
        cr_expect_str_eq(name_at(resources, 0), "db");
        cr_expect_str_eq(text(entry_at(resources, 0, 0), "node"), "n1");
        cr_expect(json_is_true(json_object_get(entry_at(resources, 0, 0), "holds")));
        cr_expect_str_eq(text(entry_at(resources, 0, 1), "node"), "n2");
        cr_expect(json_is_false(json_object_get(entry_at(resources, 0, 1), "holds")));
        cr_expect_null(entry_at(resources, 0, 2));
        cr_expect_str_eq(text(entry_at(resources, 0, 0), "path"), "/jobkeeper/locks/db/" FIRST);
        cr_expect_leq(json_real_value(json_object_get(seen.report, "now")),
                      (double)clock_realtime() / USEC_PER_SEC);
        cr_expect_gt(json_real_value(json_object_get(seen.report, "now")), 1e9);
}

/* Of a session's id its password can be told. */
Test(lock_look, sessions_are_told_to_the_privileged_alone) {
        const json_t *resources = look_at("db", false);

        cr_expect_null(json_object_get(entry_at(resources, 0, 0), "session"));
        resources = look_at("db", true);
        cr_expect_str_eq(text(entry_at(resources, 0, 0), "session"), "0x11");
}

Test(lock_look, one_that_nobody_uses_is_told_as_such) {
        const json_t *resources = look_at("unheard-of", false);

        cr_assert_eq(json_array_size(resources), 1);
        cr_expect_str_eq(name_at(resources, 0), "unheard-of");
        cr_expect_null(entry_at(resources, 0, 0));
}

Test(lock_look, one_that_is_declared_elsewhere_is_looked_at_there) {
        const json_t *resources = NULL;

        server_create("/jobkeeper/locks/java", "", 0);
        server_create("/jobkeeper/locks/java/" FIRST, "", 0x11);
        resources = look_at("java", false);
        cr_assert_eq(json_array_size(resources), 1);
        cr_expect_str_eq(text(entry_at(resources, 0, 0), "path"), "/java/" OF_JAVA);
        cr_expect_null(entry_at(resources, 0, 1));
}

Test(lock_look, one_that_is_declared_without_a_path_stands_where_all_do) {
        const json_t *resources = NULL;

        server_create("/jobkeeper/locks/pool", "", 0);
        server_create("/jobkeeper/locks/pool/" FIRST, "", 0x11);
        resources = look_at("pool", false);
        cr_assert_eq(json_array_size(resources), 1);
        cr_expect_str_eq(text(entry_at(resources, 0, 0), "path"), "/jobkeeper/locks/pool/" FIRST);
}

/* ---- all ---- */

/* Others may write there as well; who is no contender of a resource is not told of. */
Test(lock_look, all_are_those_that_somebody_uses_here_or_elsewhere) {
        static const char *const directories[] = {"job:a", "job:Bad", "Bad", "empty"};
        const json_t *resources = NULL;

        for (size_t i = 0; i < G_N_ELEMENTS(directories); i++) {
                g_autofree char *directory = g_strconcat("/jobkeeper/locks/", directories[i], NULL),
                                *contender = g_strconcat(directory, "/" FIRST, NULL);

                server_create(directory, "", 0);
                if (i < 3)
                        server_create(contender, "", 0x11);
        }
        resources = look_at(NULL, false);
        cr_assert_eq(json_array_size(resources), 3);
        cr_expect_str_eq(name_at(resources, 0), "db");
        cr_expect_str_eq(name_at(resources, 1), "job:a");
        cr_expect_str_eq(name_at(resources, 2), "java");
        cr_expect_str_eq(text(entry_at(resources, 2, 0), "path"), "/java/" OF_JAVA);
}

static const DaemonConfig without_resources = {.root = (char *)"/jobkeeper"};

Test(lock_look, where_nothing_is_declared_all_stand_below_the_root) {
        cr_assert_eq(lock_look_new(coordinator->session, &without_resources, NULL, false, NULL,
                                   look_on_report, &seen, &seen.look),
                     0);
        await(is_seen, "a report");
        cr_expect_eq(json_array_size(json_object_get(seen.report, "resources")), 1);
        cr_expect_str_eq(name_at(json_object_get(seen.report, "resources"), 0), "db");
}

/* ---- what cannot be read ---- */

static const char *closed; /* a directory that we may not list */

static ServerWay refuse_closed(const ZkCall *call) {
        server.refusal = ZK_NO_AUTH;
        return call->request == REQUEST_LIST && g_str_equal(call->path, closed) ? SERVER_REFUSE
                                                                                : SERVER_ANSWER;
}

Test(lock_look, one_that_may_not_be_looked_into_is_an_error) {
        closed = "/jobkeeper/locks/db";
        server.way = refuse_closed;
        expect_error("db", -EACCES);
}

Test(lock_look, among_all_those_that_may_not_be_looked_into_are_named) {
        static const char *const paths[] = {"/jobkeeper/locks/db", "/java"};
        static const char *const names[] = {"db", "java"};

        for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
                const json_t *resources = NULL;

                closed = paths[i];
                server.way = refuse_closed;
                resources = look_at(NULL, true);
                cr_assert_eq(json_array_size(resources), 2);
                cr_expect_str_eq(name_at(resources, 0), names[1 - i]);
                cr_expect_null(json_object_get(json_array_get(resources, 0), "unreadable"));
                cr_expect_str_eq(name_at(resources, 1), names[i]);
                cr_expect(
                    json_is_true(json_object_get(json_array_get(resources, 1), "unreadable")));
        }
}

/* What was seen elsewhere would pass for all. */
Test(lock_look, all_is_an_error_where_the_tree_may_not_be_looked_into) {
        closed = "/jobkeeper/locks";
        server.way = refuse_closed;
        expect_error(NULL, -EACCES);
}

/* ---- without an answer ---- */

static ServerWay keep_lists(const ZkCall *call) {
        return call->request == REQUEST_LIST ? SERVER_KEEP : SERVER_ANSWER;
}

Test(lock_look, with_the_session_it_is_over_at_once_and_told_once) {
        server.way = keep_lists;
        cr_assert_eq(begin(NULL, true), 0);
        serve_for(50 * USEC_PER_MSEC);
        cr_expect_eq(seen.calls, 0);
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        await(is_seen, "an answer");
        cr_expect_eq(seen.calls, 1);
        cr_expect_eq(seen.error, -ENOTCONN);
        cr_expect_eq(begin(NULL, true), -ENOTCONN);
        cr_expect_eq(begin("db", true), -ENOTCONN);
        cr_expect_null(seen.look);
        server_release();
        cr_expect_eq(seen.calls, 1);
}

static unsigned lost;

static ServerWay lose_slots(const ZkCall *call) {
        return call->request == REQUEST_GET && g_str_equal(call->path, "/jobkeeper/locks/pool") &&
                       lost++ == 0
                   ? SERVER_LOSE
                   : SERVER_ANSWER;
}

Test(lock_look, how_many_slots_there_are_is_asked_again_where_the_answer_was_lost) {
        const json_t *resources = NULL;

        server_create("/jobkeeper/locks/pool", "{\"slots\":2}", 0);
        server_create("/jobkeeper/locks/pool/" SLOT_1, "", 0x11);
        server_create("/jobkeeper/locks/pool/" SLOT_2, "", 0x22);
        server.way = lose_slots;
        resources = look_at("pool", false);
        cr_expect_eq(lost, 2);
        cr_expect(json_is_true(json_object_get(entry_at(resources, 0, 0), "holds")));
        cr_expect(json_is_true(json_object_get(entry_at(resources, 0, 1), "holds")));
}

Test(lock_look, who_does_not_look_any_more_is_not_told) {
        server.way = keep_lists;
        cr_assert_eq(begin(NULL, true), 0);
        serve_for(50 * USEC_PER_MSEC);
        seen.look = lock_look_free(seen.look);
        server.way = NULL;
        server_release();
        serve_for(50 * USEC_PER_MSEC);
        cr_expect_eq(seen.calls, 0);
        cr_expect_null(lock_look_free(NULL));
}

/* ---- names ---- */

Test(lock_look, the_names_of_resources_and_of_jobs_locks_can_be_looked_at) {
        static const struct {
                const char *name, *fault;
        } names[] = {
            {"db", NULL},
            {"job:a", NULL},
            {"", "the resource name \"\" is empty"},
            {"job:", "the resource name \"job:\" is empty"},
            {"a/b", "the resource name \"a/b\" may only have the characters a-z, 0-9, '.', '_' and "
                    "'-'"},
            {"job:job:a", "the resource name \"job:job:a\" may only have the characters a-z, 0-9, "
                          "'.', '_' and '-'"},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                g_autofree char *fault = lock_look_fault(names[i].name);

                cr_expect_str_eq(fault ? fault : "none", names[i].fault ? names[i].fault : "none",
                                 "%s", fault);
        }
}

Test(lock_look, a_name_of_millions_is_not_repeated) {
        g_autofree char *name = g_strnfill(1 << 20, '/'), *fault = lock_look_fault(name);

        cr_assert_not_null(fault);
        cr_expect_lt(strlen(fault), 400U);
        cr_expect(strstr(fault, "//…\""), "%s", fault);
}
