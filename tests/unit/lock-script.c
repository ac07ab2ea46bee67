/* See lock-script.h. */
#include "lock-script.h"

#include <criterion/criterion.h>
#include <string.h>

#include "event-loop.h"

Zk *port(void) {
        return ports->pdata[0];
}

ZkCall *script_next(Script *script, usec_t limit) {
        usec_t until = clock_monotonic() + limit;
        ZkCall *call;

        while (!(call = g_queue_pop_head(&port()->calls)) && clock_monotonic() < until)
                (void)sd_event_run(script->event, 10 * USEC_PER_MSEC);
        return call;
}

ZkCall *expect(Script *script, Request request) {
        ZkCall *call = script_next(script, LIMIT);

        cr_assert_not_null(call, "request %d did not come", (int)request);
        cr_assert_eq(call->request, request, "%d %s instead of %d", (int)call->request, call->path,
                     (int)request);
        return call;
}

void expect_quiet(Script *script) {
        ZkCall *call = script_next(script, QUIET);

        cr_assert_null(call, "request %d %s", (int)call->request, call->path);
}

void answer(Script *script, Request request, ZkCode code) {
        port_reply(expect(script, request), (ZkReply){.code = code});
}

ZkReply list_of(const char *const *names) {
        return (ZkReply){
            .code = ZK_OK, .children = names, .n_children = g_strv_length((char **)names)};
}

ZkReply node_of(int64_t owner, const char *data) {
        return (ZkReply){.code = ZK_OK,
                         .data = data,
                         .data_size = strlen(data),
                         .stat = {.czxid = 7, .ephemeral_owner = owner}};
}

ZkStat own_stat(void) {
        return (ZkStat){.czxid = 7, .ephemeral_owner = port()->session.id};
}

static void on_session(Session *session, SessionEvent event, void *userdata) {
        (void)session;
        (void)event;
        (void)userdata;
}

static void on_log(int priority, const char *message, void *userdata) {
        Script *script = userdata;

        (void)priority;
        script->warnings++;
        g_free(script->warning);
        script->warning = g_strdup(message);
}

void on_lock(LockSet *set, LockEvent event, void *userdata) {
        Script *script = userdata;

        (void)set;
        script->events[event]++;
}

void script_open(Script *script) {
        const SessionOptions options = {
            .servers = "127.0.0.1:2181",
            .session_timeout = 10 * USEC_PER_MINUTE,
            .rule = {USEC_PER_SEC, 1, USEC_PER_MINUTE, USEC_PER_SEC},
            .state_file = script->state_file,
            .log = on_log,
        };

        script->event = loop_new();
        cr_assert_eq(session_new(script->event, &options, on_session, script, &script->session), 0);
        port_tell(port(), ZK_STATE_CONNECTED);
        answer(script, REQUEST_MULTI, ZK_OK);
        cr_assert_eq(session_state(script->session), SESSION_CONNECTED);
}

void script_close(Script *script) {
        script->set = lock_set_forget(script->set);
        script->session = session_free(script->session);
        script->event = loop_end(script->event);
        g_clear_pointer(&script->contender, g_free);
        g_clear_pointer(&script->warning, g_free);
}

void script_reconnect(Script *script) {
        port_tell(port(), ZK_STATE_SUSPENDED);
        port_tell(port(), ZK_STATE_CONNECTED);
        answer(script, REQUEST_MULTI, ZK_OK);
        cr_assert_eq(session_state(script->session), SESSION_CONNECTED);
}

/* Asks for a resource below /locks, for as long as it takes. */
void script_ask_with(Script *script, LockRequest request, LockOptions options) {
        options.parent = "/locks";
        options.wait = USEC_INFINITY;
        cr_assert_eq(
            lock_set_acquire(script->session, &request, 1, &options, on_lock, script, &script->set),
            0);
}

void script_ask(Script *script, LockRequest request) {
        script_ask_with(script, request, (LockOptions){0});
}

void script_await(Script *script, LockEvent event) {
        usec_t until = clock_monotonic() + LIMIT;

        while (script->events[event] == 0 && clock_monotonic() < until)
                (void)sd_event_run(script->event, 10 * USEC_PER_MSEC);
        cr_assert_eq(script->events[event], 1, "event %d: %u times", (int)event,
                     script->events[event]);
}
