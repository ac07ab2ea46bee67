/* The layout under the root, and who else may change it, in a whole daemon (daemon-fixture.h). */
#include "daemon-fixture.h"
#include "openness.h"
#include "tree.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "cleanup.h"

TestSuite(tree, .init = setup, .fini = teardown);

static bool is_ready(void) {
        return node_is_ready(coordinator->node);
}

static bool has_fault(void) {
        return *tree_fault(coordinator->tree);
}

static void begin(const char *others) {
        server.others = others;
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        open_daemon();
}

static void with_auth(void) {
        g_autofree char *directory = tree_path(root, "credentials"),
                        *file = g_build_filename(directory, "zookeeper-auth", NULL);

        tree_write(root, "jobkeeper.yaml",
                   "node: {name: n1}\nzookeeper: {servers: scripted:1, auth: digest}\n");
        tree_write(root, "credentials/zookeeper-auth", "jobkeeper:sesame\n");
        cr_assert_eq(chmod(file, 0400), 0);
        g_setenv("CREDENTIALS_DIRECTORY", directory, TRUE);
}

Test(tree, an_open_one_is_used_without_auth_and_told_of) {
        begin("world:anyone");
        await(is_ready, "ready");
        cr_expect_not_null(strstr(tree_warning(coordinator->tree), "is used without \"auth\""));
        cr_expect_str_empty(tree_fault(coordinator->tree));
}

Test(tree, one_that_others_cannot_change_is_not_warned_of) {
        begin(NULL);
        await(is_ready, "ready");
        cr_expect_str_empty(tree_warning(coordinator->tree));
}

Test(tree, an_open_one_is_refused_with_auth_until_it_is_closed) {
        with_auth();
        begin("world:anyone, digest:mallory");
        await(has_fault, "a fault");
        cr_expect_str_eq(
            tree_fault(coordinator->tree),
            "/jobkeeper in ZooKeeper can be changed by world:anyone, digest:mallory, although "
            "\"auth\" is set; nothing is run until \"addauth digest USER:PASSWORD\" and \"setAcl "
            "-R "
            "/jobkeeper auth::cdrwa\" in ZooKeeper's zkCli.sh (Debian: "
            "/usr/share/zookeeper/bin/zkCli.sh) have closed it");
        cr_expect_str_empty(tree_warning(coordinator->tree));
        cr_expect_not(node_is_ready(coordinator->node));
        server.others = NULL;
        await(is_ready, "ready");
        cr_expect_str_empty(tree_fault(coordinator->tree));
}

/* ---- what stands in it ---- */

static ServerWay keep_control(const ZkCall *call) {
        return call->request == REQUEST_GET && g_str_equal(call->path, "/jobkeeper/control")
                   ? SERVER_KEEP
                   : SERVER_ANSWER;
}

static bool is_control_kept(void) {
        return g_queue_get_length(&server.kept) > 0;
}

/* It may say that nothing is to run, and each claim is made by its version. */
Test(tree, nothing_begins_before_the_control_node_is_read) {
        server.way = keep_control;
        begin(NULL);
        await(is_control_kept, "it is asked for");
        serve_for(300 * USEC_PER_MSEC);
        cr_expect_not(is_ready());
        server.way = NULL;
        server_release();
        await(is_ready, "ready");
}

Test(tree, the_parents_of_a_nested_root_are_made) {
        tree_write(root, "jobkeeper.yaml",
                   "node: {name: n1}\nzookeeper: {root: /fleet/west/jobs}\n");
        begin(NULL);
        await(is_ready, "ready");
        cr_expect_not_null(server_node("/fleet/west"));
        cr_expect_str_eq(server_data("/fleet/west/jobs/version"), "1");
        cr_expect_not_null(server_node("/fleet/west/jobs/nodes/n1"));
        cr_expect_not_null(server_node("/fleet/west/jobs/open/n1"));
        cr_expect_null(server_node("/jobkeeper"));
}

static bool control_is_as_there(void) {
        return tree_control_version(coordinator->tree) ==
               server_node("/jobkeeper/control")->stat.version;
}

/* Every claim checks its version. */
Test(tree, each_change_of_the_control_node_is_seen) {
        server_create("/jobkeeper", "", 0);
        server_create("/jobkeeper/control", "{}", 0);
        server_node("/jobkeeper/control")->stat.version = 41;
        begin(NULL);
        await(is_ready, "ready");
        cr_expect_eq(tree_control_version(coordinator->tree), 41);
        for (unsigned i = 0; i < 3; i++) {
                server_write("/jobkeeper/control", "{}");
                await(control_is_as_there, "it is read again");
        }
        cr_expect_eq(tree_control_version(coordinator->tree), 44);
}

/* ---- who listens on this machine ---- */

static int listen_on(int family, const char *host, uint16_t *ret_port) {
        struct sockaddr_in6 six = {.sin6_family = AF_INET6};
        struct sockaddr_in four = {.sin_family = AF_INET};
        struct sockaddr *address = family == AF_INET ? (void *)&four : (void *)&six;
        socklen_t length = family == AF_INET ? sizeof(four) : sizeof(six);
        int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

        cr_assert_eq(inet_pton(family, host,
                               family == AF_INET ? (void *)&four.sin_addr : (void *)&six.sin6_addr),
                     1);
        cr_assert_geq(fd, 0);
        cr_assert_eq(bind(fd, address, length), 0, "%s: %m", host);
        cr_assert_eq(listen(fd, 1), 0);
        cr_assert_eq(getsockname(fd, address, &length), 0);
        *ret_port = ntohs(family == AF_INET ? four.sin_port : six.sin6_port);
        return fd;
}

static void expect_public(int family, const char *host, bool expected) {
        uint16_t port = 0;
        int fd = listen_on(family, host, &port);

        cr_expect_eq(port_is_public(port), expected, "%s", host);
        (void)close(fd);
        cr_expect_not(port_is_public(port), "nobody listens on %s any more", host);
}

Test(openness, listeners_for_others_than_this_machine_are_found) {
        expect_public(AF_INET, "0.0.0.0", true);
        expect_public(AF_INET, "127.0.0.1", false);
        expect_public(AF_INET6, "::", true);
        expect_public(AF_INET6, "::1", false);
        expect_public(AF_INET6, "::ffff:127.0.0.1", false);
}

static void expect_warning(const char *others, const char *address, const char *who) {
        g_autofree char *text = openness_warning(others, address);

        cr_expect_not_null(strstr(text, who), "%s", text);
}

Test(openness, the_warning_says_who) {
        g_autofree char *local = NULL;
        uint16_t port = 0;
        int fd = listen_on(AF_INET, "127.0.0.1", &port);

        local = g_strdup_printf("127.0.0.1:%u", port);
        expect_warning("world:anyone", local, "so that every user of this machine can start");
        (void)close(fd);
        fd = listen_on(AF_INET, "0.0.0.0", &port);
        g_free(local);
        local = g_strdup_printf("127.0.0.1:%u", port);
        expect_warning("world:anyone", local, "so that everybody who reaches it over the network");
        (void)close(fd);
        expect_warning("world:anyone", "192.0.2.1:2181",
                       "everybody who reaches it over the network");
        expect_warning("ip:192.0.2.0/24", "192.0.2.1:2181", "so that ip:192.0.2.0/24 can start");
}
