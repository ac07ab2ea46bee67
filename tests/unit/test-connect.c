/* How the session is opened as the configuration says, and what is wrong with it. */
#include <criterion/criterion.h>
#include <errno.h>

#include "connect.h"
#include "event-loop.h"
#include "journal.h"
#include "scripted-port.h"
#include "temporary-tree.h"

static char *root;
static sd_event *event;
static DaemonConfig config;
static Node *node;
static Session *session;

static void begin(void) {
        root = tree_make();
        event = loop_new();
        config = (DaemonConfig){
            .servers = (char *)"zk1:2181",
            .root = (char *)"/jobkeeper",
            .node_name = (char *)"n1",
            .session_timeout = 30 * USEC_PER_SEC,
            .tick_time = 2 * USEC_PER_SEC,
            .sync_limit = 5,
            .heartbeat = USEC_PER_SEC,
            .auth = DAEMON_AUTH_NONE,
        };
        node = node_new(event, root, root);
        node->config = &config;
}

static void end(void) {
        node->session = session = session_free(session);
        node_free(node);
        event = loop_end(event);
        tree_remove(root);
        g_free(root);
}

TestSuite(connect, .init = begin, .fini = end);

static void on_session(Session *which, SessionEvent what, void *userdata) {
}

static int connect_now(void) {
        return connect_session(node, "/etc/jobkeeper/jobkeeper.yaml", on_session, NULL, &session);
}

Test(connect, the_node_has_the_session) {
        cr_assert_eq(connect_now(), 0);
        cr_expect_eq(node->session, session);
        cr_expect(journal_has("(session-timeout 30s - "), "the sum is said");
        session_say(session, LOG_WARNING, "the servers' tick is longer");
        cr_expect(journal_has("warning: the servers' tick is longer"));
        cr_expect_eq(journal_count(MESSAGE_SESSION_WARNING), 1);
        session_say(session, LOG_DEBUG, "a line of the library");
        cr_expect_not(journal_has("warning: a line of the library"), "that is for debugging");
        cr_expect_eq(journal_count(MESSAGE_SESSION_WARNING), 1);
}

Test(connect, a_timeout_in_which_no_run_could_be_stopped_is_refused) {
        config.session_timeout = 10 * USEC_PER_SEC;
        cr_assert_eq(connect_now(), -EBADMSG);
        cr_expect_null(session);
        cr_expect(journal_has(
            "error: /etc/jobkeeper/jobkeeper.yaml: runs could not be stopped in time before the "
            "locks are given up"));
        config.sum_mark = (Mark){.line = 3, .column = 14};
        cr_assert_eq(connect_now(), -EBADMSG);
        cr_expect(journal_has("error: /etc/jobkeeper/jobkeeper.yaml:3:14: runs could not"));
}

Test(connect, a_secret_that_is_asked_for_and_not_there_is_refused) {
        g_autofree char *words = g_strdup_printf("there is no secret at %s/zookeeper-auth", root);

        g_setenv("CREDENTIALS_DIRECTORY", root, TRUE);
        config.auth = DAEMON_AUTH_DIGEST;
        cr_assert_eq(connect_now(), -ENOKEY);
        cr_expect_null(session);
        cr_expect_null(node->session);
        cr_expect(journal_has(words));
        cr_expect_eq(journal_count(MESSAGE_CONFIG_ERROR), 1);
}

Test(connect, what_the_session_refuses_is_handed_upward) {
        connect_error = -EINVAL;
        cr_assert_eq(connect_now(), -EINVAL);
        cr_expect_null(node->session);
}
