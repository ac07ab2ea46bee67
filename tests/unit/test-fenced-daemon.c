/* A whole daemon (daemon-fixture.h) and its fence: nothing begins without one, and what began under
 * one that is gone is ended. */
#include "daemon-fixture.h"
#include "fence-link.h"
#include "fence-stand-in.h"
#include "gate.h"
#include "leftovers.h"
#include "run.h"
#include "runs.h"
#include "unit-spec.h"

#define ROOT "/jobkeeper"

TestSuite(fenced_daemon, .init = setup, .fini = teardown);

static bool is_ready(void) {
        return node_is_ready(coordinator->node);
}

static bool is_linked(void) {
        return fence_link_instance(coordinator->fence);
}

static bool is_not_linked(void) {
        return !is_linked();
}

static bool is_started(void) {
        return started->len > 0;
}

static bool has_claimed(void) {
        return server.held;
}

static bool is_settled(void) {
        return server_count(ROOT "/open/n1") == 0;
}

static bool others_know(void) {
        return strstr(server_data(ROOT "/nodes/n1"), "\"busy\":\"unfenced\"");
}

static bool others_know_no_more(void) {
        return !others_know();
}

/* Return: whether some record of the job says so. */
static bool is_recorded(const char *words) {
        GHashTableIter iterator;
        gpointer path, node;

        g_hash_table_iter_init(&iterator, server.nodes);
        while (g_hash_table_iter_next(&iterator, &path, &node))
                if (g_str_has_prefix(path, ROOT "/jobs/a/runs/") &&
                    strstr(((ServerNode *)node)->data, words))
                        return true;
        return false;
}

static void write_frequent_job(void) {
        write_job("    every: 1s\n    exec: [/bin/true]\n");
}

static void lose_fence(void) {
        fence_stand_in.silent = true;
        fence_stand_in_replace();
        await(is_not_linked, "the fence is gone");
}

static void have_fence_again(void) {
        fence_stand_in.silent = false;
        fence_stand_in_hang_up();
        await(is_linked, "a fence");
}

Test(fenced_daemon, nothing_begins_without_a_fence) {
        fence_stand_in.absent = true;
        write_frequent_job();
        open_daemon();
        await(is_ready, "ready");
        serve_for(1500 * USEC_PER_MSEC);
        cr_expect_eq(started->len, 0);
        cr_expect_str_eq(gate_closed(coordinator->gate),
                         "the fence cannot be reached: try systemctl start jobkeeper-fence");
        await(others_know, "the others are told");
        fence_stand_in.absent = false;
        await(is_started, "a run");
        await(others_know_no_more, "the others are told that it is over");
}

Test(fenced_daemon, the_fence_follows_before_anything_begins) {
        write_frequent_job();
        open_daemon();
        await(is_started, "a run");
        cr_expect_gt(fence_stand_in.at[FENCE_TIMER_STOP], clock_boottime());
        cr_expect_leq(fence_stand_in.at[FENCE_TIMER_STOP],
                      session_stop_at(coordinator->session) + FENCE_LINK_GRACE);
}

Test(fenced_daemon, what_is_claimed_when_it_goes_is_not_started) {
        server.hold_claims = true;
        write_frequent_job();
        open_daemon();
        await(has_claimed, "a claim");
        lose_fence();
        write_job("    every: 300d\n    exec: [/bin/true]\n");
        server.hold_claims = false;
        server_release();
        await(is_settled, "the run is settled");
        cr_expect_eq(started->len, 0);
        cr_expect(is_recorded("not started: the fence is being replaced"));
}

static const Service *first;

static bool first_is_being_ended(void) {
        return first->stops + first->kills > 0;
}

Test(fenced_daemon, what_has_not_begun_when_it_goes_is_stopped_beside_the_next) {
        service_manager.hold_starts = true;
        write_frequent_job();
        open_daemon();
        await(is_started, "a start");
        first = service_newest();
        lose_fence();
        cr_expect_not(first_is_being_ended(), "the service manager sees to what lives");
        have_fence_again();
        await(first_is_being_ended, "its end");
        cr_expect_gt(fence_stand_in.at[FENCE_TIMER_STOP], clock_boottime());
}

static bool is_lost(void) {
        return session_id(coordinator->session) == 0;
}

static bool other_has_started(void) {
        return g_ptr_array_find_with_equal_func(started, "/bin/true other", g_str_equal, NULL);
}

static bool is_shut_by_the_fence(void) {
        return g_strcmp0(gate_closed(coordinator->gate), "what is fenced is being stopped") == 0;
}

/* Its process is one that the kernel cannot end: what has nothing to do with it begins once there
 * is another fence, and behind that. */
Test(fenced_daemon, a_run_that_cannot_be_ended_keeps_others_only_until_the_next_fence) {
        service_manager.deaf = true;
        write_frequent_job();
        open_daemon();
        await(is_started, "a run");
        fence_stand_in.populated = true;
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_EXPIRED);
        await(is_lost, "the end of the session");
        write_job_named("other", "    every: 1s\n    exec: [/bin/true, other]\n");
        reload();
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_CONNECTED);
        await(is_shut_by_the_fence, "another session");
        cr_expect_not(other_has_started());
        lose_fence();
        have_fence_again();
        await(other_has_started, "what has nothing to do with it");
        cr_expect(fence_stand_in.populated);
        cr_expect_leq(fence_stand_in.at[FENCE_TIMER_STOP],
                      session_stop_at(coordinator->session) + FENCE_LINK_GRACE);
        cr_expect_gt(fence_stand_in.at[FENCE_TIMER_STOP], clock_boottime());
}

/* The service manager stands still between its launch step and its command, so that nothing of it
 * lives: what else there is begins once it is known to be over, behind the same fence. */
Test(fenced_daemon, a_run_that_is_not_known_to_be_over_keeps_the_fence_at_its_session) {
        usec_t before;

        service_manager.deaf = true;
        write_frequent_job();
        open_daemon();
        await(is_started, "a run");
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_EXPIRED);
        await(is_lost, "the end of the session");
        before = fence_stand_in.at[FENCE_TIMER_STOP];
        write_job_named("other", "    every: 1s\n    exec: [/bin/true, other]\n");
        reload();
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_CONNECTED);
        await(is_ready, "another session");
        await(is_shut_by_the_fence, "nothing begins");
        cr_expect_eq(fence_stand_in.at[FENCE_TIMER_STOP], before);
        cr_expect_not(other_has_started());
        service_manager.deaf = false;
        service_obey(service_newest());
        await(other_has_started, "what has nothing to do with it");
        cr_expect_gt(fence_stand_in.at[FENCE_TIMER_STOP], before);
}

/* A version without a fence has begun it, and the kernel cannot end it: no fence is replaced for
 * that. */
Test(fenced_daemon, a_run_that_lives_where_no_fence_ends_it_does_not_keep_the_gate_shut) {
        service_manager.deaf = true;
        write_frequent_job();
        open_daemon();
        await(is_started, "a run");
        g_free(service_newest()->slice);
        service_newest()->slice = g_strdup(UNIT_SLICE_UNFENCED);
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_EXPIRED);
        await(is_lost, "the end of the session");
        write_job_named("other", "    every: 1s\n    exec: [/bin/true, other]\n");
        reload();
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_CONNECTED);
        await(other_has_started, "what has nothing to do with it");
        cr_expect(service_is_alive(service_manager.services->pdata[0]));
}

static ServerWay keep_heartbeats(const ZkCall *call) {
        bool proves = call->request == REQUEST_MULTI && call->ops[0].type == ZK_OP_CHECK &&
                      g_str_equal(call->ops[0].path, "/");

        return proves || (call->request == REQUEST_SYNC && g_str_equal(call->path, "/"))
                   ? SERVER_KEEP
                   : SERVER_ANSWER;
}

static bool has_no_leftovers(void) {
        return !leftovers_left(coordinator->left.leftovers);
}

static bool is_open(void) {
        return gate_is_open(coordinator->gate);
}

/* Not only with the next heartbeat. */
Test(fenced_daemon, what_has_ended_frees_the_fence_at_once) {
        service_manager.deaf = true;
        write_frequent_job();
        open_daemon();
        await(is_started, "a run");
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_EXPIRED);
        await(is_lost, "the end of the session");
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_CONNECTED);
        await(is_ready, "another session");
        await(has_no_leftovers, "the run is none");
        await(is_shut_by_the_fence, "nothing begins");
        server.way = keep_heartbeats;
        service_manager.deaf = false;
        service_obey(service_newest());
        await_within(is_open, "it opens", 5 * USEC_PER_SEC);
}

Test(fenced_daemon, the_same_fence_again_stops_nothing) {
        write_frequent_job();
        open_daemon();
        await(is_started, "a run");
        fence_stand_in_hang_up();
        await(is_not_linked, "the end");
        await(is_linked, "a link");
        serve_for(300 * USEC_PER_MSEC);
        cr_expect_eq(service_newest()->stops, 0);
}
