/* The line of `systemctl status`, in a whole daemon (daemon-fixture.h): it says what `jobkeeper
 * status` says, whatever keeps the node from its work. */
#include <sys/socket.h>
#include <sys/un.h>

#include "daemon-fixture.h"

static int notify_fd = -1;
static GString *line; /* the last one */

static void setup_line(void) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        g_autofree char *path = NULL;

        setup();
        line = g_string_new(NULL);
        path = g_build_filename(root, "notify", NULL);
        notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        cr_assert_lt(strlen(path), sizeof address.sun_path);
        (void)g_strlcpy(address.sun_path, path, sizeof address.sun_path);
        cr_assert_eq(bind(notify_fd, (struct sockaddr *)&address, sizeof address), 0);
        g_setenv("NOTIFY_SOCKET", path, TRUE);
        write_job("    every: 300d\n    exec: [/bin/true]\n");
}

static void teardown_line(void) {
        (void)close(notify_fd);
        (void)g_string_free(line, TRUE);
        g_unsetenv("NOTIFY_SOCKET");
        teardown();
}

TestSuite(status_line, .init = setup_line, .fini = teardown_line);

static unsigned told;

static void hear(void) {
        char buffer[4096];
        ssize_t n;

        while ((n = recv(notify_fd, buffer, sizeof buffer - 1, 0)) > 0) {
                buffer[n] = '\0';
                if (!g_str_has_prefix(buffer, "STATUS="))
                        continue;
                told++;
                (void)g_string_assign(line, buffer + strlen("STATUS="));
        }
}

static const char *wanted;

static bool is_said(void) {
        hear();
        return g_str_has_prefix(line->str, wanted);
}

static void await_line(const char *text) {
        wanted = text;
        await(is_said, line->str);
}

static Zk *newest_port(void) {
        return ports->pdata[ports->len - 1];
}

Test(status_line, it_says_that_the_clock_is_waited_for) {
        open_daemon();
        await_line("Connected to ZooKeeper, 1 job");
        coordinator->node->waits_for_clock = true;
        reload(); /* so that the loop turns */
        await_line("Connected to ZooKeeper, but no jobs are run until the clock is synchronised "
                   "(wait-for-clock)");
        coordinator->node->waits_for_clock = false;
        reload();
        await_line("Connected to ZooKeeper, 1 job");
}

Test(status_line, it_says_who_drained_the_node_and_why) {
        server_create("/jobkeeper", "", 0);
        server_create("/jobkeeper/control",
                      "{\"drained\":{\"n1\":{\"by\":\"alice on n2\",\"why\":\"new disk\",\"since\":"
                      "1763000000}}}",
                      0);
        open_daemon();
        await_line("Connected to ZooKeeper, but no jobs are run: this node is drained since "
                   "2025-11-13 02:13:20 UTC by alice on n2: new disk");
        server_write("/jobkeeper/control", "{}");
        await_line("Connected to ZooKeeper, 1 job");
}

Test(status_line, it_says_that_the_node_is_outside_of_its_window) {
        tree_write(root, "jobkeeper.yaml",
                   "node: {name: n1, window: {from: 2020-01-01, for: 1h}}\ndrain-timeout: 0\n");
        open_daemon();
        await_line("Connected to ZooKeeper, but no jobs are run: this node is outside of its "
                   "window, which does not open any more");
}

Test(status_line, it_says_that_the_clock_is_wrong) {
        server.clock = (int64_t)(5 * USEC_PER_SEC);
        open_daemon();
        await_line("Connected to ZooKeeper, but no jobs are run: the clock is skewed");
}

static ServerWay refuse_creates(const ZkCall *call) {
        return call->request == REQUEST_CREATE ? SERVER_REFUSE : SERVER_ANSWER;
}

Test(status_line, it_follows_the_session) {
        open_daemon();
        await_line("Connected to ZooKeeper, 1 job");
        port_tell(newest_port(), ZK_STATE_SUSPENDED);
        await_line("The connection to ZooKeeper was lost, reconnecting");
        port_tell(newest_port(), ZK_STATE_CONNECTED);
        await_line("Connected to ZooKeeper, 1 job");
        told = 0;
        serve_for(200 * USEC_PER_MSEC);
        hear();
        cr_expect_eq(told, 0, "nothing is said twice");
}

static void have_a_heartbeat(void) {
        port_tell(newest_port(), ZK_STATE_SUSPENDED);
        port_tell(newest_port(), ZK_STATE_CONNECTED);
}

Test(status_line, it_says_that_the_state_of_the_session_cannot_be_kept) {
        g_autofree char *directory = NULL, *aside = NULL;

        open_daemon();
        await_line("Connected to ZooKeeper, 1 job");
        directory = g_strdup(coordinator->node->runtime_dir);
        aside = g_strconcat(directory, ".aside", NULL);
        cr_assert_eq(g_rename(directory, aside), 0);
        have_a_heartbeat();
        await_line("Connected to ZooKeeper, but no jobs are run: the state of the ZooKeeper "
                   "session cannot be written");
        cr_assert_eq(g_rename(aside, directory), 0);
        have_a_heartbeat();
        await_line("Connected to ZooKeeper, 1 job");
}

Test(status_line, whoever_may_not_write_there_says_so) {
        server.way = refuse_creates;
        server.refusal = ZK_NO_AUTH;
        open_daemon();
        await_line(
            "Connected to ZooKeeper, but no jobs are run: /jobkeeper: no permission to create "
            "nodes there; if it was made by machines with a secret, this one needs \"auth: "
            "digest\" and the same secret");
        server.way = NULL;
        await_line("Connected to ZooKeeper, 1 job");
}

Test(status_line, a_name_that_is_taken_is_said) {
        server_create("/jobkeeper/nodes/n1", "{\"node\":\"n1\",\"machine\":\"another\"}", 77);
        open_daemon();
        await_line("Connected to ZooKeeper, but no jobs are run: another machine");
}

Test(status_line, a_refused_secret_is_said) {
        open_daemon();
        port_tell(newest_port(), ZK_STATE_EXPIRED);
        port_tell(newest_port(), ZK_STATE_AUTH_FAILED);
        await_line("Not connected to ZooKeeper: the ZooKeeper server refuses our credentials");
}

Test(status_line, what_the_ending_says_stays) {
        open_daemon();
        await_line("Connected to ZooKeeper, 1 job");
        coordinator_stop(coordinator);
        port_tell(newest_port(), ZK_STATE_SUSPENDED);
        serve_for(100 * USEC_PER_MSEC);
        hear();
        cr_expect_str_eq(line->str, "Stopping, ending and settling runs", "%s", line->str);
}
