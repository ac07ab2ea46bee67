/* What a process before us left in very many queues, on a scripted port (lock-script.h): how much
 * is asked for at a time, what is spared, and what holds up nothing else. */
#include "lock-script.h"

#define MANY 1000

static Script script;

static void begin(void) {
        script = (Script){0};
        script_open(&script);
}

static void end(void) {
        script_close(&script);
}

TestSuite(lock_sweep, .init = begin, .fini = end);

static GStrv directories_of(unsigned n) {
        g_autoptr(GStrvBuilder) builder = g_strv_builder_new();

        for (unsigned i = 0; i < n; i++) {
                g_autofree char *directory = g_strdup_printf("/locks/%04u", i);

                g_strv_builder_add(builder, directory);
        }
        return g_strv_builder_end(builder);
}

static void sweep_many(unsigned n, const char *const *keep) {
        g_auto(GStrv) directories = directories_of(n);

        cr_assert_eq(lock_sweep(script.session, (const char *const *)directories, keep), 0);
}

static bool is_deleting(unsigned i) {
        g_autofree char *directory = g_strdup_printf("/locks/%04u", i);

        return lock_is_deleting(script.session, directory);
}

static unsigned under_way(void) {
        return port()->calls.length;
}

static void answer_list(ZkReply reply) {
        port_reply(expect(&script, REQUEST_LIST), reply);
}

/* The barrier, and the list behind it: of those that begin before any has passed it. */
static void answer_search(ZkReply reply) {
        answer(&script, REQUEST_MULTI, ZK_OK);
        answer_list(reply);
}

Test(lock_sweep, a_bounded_number_of_directories_is_looked_through_at_a_time) {
        unsigned before = n_requests;

        sweep_many(MANY, NULL);
        cr_expect_leq(under_way(), 2 * LOCK_SWEEP_UNDER_WAY_MAX, "%u at once", under_way());
        cr_expect(is_deleting(0));
        cr_expect(is_deleting(MANY - 1), "it waits for that");
        for (unsigned i = 0; i < MANY; i++) {
                cr_assert_leq(under_way(), 2 * LOCK_SWEEP_UNDER_WAY_MAX);
                if (i < LOCK_SWEEP_UNDER_WAY_MAX)
                        answer_search(list_of((const char *const[]){NULL}));
                else
                        answer_list(list_of((const char *const[]){NULL}));
                cr_assert_not(is_deleting(i));
        }
        cr_expect_eq(n_requests, before + MANY + LOCK_SWEEP_UNDER_WAY_MAX);
        cr_expect_eq(under_way(), 0);
}

/* The resources of many jobs are the same. */
Test(lock_sweep, what_is_given_twice_is_looked_through_once) {
        cr_assert_eq(lock_sweep(script.session,
                                (const char *const[]){"/locks/a", "/locks/b", "/locks/a", NULL},
                                NULL),
                     0);
        answer_search((ZkReply){.code = ZK_NO_NODE});
        answer_search((ZkReply){.code = ZK_NO_NODE});
        expect_quiet(&script);
        cr_expect_not(lock_is_deleting(script.session, "/locks/a"));
}

#define NAME(n) "_c_0000000" n "-0000-4000-8000-000000000000-__WRIT__000000000" n

Test(lock_sweep, what_is_ours_and_to_be_kept_is_spared) {
        const char *const keep[] = {"/locks/0000/" NAME("2"), "/locks/0001/" NAME("1"), NULL};
        ZkCall *call;

        sweep_many(1, keep);
        answer_search(list_of((const char *const[]){NAME("1"), NAME("2"), "somebody", NULL}));
        call = expect(&script, REQUEST_EXISTS);
        cr_assert_str_eq(call->path, "/locks/0000/" NAME("1"));
        cr_expect_eq(under_way(), 0);
        cr_expect(is_deleting(0));
        port_reply(call, (ZkReply){.code = ZK_OK, .stat = own_stat()});
        call = expect(&script, REQUEST_DELETE);
        cr_assert_str_eq(call->path, "/locks/0000/" NAME("1"));
        port_reply(call, (ZkReply){.code = ZK_OK});
        cr_expect_not(is_deleting(0));
        expect_quiet(&script);
}

/* A queue in which very many of others wait. */
Test(lock_sweep, a_bounded_number_of_contenders_is_looked_at_at_a_time) {
        g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);

        for (unsigned i = 0; i < MANY; i++)
                g_ptr_array_add(
                    names,
                    g_strdup_printf("_c_%08u-0000-4000-8000-000000000000-__WRIT__%010u", i, i));
        g_ptr_array_add(names, NULL);
        sweep_many(2, NULL);
        answer_search(list_of((const char *const *)names->pdata));
        answer_search((ZkReply){.code = ZK_NO_NODE});
        for (unsigned i = 0; i < MANY; i++) {
                cr_assert_leq(under_way(), LOCK_SWEEP_UNDER_WAY_MAX, "%u at once", under_way());
                cr_assert(is_deleting(0));
                port_reply(expect(&script, REQUEST_EXISTS),
                           (ZkReply){.code = ZK_OK, .stat = {.ephemeral_owner = 77}});
        }
        cr_expect_not(is_deleting(0));
        cr_expect_eq(under_way(), 0);
}

/* It is asked again, but seldom; the others are not to wait for that. */
Test(lock_sweep, what_is_refused_holds_up_nothing_else) {
        sweep_many(LOCK_SWEEP_UNDER_WAY_MAX + 2, NULL);
        for (unsigned i = 0; i < LOCK_SWEEP_UNDER_WAY_MAX; i++)
                answer_search((ZkReply){.code = ZK_NO_AUTH});
        for (unsigned i = 0; i < 2; i++)
                answer_list(list_of((const char *const[]){NULL}));
        cr_expect_eq(under_way(), 0);
        cr_expect_eq(script.warnings, LOCK_SWEEP_UNDER_WAY_MAX);
        cr_expect(is_deleting(0));
        cr_expect_not(is_deleting(LOCK_SWEEP_UNDER_WAY_MAX));
}

/* It has given up its place by then. */
Test(lock_sweep, what_is_found_once_that_is_allowed_is_deleted_too) {
        ZkCall *call;

        sweep_many(1, NULL);
        answer_search((ZkReply){.code = ZK_NO_AUTH});
        script_reconnect(&script);
        answer_list(list_of((const char *const[]){NAME("1"), NULL}));
        call = expect(&script, REQUEST_EXISTS);
        port_reply(call, (ZkReply){.code = ZK_OK, .stat = own_stat()});
        cr_expect(is_deleting(0));
        answer(&script, REQUEST_DELETE, ZK_OK);
        cr_expect_not(is_deleting(0));
        expect_quiet(&script);
}

/* Nobody knows whether it arrived. */
Test(lock_sweep, what_is_not_answered_is_asked_again) {
        sweep_many(1, NULL);
        answer(&script, REQUEST_MULTI, ZK_UNKNOWN);
        port_reply(expect(&script, REQUEST_LIST), list_of((const char *const[]){NULL}));
        cr_expect(is_deleting(0));
        answer_search(list_of((const char *const[]){NULL}));
        cr_expect_not(is_deleting(0));
}

/* What another server shows is no older than what the one before it did. */
Test(lock_sweep, what_is_answered_behind_a_barrier_needs_no_other_after_a_reconnection) {
        sweep_many(LOCK_SWEEP_UNDER_WAY_MAX + 1, NULL);
        for (unsigned i = 0; i < LOCK_SWEEP_UNDER_WAY_MAX; i++)
                answer_search(list_of((const char *const[]){NULL}));
        answer_list((ZkReply){.code = ZK_UNKNOWN});
        cr_expect(is_deleting(LOCK_SWEEP_UNDER_WAY_MAX));
        script_reconnect(&script);
        answer_list(list_of((const char *const[]){NULL}));
        cr_expect_not(is_deleting(LOCK_SWEEP_UNDER_WAY_MAX));
        expect_quiet(&script);
}

Test(lock_sweep, with_the_session_goes_what_waits) {
        unsigned before;

        sweep_many(MANY, NULL);
        before = n_requests;
        port_tell(port(), ZK_STATE_EXPIRED);
        cr_expect_eq(n_requests, before);
        cr_expect_not(is_deleting(0));
        cr_expect_not(is_deleting(MANY - 1));
}

Test(lock_sweep, nothing_is_begun_without_a_session) {
        port_tell(port(), ZK_STATE_EXPIRED);
        cr_expect_eq(lock_sweep(script.session, (const char *const[]){"/locks/a", NULL}, NULL),
                     -ENOTCONN);
        cr_expect_not(lock_is_deleting(script.session, "/locks/a"));
}
