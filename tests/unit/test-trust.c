/* An ensemble that was wiped or restored, in a whole daemon (bus-fixture.h): nothing begins there
 * until it is accepted, and nothing else is taken for one. */
#include <string.h>

#include "bus-fixture.h"
#include "ensemble-memory.h"
#include "gate.h"
#include "journal.h"
#include "runs.h"
#include "tree.h"

#define ROOT "/jobkeeper"
#define PATH ROOT "/ensemble"
#define OPEN_PATH ROOT "/open/n1"
#define ID "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

static void setup_ensemble(void) {
        setup_bus();
        tree_write(root, "jobkeeper.yaml", "node: {name: n1}\ntakeover-delay: 100ms\n");
        write_job("    every: 1s\n    exec: [/bin/true]\n");
}

TestSuite(trust, .init = setup_ensemble, .fini = teardown_bus, .timeout = 60);

static bool is_ready(void) {
        return node_is_ready(coordinator->node);
}

static bool is_doubted(void) {
        return trust_is_doubted(tree_trust(coordinator->tree));
}

static bool is_idle(void) {
        return runs_count(coordinator->runs) == 0;
}

static bool is_done(void) {
        return sd_event_get_state(event) == SD_EVENT_FINISHED;
}

static Zk *newest_port(void) {
        return ports->pdata[ports->len - 1];
}

static bool connects(void) {
        return ports->len > 0 && newest_port()->connections == 0 && !newest_port()->ended;
}

/* The session that there was is over, and a new one begins. */
static void begin_another_session(void) {
        server_expire(last_session);
        port_tell(newest_port(), ZK_STATE_EXPIRED);
        await(connects, "it connects");
        port_tell(newest_port(), ZK_STATE_CONNECTED);
}

static void run_one(void) {
        open_daemon();
        await(a_run_goes_on, "a run");
        service_exit(service_newest(), 0);
        await(is_idle, "it is settled");
}

static gboolean is_of_root(gpointer path, gpointer node, gpointer data) {
        (void)node;
        (void)data;
        return g_str_has_prefix(path, ROOT);
}

static void wipe(void) {
        g_hash_table_foreach_remove(server.nodes, is_of_root, NULL);
        server_node("/")->stat.num_children = 0;
}

static void restore(void) {
        server_node(OPEN_PATH)->stat.pzxid--;
}

static unsigned starts_now(void) {
        return started->len;
}

static void expect_nothing_begins(void) {
        unsigned before = starts_now();

        serve_for(2500 * USEC_PER_MSEC);
        cr_expect_eq(starts_now(), before);
        cr_expect_not(is_ready());
        cr_expect_not_null(gate_closed(coordinator->gate));
        cr_expect_null(server_node(ROOT "/nodes/n1"), "nothing is registered");
}

static void ask_to_accept(const char *why, const char *shown) {
        ask_as(bus, BUS_NAME_ROOT, "AcceptEnsemble", "sss", why, "alice", shown);
}

static const char *doubt_shown(void) {
        return trust_doubt(tree_trust(coordinator->tree))->why;
}

static void expect_accepted(void) {
        ask_to_accept("tested", "all is well");
        expect_said("has changed since it was shown");
        cr_expect_null(strstr(server_data(PATH), "\"why\":\"tested\""));
        ask_to_accept("tested", doubt_shown());
        expect_said("\"changed\":true");
        await(is_ready, "ready");
        cr_expect_not(is_doubted());
        cr_expect_null(strstr(server_data(PATH), "doubt"));
        cr_expect_not_null(strstr(server_data(PATH), "\"by\":\"alice on n1\",\"why\":\"tested\""));
        await(a_run_goes_on, "a run");
        cr_expect(journal_has("what stands in ZooKeeper is accepted"));
}

static char *memory_text(void) {
        g_autofree char *path = g_build_filename(root, "state", "ensemble.json", NULL);
        char *text = NULL;

        (void)g_file_get_contents(path, &text, NULL, NULL);
        return text;
}

static bool is_remembered(void) {
        g_autofree char *text = memory_text(),
                        *newest = g_strdup_printf("\"newest\":%" G_GINT64_FORMAT,
                                                  server_node(OPEN_PATH)->stat.pzxid);

        return text && strstr(text, newest);
}

/* ---- what is no reason to doubt ---- */

Test(trust, one_that_is_new_gets_an_id_and_is_remembered) {
        run_one();
        cr_expect(g_str_has_prefix(server_data(PATH), "{\"id\":\""));
        await(is_remembered, "up to its last run");
}

Test(trust, of_a_version_before_gets_an_id) {
        server_create(ROOT, "", 0);
        server_create(ROOT "/version", "1", 0);
        server_create(ROOT "/open", "", 0);
        server_create(OPEN_PATH, "", 0);
        run_one();
        cr_expect(g_str_has_prefix(server_data(PATH), "{\"id\":\""));
}

Test(trust, restarts_and_sessions_that_end) {
        run_one();
        begin_another_session();
        await(is_ready, "ready");
        close_daemon();
        open_daemon_again();
        await(is_ready, "ready");
        close_daemon();
        server_expire(last_session);
        open_daemon();
        await(is_ready, "ready");
        cr_expect_not(is_doubted());
}

/* As after a crash before the file was written, or with a disk that was set back. */
Test(trust, less_is_known_than_was_written) {
        run_one();
        await(is_remembered, "it stands in the file");
        server_node(OPEN_PATH)->stat.pzxid += 100;
        begin_another_session();
        await(is_ready, "ready");
}

Test(trust, runs_of_other_nodes_that_we_settle_are_none_of_ours) {
        server_create(ROOT, "", 0);
        server_create(ROOT "/open", "", 0);
        server_create(ROOT "/open/n7", "", 0);
        server_create(ROOT "/open/n7/a:1763000000-1", "", 0);
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        open_daemon();
        await(is_ready, "ready");
        while (server_count(ROOT "/open/n7") > 0)
                turn();
        serve_for(200 * USEC_PER_MSEC);
        begin_another_session();
        await(is_ready, "ready");
}

Test(trust, a_file_that_is_damaged_is_set_aside) {
        g_autofree char *aside = g_build_filename(root, "state", "ensemble.json.damaged", NULL);

        tree_write(root, "state/ensemble.json", "{\"id\":7}");
        open_daemon();
        await(is_ready, "ready");
        cr_expect(journal_has("whether ZooKeeper was wiped or restored since"));
        cr_expect(g_file_test(aside, G_FILE_TEST_EXISTS));
}

/* Nobody waits for whoever might write into it. */
Test(trust, what_is_no_file_is_set_aside) {
        g_autofree char *directory = g_build_filename(root, "state", NULL),
                        *fifo = g_build_filename(directory, "ensemble.json", NULL),
                        *aside = g_strconcat(fifo, ".damaged", NULL);

        cr_assert_eq(g_mkdir_with_parents(directory, 0755), 0);
        cr_assert_eq(mkfifo(fifo, 0600), 0);
        open_daemon();
        await(is_ready, "ready");
        cr_expect(g_file_test(aside, G_FILE_TEST_EXISTS));
        cr_expect_not(g_file_test(aside, G_FILE_TEST_IS_REGULAR));
}

static bool is_looked_at(void) {
        return server.reads > 3;
}

/* Another node makes it at this moment: its id stands there, and the root was not there yet when it
 * was read, or the other way round. */
Test(trust, what_is_being_made_or_deleted_is_looked_at_again) {
        server_create(PATH, "{\"id\":\"" ID "\"}", 0);
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        open_daemon();
        await(is_looked_at, "it is looked at");
        serve_for(300 * USEC_PER_MSEC);
        cr_expect_not(is_ready());
        server_create(ROOT, "", 0);
        await(is_ready, "ready");
        begin_another_session();
        await(is_ready, "ready");
        cr_expect_not(is_doubted());
}

/* It was empty, and we had left. */
Test(trust, others_have_deleted_the_directory_of_our_runs) {
        run_one();
        server_remove(OPEN_PATH);
        server_node(ROOT "/open")->stat.pzxid = server.zxid;
        begin_another_session();
        await(is_ready, "ready");
        cr_expect_not_null(server_node(OPEN_PATH));
}

/* ---- wiped ---- */

Test(trust, a_wiped_one_is_not_made_anew_in_silence) {
        run_one();
        wipe();
        begin_another_session();
        await(is_doubted, "doubted");
        expect_nothing_begins();
        cr_expect_null(server_node(ROOT "/jobs"));
        cr_expect_not_null(strstr(server_data(PATH), "\"doubt\":{\"by\":\"n1\""));
        cr_expect_not_null(
            strstr(tree_fault(coordinator->tree), "jobkeeper admin accept-ensemble"));
        ask("Status", NULL);
        expect_said("\"doubt\":{\"by\":\"n1\",\"why\":\"what jobkeeper had written there is gone");
        expect_accepted();
}

Test(trust, a_wiped_one_after_a_restart) {
        run_one();
        await(is_remembered, "it stands in the file");
        close_daemon();
        wipe();
        open_daemon();
        await(is_doubted, "doubted");
        expect_nothing_begins();
        close_daemon();
        server_expire(last_session);
        open_daemon();
        await(is_doubted, "still");
        await_daemon_on_bus();
        expect_accepted();
}

Test(trust, one_that_somebody_deletes_under_us) {
        run_one();
        wipe();
        server_create(ROOT, "", 0);
        server_create(PATH, "", 0);
        server_delete(PATH);
        await(is_doubted, "doubted");
        await(connects, "the session is given up");
        port_tell(newest_port(), ZK_STATE_CONNECTED);
        server_expire(last_session - 1);
        expect_nothing_begins();
        expect_accepted();
}

Test(trust, one_that_another_node_made_anew) {
        run_one();
        wipe();
        server_create(ROOT, "", 0);
        server_create(PATH, "{\"id\":\"" ID "\"}", 0);
        begin_another_session();
        await(is_doubted, "doubted");
        expect_nothing_begins();
        cr_expect_not_null(strstr(server_data(PATH), "\"doubt\":{\"by\":\"n1\""),
                           "the other hears of it");
        expect_accepted();
}

/* ---- restored ---- */

Test(trust, one_that_is_older_than_our_last_run) {
        run_one();
        restore();
        begin_another_session();
        await(is_doubted, "doubted");
        expect_nothing_begins();
        cr_expect(journal_has("its data is older than what this node wrote there last"));
        expect_accepted();
}

Test(trust, one_from_before_we_were_there) {
        run_one();
        server_remove(OPEN_PATH);
        server_node(ROOT "/open")->stat.pzxid = 1;
        begin_another_session();
        await(is_doubted, "doubted");
        expect_nothing_begins();
}

Test(trust, one_that_is_older_after_a_restart) {
        run_one();
        await(is_remembered, "it stands in the file");
        close_daemon();
        server_expire(last_session);
        restore();
        open_daemon();
        await(is_doubted, "doubted");
        expect_nothing_begins();
}

/* The session lives on in the backup, and was not even missed. */
Test(trust, one_that_is_older_after_a_short_break) {
        open_daemon();
        await(a_run_goes_on, "a run");
        serve_for(100 * USEC_PER_MSEC);
        port_tell(newest_port(), ZK_STATE_SUSPENDED);
        restore();
        port_tell(newest_port(), ZK_STATE_CONNECTED);
        await(is_doubted, "doubted");
        await(connects, "the session is given up");
        cr_expect_eq(services_alive(), 0, "what ran had no lock any more");
        server_expire(last_session - 1);
        port_tell(newest_port(), ZK_STATE_CONNECTED);
        expect_nothing_begins();
        cr_expect(is_doubted());
}

Test(trust, one_that_is_older_and_knows_the_session_of_the_process_before_us) {
        open_daemon();
        await(a_run_goes_on, "a run");
        serve_for(1500 * USEC_PER_MSEC);
        close_daemon();
        restore();
        open_daemon_again();
        await(is_doubted, "doubted");
        await(connects, "the session is given up");
}

/* What is asked for meanwhile finds the gate shut. */
static ServerWay keep_looks(const ZkCall *call) {
        return call->request == REQUEST_GET && g_str_equal(call->path, PATH) ? SERVER_KEEP
                                                                             : SERVER_ANSWER;
}

static bool is_kept(void) {
        return g_queue_get_length(&server.kept) > 0;
}

static bool has_begun_again(void) {
        return starts_now() > 1;
}

Test(trust, nothing_begins_before_it_was_looked_at_again) {
        run_one();
        server.way = keep_looks;
        port_tell(newest_port(), ZK_STATE_SUSPENDED);
        port_tell(newest_port(), ZK_STATE_CONNECTED);
        await(is_kept, "it is asked for");
        serve_for(2500 * USEC_PER_MSEC);
        cr_expect_eq(starts_now(), 1);
        server.way = NULL;
        server_release();
        await(has_begun_again, "and then it does");
}

/* ---- of others ---- */

static void doubt_it(void) {
        g_autofree char *data = g_strdup(server_data(PATH)), *doubted = NULL;

        data[strlen(data) - 1] = '\0';
        doubted = g_strconcat(data, ",\"doubt\":{\"by\":\"n9\",\"why\":\"it is older\"}}", NULL);
        server_write(PATH, doubted);
}

Test(trust, another_node_doubts_it) {
        open_daemon();
        await(a_run_goes_on, "a run");
        doubt_it();
        await(is_doubted, "doubted");
        await(connects, "the session is given up");
        server_expire(last_session - 1);
        port_tell(newest_port(), ZK_STATE_CONNECTED);
        expect_nothing_begins();
        cr_expect_not_null(strstr(tree_fault(coordinator->tree), "by n9: it is older"));
        expect_accepted();
}

Test(trust, a_node_that_knows_nothing_heeds_a_doubt) {
        server_create(ROOT, "", 0);
        server_create(PATH, "{\"id\":\"" ID "\",\"doubt\":{\"by\":\"n9\",\"why\":\"it is older\"}}",
                      0);
        open_daemon();
        await(is_doubted, "doubted");
        expect_nothing_begins();
        await_daemon_on_bus();
        expect_accepted();
}

Test(trust, another_node_accepts_it) {
        run_one();
        wipe();
        begin_another_session();
        await(is_doubted, "doubted");
        serve_for(100 * USEC_PER_MSEC);
        server_write(PATH, "{\"id\":\"" ID "\",\"accepted\":[{\"by\":\"bob on n9\",\"word\":\"" ID
                           "\"}]}");
        await(is_ready, "ready");
        cr_expect(journal_has("what stands in ZooKeeper is accepted by bob on n9"));
}

/* ---- elsewhere ---- */

/* Long ago, in the place of something that we do not know. */
#define ACCEPTED_ONCE                                                                              \
        "{\"id\":\"" ID "\",\"accepted\":[{\"by\":\"bob on n9\",\"word\":\"" ID "\",\"for\":\"" ID \
        "\"}]}"

Test(trust, who_was_sent_to_another_says_nothing_to_those_who_are_there) {
        run_one();
        await(is_remembered, "it stands in the file");
        close_daemon();
        server_expire(last_session);
        tree_write(root, "jobkeeper.yaml",
                   "node: {name: n1}\nzookeeper: {root: /elsewhere}\ntakeover-delay: 100ms\n");
        server_create("/elsewhere", "", 0);
        server_create("/elsewhere/ensemble", ACCEPTED_ONCE, 0);
        open_daemon();
        await(is_doubted, "doubted");
        serve_for(100 * USEC_PER_MSEC);
        cr_expect_str_eq(server_data("/elsewhere/ensemble"), ACCEPTED_ONCE);
        cr_expect_not_null(strstr(tree_fault(coordinator->tree), "zookeeper.root was changed"));
        await_daemon_on_bus();
        ask_to_accept("", doubt_shown());
        expect_said("\"changed\":true");
        await(is_ready, "ready");
}

Test(trust, what_cannot_be_read_is_not_trusted) {
        server_create(ROOT, "", 0);
        server_create(PATH, "garbage", 0);
        open_daemon();
        await(is_doubted, "doubted");
        expect_nothing_begins();
        cr_expect_str_eq(server_data(PATH), "garbage");
        await_daemon_on_bus();
        expect_accepted();
}

Test(trust, nothing_is_accepted_in_advance) {
        open_daemon_on_bus();
        ask_to_accept("", "");
        expect_said("\"changed\":false,\"doubt\":null");
        cr_expect_null(strstr(server_data(PATH), "accepted"));
}

static bool is_open(void) {
        return gate_is_open(coordinator->gate);
}

static unsigned looks;

static ServerWay count_looks(const ZkCall *call) {
        looks += call->request == REQUEST_GET && g_str_equal(call->path, PATH);
        return SERVER_ANSWER;
}

/* Who reaches an open port can do that. */
Test(trust, who_writes_there_all_the_time_is_looked_at_once_a_second) {
        g_autofree char *data = NULL;

        run_one();
        data = g_strdup(server_data(PATH));
        server.way = count_looks;
        for (unsigned i = 0; i < 60; i++) {
                server_write(PATH, data);
                serve_for(50 * USEC_PER_MSEC);
        }
        cr_expect_geq(looks, 2U);
        cr_expect_leq(looks, 8U, "%u", looks);
        await(is_ready, "and it goes on");
}

/* What it says is not known before that, and may be a doubt. */
Test(trust, what_changes_just_after_a_look_holds_all_back_until_the_next) {
        g_autofree char *data = NULL;

        run_one();
        data = g_strdup(server_data(PATH));
        serve_for(USEC_PER_SEC);
        server_write(PATH, data);
        await(is_ready, "it was looked at");
        await(is_open, "and is trusted");
        doubt_it();
        serve_for(50 * USEC_PER_MSEC);
        cr_expect_not(is_doubted());
        cr_expect_not(is_open());
        await(is_doubted, "doubted");
}

/* ---- a stop ---- */

Test(trust, a_stop_waits_for_nothing) {
        run_one();
        wipe();
        begin_another_session();
        await(is_doubted, "doubted");
        service_manager.query_error = 0;
        service_manager.systemd_job = SYSTEMD_JOB_STOP;
        coordinator_terminate(coordinator);
        await_within(is_done, "it ends", 3 * USEC_PER_SEC);
}

/* ---- accepting that fails ---- */

static void doubt_a_wiped_one(void) {
        run_one();
        wipe();
        begin_another_session();
        await(is_doubted, "doubted");
}

static ServerWay refuse_acceptance(const ZkCall *call) {
        return call->request == REQUEST_SET && g_str_equal(call->path, PATH) ? SERVER_REFUSE
                                                                             : SERVER_ANSWER;
}

Test(trust, what_the_server_refuses_is_said) {
        doubt_a_wiped_one();
        server.way = refuse_acceptance;
        server.refusal = ZK_NO_AUTH;
        ask_to_accept("tested", doubt_shown());
        expect_said("ZooKeeper permits no change of the node that says which ensemble it is");
        server.refusal = ZK_BAD_VERSION;
        ask_to_accept("tested", doubt_shown());
        expect_said("what stands in ZooKeeper is being looked at or changed: try again");
        cr_expect_not(is_ready());
        server.way = NULL;
        expect_accepted();
}

static ServerWay lose_acceptance(const ZkCall *call) {
        return call->request == REQUEST_SET && g_str_equal(call->path, PATH) ? SERVER_LOSE
                                                                             : SERVER_ANSWER;
}

Test(trust, an_acceptance_that_is_lost_is_none) {
        doubt_a_wiped_one();
        server.way = lose_acceptance;
        ask_to_accept("tested", doubt_shown());
        expect_said("no reply from ZooKeeper: it may still be done; try again");
        server.way = NULL;
        cr_expect_not_null(strstr(server_data(PATH), "doubt"));
}

Test(trust, without_a_session_nothing_is_accepted) {
        doubt_a_wiped_one();
        port_tell(newest_port(), ZK_STATE_EXPIRED);
        ask_to_accept("tested", doubt_shown());
        expect_said("ZooKeeper");
        cr_expect_not_null(strstr(server_data(PATH), "doubt"));
}
