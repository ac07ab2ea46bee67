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

/* ---- a directory that says something else ---- */

#define VERSION 5

static ZkReply directory_of(const char *data) {
        ZkReply reply = node_of(0, data);

        reply.stat.version = VERSION;
        return reply;
}

static const char *own_name(const Script *script) {
        return strrchr(script->contender, '/') + 1;
}

/* What shows our contender, and one more (or NULL). */
static void answer_list(Script *script, const char *other) {
        const char *const names[] = {own_name(script), other, NULL};

        port_reply(expect(script, REQUEST_LIST), list_of(names));
}

/* Answers the creation of a contender, and what leaves with it. */
static void answer_flight(Script *script, const char *data, const char *other) {
        ZkCall *call = expect(script, REQUEST_CREATE);

        g_free(script->contender);
        script->contender = g_strconcat(call->path, "0000000003", NULL);
        port_reply(call, (ZkReply){.code = ZK_OK, .path = script->contender, .stat = own_stat()});
        port_reply(expect(script, REQUEST_GET), directory_of(data));
        answer_list(script, other);
}

static void answer_search(Script *script, const char *data, const char *other) {
        answer(script, REQUEST_MULTI, ZK_OK);
        port_reply(expect(script, REQUEST_GET), directory_of(data));
        answer_list(script, other);
}

/* Return: whether somebody would hear of it. */
static bool is_watched(const char *path) {
        for (guint i = 0; i < port()->watches->len; i++) {
                const ZkWatch *watch = port()->watches->pdata[i];

                if (watch->func && strcmp(watch->path, path) == 0)
                        return true;
        }
        return false;
}

/* The next request. Takes our contender and the directory away, if that is as it was read. */
static ZkCall *expect_departure(Script *script) {
        ZkCall *call = expect(script, REQUEST_MULTI);

        cr_assert_eq(call->n_ops, 2);
        cr_assert_eq(call->ops[0].type, ZK_OP_DELETE);
        cr_assert_str_eq(call->ops[0].path, script->contender);
        cr_assert_eq(call->ops[1].type, ZK_OP_DELETE);
        cr_assert_str_eq(call->ops[1].path, DIRECTORY);
        cr_assert_eq(call->ops[1].version, VERSION);
        cr_assert_not(is_watched(script->contender), "that it goes is no news");
        cr_assert_eq(script->events[LOCK_EVENT_HELD], 0);
        return call;
}

/* The only one where others had meant three. */
static ZkCall *come_alone_for_two(Script *script) {
        script_open(script);
        script_ask(script, (LockRequest){.resource = "a", .slots = 2});
        answer_flight(script, THREE, NULL);
        cr_assert_not(is_watched(DIRECTORY), "that it goes is no news");
        return expect_departure(script);
}

/* Its creation was not answered. */
static void lose_creation(Script *script, LockOptions options) {
        ZkCall *call;

        script_open(script);
        script_ask_with(script, (LockRequest){.resource = "a", .slots = 2}, options);
        call = expect(script, REQUEST_CREATE);
        script->contender = g_strconcat(call->path, "0000000003", NULL);
        port_reply(call, (ZkReply){.code = ZK_UNKNOWN});
        answer(script, REQUEST_GET, ZK_UNKNOWN);
        answer(script, REQUEST_LIST, ZK_UNKNOWN);
}

/* The directory is made with two, and a contender in it that was not there before. */
static void expect_anew(Script *script) {
        g_autofree char *before_that = g_steal_pointer(&script->contender);
        ZkCall *call = expect(script, REQUEST_CREATE);

        cr_assert_str_eq(call->path, DIRECTORY);
        cr_assert_str_eq(call->data, TWO);
        port_reply(call, (ZkReply){.code = ZK_OK, .path = DIRECTORY});
        answer_flight(script, TWO, NULL);
        cr_assert_str_neq(script->contender, before_that);
        script_await(script, LOCK_EVENT_HELD);
        cr_assert_str_eq(lock_set_paths(script->set)[0], script->contender);
}

static void expect_refusal(Script *script, const char *sentence) {
        ZkCall *removal;

        script_await(script, LOCK_EVENT_FAILED);
        cr_assert(strstr(lock_set_fault(script->set), sentence), "%s", lock_set_fault(script->set));
        removal = expect(script, REQUEST_DELETE);
        cr_assert_str_eq(removal->path, script->contender);
        port_reply(removal, (ZkReply){.code = ZK_OK});
}

Test(lock_script_slots, who_is_alone_makes_the_directory_anew) {
        Script script = {0};

        port_reply(come_alone_for_two(&script), (ZkReply){.code = ZK_OK});
        expect_anew(&script);
        script_close(&script);
}

Test(lock_script_slots, who_is_not_alone_any_more_leaves_the_number_as_it_is) {
        Script script = {0};

        port_reply(come_alone_for_two(&script), (ZkReply){.code = ZK_NOT_EMPTY});
        answer_search(&script, THREE, before[1]);
        expect_refusal(&script, "3 slots, not 2");
        script_close(&script);
}

/* Who came was refused, because we were there. */
Test(lock_script_slots, who_is_alone_again_makes_the_directory_anew) {
        Script script = {0};

        port_reply(come_alone_for_two(&script), (ZkReply){.code = ZK_NOT_EMPTY});
        answer_search(&script, THREE, NULL);
        port_reply(expect_departure(&script), (ZkReply){.code = ZK_OK});
        expect_anew(&script);
        script_close(&script);
}

Test(lock_script_slots, a_number_that_is_changed_just_then_counts) {
        Script script = {0};

        port_reply(come_alone_for_two(&script), (ZkReply){.code = ZK_BAD_VERSION});
        answer_search(&script, TWO, NULL);
        script_await(&script, LOCK_EVENT_HELD);
        script_close(&script);
}

Test(lock_script_slots, a_directory_that_may_not_be_deleted_keeps_its_number) {
        Script script = {0};

        port_reply(come_alone_for_two(&script), (ZkReply){.code = ZK_NO_AUTH});
        expect_refusal(&script, "3 slots, not 2: all who use it must mean the same number, and it "
                                "cannot be made anew: ");
        script_close(&script);
}

Test(lock_script_slots, an_answer_that_is_lost_when_all_was_deleted_is_found_out) {
        Script script = {0};

        port_reply(come_alone_for_two(&script), (ZkReply){.code = ZK_UNKNOWN});
        answer(&script, REQUEST_MULTI, ZK_NO_NODE);
        answer(&script, REQUEST_GET, ZK_NO_NODE);
        answer(&script, REQUEST_LIST, ZK_NO_NODE);
        expect_anew(&script);
        script_close(&script);
}

/* Somebody has made the directory since, and holds. */
Test(lock_script_slots, who_finds_another_one_in_the_new_directory_comes_behind_it) {
        const char *const names[] = {before[0], NULL};
        Script script = {0};
        ZkCall *call;

        port_reply(come_alone_for_two(&script), (ZkReply){.code = ZK_UNKNOWN});
        answer(&script, REQUEST_MULTI, ZK_OK);
        port_reply(expect(&script, REQUEST_GET), directory_of(TWO));
        port_reply(expect(&script, REQUEST_LIST), list_of(names));
        call = expect(&script, REQUEST_CREATE);
        cr_assert_str_eq(call->path, DIRECTORY);
        port_reply(call, (ZkReply){.code = ZK_NODE_EXISTS});
        answer_flight(&script, TWO, before[0]);
        script_await(&script, LOCK_EVENT_HELD);
        script_close(&script);
}

Test(lock_script_slots, an_answer_that_is_lost_when_nothing_was_deleted_is_found_out) {
        Script script = {0};

        port_reply(come_alone_for_two(&script), (ZkReply){.code = ZK_UNKNOWN});
        answer_search(&script, THREE, NULL);
        port_reply(expect_departure(&script), (ZkReply){.code = ZK_OK});
        expect_anew(&script);
        script_close(&script);
}

Test(lock_script_slots, who_gives_up_meanwhile_leaves_nothing_behind) {
        Script script = {0};
        ZkCall *departure = come_alone_for_two(&script);

        script.set = lock_set_free(script.set);
        answer(&script, REQUEST_DELETE, ZK_NO_NODE);
        call_clear(departure);
        script_close(&script);
}

/* The creation, whose answer was lost, might have been done twice. */
Test(lock_script_slots, who_does_not_know_what_he_made_looks_for_it_again) {
        Script script = {0};

        lose_creation(&script, (LockOptions){0});
        answer_search(&script, THREE, NULL);
        port_reply(expect_departure(&script), (ZkReply){.code = ZK_OK});
        answer(&script, REQUEST_MULTI, ZK_NO_NODE);
        answer(&script, REQUEST_LIST, ZK_NO_NODE);
        expect_anew(&script);
        script_close(&script);
}

/* The number is changed before that is known which stands there. */
Test(lock_script_slots, who_has_begun_to_watch_what_he_made_does_not_any_more) {
        ZkWatch *children;
        Script script = {0};
        ZkCall *call, *own;

        lose_creation(&script, (LockOptions){.strategy = LOCK_STRATEGY_PARENT});
        answer(&script, REQUEST_MULTI, ZK_OK);
        port_reply(expect(&script, REQUEST_GET), directory_of(TWO));
        call = expect(&script, REQUEST_LIST);
        children = call->watch;
        port_reply(call, list_of((const char *const[]){own_name(&script), NULL}));
        own = expect(&script, REQUEST_GET);
        cr_assert_str_eq(own->path, script.contender);
        children->func(ZK_WATCH_CHANGED, DIRECTORY, children->userdata);
        answer(&script, REQUEST_LIST, ZK_UNKNOWN);
        answer_search(&script, THREE, NULL);
        port_reply(expect_departure(&script), (ZkReply){.code = ZK_OK});
        call_clear(own);
        script_close(&script);
}

/* It was changed just then, and two came and hold. Later somebody deletes what waits. */
Test(lock_script_slots, who_agreed_in_the_end_and_is_deleted_has_lost) {
        const char *names[] = {before[1], before[2], NULL, NULL};
        const char *const others[] = {before[1], before[2], NULL};
        ZkWatch *children;
        Script script = {0};
        ZkCall *call;

        script_open(&script);
        script_ask_with(&script, (LockRequest){.resource = "a", .slots = 2},
                        (LockOptions){.strategy = LOCK_STRATEGY_PARENT});
        answer_flight(&script, THREE, NULL);
        port_reply(expect_departure(&script), (ZkReply){.code = ZK_BAD_VERSION});
        names[2] = own_name(&script);
        answer(&script, REQUEST_MULTI, ZK_OK);
        port_reply(expect(&script, REQUEST_GET), directory_of(TWO));
        call = expect(&script, REQUEST_LIST);
        children = call->watch;
        cr_assert_not_null(children);
        port_reply(call, list_of(names));
        expect_quiet(&script);
        cr_assert_eq(script.events[LOCK_EVENT_HELD], 0);
        children->func(ZK_WATCH_CHANGED, DIRECTORY, children->userdata);
        port_reply(expect(&script, REQUEST_LIST), list_of(others));
        script_await(&script, LOCK_EVENT_LOST);
        script_close(&script);
}

/* ---- a directory that says nothing ---- */

/* Two who are the first. Return: the write of two. */
static ZkCall *come_first_for_two(Script *script) {
        ZkCall *call;

        script_open(script);
        script_ask(script, (LockRequest){.resource = "a", .slots = 2});
        answer_flight(script, "{\"served\": 7}", before[1]);
        call = expect(script, REQUEST_SET);
        cr_assert_str_eq(call->path, DIRECTORY);
        cr_assert_str_eq(call->data, TWO);
        cr_assert_eq(call->version, VERSION);
        cr_assert_eq(script->events[LOCK_EVENT_HELD], 0);
        return call;
}

Test(lock_script_slots, who_writes_the_number_first_has_said_it) {
        Script script = {0};

        port_reply(come_first_for_two(&script), (ZkReply){.code = ZK_OK});
        answer_search(&script, TWO, before[1]);
        script_await(&script, LOCK_EVENT_HELD);
        script_close(&script);
}

Test(lock_script_slots, who_comes_second_with_the_same_number_agrees) {
        Script script = {0};

        port_reply(come_first_for_two(&script), (ZkReply){.code = ZK_BAD_VERSION});
        answer_search(&script, TWO, before[1]);
        script_await(&script, LOCK_EVENT_HELD);
        script_close(&script);
}

/* Whether it was written, and by whom, is seen. */
Test(lock_script_slots, who_comes_second_with_another_number_goes) {
        static const ZkCode codes[] = {ZK_BAD_VERSION, ZK_UNKNOWN};

        for (size_t i = 0; i < G_N_ELEMENTS(codes); i++) {
                Script script = {0};

                port_reply(come_first_for_two(&script), (ZkReply){.code = codes[i]});
                answer_search(&script, THREE, before[1]);
                expect_refusal(&script, "3 slots, not 2");
                script_close(&script);
        }
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
