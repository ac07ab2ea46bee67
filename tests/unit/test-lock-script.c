/* The plain queue on a scripted port (lock-script.h): lost requests, stale lists, twins. */
#include "lock-backoff.h"
#include "lock-script.h"

static void answer_list_of_two(Script *script, const char *child, const char *other) {
        port_reply(expect(script, REQUEST_LIST),
                   list_of((const char *const[]){child, other, NULL}));
}

static void answer_list(Script *script, const char *child) {
        answer_list_of_two(script, child, NULL);
}

static const char *contender_name(const Script *script) {
        return strrchr(script->contender, '/') + 1;
}

static void free_set(Session *session, SessionEvent event, void *userdata) {
        Script *script = userdata;

        (void)session;
        if (event == SESSION_EVENT_CLOSED)
                script->set = lock_set_free(script->set);
}

/* Return: the creation of number 7, not answered yet. */
static ZkCall *acquire(Script *script) {
        ZkCall *create;

        script_ask(script, (LockRequest){.resource = "a"});
        create = expect(script, REQUEST_CREATE);
        script->contender = g_strconcat(create->path, "0000000007", NULL);
        return create;
}

/* The creation is done at the server, but neither its answer nor the list's arrives. */
static void acquire_unanswered(Script *script) {
        port_reply(acquire(script), (ZkReply){.code = ZK_UNKNOWN});
        answer(script, REQUEST_LIST, ZK_UNKNOWN);
}

/* Behind one other contender, the look at our own is on its way. Return: the watch on the other. */
static ZkWatch *acquire_unseen_behind(Script *script, const char *other) {
        ZkCall *create = acquire(script), *watching;
        ZkWatch *watch;

        port_reply(create, (ZkReply){.code = ZK_OK, .path = script->contender, .stat = own_stat()});
        answer_list_of_two(script, other, contender_name(script));
        watching = expect(script, REQUEST_GET);
        cr_assert(g_str_has_suffix(watching->path, other), "%s", watching->path);
        watch = watching->watch;
        port_reply(watching, (ZkReply){.code = ZK_OK});
        return watch;
}

static ZkWatch *acquire_behind(Script *script, const char *other) {
        ZkWatch *watch = acquire_unseen_behind(script, other);

        port_reply(expect(script, REQUEST_GET), (ZkReply){.code = ZK_OK, .stat = own_stat()});
        return watch;
}

static void fire_deleted(ZkWatch *watch) {
        cr_assert_not_null(watch->func, "nobody is interested any more");
        watch->func(ZK_WATCH_DELETED, watch->path, watch->userdata);
}

/* What answers the list alone may be behind. Created again, we would queue behind ourselves. */
Test(lock_script, a_search_without_its_barrier_is_not_believed) {
        Script script = {0};

        script_open(&script);
        acquire_unanswered(&script);
        cr_assert_null(lock_set_paths(script.set)[0], "nothing of ours is known to stand there");
        answer(&script, REQUEST_MULTI, ZK_UNKNOWN);
        answer_list(&script, NULL);
        answer(&script, REQUEST_MULTI, ZK_OK);
        answer_list(&script, contender_name(&script));
        port_reply(expect(&script, REQUEST_GET), (ZkReply){.code = ZK_OK, .stat = own_stat()});
        script_await(&script, LOCK_EVENT_HELD);
        cr_assert_str_eq(lock_set_paths(script.set)[0], script.contender);
        cr_assert_eq(lock_set_fencing_token(script.set), 7);
        script_close(&script);
}

/* What it had overlooked would stand in the queue until the end of the session. Until it is over,
 * who asks hears that there is something to delete. */
Test(lock_script, a_removal_searches_again_where_the_barrier_was_lost) {
        Script script = {0};
        ZkCall *deletion;

        script_open(&script);
        acquire_unanswered(&script);
        cr_assert_not(lock_is_deleting(script.session, "/locks/a"));
        script.set = lock_set_free(script.set);
        cr_assert(lock_is_deleting(script.session, "/locks/a"));
        cr_assert_not(lock_is_deleting(script.session, "/locks"));
        answer(&script, REQUEST_MULTI, ZK_UNKNOWN);
        answer_list(&script, NULL);
        answer(&script, REQUEST_MULTI, ZK_OK);
        answer_list(&script, contender_name(&script));
        cr_assert(lock_is_deleting(script.session, "/locks/a"));
        deletion = expect(&script, REQUEST_DELETE);
        cr_assert_str_eq(deletion->path, script.contender);
        cr_assert(lock_is_deleting(script.session, "/locks/a"));
        port_reply(deletion, (ZkReply){.code = ZK_OK});
        cr_assert(g_queue_is_empty(&port()->calls));
        cr_assert_not(lock_is_deleting(script.session, "/locks/a"));
        script_close(&script);
}

/* A deletion that began then would never hear of the end, and leak. */
Test(lock_script, a_set_freed_at_the_end_of_its_session_begins_no_deletion) {
        Script script = {0};
        SessionListener *listener = NULL;
        unsigned before;

        script_open(&script);
        cr_assert_eq(session_listen(script.session, free_set, &script, &listener), 0);
        acquire_unanswered(&script);
        before = n_requests;
        script.session = session_free(script.session);
        cr_assert_null(script.set);
        cr_assert_eq(n_requests, before);
        session_unlisten(listener);
        script_close(&script);
}

/* The uuids' versions tell whether they may be replaced by a twin, see contender.h. */
#define MAY_LEAVE_TWIN "_c_01234567-89ab-4def-8123-456789abcdef-__WRIT__0000000006"
#define LEAVES_NO_TWIN "_c_01234567-89ab-8def-8123-456789abcdef-__WRIT__0000000006"

Test(lock_script, a_deletion_alone_grants_the_lock) {
        Script script = {0};
        unsigned before;
        ZkWatch *watch;

        script_open(&script);
        watch = acquire_behind(&script, LEAVES_NO_TWIN);
        before = n_requests;
        cr_assert_eq(script.events[LOCK_EVENT_HELD], 0);
        fire_deleted(watch);
        script_await(&script, LOCK_EVENT_HELD);
        cr_assert_eq(n_requests, before, "no request is needed");
        script_close(&script);
}

/* The list showed our contender, but somebody may have deleted it since. */
static void be_next_while_looking(bool stands) {
        Script script = {0};
        ZkWatch *watch;
        ZkCall *look;

        script_open(&script);
        watch = acquire_unseen_behind(&script, LEAVES_NO_TWIN);
        look = expect(&script, REQUEST_GET);
        cr_assert_str_eq(look->path, script.contender);
        fire_deleted(watch);
        expect_quiet(&script);
        cr_assert_eq(script.events[LOCK_EVENT_HELD], 0);
        port_reply(look, stands ? node_of(port()->session.id, "") : (ZkReply){.code = ZK_NO_NODE});
        script_await(&script, stands ? LOCK_EVENT_HELD : LOCK_EVENT_LOST);
        cr_assert_eq(script.events[LOCK_EVENT_HELD], stands);
        script_close(&script);
}

Test(lock_script, nothing_is_granted_before_the_look_at_the_own_contender_is_answered) {
        be_next_while_looking(true);
        be_next_while_looking(false);
}

/* Servers are not bound by the events that others sent. */
Test(lock_script, a_stale_list_after_a_deleted_event_is_ignored) {
        Script script = {0};
        ZkWatch *watch;

        script_open(&script);
        watch = acquire_behind(&script, MAY_LEAVE_TWIN);
        fire_deleted(watch);
        answer(&script, REQUEST_MULTI, ZK_OK);
        cr_assert_eq(script.events[LOCK_EVENT_HELD], 0, "a twin may stand there");
        answer_list_of_two(&script, MAY_LEAVE_TWIN, contender_name(&script));
        script_await(&script, LOCK_EVENT_HELD);
        cr_assert(g_queue_is_empty(&port()->calls), "it asked about one that is gone");
        script_close(&script);
}

/* The first creation was still under way when the search did not show it: we would stand behind
 * ourselves, for as long as the session lives. */
Test(lock_script, of_two_creations_the_first_is_kept) {
        Script script = {0};
        g_autofree char *second = NULL;
        ZkCall *create, *delete;

        script_open(&script);
        acquire_unanswered(&script);
        answer(&script, REQUEST_MULTI, ZK_OK);
        answer_list(&script, NULL);
        create = expect(&script, REQUEST_CREATE);
        second = g_strconcat(create->path, "0000000009", NULL);
        port_reply(create, (ZkReply){.code = ZK_OK, .path = second, .stat = {.czxid = 9}});
        answer_list_of_two(&script, strrchr(second, '/') + 1, contender_name(&script));
        delete = expect(&script, REQUEST_DELETE);
        cr_assert_str_eq(delete->path, second);
        port_reply(delete, (ZkReply){.code = ZK_OK});
        port_reply(expect(&script, REQUEST_GET), (ZkReply){.code = ZK_OK, .stat = own_stat()});
        script_await(&script, LOCK_EVENT_HELD);
        cr_assert_str_eq(lock_set_paths(script.set)[0], script.contender);
        cr_assert_eq(lock_set_fencing_token(script.set), 7);
        script_close(&script);
}

static void expect_creation(Script *script, const char *path, unsigned flags, ZkCode code) {
        ZkCall *call = expect(script, REQUEST_CREATE);

        cr_assert_str_eq(call->path, path);
        cr_assert_eq(call->flags, flags, "%s with %u", path, call->flags);
        port_reply(call, (ZkReply){.code = code});
}

/* What follows the making of a directory in its flight. */
static void answer_flight_in_vain(Script *script) {
        answer(script, REQUEST_CREATE, ZK_NO_NODE);
        answer(script, REQUEST_LIST, ZK_NO_NODE);
}

/* The server says so at the first try, or only once the parent is there. */
static void refuse_containers(bool parent_missing) {
        Script script = {0};
        ZkCall *create;

        script_open(&script);
        port_reply(acquire(&script), (ZkReply){.code = ZK_NO_NODE});
        answer(&script, REQUEST_LIST, ZK_NO_NODE);
        if (parent_missing) {
                expect_creation(&script, "/locks/a", ZK_CREATE_CONTAINER, ZK_NO_NODE);
                answer_flight_in_vain(&script);
                expect_creation(&script, "/locks", 0, ZK_OK);
        }
        expect_creation(&script, "/locks/a", ZK_CREATE_CONTAINER, ZK_UNIMPLEMENTED);
        answer_flight_in_vain(&script);
        expect_creation(&script, "/locks", 0, ZK_NODE_EXISTS);
        expect_creation(&script, "/locks/a", 0, ZK_OK);
        create = expect(&script, REQUEST_CREATE);
        port_reply(create, (ZkReply){.code = ZK_OK, .path = script.contender, .stat = own_stat()});
        answer_list(&script, contender_name(&script));
        script_await(&script, LOCK_EVENT_HELD);
        script_close(&script);
}

Test(lock_script, a_server_that_refuses_containers_gets_a_persistent_directory) {
        refuse_containers(false);
        refuse_containers(true);
}

/* The rights of the directory were changed meanwhile. */
Test(lock_script, a_deletion_that_is_refused_is_said_once_and_tried_again_seldom) {
        Script script = {0};
        ZkCall *create;

        script_open(&script);
        create = acquire(&script);
        port_reply(create, (ZkReply){.code = ZK_OK, .path = script.contender, .stat = own_stat()});
        answer_list(&script, contender_name(&script));
        script_await(&script, LOCK_EVENT_HELD);
        script.set = lock_set_free(script.set);
        answer(&script, REQUEST_DELETE, ZK_NO_AUTH);
        cr_assert_eq(script.warnings, 1);
        cr_assert(strstr(script.warning, script.contender), "%s", script.warning);
        expect_quiet(&script);
        script_reconnect(&script);
        answer(&script, REQUEST_DELETE, ZK_NO_AUTH);
        cr_assert_eq(script.warnings, 1, "%s", script.warning);
        expect_quiet(&script);
        script_reconnect(&script);
        answer(&script, REQUEST_DELETE, ZK_OK);
        expect_quiet(&script);
        script_close(&script);
}

/* The contender goes with the session. */
Test(lock_script, a_deletion_that_is_to_be_repeated_is_not_after_the_end_of_the_session) {
        Script script = {0};
        ZkCall *create;

        script_open(&script);
        create = acquire(&script);
        port_reply(create, (ZkReply){.code = ZK_OK, .path = script.contender, .stat = own_stat()});
        answer_list(&script, contender_name(&script));
        script_await(&script, LOCK_EVENT_HELD);
        script.set = lock_set_free(script.set);
        answer(&script, REQUEST_DELETE, ZK_UNKNOWN);
        port_tell(port(), ZK_STATE_EXPIRED);
        cr_assert_null(script_next(&script, 2 * lock_backoff(0)));
        script_close(&script);
}

Test(lock_script, one_bad_request_among_several_queues_for_none) {
        const LockRequest requests[] = {{.resource = "a"}, {.resource = "b/c"}};
        const LockOptions options = {.parent = "/locks", .wait = USEC_INFINITY};
        Script script = {0};
        unsigned before;

        script_open(&script);
        before = n_requests;
        cr_assert_eq(lock_set_acquire(script.session, requests, G_N_ELEMENTS(requests), &options,
                                      on_lock, &script, &script.set),
                     -EINVAL);
        cr_assert_null(script.set);
        cr_assert_eq(n_requests, before);
        script_close(&script);
}

/* Before us stand `n` writers that leave no twin, numbered from 0. */
static void acquire_behind_many(Script *script, unsigned n) {
        g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
        ZkCall *create = acquire(script);

        for (unsigned i = 0; i < n; i++)
                g_ptr_array_add(names,
                                g_strdup_printf("_c_01234567-89ab-8def-8123-456789abcdef-__WRIT__"
                                                "000000000%u",
                                                i));
        g_ptr_array_add(names, g_strdup(contender_name(script)));
        g_ptr_array_add(names, NULL);
        port_reply(create, (ZkReply){.code = ZK_OK, .path = script->contender, .stat = own_stat()});
        port_reply(expect(script, REQUEST_LIST), list_of((const char *const *)names->pdata));
}

static ZkCall *expect_read(Script *script, const char *number) {
        ZkCall *call = expect(script, REQUEST_GET);

        cr_assert(g_str_has_suffix(call->path, number), "%s", call->path);
        return call;
}

/* What the second of two answers says may make the question superfluous. */
Test(lock_script, who_doubts_asks_further_only_once_all_answers_are_there) {
        Script script = {0};
        ZkCall *nearest, *next;

        script_open(&script);
        acquire_behind_many(&script, 6);
        nearest = expect_read(&script, "0000000005");
        next = expect_read(&script, "0000000004");
        port_reply(nearest, (ZkReply){.code = ZK_NO_NODE});
        port_reply(expect_read(&script, "0000000007"), node_of(port()->session.id, ""));
        expect_quiet(&script);
        port_reply(next, (ZkReply){.code = ZK_OK, .stat = {.czxid = 5}});
        port_reply(expect_read(&script, "0000000003"), (ZkReply){.code = ZK_OK});
        expect_quiet(&script);
        cr_assert_eq(script.events[LOCK_EVENT_HELD], 0);
        script_close(&script);
}

/* It stands for all that is known, and the session lives. */
Test(lock_script, who_holds_and_cannot_look_at_his_contender_goes_on_and_tries_again) {
        Script script = {0};
        ZkCall *create;

        script_open(&script);
        create = acquire(&script);
        port_reply(create, (ZkReply){.code = ZK_OK, .path = script.contender, .stat = own_stat()});
        answer_list(&script, contender_name(&script));
        script_await(&script, LOCK_EVENT_HELD);
        answer(&script, REQUEST_GET, ZK_FAULT);
        port_reply(expect_read(&script, "0000000007"), node_of(port()->session.id, ""));
        expect_quiet(&script);
        cr_assert_eq(script.events[LOCK_EVENT_FAILED] + script.events[LOCK_EVENT_LOST], 0);
        script_close(&script);
}

/* The look at our own contender is lost, and with it a list: both are asked for again. Else nothing
 * would ever tell whether the contender that a search found is ours, and we would wait for ever
 * with nobody before us. */
Test(lock_script, a_lost_look_at_the_own_contender_is_sent_again_after_a_search_too) {
        Script script = {0};
        ZkCall *create, *list, *look;
        ZkWatch *children;

        script_open(&script);
        script_ask_with(&script, (LockRequest){.resource = "a"},
                        (LockOptions){.strategy = LOCK_STRATEGY_PARENT});
        create = expect(&script, REQUEST_CREATE);
        script.contender = g_strconcat(create->path, "0000000007", NULL);
        port_reply(create, (ZkReply){.code = ZK_UNKNOWN});
        answer(&script, REQUEST_LIST, ZK_UNKNOWN);
        answer(&script, REQUEST_MULTI, ZK_OK);
        list = expect(&script, REQUEST_LIST);
        children = list->watch;
        port_reply(list, list_of((const char *const[]){contender_name(&script), NULL}));
        look = expect(&script, REQUEST_GET);
        children->func(ZK_WATCH_CHILDREN, children->path, children->userdata);
        list = expect(&script, REQUEST_LIST);
        port_reply(look, (ZkReply){.code = ZK_UNKNOWN});
        port_reply(list, (ZkReply){.code = ZK_UNKNOWN});
        answer(&script, REQUEST_MULTI, ZK_OK);
        answer_list(&script, contender_name(&script));
        port_reply(expect(&script, REQUEST_GET), (ZkReply){.code = ZK_OK, .stat = own_stat()});
        script_await(&script, LOCK_EVENT_HELD);
        script_close(&script);
}
