/* Fresh fencing tokens on a scripted port (lock-script.h): who needs not draw one, and what becomes
 * of a draw. */
#include "lock-script.h"

#define CZXID 7

/* Alone in the list, in a directory that was changed last by `pzxid`. */
static void ask_freshly(Script *script, int64_t pzxid) {
        ZkReply alone;
        ZkCall *call;

        script_ask_with(script, (LockRequest){.resource = "a"}, (LockOptions){.fresh_token = true});
        call = expect(script, REQUEST_CREATE);
        script->contender = g_strconcat(call->path, "0000000003", NULL);
        port_reply(call, (ZkReply){.code = ZK_OK, .path = script->contender, .stat = own_stat()});
        alone = list_of((const char *const[]){strrchr(script->contender, '/') + 1, NULL});
        alone.stat.pzxid = pzxid;
        port_reply(expect(script, REQUEST_LIST), alone);
}

static ZkCall *expect_draw(Script *script) {
        ZkCall *call;

        /* the watch on our own contender comes when it comes */
        while ((call = script_next(script, LIMIT)) && call->request == REQUEST_GET)
                port_reply(call, node_of(port()->session.id, ""));
        cr_assert_not_null(call);
        cr_assert_eq(call->request, REQUEST_SET, "%d", (int)call->request);
        cr_assert_str_eq(call->path, script->contender);
        return call;
}

Test(lock_script_tokens, who_was_the_first_of_all_does_not_draw) {
        Script script = {0};
        ZkCall *call;

        script_open(&script);
        ask_freshly(&script, CZXID);
        script_await(&script, LOCK_EVENT_HELD);
        cr_assert_eq(lock_set_fencing_token(script.set), CZXID);
        while ((call = script_next(&script, QUIET))) {
                cr_assert_eq(call->request, REQUEST_GET);
                port_reply(call, node_of(port()->session.id, ""));
        }
        script_close(&script);
}

/* Somebody may have held, and written, between the creation and the list. */
Test(lock_script_tokens, who_is_alone_where_something_changed_since_its_creation_draws) {
        Script script = {0};
        ZkCall *draw;

        script_open(&script);
        ask_freshly(&script, CZXID + 2);
        draw = expect_draw(&script);
        cr_assert_eq(script.events[LOCK_EVENT_HELD], 0);
        port_reply(draw, (ZkReply){.code = ZK_OK, .stat = {.czxid = CZXID, .mzxid = CZXID + 4}});
        script_await(&script, LOCK_EVENT_HELD);
        cr_assert_eq(lock_set_fencing_token(script.set), CZXID + 4);
        script_close(&script);
}

Test(lock_script_tokens, a_draw_whose_outcome_is_unknown_is_repeated) {
        Script script = {0};

        script_open(&script);
        ask_freshly(&script, CZXID + 2);
        for (unsigned i = 0; i < 3; i++)
                port_reply(expect_draw(&script), (ZkReply){.code = ZK_UNKNOWN});
        cr_assert_eq(script.events[LOCK_EVENT_HELD], 0);
        port_reply(expect_draw(&script), (ZkReply){.code = ZK_OK, .stat = {.mzxid = CZXID + 6}});
        script_await(&script, LOCK_EVENT_HELD);
        cr_assert_eq(lock_set_fencing_token(script.set), CZXID + 6);
        script_close(&script);
}

Test(lock_script_tokens, a_draw_that_finds_no_contender_means_that_it_is_lost) {
        Script script = {0};

        script_open(&script);
        ask_freshly(&script, CZXID + 2);
        port_reply(expect_draw(&script), (ZkReply){.code = ZK_NO_NODE});
        script_await(&script, LOCK_EVENT_LOST);
        cr_assert_eq(script.events[LOCK_EVENT_HELD], 0);
        cr_assert_eq(lock_set_fencing_token(script.set), 0);
        script_close(&script);
}

Test(lock_script_tokens, a_draw_that_is_refused_is_a_fault) {
        Script script = {0};

        script_open(&script);
        ask_freshly(&script, CZXID + 2);
        port_reply(expect_draw(&script), (ZkReply){.code = ZK_NO_AUTH});
        script_await(&script, LOCK_EVENT_FAILED);
        cr_assert(strstr(lock_set_fault(script.set), "fencing token"), "%s",
                  lock_set_fault(script.set));
        script_close(&script);
}

#define OWN "_c_00000000-0000-4000-8000-000000000001-__WRIT__0000000003"

/* Taken over with `options`; its node has been written to since it was made, with `data`. */
static void adopt(Script *script, const LockOptions *options, const char *data) {
        ZkCall *call;

        cr_assert_eq(lock_set_adopt(script->session, (const char *const[]){"/locks/a/" OWN, NULL},
                                    options, on_lock, script, &script->set),
                     0);
        answer(script, REQUEST_MULTI, ZK_OK);
        port_reply(expect(script, REQUEST_LIST), list_of((const char *const[]){OWN, NULL}));
        call = expect(script, REQUEST_GET);
        port_reply(call, (ZkReply){.code = ZK_OK,
                                   .data = data,
                                   .data_size = strlen(data),
                                   .stat = {.czxid = CZXID,
                                            .mzxid = CZXID + 5,
                                            .ephemeral_owner = port()->session.id}});
        script_await(script, LOCK_EVENT_HELD);
}

Test(lock_script_tokens, who_adopts_has_the_token_that_was_drawn) {
        const LockOptions freshly = {.fresh_token = true};
        Script script = {0};

        script_open(&script);
        adopt(&script, &freshly, "payload");
        cr_assert_eq(lock_set_fencing_token(script.set), CZXID + 5);
        expect_quiet(&script);
        script_close(&script);
}

Test(lock_script_tokens, who_adopts_without_drawing_has_that_of_the_contender) {
        Script script = {0};

        script_open(&script);
        adopt(&script, NULL, "payload");
        cr_assert_eq(lock_set_fencing_token(script.set), CZXID);
        script_close(&script);
}

/* What the twin says to people. */
static void step_down(const LockOptions *options, const char *data, const char *expected) {
        Script script = {0};
        ZkCall *call;

        script_open(&script);
        adopt(&script, options, data);
        cr_assert_eq(lock_set_downgrade(script.set), 0);
        call = expect(&script, REQUEST_MULTI);
        cr_assert_str_eq(call->ops[0].data, expected);
        port_reply(call, (ZkReply){.code = ZK_OK});
        port_reply(expect(&script, REQUEST_GET), node_of(port()->session.id, expected));
        script_await(&script, LOCK_EVENT_DOWNGRADED);
        script_close(&script);
}

Test(lock_script_tokens, who_steps_down_after_an_adoption_keeps_the_payload) {
        step_down(NULL, "payload", "payload");
        step_down(&(LockOptions){.payload = "new"}, "payload", "new");
        step_down(&(LockOptions){.payload = "new"}, "__REVOKE__", "new");
        step_down(NULL, "__REVOKE__", "");
}

/* Somebody has written to the contender. Return: the read of what it says. */
static ZkCall *draw_too_late(Script *script) {
        ask_freshly(script, CZXID + 2);
        port_reply(expect_draw(script), (ZkReply){.code = ZK_BAD_VERSION});
        /* The watch on our own contender comes when it comes. */
        for (;;) {
                ZkCall *read = expect(script, REQUEST_GET);

                if (!read->watch)
                        return read;
                port_reply(read, node_of(port()->session.id, ""));
        }
}

Test(lock_script_tokens, who_was_written_to_draws_for_the_version_that_it_finds) {
        Script script = {0};
        ZkReply found;
        ZkCall *draw;

        script_open(&script);
        found = node_of(port()->session.id, "anything");
        found.stat.version = 3;
        port_reply(draw_too_late(&script), found);
        draw = expect_draw(&script);
        cr_assert_eq(draw->version, 3);
        port_reply(draw, (ZkReply){.code = ZK_OK, .stat = {.mzxid = CZXID + 8}});
        script_await(&script, LOCK_EVENT_HELD);
        cr_assert_eq(lock_set_fencing_token(script.set), CZXID + 8);
        script_close(&script);
}

Test(lock_script_tokens, a_read_whose_answer_is_lost_is_followed_by_another_draw) {
        Script script = {0};

        script_open(&script);
        port_reply(draw_too_late(&script), (ZkReply){.code = ZK_UNKNOWN});
        port_reply(expect_draw(&script), (ZkReply){.code = ZK_OK, .stat = {.mzxid = CZXID + 8}});
        script_await(&script, LOCK_EVENT_HELD);
        script_close(&script);
}

/* The end of the session is about to be told. */
Test(lock_script_tokens, a_read_that_the_end_of_the_session_answers_is_no_fault) {
        Script script = {0};
        ZkCall *call;

        script_open(&script);
        port_reply(draw_too_late(&script), (ZkReply){.code = ZK_CLOSED});
        while ((call = script_next(&script, QUIET)))
                port_reply(call, node_of(port()->session.id, ""));
        cr_assert_eq(script.events[LOCK_EVENT_FAILED], 0);
        cr_assert_str_eq(lock_set_fault(script.set), "");
        script_close(&script);
}
