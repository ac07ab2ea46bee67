/* Slots on a scripted port (lock-script.h): their number changes when it is least expected. */
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
        cr_assert_eq(lock_set_adopt(script.session, (const char *const[]){own, NULL}, on_lock,
                                    &script, &script.set),
                     0);
        answer_all(&script, TWO, names);
        cr_assert_eq(script.events[LOCK_EVENT_LOST], 0);
        script_await(&script, LOCK_EVENT_HELD);
        script_close(&script);
}
