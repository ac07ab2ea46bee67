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

static bool list_is_kept;

static ServerWay keep_lists_of_res(const ZkCall *call) {
        bool is_list = call->request == REQUEST_LIST && g_str_equal(call->path, LOCKS "/res");
        bool keep = is_list && !list_is_kept; /* the sweep's */

        list_is_kept |= is_list;
        return keep ? SERVER_KEEP : SERVER_ANSWER;
}

static bool is_kept(void) {
        return list_is_kept;
}

static bool has_started(void) {
        return started->len > 0;
}

static bool is_being_stopped(void) {
        const Service *service = service_newest();

        return service && service->stops + service->kills > 0;
}

static bool no_contender_stands(void) {
        return server_count(LOCKS "/res") == 0;
}

static void delete_contenders(const char *directory) {
        g_autoptr(GPtrArray) found = g_ptr_array_new_with_free_func(g_free);
        g_autofree char *prefix = g_strconcat(directory, "/", NULL);
        GHashTableIter iterator;
        gpointer path;

        g_hash_table_iter_init(&iterator, server.nodes);
        while (g_hash_table_iter_next(&iterator, &path, NULL))
                if (g_str_has_prefix(path, prefix))
                        g_ptr_array_add(found, g_strdup(path));
        for (guint i = 0; i < found->len; i++)
                server_delete(found->pdata[i]);
}

/* The sweep began before there was that run, and knows nothing of it. */
Test(left_queues, the_other_lock_of_a_run_that_lost_one_stays_until_it_has_ended) {
        (void)due_soon("    locks: {res: exclusive}\n");
        close_daemon();
        server_forget_watches();
        server_create(LOCKS "/res", "", 0);
        server.way = keep_lists_of_res;
        open_daemon_again();
        await(is_kept, "a sweep that takes long");
        await(has_started, "it runs");
        await_quiet();
        cr_assert_eq(server_count(LOCKS "/res"), 1);
        service_manager.deaf = true;
        delete_contenders(LOCKS "/job:a");
        await(is_being_stopped, "it is stopped");
        server_release();
        await_quiet();
        cr_expect_eq(server_count(LOCKS "/res"), 1);
        service_manager.deaf = false;
        service_obey(service_newest());
        await(no_contender_stands, "it has ended");
}
