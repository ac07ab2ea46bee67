/* How a command's lock is lost, over a bus (bus-fixture.h): by somebody's hand, by silence, with
 * the session. What its caller is told, what becomes of the scope of the command, and that the lock
 * does not move before that is empty. */
#include "bus-fixture.h"
#include "lock-caller.h"
#include "lock-memory.h"
#include "service-scopes.h"

static Caller *first, *second;

/* Deadlines so short that one can wait for them: without a heartbeat runs and commands are stopped
 * after 2.4 s, and the locks are given up after 4.9 s. */
static void setup_callers(void) {
        setup_bus();
        tree_write(root, "jobkeeper.yaml",
                   "node: {name: n1}\ntakeover-delay: 100ms\nheartbeat: 100ms\n"
                   "fence-budget: 2500ms\nkill-slack: 500ms\n"
                   "zookeeper: {session-timeout: 6s, tick-time: 100ms, sync-limit: 1}\n");
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        open_daemon_on_bus();
        first = caller_new();
        second = caller_new();
}

static void teardown_callers(void) {
        first = caller_free(first);
        second = caller_free(second);
        teardown_bus();
}

TestSuite(command_lock_loss, .init = setup_callers, .fini = teardown_callers);

#define DB "{'resources':[{'resource':'db'}]}"

static const char *hold(const char *request) {
        return expect_held(caller_acquire(first, request));
}

static ServiceScope *attach(const char *id) {
        (void)expect_answer(caller_ask(first, "AttachLock", "su", id, 4711U));
        return service_scope_newest();
}

static void expect_lost(const char *id, const char *why, bool at_once) {
        g_autofree char *told = g_strdup_printf("LockLost %s %s %d", id, why, at_once);

        expect_signal(first, told);
}

static void expect_lease(const char *id, const char *state) {
        const json_t *lease = expect_answer(caller_ask(first, "LockLease", "s", id));
        json_int_t until = json_integer_value(json_object_get(lease, "held_until")),
                   stop_at = json_integer_value(json_object_get(lease, "stop_at"));

        cr_expect_str_eq(json_string_value(json_object_get(lease, "state")), state);
        if (g_str_equal(state, "held"))
                cr_expect_gt((usec_t)until, clock_boottime());
        else
                cr_expect(until == 0 && stop_at == 0);
}

static void expect_over(const char *id) {
        expect_error(caller_ask(first, "LockLease", "s", id), BUS_ERROR_NO_SUCH_LOCK,
                     "the caller holds no such lock");
}

/* ---- by somebody's hand ---- */

Test(command_lock_loss, a_lock_that_somebody_deletes_is_lost_at_once) {
        const char *id = hold(DB);
        ServiceScope *scope = attach(id);

        (void)caller_hold(second, "x");
        service_manager.deaf = true;
        server_delete(first_in_queue("db"));
        expect_lost(id, "the lock is lost", true);
        cr_expect_eq(scope->kills, 1);
        cr_expect_eq(second->signals->len, 0);
        expect_lease(id, "ending");
        /* It ends by itself, whatever the caller says. */
        (void)expect_answer(caller_ask(first, "ReleaseLock", "s", id));
        expect_lease(id, "ending");
        service_scope_empty(scope);
        serve_for(50 * USEC_PER_MSEC);
        expect_over(id);
        expect_queue("x", 1);
}

/* What all of them protect has to end first. */
Test(command_lock_loss, the_others_of_several_stay_until_the_command_is_dead) {
        const char *id = hold("{'resources':[{'resource':'a'},{'resource':'b'}]}");
        ServiceScope *scope = attach(id);
        Question *waits = caller_acquire(second, "{'resources':[{'resource':'b'}]}");

        expect_queue("b", 2);
        service_manager.deaf = true;
        server_delete(first_in_queue("a"));
        expect_lost(id, "the lock is lost", true);
        serve_for(100 * USEC_PER_MSEC);
        expect_queue("b", 2);
        cr_expect_not(waits->answered);
        service_scope_empty(scope);
        (void)expect_held(waits);
        expect_queue("b", 1);
}

Test(command_lock_loss, without_a_command_there_is_nothing_to_wait_for) {
        const char *id = hold("{'resources':[{'resource':'a'},{'resource':'b'}]}");

        server_delete(first_in_queue("a"));
        expect_lost(id, "the lock is lost", true);
        expect_queue("b", 0);
        expect_over(id);
}

Test(command_lock_loss, a_command_that_may_go_on_is_left_alone) {
        const char *id = hold("{'resources':[{'resource':'a'},{'resource':'b'}],'go_on':true}");
        const ServiceScope *scope = attach(id);

        server_delete(first_in_queue("a"));
        expect_lost(id, "the lock is lost", true);
        expect_queue("b", 0);
        expect_over(id);
        cr_expect(scope->alive);
        cr_expect_eq(scope->stops + scope->kills, 0);
}

Test(command_lock_loss, who_is_deleted_while_he_waits_queues_again) {
        const char *id = hold(DB);
        Question *waits = caller_acquire(second, DB);
        g_autofree char *before = NULL;

        expect_queue("db", 2);
        serve_for(200 * USEC_PER_MSEC); /* he watches himself from a moment later on */
        before = g_strdup(last_in_queue("db"));
        server_delete(before);
        expect_queue("db", 2);
        cr_expect_str_neq(last_in_queue("db"), before);
        cr_expect_not(waits->answered);
        (void)expect_answer(caller_ask(first, "ReleaseLock", "s", id));
        (void)expect_held(waits);
        expect_queue("db", 1);
}

/* ---- with the session ---- */

static void expire(void) {
        server_expire(last_session);
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
}

static void connect_again(void) {
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_CONNECTED);
}

/* Another may have it already. */
Test(command_lock_loss, with_the_session_the_command_is_killed) {
        const char *id = hold(DB);
        ServiceScope *scope = attach(id);

        service_manager.deaf = true;
        expire();
        expect_lost(id, "the ZooKeeper session is over", true);
        cr_expect_geq(scope->kills, 1);
        expect_lease(id, "ending");
        connect_again();
        serve_for(200 * USEC_PER_MSEC);
        expect_lease(id, "ending");
        expect_queue("db", 0);
        service_scope_empty(scope);
        serve_for(50 * USEC_PER_MSEC);
        expect_over(id);
}

Test(command_lock_loss, a_command_that_may_go_on_survives_the_session) {
        const char *id = hold("{'resources':[{'resource':'db'}],'go_on':true}");
        const ServiceScope *scope = attach(id);

        expire();
        expect_lost(id, "the ZooKeeper session is over", true);
        expect_over(id);
        cr_expect(scope->alive);
        cr_expect_eq(scope->stops + scope->kills, 0);
}

/* Return: whether a process that ends what nobody sees to would leave it alone. */
static bool goes_on(const ServiceScope *scope) {
        g_autoptr(GPtrArray) records = lock_memory_load(coordinator->node->runtime_dir);

        for (guint i = 0; i < records->len; i++) {
                const LockRecord *record = records->pdata[i];

                if (record->go_on && g_strcmp0(record->scope, scope->name) == 0)
                        return true;
        }
        return false;
}

static unsigned n_remembered(void) {
        g_autoptr(GPtrArray) records = lock_memory_load(coordinator->node->runtime_dir);

        return records->len;
}

Test(command_lock_loss, that_a_command_goes_on_is_remembered_until_it_ends) {
        const char *id = hold("{'resources':[{'resource':'db'}],'go_on':true}");
        ServiceScope *scope = attach(id);

        cr_expect(goes_on(scope));
        expire();
        expect_lost(id, "the ZooKeeper session is over", true);
        connect_again();
        serve_for(1500 * USEC_PER_MSEC);
        cr_expect(goes_on(scope));
        close_daemon();
        open_daemon_again();
        await_daemon_on_bus();
        serve_for(1500 * USEC_PER_MSEC);
        cr_expect(goes_on(scope), "also by the next process");
        service_scope_empty(scope);
        serve_for(1500 * USEC_PER_MSEC);
        cr_expect_eq(n_remembered(), 0);
}

Test(command_lock_loss, who_waits_goes_on_waiting_in_the_next_session) {
        Question *waits = NULL, *late = NULL;
        int64_t before = last_session;

        (void)hold(DB);
        waits = caller_acquire(second, DB);
        expect_queue("db", 2);
        expire();
        late = caller_acquire(second, "{'resources':[{'resource':'x'}]}");
        serve_for(100 * USEC_PER_MSEC);
        cr_expect_not(waits->answered);
        connect_again();
        (void)expect_held(waits);
        (void)expect_held(late);
        expect_queue("db", 1);
        cr_expect_neq(last_session, before);
        cr_expect_eq(server_node(first_in_queue("db"))->stat.ephemeral_owner, last_session);
}

/* ---- by silence ---- */

static ServerWay keep_heartbeats(const ZkCall *call) {
        return call->request == REQUEST_SYNC ? SERVER_KEEP : SERVER_ANSWER;
}

/* Nobody queues anew, either. */
static ServerWay keep_heartbeats_and_queueing(const ZkCall *call) {
        return call->request == REQUEST_SYNC || call->request == REQUEST_CREATE ||
                       call->request == REQUEST_LIST
                   ? SERVER_KEEP
                   : SERVER_ANSWER;
}

static bool is_time_to_stop(void) {
        return session_stop_at(coordinator->session) <= clock_boottime();
}

static bool is_in_force(void) {
        return session_stop_at(coordinator->session) > clock_boottime();
}

static void answer_again(void) {
        server.way = NULL;
        server_release();
        await(is_in_force, "heartbeats are answered");
}

/* SIGTERM first, as long as there is time for it; what survives that is killed in time. */
Test(command_lock_loss, after_a_long_silence_the_command_is_stopped_and_then_killed) {
        const char *id = hold(DB);
        ServiceScope *scope = attach(id);
        usec_t stop_at = 0, held_until = 0;

        service_manager.deaf = true;
        server.way = keep_heartbeats;
        serve_for(200 * USEC_PER_MSEC);
        stop_at = session_stop_at(coordinator->session);
        held_until = session_held_until(coordinator->session);
        expect_lost(id, "ZooKeeper has not answered for too long", false);
        cr_expect_geq(clock_boottime(), stop_at);
        cr_expect_lt(clock_boottime(), held_until);
        cr_expect_eq(scope->stops, 1);
        cr_expect_eq(scope->kills, 0);
        expect_lease(id, "ending");
        while (scope->kills == 0 && clock_boottime() < held_until + USEC_PER_SEC)
                turn();
        cr_expect_eq(scope->kills, 1);
        cr_expect_geq(clock_boottime(), held_until);
        cr_expect_eq(first->signals->len, 0, "it is told once");
        service_scope_empty(scope);
        serve_for(50 * USEC_PER_MSEC);
        expect_over(id);
}

/* What was stopped does not hold any more, also where the session goes on. */
Test(command_lock_loss, an_answer_that_comes_after_the_stop_is_too_late) {
        const char *id = hold(DB);
        ServiceScope *scope = attach(id);
        Question *waits = caller_acquire(second, DB);

        expect_queue("db", 2);
        service_manager.deaf = true;
        server.way = keep_heartbeats;
        expect_lost(id, "ZooKeeper has not answered for too long", false);
        answer_again();
        expect_lease(id, "ending");
        cr_expect_not(waits->answered);
        service_scope_empty(scope);
        (void)expect_held(waits);
        expect_queue("db", 1);
}

Test(command_lock_loss, a_command_that_may_go_on_holds_until_the_lock_is_really_lost) {
        const char *id = hold("{'resources':[{'resource':'db'}],'go_on':true}");
        const ServiceScope *scope = attach(id);

        server.way = keep_heartbeats;
        await(is_time_to_stop, "commands are stopped");
        serve_for(200 * USEC_PER_MSEC);
        expect_lease(id, "held");
        answer_again();
        expect_lease(id, "held");
        cr_expect_eq(first->signals->len, 0);
        expect_queue("db", 1);
        server.way = keep_heartbeats;
        expect_lost(id, "the ZooKeeper session is over", true);
        cr_expect_eq(scope->stops + scope->kills, 0);
        expect_over(id);
}

/* The command would be stopped before it had begun. */
Test(command_lock_loss, a_lock_that_comes_after_a_long_silence_is_queued_for_again) {
        Question *waits = NULL;
        const json_t *answer = NULL;
        const char *before = NULL;

        (void)hold("{'resources':[{'resource':'db'}],'go_on':true}");
        waits = caller_acquire(second, DB);
        expect_queue("db", 2);
        serve_for(100 * USEC_PER_MSEC);
        before = last_in_queue("db");
        server.way = keep_heartbeats_and_queueing;
        await(is_time_to_stop, "commands are stopped");
        server_delete(first_in_queue("db"));
        expect_queue("db", 0);
        cr_expect_not(waits->answered);
        answer_again();
        answer = expect_answer(waits);
        cr_expect_gt((usec_t)json_integer_value(json_object_get(answer, "stop_at")),
                     clock_boottime());
        expect_queue("db", 1);
        cr_expect_str_neq(first_in_queue("db"), before);
}

/* Each time is two writes, and none is any better before another heartbeat has come. */
Test(command_lock_loss, during_a_silence_it_is_not_queued_for_again_and_again) {
        const usec_t span = 500 * USEC_PER_MSEC, heartbeat = 100 * USEC_PER_MSEC;
        Question *waits = NULL;
        unsigned before;

        server.way = keep_heartbeats;
        await(is_time_to_stop, "commands are stopped");
        before = server.writes;
        waits = caller_acquire(second, DB);
        serve_for(span);
        cr_expect_not(waits->answered);
        cr_expect_leq(server.writes - before, 2 * (span / heartbeat + 1));
        answer_again();
        (void)expect_held(waits);
        expect_queue("db", 1);
}
