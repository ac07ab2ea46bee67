/* What a process left in queues while it waited, in a whole daemon (daemon-fixture.h): the next one
 * with its session deletes it, whatever its files have by then. */
#include "daemon-fixture.h"
#include "node.h"

#define LOCKS "/jobkeeper/locks"
#define CONTENDER "/_c_00000000-0000-4000-8000-000000000000-__WRIT__0000000000"

TestSuite(left_queues, .init = setup, .fini = teardown);

static bool is_ready(void) {
        return node_is_ready(coordinator->node);
}

static void leave_contender(const char *resource, int64_t owner) {
        g_autofree char *directory = g_strconcat(LOCKS "/", resource, NULL),
                        *path = g_strconcat(directory, CONTENDER, NULL);

        if (!server_node(directory))
                server_create(directory, "", 0);
        server_create(path, "{\"node\":\"n1\"}", owner);
}

static bool stands_in(const char *resource) {
        g_autofree char *path = g_strconcat(LOCKS "/", resource, CONTENDER, NULL);

        return server_node(path);
}

static bool none_stands(void) {
        return !stands_in("job:a") && !stands_in("job:gone") && !stands_in("res");
}

static void open_one(void) {
        write_job(
            "    every: 1h\n    exec: [/bin/true]\n    locks: {other: shared, res: exclusive}\n");
        write_job_named("b", "    every: 1h\n    exec: [/bin/true]\n    locks: {res: shared}\n");
        open_daemon();
        await(is_ready, "ready");
        close_daemon();
}

Test(left_queues, also_of_jobs_that_are_in_no_file_any_more) {
        open_one();
        leave_contender("job:a", last_session);
        leave_contender("job:gone", last_session);
        leave_contender("res", last_session);
        leave_contender("job:others", 77);
        open_daemon_again();
        await(none_stands, "what was left is deleted");
        cr_expect(stands_in("job:others"), "it is another session's");
}

static unsigned lost;

static ServerWay lose_lists_of_locks(const ZkCall *call) {
        return call->request == REQUEST_LIST && g_str_equal(call->path, LOCKS) && lost++ < 2
                   ? SERVER_LOSE
                   : SERVER_ANSWER;
}

Test(left_queues, a_lost_answer_is_asked_for_again) {
        open_one();
        leave_contender("job:gone", last_session);
        server.way = lose_lists_of_locks;
        open_daemon_again();
        await(none_stands, "what was left is deleted");
        cr_expect_eq(lost, 3);
}
