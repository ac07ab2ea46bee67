/* Slots on a scripted port (lock-script.h): their number changes when it is least expected. */
#include <errno.h>

#include "lock-script.h"

#define DIRECTORY "/locks/a"
#define SLOT(n) "_c_00000000-0000-8000-8000-00000000000" #n "-__SLOT__000000000" #n
#define THREE "{\"slots\": 3}"
#define TWO "{\"slots\": 2}"

static const char *const before[] = {SLOT(0), SLOT(1), SLOT(2)};

/* Answers whatever is asked for: there are so many slots, and all of `names` stand. */
static void answer_all(Script *script, const char *slots, const char *const *names) {
        ZkCall *call;

        while ((call = script_next(script, QUIET))) {
                if (call->request == REQUEST_LIST)
                        port_reply(call, list_of(names));
                else if (strcmp(call->path, DIRECTORY) == 0)
                        port_reply(call, node_of(0, slots));
                else
                        port_reply(call, node_of(port()->session.id, ""));
        }
}

/* The creation, the read of the number (three) and the list left together; after the read the
 * number changes. */
static void change_during_the_flight(Script *script, const char *slots) {
        const char *names[] = {before[0], before[1], NULL, NULL};
        ZkCall *call;
        ZkWatch *watch;

        script_ask(script, (LockRequest){.resource = "a", .slots = 3});
        call = expect(script, REQUEST_CREATE);
        script->contender = g_strconcat(call->path, "0000000003", NULL);
        names[2] = strrchr(script->contender, '/') + 1;
        port_reply(call, (ZkReply){.code = ZK_OK, .path = script->contender, .stat = own_stat()});
        call = expect(script, REQUEST_GET);
        watch = call->watch;
        port_reply(call, node_of(0, THREE));
        cr_assert_not_null(watch);
        watch->func(ZK_WATCH_CHANGED, DIRECTORY, watch->userdata);
        answer_all(script, slots, names);
}

Test(lock_script_slots, a_number_that_changes_during_the_flight_is_heard_of) {
        Script script = {0};

        script_open(&script);
        change_during_the_flight(&script, TWO);
        cr_assert_eq(script.events[LOCK_EVENT_HELD], 0, "the third of two");
        script_await(&script, LOCK_EVENT_FAILED);
        cr_assert(strstr(lock_set_fault(script.set), "2 slots, not 3"), "%s",
                  lock_set_fault(script.set));
        script_close(&script);
}

Test(lock_script_slots, a_number_that_is_written_again_during_the_flight_changes_nothing) {
        Script script = {0};

        script_open(&script);
        change_during_the_flight(&script, THREE);
        script_await(&script, LOCK_EVENT_HELD);
        script_close(&script);
}

Test(lock_script_slots, who_holds_a_slot_keeps_it_when_adopted_after_a_decrease) {
        const char *const names[] = {before[0], before[1], before[2], NULL};
        g_autofree char *own = g_strconcat(DIRECTORY "/", before[2], NULL);
        Script script = {0};

        script_open(&script);
        cr_assert_eq(lock_set_adopt(script.session, (const char *const[]){own, NULL}, NULL, on_lock,
                                    &script, &script.set),
                     0);
        answer_all(&script, TWO, names);
        cr_assert_eq(script.events[LOCK_EVENT_LOST], 0);
        script_await(&script, LOCK_EVENT_HELD);
        script_close(&script);
}

/* Behind three who hold. Return: the watch on the number of slots; *ret_first: that on the first of
 * them. */
static ZkWatch *queue_as_the_fourth(Script *script, ZkWatch **ret_first) {
        const char *names[] = {before[0], before[1], before[2], NULL, NULL};
        ZkWatch *slots;
        ZkCall *call;

        script_ask(script, (LockRequest){.resource = "a", .slots = 3});
        call = expect(script, REQUEST_CREATE);
        script->contender = g_strconcat(call->path, "0000000003", NULL);
        names[3] = strrchr(script->contender, '/') + 1;
        port_reply(call, (ZkReply){.code = ZK_OK, .path = script->contender, .stat = own_stat()});
        call = expect(script, REQUEST_GET);
        slots = call->watch;
        port_reply(call, node_of(0, THREE));
        port_reply(expect(script, REQUEST_LIST), list_of(names));
        while ((call = script_next(script, QUIET))) {
                if (call->watch && g_str_has_suffix(call->path, before[0]))
                        *ret_first = call->watch;
                port_reply(call, node_of(port()->session.id, ""));
        }
        cr_assert_eq(script->events[LOCK_EVENT_HELD], 0);
        return slots;
}

/* Both events come together: fewer slots, and one holder less. */
static ZkCall *fewer_and_one_less(Script *script) {
        ZkWatch *slots, *first = NULL;
        ZkCall *read;

        slots = queue_as_the_fourth(script, &first);
        cr_assert_not_null(first);
        slots->func(ZK_WATCH_CHANGED, DIRECTORY, slots->userdata);
        first->func(ZK_WATCH_DELETED, first->path, first->userdata);
        read = expect(script, REQUEST_GET);
        cr_assert_str_eq(read->path, DIRECTORY);
        return read;
}

Test(lock_script_slots, nobody_is_let_in_while_a_changed_number_is_read) {
        Script script = {0};
        ZkCall *read;

        script_open(&script);
        read = fewer_and_one_less(&script);
        expect_quiet(&script);
        cr_assert_eq(script.events[LOCK_EVENT_HELD], 0, "the third of two");
        port_reply(read, node_of(0, TWO));
        expect_quiet(&script);
        cr_assert_eq(script.events[LOCK_EVENT_HELD], 0, "the third of two");
        script_close(&script);
}

Test(lock_script_slots, nobody_is_let_in_while_a_changed_number_is_asked_for_again) {
        ZkWatch *slots, *first = NULL;
        Script script = {0};

        script_open(&script);
        slots = queue_as_the_fourth(&script, &first);
        cr_assert_not_null(first);
        slots->func(ZK_WATCH_CHANGED, DIRECTORY, slots->userdata);
        answer(&script, REQUEST_GET, ZK_UNKNOWN);
        first->func(ZK_WATCH_DELETED, first->path, first->userdata);
        (void)sd_event_run(script.event, 0);
        cr_assert_eq(script.events[LOCK_EVENT_HELD], 0, "the third of two");
        port_reply(expect(&script, REQUEST_GET), node_of(0, THREE));
        script_await(&script, LOCK_EVENT_HELD);
        script_close(&script);
}

/* Alone where others had meant three. Return: the write of two. */
static ZkCall *change_the_number(Script *script) {
        const char *names[] = {NULL, NULL};
        ZkCall *call;

        script_ask(script, (LockRequest){.resource = "a", .slots = 2});
        call = expect(script, REQUEST_CREATE);
        script->contender = g_strconcat(call->path, "0000000000", NULL);
        names[0] = strrchr(script->contender, '/') + 1;
        port_reply(call, (ZkReply){.code = ZK_OK, .path = script->contender, .stat = own_stat()});
        port_reply(expect(script, REQUEST_GET), node_of(0, THREE));
        port_reply(expect(script, REQUEST_LIST), list_of(names));
        call = expect(script, REQUEST_SET);
        cr_assert_str_eq(call->path, DIRECTORY);
        cr_assert_str_eq(call->data, TWO);
        cr_assert_eq(script->events[LOCK_EVENT_HELD], 0);
        return call;
}

static void answer_search(Script *script, const char *number, const char *other) {
        const char *const names[] = {strrchr(script->contender, '/') + 1, other, NULL};

        answer(script, REQUEST_MULTI, ZK_OK);
        port_reply(expect(script, REQUEST_GET), node_of(0, number));
        port_reply(expect(script, REQUEST_LIST), list_of(names));
}

Test(lock_script_slots, who_is_still_alone_when_he_has_changed_the_number_holds) {
        Script script = {0};

        script_open(&script);
        port_reply(change_the_number(&script), (ZkReply){.code = ZK_OK});
        answer_search(&script, TWO, NULL);
        script_await(&script, LOCK_EVENT_HELD);
        script_close(&script);
}

/* They read three before it was written over, and hold by that. Whether the answer came makes no
 * difference. */
static void be_overtaken(ZkCode code) {
        Script script = {0};
        ZkCall *call;

        script_open(&script);
        port_reply(change_the_number(&script), (ZkReply){.code = code});
        answer_search(&script, TWO, before[1]);
        call = expect(&script, REQUEST_SET);
        cr_assert_str_eq(call->data, THREE, "it is put back");
        cr_assert_eq(script.events[LOCK_EVENT_HELD], 0);
        port_reply(call, (ZkReply){.code = ZK_OK});
        answer_search(&script, THREE, before[1]);
        script_await(&script, LOCK_EVENT_FAILED);
        cr_assert(strstr(lock_set_fault(script.set), "3 slots, not 2"), "%s",
                  lock_set_fault(script.set));
        script_close(&script);
}

Test(lock_script_slots, who_is_not_alone_any_more_when_he_has_changed_the_number_puts_it_back) {
        be_overtaken(ZK_OK);
        be_overtaken(ZK_UNKNOWN);
}

/* Both leave at once, or not at all. */
Test(lock_script_slots, without_a_session_nothing_is_changed_and_nobody_asked_to_let_go) {
        Script script = {0};

        script_open(&script);
        port_tell(port(), ZK_STATE_EXPIRED);
        cr_assert_null(session_zk(script.session));
        cr_expect_eq(lock_change_slots(script.session, DIRECTORY, 3, NULL, NULL), -ENOTCONN);
        cr_expect_eq(lock_revoke(script.session, DIRECTORY "/x", NULL, NULL), -ENOTCONN);
        cr_expect_eq(lock_change_slots(script.session, DIRECTORY, 1, NULL, NULL), -EINVAL);
        script_close(&script);
}
