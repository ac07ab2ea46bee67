/* The link to the fence: what makes one, what the timers are set to, and whether anything may
 * begin. The session's port is scripted, and the fence is a stand-in. */
#include <criterion/criterion.h>
#include <glib/gstdio.h>

#include "connect.h"
#include "event-loop.h"
#include "fence-link.h"
#include "fence-stand-in.h"
#include "journal.h"
#include "scripted-port.h"
#include "temporary-tree.h"

#define LIMIT (5 * USEC_PER_SEC)
#define KILL_SLACK (2 * USEC_PER_SEC)
#define BUDGET (8 * USEC_PER_SEC)

static char *root;
static sd_event *event;
static DaemonConfig config;
static Node *node;
static Session *session;
static FenceLink *fence;
static unsigned opened, replaced, told;
static usec_t stop_at_when_told;
static bool idle, past;

static void on_open(void *userdata) {
        opened++;
}

static void on_replaced(void *userdata) {
        replaced++;
}

static bool is_idle(const void *userdata) {
        return idle;
}

static bool has_past(const void *userdata) {
        return past;
}

static const FenceLinkEvents events = {on_open, on_replaced, is_idle, has_past};

static void on_session(Session *which, SessionEvent what, void *userdata) {
        told++;
        stop_at_when_told = fence_stand_in.at[FENCE_TIMER_STOP];
}

static void begin(void) {
        root = tree_make();
        event = loop_new();
        fence_stand_in_reset();
        config = (DaemonConfig){
            .servers = (char *)"zk1:2181",
            .root = (char *)"/jobkeeper",
            .node_name = (char *)"n1",
            .session_timeout = 30 * USEC_PER_SEC,
            .tick_time = 2 * USEC_PER_SEC,
            .sync_limit = 5,
            .heartbeat = USEC_PER_SEC,
            .fence_budget = BUDGET,
            .kill_slack = KILL_SLACK,
            .auth = DAEMON_AUTH_NONE,
        };
        node = node_new(event, root, root);
        node->config = &config;
}

static void close_all(void) {
        node->session = session = session_free(session);
        fence = fence_link_free(fence);
}

static void end(void) {
        close_all();
        node_free(node);
        event = loop_end(event);
        tree_remove(root);
        g_free(root);
}

TestSuite(fence_link, .init = begin, .fini = end);

static void turn(void) {
        (void)sd_event_run(event, 10 * USEC_PER_MSEC);
}

static void await(bool (*condition)(void), const char *what) {
        usec_t until = clock_monotonic() + LIMIT;

        while (!condition() && clock_monotonic() < until)
                turn();
        cr_assert(condition(), "%s", what);
}

static bool is_linked(void) {
        return fence_link_instance(fence);
}

static bool is_not_linked(void) {
        return !is_linked();
}

static bool is_connected_again(void) {
        return fence_stand_in.connections >= 2;
}

static bool is_connecting_anew(void) {
        return ports->len == 1 && ((Zk *)ports->pdata[0])->state != ZK_STATE_EXPIRED;
}

static void open_link(void) {
        fence = fence_link_new(node, &events, NULL);
}

static void linked(void) {
        open_link();
        await(is_linked, "a link");
}

static void open_session(void) {
        cr_assert_eq(connect_session(node, "/jobkeeper.yaml", on_session, NULL, &session), 0);
}

static bool heartbeat_is_asked_for(void) {
        return g_queue_get_length(&((Zk *)ports->pdata[0])->calls) > 0;
}

/* Answers the next heartbeat. */
static void beat(void) {
        Zk *zk = ports->pdata[0];

        await(heartbeat_is_asked_for, "a heartbeat");
        port_reply(g_queue_pop_head(&zk->calls), (ZkReply){.code = ZK_OK});
}

static void connected(void) {
        open_session();
        port_tell(ports->pdata[0], ZK_STATE_CONNECTED);
        beat();
        cr_assert_eq(session_state(session), SESSION_CONNECTED);
}

static void expect_timers_follow(void) {
        cr_expect_eq(fence_stand_in.at[FENCE_TIMER_STOP],
                     session_stop_at(session) + FENCE_LINK_GRACE);
        cr_expect_eq(fence_stand_in.at[FENCE_TIMER_KILL], session_held_until(session) - KILL_SLACK);
}

/* ---- the link ---- */

Test(fence_link, its_greeting_makes_it_and_not_the_connection) {
        fence_stand_in.silent = true;
        open_link();
        for (unsigned i = 0; i < 10; i++)
                turn();
        cr_expect_eq(fence_stand_in.connections, 1, "it waits for the greeting");
        cr_expect_null(fence_link_instance(fence));
        cr_expect_str_eq(fence_link_fault(fence),
                         "the fence cannot be reached: try systemctl start jobkeeper-fence");
        fence_stand_in.silent = false;
        fence_stand_in_hang_up();
        await(is_linked, "a link");
        cr_expect_str_eq(fence_link_instance(fence), fence_stand_in.hello.instance);
        cr_expect_null(fence_link_fault(fence));
        cr_expect_eq(journal_count(MESSAGE_FENCE_LINKED), 1);
}

Test(fence_link, where_there_is_none_it_is_tried_again_with_growing_pauses) {
        usec_t began = clock_monotonic();

        fence_stand_in.absent = true;
        open_link();
        while (clock_monotonic() < began + 300 * USEC_PER_MSEC)
                turn();
        fence_stand_in.absent = false;
        await(is_linked, "a link");
        cr_expect_eq(fence_stand_in.connections, 1);
        cr_expect_eq(replaced, 0, "it is the first");
}

Test(fence_link, silence_is_said_once) {
        fence_stand_in.absent = true;
        open_link();
        for (usec_t until = clock_monotonic() + 6 * USEC_PER_SEC; clock_monotonic() < until;)
                turn();
        cr_expect_eq(journal_count(MESSAGE_FENCE_UNREACHABLE), 1);
}

Test(fence_link, when_it_ends_nothing_begins_until_there_is_another) {
        linked();
        connected();
        cr_expect_null(fence_link_fault(fence));
        fence_stand_in.silent = true;
        fence_stand_in_replace();
        await(is_not_linked, "the end");
        cr_expect_str_eq(fence_link_fault(fence), "the fence is being replaced");
        cr_expect_eq(journal_count(MESSAGE_FENCE_LOST), 1);
        await(is_connected_again, "another connection");
        opened = 0;
        fence_stand_in.silent = false;
        fence_stand_in_hang_up();
        await(is_linked, "a link");
        cr_expect_eq(replaced, 1);
        expect_timers_follow();
        cr_expect_null(fence_link_fault(fence));
        turn();
        cr_expect_eq(opened, 1);
}

Test(fence_link, the_same_one_again_has_stopped_nothing) {
        linked();
        connected();
        fence_stand_in_hang_up();
        await(is_not_linked, "the end");
        await(is_linked, "a link");
        cr_expect_eq(replaced, 0);
}

Test(fence_link, one_that_may_not_kill_guards_nothing) {
        fence_stand_in.hello.flags = 0;
        linked();
        connected();
        cr_expect_str_eq(fence_link_fault(fence),
                         "the fence may not kill what it guards (see jobkeeper-fence(8))");
        expect_timers_follow();
}

Test(fence_link, one_of_another_protocol_guards_nothing) {
        fence_stand_in.hello.magic[7]++;
        open_link();
        connected();
        cr_expect_null(fence_link_instance(fence));
        cr_expect_str_eq(fence_link_fault(fence),
                         "the fence is of a version that cannot guard anything for this one");
        cr_expect_eq(fence_stand_in.sets[FENCE_TIMER_STOP], 0);
}

Test(fence_link, one_without_an_instance_guards_nothing) {
        fence_stand_in.hello.instance[5] = '\0';
        open_link();
        connected();
        cr_expect_not_null(fence_link_fault(fence));
        cr_expect_null(fence_link_instance(fence));
}

/* ---- another version ---- */

Test(fence_link, one_of_another_version_guards_and_makes_place_when_nothing_runs) {
        g_strlcpy(fence_stand_in.hello.version, "0.0.9", sizeof fence_stand_in.hello.version);
        linked();
        connected();
        cr_expect_null(fence_link_fault(fence));
        expect_timers_follow();
        cr_expect_eq(fence_stand_in.leaves, 0, "something runs");
        idle = true;
        fence_stand_in.populated = true;
        beat();
        cr_expect_eq(fence_stand_in.leaves, 0, "something of somebody's lives");
        fence_stand_in.populated = false;
        beat();
        cr_expect_eq(fence_stand_in.leaves, 1);
        cr_expect_str_eq(fence_link_fault(fence),
                         "the fence is being replaced by one of this version");
        beat();
        cr_expect_eq(fence_stand_in.leaves, 1, "once");
        expect_timers_follow();
        g_strlcpy(fence_stand_in.hello.version, JOBKEEPER_VERSION,
                  sizeof fence_stand_in.hello.version);
        fence_stand_in_replace();
        await(is_not_linked, "its end");
        cr_expect_eq(journal_count(MESSAGE_FENCE_LOST), 0, "that was wanted");
        await(is_linked, "the next");
        cr_expect_null(fence_link_fault(fence));
}

static bool was_asked(void) {
        return fence_stand_in.leaves > 0;
}

/* One of another version, and nothing runs: it is asked to make place. */
static void outdated_was_asked(void) {
        g_strlcpy(fence_stand_in.hello.version, "0.0.9", sizeof fence_stand_in.hello.version);
        idle = true;
        linked();
        connected();
        cr_assert(was_asked());
}

static void another_of_that_version(void) {
        fence_stand_in_replace();
        await(is_not_linked, "its end");
        await(is_linked, "the next");
        beat();
        turn();
}

Test(fence_link, where_that_version_comes_again_it_stays) {
        outdated_was_asked();
        cr_expect_eq(journal_count(MESSAGE_FENCE_LINKED), 1);
        another_of_that_version();
        cr_expect_eq(fence_stand_in.leaves, 1, "it is not asked again");
        cr_expect_null(fence_link_fault(fence));
        expect_timers_follow();
        cr_expect(journal_has("warning: the fence is of version 0.0.9 again: it stays, "));
        cr_expect_eq(journal_count(MESSAGE_FENCE_LINKED), 3);
        another_of_that_version();
        cr_expect_eq(fence_stand_in.leaves, 1, "nor is the one after that");
        cr_expect_eq(journal_count(MESSAGE_FENCE_LINKED), 4, "it was said");
        fence_stand_in_hang_up();
        await(is_not_linked, "the end of the connection");
        await(is_linked, "the same one");
        cr_expect_eq(fence_stand_in.leaves, 1);
}

Test(fence_link, one_that_has_not_heard_it_is_asked_again) {
        outdated_was_asked();
        fence_stand_in.leaves = 0;
        fence_stand_in_hang_up();
        await(was_asked, "another word to it");
        cr_expect_str_eq(fence_link_fault(fence),
                         "the fence is being replaced by one of this version");
}

Test(fence_link, one_of_a_third_version_is_asked_too) {
        outdated_was_asked();
        fence_stand_in.leaves = 0;
        g_strlcpy(fence_stand_in.hello.version, "0.0.8", sizeof fence_stand_in.hello.version);
        fence_stand_in_replace();
        await(was_asked, "a word to it");
}

/* ---- the timers ---- */

Test(fence_link, the_timers_are_set_before_anybody_hears_of_the_session) {
        linked();
        connected();
        cr_expect_eq(told, 1);
        cr_expect_eq(stop_at_when_told, session_stop_at(session) + FENCE_LINK_GRACE);
        expect_timers_follow();
        cr_expect_eq(fence_stand_in.last_set, FENCE_TIMER_STOP, "the kill is set first");
}

Test(fence_link, the_timers_follow_each_heartbeat) {
        usec_t before;

        linked();
        connected();
        before = fence_stand_in.at[FENCE_TIMER_STOP];
        beat();
        cr_expect_gt(fence_stand_in.at[FENCE_TIMER_STOP], before);
        expect_timers_follow();
}

Test(fence_link, what_an_earlier_session_left_keeps_the_timers) {
        linked();
        fence_stand_in.at[FENCE_TIMER_STOP] = clock_boottime() + USEC_PER_SEC;
        fence_stand_in.at[FENCE_TIMER_KILL] = clock_boottime() + 2 * USEC_PER_SEC;
        fence_stand_in.populated = true;
        connected();
        cr_expect_eq(fence_stand_in.sets[FENCE_TIMER_STOP], 0);
        cr_expect_eq(fence_stand_in.sets[FENCE_TIMER_KILL], 0);
        cr_expect_str_eq(fence_link_fault(fence), "what is fenced is being stopped");
        fence_stand_in.populated = false;
        beat();
        expect_timers_follow();
        cr_expect_null(fence_link_fault(fence));
        turn();
        cr_expect_eq(opened, 1);
        fence_stand_in.populated = true;
        beat();
        expect_timers_follow();
        cr_expect_null(fence_link_fault(fence), "that is of this session");
}

/* The same process, and the same fence: what runs is of the session that is over. */
Test(fence_link, what_runs_when_the_session_is_lost_keeps_the_timers_from_the_next) {
        usec_t before;

        linked();
        connected();
        before = fence_stand_in.at[FENCE_TIMER_STOP];
        fence_stand_in.populated = true;
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        await(is_connecting_anew, "another connection");
        port_tell(ports->pdata[0], ZK_STATE_CONNECTED);
        beat();
        cr_assert_eq(session_state(session), SESSION_CONNECTED);
        cr_expect_eq(fence_stand_in.at[FENCE_TIMER_STOP], before);
        cr_expect_str_eq(fence_link_fault(fence), "what is fenced is being stopped");
        fence_stand_in.populated = false;
        beat();
        expect_timers_follow();
        cr_expect_null(fence_link_fault(fence));
}

/* Its launch step is over, and the service manager has not executed its command yet. */
Test(fence_link, what_an_earlier_session_may_yet_begin_keeps_the_timers) {
        linked();
        fence_stand_in.at[FENCE_TIMER_STOP] = clock_boottime() - 1;
        fence_stand_in.at[FENCE_TIMER_KILL] = clock_boottime() + USEC_PER_SEC;
        past = true;
        connected();
        cr_expect_eq(fence_stand_in.sets[FENCE_TIMER_STOP], 0);
        cr_expect_eq(fence_stand_in.sets[FENCE_TIMER_KILL], 0);
        cr_expect_str_eq(fence_link_fault(fence), "what is fenced is being stopped");
        past = false;
        beat();
        expect_timers_follow();
        cr_expect_null(fence_link_fault(fence));
        past = true;
        beat();
        expect_timers_follow();
        cr_expect_null(fence_link_fault(fence), "the timers are this session's");
}

Test(fence_link, the_timers_of_a_fence_that_stops_what_lives_are_not_taken_back) {
        linked();
        connected();
        fence_stand_in.populated = true;
        fence_stand_in.at[FENCE_TIMER_STOP] = clock_boottime() - 1;
        beat();
        cr_expect_lt(fence_stand_in.at[FENCE_TIMER_STOP], clock_boottime());
        cr_expect_str_eq(fence_link_fault(fence), "what is fenced is being stopped");
        fence_stand_in.populated = false;
        beat();
        expect_timers_follow();
}

/* What lives there is what the kernel cannot end, and keeps nothing else from being guarded. */
Test(fence_link, a_new_fence_is_the_sessions_whatever_lives_there) {
        linked();
        connected();
        fence_stand_in.populated = true;
        fence_stand_in.at[FENCE_TIMER_STOP] = clock_boottime() - 1;
        beat();
        cr_expect_str_eq(fence_link_fault(fence), "what is fenced is being stopped");
        fence_stand_in_replace();
        await(is_not_linked, "the end");
        await(is_linked, "a link");
        expect_timers_follow();
        cr_expect_null(fence_link_fault(fence));
        beat();
        expect_timers_follow();
        cr_expect_null(fence_link_fault(fence), "and stays so");
}

Test(fence_link, without_a_session_what_lives_behind_a_new_fence_is_stopped) {
        open_session();
        linked();
        cr_expect_leq(fence_stand_in.at[FENCE_TIMER_STOP], clock_boottime() + FENCE_LINK_GRACE);
        cr_expect_gt(fence_stand_in.at[FENCE_TIMER_STOP], 0);
        cr_expect_leq(fence_stand_in.at[FENCE_TIMER_KILL], clock_boottime() + BUDGET - KILL_SLACK);
}

/* ---- a process after us ---- */

/* Of a process before us: the session and the fence live on. */
static void open_again(bool populated) {
        port_attaches = true;
        session_detach(session);
        close_all();
        fence_stand_in.populated = populated;
        fence_stand_in.sets[FENCE_TIMER_STOP] = 0;
        linked();
        open_session();
}

/* What runs there is left to the next process, which knows until when it is held. */
Test(fence_link, a_session_that_is_left_moves_no_timers) {
        usec_t stop_at, kill_at;

        linked();
        connected();
        fence_stand_in.populated = true;
        stop_at = fence_stand_in.at[FENCE_TIMER_STOP];
        kill_at = fence_stand_in.at[FENCE_TIMER_KILL];
        session_detach(session);
        fence_link_follow(fence);
        fence_stand_in_hang_up();
        await(is_not_linked, "the end");
        await(is_linked, "a link");
        cr_expect_eq(fence_stand_in.at[FENCE_TIMER_STOP], stop_at);
        cr_expect_eq(fence_stand_in.at[FENCE_TIMER_KILL], kill_at);
}

Test(fence_link, the_next_process_goes_on_with_the_timers_of_its_session) {
        usec_t before;

        linked();
        connected();
        before = fence_stand_in.at[FENCE_TIMER_STOP];
        open_again(true);
        turn();
        cr_expect_eq(fence_stand_in.at[FENCE_TIMER_STOP], before, "nothing is known yet");
        port_tell(ports->pdata[0], ZK_STATE_CONNECTED);
        beat();
        cr_expect_gt(fence_stand_in.at[FENCE_TIMER_STOP], before);
        expect_timers_follow();
        cr_expect_null(fence_link_fault(fence));
}

Test(fence_link, without_its_memory_the_next_process_leaves_them) {
        g_autofree char *path = g_build_filename(root, "fence", NULL);
        usec_t before;

        linked();
        connected();
        before = fence_stand_in.at[FENCE_TIMER_STOP];
        cr_assert_eq(g_unlink(path), 0);
        open_again(true);
        port_tell(ports->pdata[0], ZK_STATE_CONNECTED);
        beat();
        cr_expect_eq(fence_stand_in.at[FENCE_TIMER_STOP], before);
        cr_expect_str_eq(fence_link_fault(fence), "what is fenced is being stopped");
}

Test(fence_link, a_new_fence_follows_the_deadline_of_the_process_before) {
        linked();
        connected();
        fence_stand_in_replace();
        open_again(true);
        await(is_linked, "a link");
        cr_expect_gt(session_stop_at(session), 0);
        /* It greeted before the session was there: so it was asked at the first occasion. */
        fence_link_follow(fence);
        expect_timers_follow();
}

Test(fence_link, memory_that_cannot_be_kept_is_said_once) {
        g_autofree char *path = g_build_filename(root, "fence", NULL);

        linked();
        cr_assert_eq(g_mkdir(path, 0700), 0);
        connected();
        expect_timers_follow();
        cr_expect_null(fence_link_fault(fence));
        cr_expect(journal_has("warning: a restart will not know its fence: "));
        beat();
        expect_timers_follow();
}
