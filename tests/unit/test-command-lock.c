/* One lock that the daemon holds for a command, over a bus (bus-fixture.h): how it is queued for
 * and had, what its caller is told while he waits and while he holds, the scope of his command, and
 * what becomes of it all when he leaves. How it is lost is in test-command-lock-loss.c. */
#include "bus-fixture.h"
#include "fence-stand-in.h"
#include "lock-caller.h"
#include "lock-memory.h"
#include "registration.h"
#include "service-scopes.h"
#include "unit-spec.h"

#define NOT_WRITTEN "jobkeeperd cannot store it in its runtime directory: "

static Caller *first, *second;

static void setup_callers(void) {
        setup_bus();
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

TestSuite(command_lock, .init = setup_callers, .fini = teardown_callers);

static json_int_t number(const json_t *object, const char *name) {
        return json_integer_value(json_object_get(object, name));
}

static const char *text(const json_t *object, const char *name) {
        const char *value = json_string_value(json_object_get(object, name));

        return value ? value : "";
}

static Question *release(Caller *caller, const char *id) {
        return caller_ask(caller, "ReleaseLock", "s", id);
}

/* Moves a process of the caller's into the scope of the lock. Return: borrowed. */
static ServiceScope *attach(Caller *caller, const char *id) {
        (void)expect_answer(caller_ask(caller, "AttachLock", "su", id, 4711U));
        return service_scope_newest();
}

/* ---- the queue ---- */

Test(command_lock, what_is_held_stands_in_the_queue_until_it_is_given_back) {
        const json_t *answer =
            expect_answer(caller_acquire(first, "{'resources':[{'resource':'db'}],"
                                                "'who':{'command':'sh','pid':12,'user':'root'}}"));
        g_autofree char *path = g_strdup(first_in_queue("db"));
        usec_t held_until = (usec_t)number(answer, "held_until");

        cr_expect_str_eq(text(answer, "state"), "held");
        cr_expect_eq(strlen(text(answer, "id")), 16);
        cr_expect_str_eq(json_string_value(json_array_get(json_object_get(answer, "paths"), 0)),
                         path);
        cr_expect_eq(json_array_size(json_object_get(answer, "paths")), 1);
        cr_expect_geq(number(answer, "token"), server_node(path)->stat.czxid);
        cr_expect_gt(held_until, clock_boottime());
        cr_expect_leq(held_until, session_held_until(coordinator->session));
        cr_expect_eq(held_until - (usec_t)number(answer, "stop_at"),
                     coordinator->config->fence_budget);
        cr_expect_str_eq(server_data(path),
                         "{\"node\":\"n1\",\"command\":\"sh\",\"pid\":12,\"user\":\"root\"}");
        cr_expect_eq(server_node(path)->stat.ephemeral_owner, session_id(coordinator->session));
        (void)expect_answer(release(first, text(answer, "id")));
        expect_queue("db", 0);
}

Test(command_lock, who_comes_second_has_it_when_the_first_has_given_it_back) {
        const char *id = caller_hold(first, "db");
        json_int_t token = number(expect_answer(first->questions->pdata[0]), "token");
        Question *waits = caller_acquire(second, "{'resources':[{'resource':'db'}]}");

        expect_queue("db", 2);
        serve_for(200 * USEC_PER_MSEC);
        cr_expect_not(waits->answered);
        (void)expect_answer(release(first, id));
        (void)expect_held(waits);
        cr_expect_gt(number(waits->answer, "token"), token);
        expect_queue("db", 1);
}

Test(command_lock, those_who_share_hold_together) {
        static const char shared[] = "{'resources':[{'resource':'db','shared':true}]}";
        const char *one = expect_held(caller_acquire(first, shared));
        const char *other = expect_held(caller_acquire(second, shared));
        Question *alone = caller_acquire(first, "{'resources':[{'resource':'db'}]}");

        expect_queue("db", 3);
        (void)expect_answer(release(first, one));
        serve_for(100 * USEC_PER_MSEC);
        cr_expect_not(alone->answered);
        (void)expect_answer(release(second, other));
        (void)expect_held(alone);
}

Test(command_lock, several_are_held_together_or_not_at_all) {
        const char *id = caller_hold(first, "b");
        Question *both =
            caller_acquire(second, "{'resources':[{'resource':'b'},{'resource':'a'}]}");

        expect_queue("b", 2);
        serve_for(100 * USEC_PER_MSEC);
        cr_expect_not(both->answered);
        (void)expect_answer(release(first, id));
        id = expect_held(both);
        cr_expect_eq(json_array_size(json_object_get(both->answer, "paths")), 2);
        cr_expect_gt(number(both->answer, "token"), server_node(first_in_queue("b"))->stat.czxid);
        (void)expect_answer(release(second, id));
        expect_queue("a", 0);
        expect_queue("b", 0);
}

/* ---- not had ---- */

Test(command_lock, a_try_does_not_wait) {
        (void)caller_hold(first, "db");
        expect_not_held(caller_acquire(second, "{'resources':[{'resource':'db'}],'wait':0}"),
                        "busy", "");
        expect_queue("db", 1);
        (void)expect_held(caller_acquire(second, "{'resources':[{'resource':'x'}],'wait':0}"));
}

Test(command_lock, one_that_is_not_free_in_time_is_not_waited_for_any_longer) {
        Question *waits = NULL;
        usec_t asked = 0;

        (void)caller_hold(first, "db");
        asked = clock_monotonic();
        waits = caller_acquire(second, "{'resources':[{'resource':'db'}],'wait':0.3}");
        expect_queue("db", 2);
        expect_not_held(waits, "timeout", "");
        cr_expect_geq(clock_monotonic(), asked + 300 * USEC_PER_MSEC);
        expect_queue("db", 1);
}

/* Those in his way could not see us. */
Test(command_lock, one_that_cannot_be_had_says_why) {
        const char *id = caller_hold(first, "db");

        (void)expect_answer(release(first, id));
        expect_queue("db", 0);
        server_create("/jobkeeper/locks/db/somebody", "", 7);
        expect_not_held(caller_acquire(second, "{'resources':[{'resource':'db'}]}"), "failed",
                        "/jobkeeper/locks/db/somebody was made by a program that cannot see our "
                        "contenders: it names its own in another way (ours: curator-rw)");
        expect_queue("db", 1);
        cr_expect_str_eq(first_in_queue("db"), "/jobkeeper/locks/db/somebody");
}

static bool is_not_connected(void) {
        return session_state(coordinator->session) != SESSION_CONNECTED;
}

static void cut_off(void) {
        port_tell(ports->pdata[0], ZK_STATE_SUSPENDED);
        await(is_not_connected, "no server answers");
}

Test(command_lock, who_asks_while_no_server_answers_has_it_once_one_does) {
        Question *waits = NULL, *tries = NULL;

        cut_off();
        waits = caller_acquire(first, "{'resources':[{'resource':'db'}],'wait':60}");
        tries = caller_acquire(second, "{'resources':[{'resource':'x'}],'wait':0}");
        serve_for(300 * USEC_PER_MSEC);
        cr_expect_not(waits->answered);
        cr_expect_not(tries->answered, "a daemon that has just started takes its time");
        port_tell(ports->pdata[0], ZK_STATE_CONNECTED);
        (void)expect_held(waits);
        (void)expect_held(tries);
}

Test(command_lock, that_no_server_answers_is_not_that_somebody_holds_it) {
        Question *waits = NULL;
        usec_t asked = 0;

        cut_off();
        asked = clock_monotonic();
        waits = caller_acquire(first, "{'resources':[{'resource':'db'}],'wait':0.3}");
        expect_not_held(waits, "unreachable", "");
        cr_expect_geq(clock_monotonic(), asked + 300 * USEC_PER_MSEC);
        cr_expect_lt(clock_monotonic(), asked + 5 * USEC_PER_SEC);
        port_tell(ports->pdata[0], ZK_STATE_CONNECTED);
        serve_for(200 * USEC_PER_MSEC);
        expect_queue("db", 0);
}

static bool is_refused(void) {
        return *registration_fault(coordinator->registration);
}

/* Why nothing can be had is known: the words are those of `jobkeeper status`. */
Test(command_lock, a_node_that_may_not_take_part_says_why_there_are_no_locks) {
        close_daemon();
        server_forget_watches();
        server_node("/jobkeeper/nodes/n1")->stat.ephemeral_owner = 77;
        open_daemon();
        await(is_refused, "the node is refused");
        await_daemon_on_bus();
        expect_not_held(caller_acquire(first, "{'resources':[{'resource':'db'}],'wait':0.2}"),
                        "unreachable", registration_fault(coordinator->registration));
        expect_queue("db", 0);
}

/* ---- what is written down ---- */

/* Nothing can be stored in its place. */
static void spoil_memory(void) {
        g_autofree char *path = tree_path(root, "run/" LOCK_MEMORY_DIRECTORY);

        tree_remove(path);
        tree_write(root, "run/" LOCK_MEMORY_DIRECTORY, "");
}

/* It says where, and why: the file's name has some letters that are drawn. */
static void expect_not_written(const char *text, const char *begin) {
        cr_expect(g_str_has_prefix(text, begin), "%s", text);
        cr_expect_not_null(strstr(text, "/run/" LOCK_MEMORY_DIRECTORY "/"), "%s", text);
        cr_expect_not_null(strstr(text, "Not a directory"), "%s", text);
}

static void expect_not_held_unwritten(Question *question) {
        const json_t *answer = expect_answer(question);

        cr_expect_str_eq(json_string_value(json_object_get(answer, "state")), "failed");
        expect_not_written(json_string_value(json_object_get(answer, "why")), NOT_WRITTEN);
}

static Question *refused;
static Caller *loser;

static bool is_refused_and_told(void) {
        return refused->error && loser->signals->len == 1;
}

static void expect_lost_unwritten(Question *question, Caller *caller, const char *id) {
        g_autofree char *lost = g_strdup_printf("LockLost %s " NOT_WRITTEN, id);

        refused = question;
        loser = caller;
        await(is_refused_and_told, "a refusal, and that it is lost");
        cr_expect_str_eq(question->error, BUS_ERROR_FAILED);
        expect_not_written(question->words, NOT_WRITTEN);
        expect_not_written(caller->signals->pdata[0], lost);
        cr_expect(g_str_has_suffix(caller->signals->pdata[0], " 1"), "at once");
        g_ptr_array_set_size(caller->signals, 0);
}

/* A process that is killed leaves it in the queue; nobody would look for it there. */
Test(command_lock, what_cannot_be_written_down_is_not_queued_for) {
        (void)caller_hold(second, "x");
        spoil_memory();
        expect_not_held_unwritten(caller_acquire(first, "{'resources':[{'resource':'db'}]}"));
        cr_expect_null(server_node("/jobkeeper/locks/db"));
}

Test(command_lock, what_cannot_be_written_down_is_not_held) {
        const char *id = caller_hold(second, "db");
        Question *waits = caller_acquire(first, "{'resources':[{'resource':'db'}]}");

        expect_queue("db", 2);
        spoil_memory();
        (void)expect_answer(release(second, id));
        expect_not_held_unwritten(waits);
        expect_queue("db", 0);
}

/* The next process would not find what it has to end: none is made. */
Test(command_lock, a_scope_that_cannot_be_written_down_is_not_made) {
        const char *id = caller_hold(first, "db");

        spoil_memory();
        expect_lost_unwritten(caller_ask(first, "AttachLock", "su", id, 4711U), first, id);
        cr_expect_null(service_scope_newest());
        expect_queue("db", 0);
}

static bool a_scope_is_asked_for(void) {
        return service_scope_newest();
}

/* As above: it is ended by this one. */
Test(command_lock, a_scope_that_cannot_be_written_down_any_more_is_ended) {
        const char *id = caller_hold(first, "db");
        Question *attaches = NULL;
        ServiceScope *scope = NULL;

        service_manager.deaf = true;
        service_manager.hold_starts = true;
        attaches = caller_ask(first, "AttachLock", "su", id, 4711U);
        await(a_scope_is_asked_for, "the process is to be moved");
        spoil_memory();
        service_scope_begin(service_scope_newest());
        expect_lost_unwritten(attaches, first, id);
        scope = service_scope_newest();
        cr_expect_eq(scope->kills, 1);
        expect_queue("db", 1);
        service_scope_empty(scope);
        expect_queue("db", 0);
}

/* ---- the scope ---- */

Test(command_lock, the_process_moves_into_a_scope_of_the_lock) {
        const char *id = caller_hold(first, "db");
        g_autofree char *name = g_strdup_printf("jobkeeper-lock-%s.scope", id);
        const json_t *answer = expect_answer(caller_ask(first, "AttachLock", "su", id, 4711U));
        const ServiceScope *scope = service_scope_newest();

        cr_expect_str_eq(text(answer, "scope"), name);
        cr_expect_str_eq(text(answer, "cgroup"), scope->cgroup);
        cr_expect_str_eq(scope->name, name);
        cr_expect_str_eq(scope->description, "jobkeeper lock db");
        cr_expect_str_eq(scope->slice, UNIT_SLICE);
        cr_expect(scope->fenced);
        cr_expect_eq(scope->pid, 4711);
        cr_expect_eq(scope->stop_timeout, 6 * USEC_PER_SEC, "the fence budget without the slack");
}

Test(command_lock, a_process_that_cannot_be_moved_does_not_cost_the_lock) {
        const char *id = caller_hold(first, "db");

        service_manager.refuses = true;
        expect_error(caller_ask(first, "AttachLock", "su", id, 4711U), BUS_ERROR_FAILED, "refused");
        expect_queue("db", 1);
        service_manager.refuses = false;
        (void)attach(first, id);
}

static bool nobody_waits(void) {
        return service_scope_newest()->kills > 0;
}

/* The fence leaves off while PID 1 moves the process, or is gone when it has: what begins then is
 * beside another one, or none. */
static void expect_not_begun(void (*fence)(void)) {
        const char *id = caller_hold(first, "db");
        Question *attaches;

        service_manager.hold_starts = true;
        attaches = caller_ask(first, "AttachLock", "su", id, 4711U);
        await(a_scope_is_asked_for, "the process is to be moved");
        fence();
        service_scope_begin(service_scope_newest());
        expect_error(attaches, BUS_ERROR_FAILED, "the fence is being replaced");
        await(nobody_waits, "the process is killed");
        expect_queue("db", 1);
        service_manager.hold_starts = false;
        serve_for(USEC_PER_SEC);
        (void)attach(first, id);
}

Test(command_lock, a_process_that_moves_beside_another_fence_executes_nothing) {
        expect_not_begun(fence_stand_in_replace);
}

static void fence_goes(void) {
        fence_stand_in.absent = true;
        fence_stand_in_hang_up();
        fence_stand_in.absent = false;
}

Test(command_lock, a_process_that_moves_while_there_is_no_fence_executes_nothing) {
        expect_not_begun(fence_goes);
}

/* The fence has no part in it. */
Test(command_lock, a_command_that_goes_on_without_its_lock_is_not_fenced) {
        Question *asks = caller_acquire(first, "{'resources':[{'resource':'db'}],'go_on':true}");
        const char *id = text(expect_answer(asks), "id");
        const ServiceScope *scope;

        fence_stand_in_replace();
        (void)attach(first, id);
        scope = service_scope_newest();
        cr_expect_str_eq(scope->slice, UNIT_SLICE_UNFENCED);
        cr_expect_not(scope->fenced);
        cr_expect_eq(scope->kills, 0);
}

/* It is the caller's to say that he does not need it any more. */
Test(command_lock, a_command_that_has_ended_leaves_the_lock_to_its_caller) {
        const char *id = caller_hold(first, "db");
        ServiceScope *scope = attach(first, id);
        g_autofree char *name = g_strdup_printf("run/" LOCK_MEMORY_DIRECTORY "/%s.json", id),
                        *memory = tree_path(root, name), *left = NULL;

        cr_assert(g_file_get_contents(memory, &left, NULL, NULL));
        cr_expect_not_null(strstr(left, scope->cgroup), "%s", left);
        service_scope_empty(scope);
        serve_for(100 * USEC_PER_MSEC);
        cr_expect_str_eq(text(expect_answer(caller_ask(first, "LockLease", "s", id)), "state"),
                         "held");
        expect_queue("db", 1);
        g_clear_pointer(&left, g_free);
        cr_assert(g_file_get_contents(memory, &left, NULL, NULL));
        cr_expect_null(strstr(left, ".scope"), "%s", left);
        (void)expect_answer(release(first, id));
        expect_queue("db", 0);
        cr_expect_eq(scope->stops + scope->kills, 0);
}

Test(command_lock, who_gives_it_back_before_the_process_has_moved_is_told) {
        const char *id = caller_hold(first, "db");
        Question *attaches = NULL;

        service_manager.hold_starts = true;
        attaches = caller_ask(first, "AttachLock", "su", id, 4711U);
        (void)expect_answer(release(first, id));
        expect_error(attaches, BUS_ERROR_NO_SUCH_LOCK, "the lock has ended");
        expect_queue("db", 0);
}

/* ---- while it is held ---- */

Test(command_lock, the_lease_says_until_when_it_is_certain) {
        const char *id = caller_hold(first, "db");
        const json_t *lease = expect_answer(caller_ask(first, "LockLease", "s", id));

        cr_expect_str_eq(text(lease, "id"), id);
        cr_expect_str_eq(text(lease, "state"), "held");
        cr_expect_eq((usec_t)number(lease, "held_until"), session_held_until(coordinator->session));
        cr_expect_eq((usec_t)number(lease, "stop_at"), session_stop_at(coordinator->session));
}

static usec_t lease_before;

static bool the_deadline_has_moved(void) {
        return session_held_until(coordinator->session) > lease_before;
}

Test(command_lock, heartbeats_renew_the_lease) {
        const char *id = caller_hold(first, "db");
        const json_t *lease = expect_answer(caller_ask(first, "LockLease", "s", id));

        lease_before = (usec_t)number(lease, "held_until");
        await(the_deadline_has_moved, "a heartbeat");
        lease = expect_answer(caller_ask(first, "LockLease", "s", id));
        cr_expect_gt((usec_t)number(lease, "held_until"), lease_before);
        cr_expect_gt((usec_t)number(lease, "stop_at"), 0);
}

/* Nothing follows from it by itself. */
Test(command_lock, who_is_asked_to_give_it_back_is_told_and_holds_on) {
        const char *id = caller_hold(first, "db");
        g_autofree char *told = g_strdup_printf("LockRevoked %s  0", id);

        (void)caller_hold(second, "x");
        serve_for(100 * USEC_PER_MSEC);
        server_write(first_in_queue("db"), "__REVOKE__");
        expect_signal(first, told);
        serve_for(100 * USEC_PER_MSEC);
        cr_expect_eq(second->signals->len, 0);
        expect_queue("db", 1);
        cr_expect_str_eq(text(expect_answer(caller_ask(first, "LockLease", "s", id)), "state"),
                         "held");
}

/* ---- the caller leaves ---- */

Test(command_lock, who_leaves_while_he_waits_leaves_the_queue) {
        Caller *third = caller_new();
        const char *id = caller_hold(first, "db");
        Question *waits = NULL;

        (void)caller_acquire(second, "{'resources':[{'resource':'db'}]}");
        expect_queue("db", 2);
        waits = caller_acquire(third, "{'resources':[{'resource':'db'}]}");
        expect_queue("db", 3);
        second = caller_free(second);
        expect_queue("db", 2);
        (void)expect_answer(release(first, id));
        (void)expect_held(waits);
        caller_free(third);
}

Test(command_lock, who_leaves_before_he_is_heard_holds_nothing) {
        (void)caller_acquire(second, "{'resources':[{'resource':'db'}]}");
        cr_assert_geq(sd_bus_flush(second->bus), 0);
        second = caller_free(second);
        serve_for(200 * USEC_PER_MSEC);
        expect_queue("db", 0);
        (void)caller_hold(first, "db");
}

/* The process that was to move has not executed anything. */
Test(command_lock, who_leaves_before_his_process_has_moved_holds_no_longer) {
        Question *waits = NULL;

        (void)caller_hold(first, "db");
        waits = caller_acquire(second, "{'resources':[{'resource':'db'}]}");
        expect_queue("db", 2);
        first = caller_free(first);
        (void)expect_held(waits);
        expect_queue("db", 1);
}

/* The caller of `request` leaves, while another waits. */
static void expect_dead_before_the_lock_moves(const char *request) {
        const char *id = expect_held(caller_acquire(first, request));
        ServiceScope *scope = attach(first, id);
        Question *waits = caller_acquire(second, "{'resources':[{'resource':'db'}]}");

        expect_queue("db", 2);
        service_manager.deaf = true;
        first = caller_free(first);
        while (scope->stops == 0)
                turn();
        serve_for(200 * USEC_PER_MSEC);
        cr_expect_eq(scope->kills, 0);
        cr_expect_not(waits->answered, "the command lives");
        expect_queue("db", 2);
        service_scope_empty(scope);
        (void)expect_held(waits);
        expect_queue("db", 1);
}

Test(command_lock, the_command_of_who_leaves_is_dead_before_the_lock_moves) {
        expect_dead_before_the_lock_moves("{'resources':[{'resource':'db'}]}");
}

/* He had promised to hold still. */
Test(command_lock, the_same_goes_for_one_that_would_survive_a_loss) {
        expect_dead_before_the_lock_moves("{'resources':[{'resource':'db'}],'go_on':true}");
}

Test(command_lock, who_leaves_while_his_process_moves_has_it_stopped_when_it_has) {
        const char *id = caller_hold(first, "db");
        ServiceScope *scope = NULL;

        service_manager.hold_starts = true;
        service_manager.deaf = true;
        (void)caller_ask(first, "AttachLock", "su", id, 4711U);
        while (!service_scope_newest())
                turn();
        scope = service_scope_newest();
        first = caller_free(first);
        while (scope->stops == 0)
                turn();
        service_scope_begin(scope);
        serve_for(100 * USEC_PER_MSEC);
        expect_queue("db", 1);
        service_scope_empty(scope);
        expect_queue("db", 0);
}
