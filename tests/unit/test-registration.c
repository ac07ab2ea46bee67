/* Whose node stands under our name, and whether it is replaced, in a whole daemon
 * (daemon-fixture.h). */
#include "clock-watch.h"
#include "daemon-fixture.h"
#include "journal.h"
#include "members.h"
#include "paths.h"

#define PATH "/jobkeeper/nodes/n1"
#define STRANGER 77

TestSuite(registration, .init = setup, .fini = teardown);

static bool is_ready(void) {
        return node_is_ready(coordinator->node);
}

static bool is_refused(void) {
        return *registration_fault(coordinator->registration);
}

static void begin(void) {
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        open_daemon();
        await(is_ready, "ready");
}

/* Another session has the node, whose data is as ours. */
static void restart_beside(int64_t owner) {
        close_daemon();
        server_forget_watches();
        server_node(PATH)->stat.ephemeral_owner = owner;
        open_daemon();
}

Test(registration, what_the_session_in_the_state_file_left_is_replaced) {
        begin();
        restart_beside(last_session);
        await(is_ready, "ready");
        cr_expect_eq(server_node(PATH)->stat.ephemeral_owner, last_session);
        cr_expect_str_empty(registration_fault(coordinator->registration));
}

/* What that has asked for and the server has not yet seen comes to nothing. */
Test(registration, the_session_before_can_claim_nothing_any_more) {
        g_autofree char *former = NULL, *mark = NULL;

        begin();
        former = path_session("/jobkeeper", "n1", last_session);
        cr_assert_not_null(server_node(former));
        restart_beside(last_session);
        await(is_ready, "ready");
        mark = path_session("/jobkeeper", "n1", last_session);
        cr_assert_str_neq(mark, former);
        cr_expect_null(server_node(former));
        cr_assert_not_null(server_node(mark));
        cr_expect_eq(server_node(mark)->stat.ephemeral_owner, last_session);
}

/* A clone of this machine, or what it left itself before it crashed. */
Test(registration, another_session_of_the_same_machine_id_is_left_alone) {
        begin();
        restart_beside(STRANGER);
        await(is_refused, "it is refused");
        cr_expect_eq(server_node(PATH)->stat.ephemeral_owner, STRANGER);
        cr_expect_not(is_ready());
        /* Its session ends. */
        server_remove(PATH);
        await(is_ready, "ready");
        cr_expect_str_empty(registration_fault(coordinator->registration));
        cr_expect_eq(server_node(PATH)->stat.ephemeral_owner, last_session);
}

static bool is_called_a_clone(void) {
        return strstr(registration_fault(coordinator->registration),
                      "another machine with this machine's id");
}

static unsigned n_tries;

static ServerWay count_tries(const ZkCall *call) {
        n_tries += call->request == REQUEST_CREATE && g_str_equal(call->path, PATH);
        return SERVER_ANSWER;
}

/* ... as soon as an earlier session of ours would be over: each try is two seconds after the last.
 */
Test(registration, one_that_stays_is_a_clone_and_is_called_so) {
        begin();
        server.way = count_tries;
        restart_beside(STRANGER);
        coordinator->config->session_timeout = USEC_PER_SEC;
        coordinator->config->tick_time = USEC_PER_SEC / 2;
        await(is_called_a_clone, "it is called a clone");
        cr_expect_eq(n_tries, 2U, "%u", n_tries);
        cr_expect_eq(server_node(PATH)->stat.ephemeral_owner, STRANGER);
}

/* This process lost its session, and the server has not noticed: the node is its own. */
Test(registration, what_the_session_lost_in_this_process_left_is_replaced) {
        int64_t before;

        begin();
        before = server_node(PATH)->stat.ephemeral_owner;
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        server_forget_watches();
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_CONNECTED);
        await(is_ready, "ready");
        cr_expect_neq(server_node(PATH)->stat.ephemeral_owner, before);
}

/* ---- somebody else's name ---- */

#define OTHER "{\"machine\":\"0123\",\"boot\":\"b\",\"version\":\"0\"}"

static void begin_beside(const char *data) {
        server_create("/jobkeeper", "", 0);
        server_create("/jobkeeper/nodes", "", 0);
        server_create(PATH, data, STRANGER);
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        open_daemon();
}

Test(registration, another_machines_name_is_not_taken) {
        begin_beside(OTHER);
        await(is_refused, "it is refused");
        cr_expect_str_eq(registration_fault(coordinator->registration),
                         "another machine (machine id 0123) is registered as node \"n1\"; this "
                         "node starts no runs until one of the two has another node.name");
        serve_for(3 * USEC_PER_SEC);
        cr_expect_str_eq(server_data(PATH), OTHER);
        cr_expect_eq(server_node(PATH)->stat.ephemeral_owner, STRANGER);
        cr_expect_eq(journal_count(MESSAGE_NODE_NAME_TAKEN), 1U, "said once, however often tried");
        cr_expect_not(is_ready());
        server_remove(PATH);
        await(is_ready, "ready");
        cr_expect_str_empty(registration_fault(coordinator->registration));
}

/* It is tried again in its time, whoever misses it. */
Test(registration, what_is_refused_is_not_asked_for_by_who_misses_it) {
        unsigned before;

        begin_beside(OTHER);
        await(is_refused, "it is refused");
        before = n_requests;
        registration_missing(coordinator->registration);
        cr_expect_eq(n_requests, before);
}

Test(registration, what_cannot_be_read_is_not_replaced) {
        begin_beside("][");
        await(is_refused, "it is refused");
        cr_expect_not_null(strstr(registration_fault(coordinator->registration),
                                  "another machine (machine id unreadable) is registered"));
        cr_expect_str_eq(server_data(PATH), "][");
}

/* ---- answers that are lost ---- */

static Request lost_request;
static ServerWay lost_way;
static unsigned n_lost, n_creates;

/* The first request of a kind that goes to our node. */
static ServerWay lose_one(const ZkCall *call) {
        bool is_ours =
            g_strcmp0(call->path, PATH) == 0 && call->request != REQUEST_MULTI && !call->watch;

        n_creates += is_ours && call->request == REQUEST_CREATE;
        return is_ours && call->request == lost_request && n_lost++ == 0 ? lost_way : SERVER_ANSWER;
}

static void one_is_lost(Request request, ServerWay way) {
        lost_request = request;
        lost_way = way;
        server.way = lose_one;
}

static void expect_registered(void) {
        await(is_ready, "ready");
        cr_expect_eq(server_node(PATH)->stat.ephemeral_owner, last_session);
        cr_expect_str_empty(registration_fault(coordinator->registration));
        cr_expect_geq(n_lost, 1U);
}

Test(registration, what_was_made_although_the_answer_was_lost_is_ours) {
        one_is_lost(REQUEST_CREATE, SERVER_LOSE_ANSWER);
        begin();
        expect_registered();
        cr_expect_eq(journal_count(MESSAGE_NODE_NAME_TAKEN), 0U);
        cr_expect_eq(journal_count(MESSAGE_NODE_STILL_REGISTERED), 0U);
}

Test(registration, what_was_not_made_is_made_again) {
        one_is_lost(REQUEST_CREATE, SERVER_LOSE);
        begin();
        expect_registered();
        cr_expect_eq(n_creates, 2U);
}

Test(registration, who_stands_in_the_way_is_read_again_when_the_answer_is_lost) {
        one_is_lost(REQUEST_GET, SERVER_LOSE);
        begin_beside(OTHER);
        await(is_refused, "it is refused");
        cr_expect_eq(n_lost, 2U);
        cr_expect_eq(server_node(PATH)->stat.ephemeral_owner, STRANGER);
}

Test(registration, what_we_left_is_deleted_again_when_the_answer_is_lost) {
        begin();
        one_is_lost(REQUEST_DELETE, SERVER_LOSE);
        restart_beside(last_session);
        expect_registered();
        cr_expect_eq(n_lost, 2U);
}

/* Before anything is tried again, which is after two seconds. */
static void expect_done_at_once(void) {
        usec_t until = clock_monotonic() + USEC_PER_SEC * 3 / 2;

        while (!registration_is_done(coordinator->registration) && clock_monotonic() < until)
                turn();
        cr_expect(registration_is_done(coordinator->registration));
}

static ServerWay goes_before_it_is_deleted(const ZkCall *call) {
        if (call->request == REQUEST_DELETE && g_str_equal(call->path, PATH))
                server_remove(PATH);
        return SERVER_ANSWER;
}

Test(registration, what_we_left_that_goes_by_itself_is_not_waited_for) {
        begin();
        server.way = goes_before_it_is_deleted;
        restart_beside(last_session);
        expect_done_at_once();
}

static ServerWay goes_before_it_is_read(const ZkCall *call) {
        if (call->request == REQUEST_GET && g_str_equal(call->path, PATH))
                server_remove(PATH);
        return lose_one(call);
}

Test(registration, who_goes_while_we_look_is_not_waited_for) {
        server.way = goes_before_it_is_read;
        lost_request = REQUEST_ACL;
        begin_beside(OTHER);
        expect_done_at_once();
        cr_expect_eq(n_creates, 2U);
        cr_expect_eq(journal_count(MESSAGE_NODE_NAME_TAKEN), 0U);
}

static bool is_there_again(void) {
        return server_node(PATH) && registration_is_done(coordinator->registration);
}

/* Nobody but who writes there is told. */
Test(registration, where_it_stands_is_made_again) {
        begin();
        server_remove(PATH);
        server_remove("/jobkeeper/nodes");
        registration_missing(coordinator->registration);
        cr_expect_not(registration_is_done(coordinator->registration));
        await(is_there_again, "it is there again");
        cr_expect_eq(server_node(PATH)->stat.ephemeral_owner, last_session);
}

static void say_unfit(const char *why) {
        registration_set_unfit(coordinator->registration, "b", why);
        registration_publish(coordinator->registration);
}

static bool says_why(void) {
        return strstr(server_data(PATH), "\"b\":\"why\"");
}

Test(registration, what_is_said_of_us_is_written_again_when_the_answer_is_lost) {
        begin();
        serve_for(USEC_PER_SEC / 5);
        one_is_lost(REQUEST_SET, SERVER_LOSE);
        say_unfit("why");
        await(says_why, "it says so");
        cr_expect_eq(n_lost, 2U);
}

Test(registration, what_is_the_same_is_not_written_again) {
        int32_t version;

        begin();
        say_unfit("why");
        await(says_why, "it says so");
        version = server_node(PATH)->stat.version;
        say_unfit("why");
        serve_for(REGISTRATION_PUBLISH_PERIOD + USEC_PER_SEC / 5);
        cr_expect_eq(server_node(PATH)->stat.version, version);
}

static bool is_kept(void) {
        return g_queue_get_length(&server.kept) == 1;
}

/* What changed while an answer was on its way is not lost with it. */
Test(registration, what_changes_while_it_is_written_is_written_afterwards) {
        begin();
        serve_for(USEC_PER_SEC / 5);
        one_is_lost(REQUEST_SET, SERVER_KEEP);
        say_unfit("before");
        await(is_kept, "it is being written");
        say_unfit("why");
        serve_for(2 * REGISTRATION_PUBLISH_PERIOD);
        cr_expect_eq(n_lost, 1U);
        server_release();
        await(says_why, "it says so");
}

/* Somebody deletes it: our watch tells, and so does the answer to what we were writing. */
Test(registration, a_node_that_is_deleted_while_we_write_it_is_made_once) {
        begin();
        serve_for(USEC_PER_SEC / 5);
        one_is_lost(REQUEST_SET, SERVER_KEEP);
        say_unfit("why");
        await(is_kept, "it is being written");
        server_delete(PATH);
        port_reply(g_queue_pop_head(&server.kept), (ZkReply){.code = ZK_NO_NODE});
        await(is_there_again, "it is there again");
        serve_for(USEC_PER_SEC / 10);
        cr_expect_eq(n_creates, 1U);
        cr_expect(says_why());
}

/* The watch is not set just then. */
Test(registration, a_node_that_is_found_deleted_is_made_again) {
        begin();
        serve_for(USEC_PER_SEC / 5);
        server_remove(PATH);
        one_is_lost(REQUEST_ACL, SERVER_LOSE);
        say_unfit("why");
        await(is_there_again, "it is there again");
        cr_expect_eq(n_creates, 1U);
        await(says_why, "it says so");
}

/* The next session has a node of its own, whatever becomes of the last one's request. */
Test(registration, what_a_lost_session_asked_counts_no_more) {
        ZkCall *call = NULL;

        one_is_lost(REQUEST_CREATE, SERVER_KEEP);
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        open_daemon();
        await(is_kept, "it is being made");
        call = g_queue_pop_head(&server.kept);
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        port_reply(call, (ZkReply){.code = ZK_OK});
        cr_expect_not(registration_is_done(coordinator->registration));
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_CONNECTED);
        expect_registered();
        cr_expect_eq(n_creates, 2U);
}

Test(registration, there_may_be_none) {
        cr_expect_null(registration_free(NULL));
}

/* ---- what it costs the others ---- */

static usec_t measured_before;

static bool is_measured_anew(void) {
        return coordinator->node->skew.measured > measured_before;
}

/* Each change of our node is read by all of them. */
Test(registration, measuring_the_clock_disturbs_nobody) {
        int32_t version;

        begin();
        serve_for(USEC_PER_SEC / 5);
        version = server_node(PATH)->stat.version;
        measured_before = coordinator->node->skew.measured;
        clock_watch_measure(coordinator->clock);
        await(is_measured_anew, "it is measured");
        cr_expect_eq(server_node(PATH)->stat.version, version);
}

/* Its directory is made again where somebody deleted it. */
Test(registration, the_clock_is_measured_again_after_its_node_was_deleted) {
        begin();
        server_delete("/jobkeeper/open/n1");
        measured_before = coordinator->node->skew.measured;
        for (unsigned i = 0; i < 30 && !is_measured_anew(); i++) {
                clock_watch_measure(coordinator->clock);
                serve_for(USEC_PER_SEC / 10);
        }
        cr_expect(is_measured_anew());
}

static bool says_all(void) {
        return strstr(server_data(PATH), "\"job-49\"");
}

Test(registration, much_that_changes_is_written_once) {
        int32_t version;

        begin();
        serve_for(USEC_PER_SEC / 5);
        version = server_node(PATH)->stat.version;
        for (unsigned i = 0; i < 50; i++) {
                g_autofree char *job = g_strdup_printf("job-%u", i);
                registration_set_unfit(coordinator->registration, job, "why");
                registration_publish(coordinator->registration);
                turn();
        }
        await(says_all, "it says all");
        cr_expect_leq(server_node(PATH)->stat.version - version, 2);
}

/* ---- others who write there ---- */

static char *ours;

static bool is_corrected(void) {
        return g_str_equal(server_data(PATH), ours);
}

static void begin_with_what_is_ours(void) {
        begin();
        serve_for(REGISTRATION_PUBLISH_PERIOD + USEC_PER_SEC / 5); /* it has said all of itself */
        ours = g_strdup(server_data(PATH));
        cr_assert_eq(journal_count(MESSAGE_FOREIGN_DATA), 0U);
}

Test(registration, what_others_write_over_it_is_corrected) {
        begin_with_what_is_ours();
        server_write(PATH, OTHER);
        await(is_corrected, "it is corrected");
        cr_expect(journal_has("warning: " PATH ": somebody else has written over what this node "
                              "says of itself; it is written again"));
        g_free(ours);
}

Test(registration, so_is_what_is_no_record) {
        begin_with_what_is_ours();
        server_write(PATH, "");
        await(is_corrected, "it is corrected");
        g_free(ours);
}

/* Nobody wins that, and everybody reads each word of it. */
Test(registration, who_insists_is_not_contradicted_at_once_and_named_once) {
        unsigned corrected = 0;

        begin_with_what_is_ours();
        server_write(PATH, OTHER);
        await(is_corrected, "it is corrected");
        for (unsigned i = 0; i < 15; i++) {
                server_write(PATH, OTHER);
                serve_for(USEC_PER_SEC / 10);
                corrected += is_corrected();
        }
        cr_expect_eq(corrected, 0U);
        cr_expect_eq(journal_count(MESSAGE_FOREIGN_DATA), 1U);
        /* What changes of ours is written as ever. */
        say_unfit("why");
        await(says_why, "it says so");
        g_free(ours);
}

/* While a word of ours is on its way, an older one is read: that is no other's. */
Test(registration, what_we_said_before_is_not_taken_for_somebody_elses) {
        begin_with_what_is_ours();
        one_is_lost(REQUEST_SET, SERVER_KEEP);
        say_unfit("why");
        await(is_kept, "it is on its way");
        server_write(PATH, ours);
        serve_for(USEC_PER_SEC / 10);
        server_release();
        await(says_why, "it says so");
        cr_expect_eq(journal_count(MESSAGE_FOREIGN_DATA), 0U);
        g_free(ours);
}
