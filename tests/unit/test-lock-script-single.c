/* Single nodes on a scripted port (lock-script.h). Their name is the same for everybody, so what
 * stands there may be another's by now: whoever deletes it looks first, each time.
 */
#include "lock-script.h"

#define NODE "/locks/a/lock"
#define ORPHAN "{\"id\": \"made-by-nobody\"}"

static const LockRequest single = {.resource = "a", .naming = LOCK_NAMING_SINGLE_NODE};

static void sweep(Script *script) {
        cr_assert_eq(lock_sweep(script->session, (const char *const[]){"/locks/a", NULL}, NULL), 0);
}

static int64_t ours(void) {
        return port()->session.id;
}

/* Answers a barrier and the read that follows it. */
static void answer_read(Script *script, ZkReply reply) {
        ZkCall *call;

        answer(script, REQUEST_MULTI, ZK_OK);
        call = expect(script, REQUEST_GET);
        cr_assert_str_eq(call->path, NODE);
        port_reply(call, reply);
}

static void answer_list(Script *script) {
        port_reply(expect(script, REQUEST_LIST), list_of((const char *const[]){"lock", NULL}));
}

/* The deletion was done, and since then another session has made the node. */
Test(lock_script_single, a_sweep_reads_the_node_again_before_it_repeats_a_deletion) {
        Script script = {0};

        script_open(&script);
        sweep(&script);
        answer(&script, REQUEST_MULTI, ZK_OK);
        answer_list(&script);
        answer_read(&script, node_of(ours(), ORPHAN));
        answer(&script, REQUEST_DELETE, ZK_UNKNOWN);
        answer_read(&script, node_of(ours() + 1, ORPHAN));
        expect_quiet(&script);
        script_close(&script);
}

Test(lock_script_single, a_sweep_repeats_a_deletion_that_was_not_done) {
        Script script = {0};

        script_open(&script);
        sweep(&script);
        answer(&script, REQUEST_MULTI, ZK_OK);
        answer_list(&script);
        for (unsigned i = 0; i < 3; i++) {
                answer_read(&script, node_of(ours(), ORPHAN));
                answer(&script, REQUEST_DELETE, i < 2 ? ZK_UNKNOWN : ZK_OK);
        }
        expect_quiet(&script);
        script_close(&script);
}

/* Answers reads of the node until nothing more is asked for. Return: whether it was deleted. */
static bool is_deleted(Script *script, const char *data) {
        ZkCall *call;
        bool deleted = false;

        while ((call = script_next(script, QUIET))) {
                deleted =
                    deleted || (call->request == REQUEST_DELETE && strcmp(call->path, NODE) == 0);
                port_reply(call, call->request == REQUEST_GET ? node_of(ours(), data)
                                                              : (ZkReply){.code = ZK_OK});
        }
        return deleted;
}

/* Return: newly allocated (g_free), what it wrote into the node. */
static char *hold_single(Script *script) {
        ZkCall *create;
        char *data;

        script_ask(script, single);
        create = expect(script, REQUEST_CREATE);
        data = g_strdup(create->data);
        port_reply(create, (ZkReply){.code = ZK_OK, .path = NODE, .stat = own_stat()});
        answer_list(script);
        script_await(script, LOCK_EVENT_HELD);
        return data;
}

/* A session holds it, and what was adopted is given up before it is known whose it is. */
Test(lock_script_single, who_gives_up_an_adopted_node_spares_that_of_another_set) {
        g_autofree char *data = NULL;
        Script script = {0};
        LockSet *adopted = NULL;

        script_open(&script);
        data = hold_single(&script);
        cr_assert_eq(lock_set_adopt(script.session, (const char *const[]){NODE, NULL}, NULL,
                                    on_lock, &script, &adopted),
                     0);
        adopted = lock_set_free(adopted);
        cr_assert(!is_deleted(&script, data), "the lock that is held is deleted");
        script_close(&script);
}

/* Else that would wait for the end of its own session. */
Test(lock_script_single, a_sweep_deletes_an_orphan_that_a_set_of_ours_waits_for) {
        Script script = {0};

        script_open(&script);
        script_ask(&script, single);
        answer(&script, REQUEST_CREATE, ZK_NODE_EXISTS);
        answer_list(&script);
        sweep(&script);
        answer(&script, REQUEST_MULTI, ZK_OK);
        answer_list(&script);
        cr_assert(is_deleted(&script, ORPHAN), "the orphan of our own session stays");
        script_close(&script);
}

#define WRITTEN_OVER "__REVOKE__"

/* A holder that is asked to let go finds other data in its node than it wrote. */

Test(lock_script_single, letting_go_deletes_the_node_whatever_was_written_to_it) {
        Script script = {0};

        script_open(&script);
        g_free(hold_single(&script));
        script.set = lock_set_free(script.set);
        cr_assert(is_deleted(&script, WRITTEN_OVER), "it stays as long as the session");
        script_close(&script);
}

/* Another set of ours has made it since. */
Test(lock_script_single, who_lets_go_spares_a_node_of_another_czxid) {
        g_autofree char *data = NULL;
        Script script = {0};
        ZkCall *call;

        script_open(&script);
        data = hold_single(&script);
        script.set = lock_set_free(script.set);
        while ((call = script_next(&script, QUIET))) {
                ZkReply other = node_of(ours(), data);

                other.stat.czxid++;
                cr_assert_neq(call->request, REQUEST_DELETE);
                port_reply(call, call->request == REQUEST_GET ? other : (ZkReply){.code = ZK_OK});
        }
        script_close(&script);
}

Test(lock_script_single, a_sweep_spares_what_a_set_of_ours_holds_though_it_was_written_to) {
        Script script = {0};

        script_open(&script);
        g_free(hold_single(&script));
        sweep(&script);
        answer(&script, REQUEST_MULTI, ZK_OK);
        answer_list(&script);
        cr_assert(!is_deleted(&script, WRITTEN_OVER), "the lock that is held is deleted");
        script_close(&script);
}

Test(lock_script_single, who_adopts_it_holds_it_though_it_was_written_to) {
        Script script = {0};

        script_open(&script);
        cr_assert_eq(lock_set_adopt(script.session, (const char *const[]){NODE, NULL}, NULL,
                                    on_lock, &script, &script.set),
                     0);
        answer_read(&script, node_of(ours(), WRITTEN_OVER));
        answer_list(&script);
        script_await(&script, LOCK_EVENT_HELD);
        script_close(&script);
}

Test(lock_script_single, who_adopts_what_another_set_holds_does_not_hold_it) {
        Script script = {0}, other = {0};

        script_open(&script);
        g_free(hold_single(&script));
        cr_assert_eq(lock_set_adopt(script.session, (const char *const[]){NODE, NULL}, NULL,
                                    on_lock, &other, &other.set),
                     0);
        while (other.events[LOCK_EVENT_LOST] == 0) {
                ZkCall *call = script_next(&script, LIMIT);

                cr_assert_not_null(call);
                port_reply(call, call->request == REQUEST_GET ? node_of(ours(), WRITTEN_OVER)
                                                              : (ZkReply){.code = ZK_OK});
                (void)sd_event_run(script.event, 0);
        }
        cr_assert_eq(other.events[LOCK_EVENT_HELD], 0);
        other.set = lock_set_forget(other.set);
        script_close(&script);
}

/* The list that was to confirm it was lost. */
Test(lock_script_single, who_made_it_knows_it_again_though_it_was_written_to) {
        Script script = {0};

        script_open(&script);
        script_ask(&script, single);
        port_reply(expect(&script, REQUEST_CREATE),
                   (ZkReply){.code = ZK_OK, .path = NODE, .stat = own_stat()});
        answer(&script, REQUEST_LIST, ZK_UNKNOWN);
        answer_read(&script, node_of(ours(), WRITTEN_OVER));
        answer_list(&script);
        script_await(&script, LOCK_EVENT_HELD);
        cr_assert_eq(lock_set_fencing_token(script.set), 7);
        script_close(&script);
}

/* Else it would wait for itself. */
Test(lock_script_single, a_node_of_ours_that_was_written_to_is_that_of_the_creation_that_was_lost) {
        Script script = {0};

        script_open(&script);
        script_ask(&script, single);
        answer(&script, REQUEST_CREATE, ZK_UNKNOWN);
        answer_read(&script, node_of(ours(), WRITTEN_OVER));
        answer_list(&script);
        script_await(&script, LOCK_EVENT_HELD);
        script_close(&script);
}

Test(lock_script_single, who_was_not_deleted_knows_the_node_that_it_makes_anew) {
        ZkStat anew = {.czxid = 9};
        Script script = {0};

        script_open(&script);
        script_ask(&script, single);
        port_reply(expect(&script, REQUEST_CREATE),
                   (ZkReply){.code = ZK_OK, .path = NODE, .stat = own_stat()});
        answer(&script, REQUEST_LIST, ZK_UNKNOWN);
        answer(&script, REQUEST_MULTI, ZK_OK);
        answer(&script, REQUEST_GET, ZK_NO_NODE); /* an administrator deleted it */
        answer(&script, REQUEST_CREATE, ZK_UNKNOWN);
        answer(&script, REQUEST_MULTI, ZK_OK);
        anew.ephemeral_owner = ours();
        port_reply(expect(&script, REQUEST_GET),
                   (ZkReply){.code = ZK_OK, .data = "", .stat = anew});
        answer_list(&script);
        script_await(&script, LOCK_EVENT_HELD);
        cr_assert_eq(lock_set_fencing_token(script.set), 9);
        script_close(&script);
}

/* A server that answers alone may be behind. */
Test(lock_script_single, a_search_without_its_barrier_is_not_believed) {
        Script script = {0};

        script_open(&script);
        script_ask(&script, single);
        answer(&script, REQUEST_CREATE, ZK_UNKNOWN);
        answer(&script, REQUEST_MULTI, ZK_UNKNOWN);
        answer(&script, REQUEST_GET, ZK_NO_NODE);
        answer(&script, REQUEST_MULTI, ZK_OK);
        port_reply(expect(&script, REQUEST_GET), node_of(ours(), WRITTEN_OVER));
        answer_list(&script);
        script_await(&script, LOCK_EVENT_HELD);
        script_close(&script);
}

/* We may read what we made. */
Test(lock_script_single, a_node_that_may_not_be_read_is_another_s) {
        Script script = {0};
        ZkCall *list;

        script_open(&script);
        script_ask(&script, single);
        answer(&script, REQUEST_CREATE, ZK_UNKNOWN);
        answer(&script, REQUEST_MULTI, ZK_OK);
        answer(&script, REQUEST_GET, ZK_NO_AUTH);
        list = expect(&script, REQUEST_LIST);
        cr_assert_not_null(list->watch, "it does not wait");
        cr_assert_eq(script.events[LOCK_EVENT_FAILED], 0);
        port_reply(list, list_of((const char *const[]){"lock", NULL}));
        expect_quiet(&script);
        script_close(&script);
}

Test(lock_script_single, who_adopts_what_may_not_be_read_is_told_why) {
        Script script = {0};

        script_open(&script);
        cr_assert_eq(lock_set_adopt(script.session, (const char *const[]){NODE, NULL}, NULL,
                                    on_lock, &script, &script.set),
                     0);
        answer(&script, REQUEST_MULTI, ZK_OK);
        answer(&script, REQUEST_GET, ZK_NO_AUTH);
        script_await(&script, LOCK_EVENT_LOST);
        cr_assert(strstr(lock_set_fault(script.set), "cannot read"), "%s",
                  lock_set_fault(script.set));
        script_close(&script);
}

/* Its name is the same, and its session; somebody deleted it and another set made it again. */
Test(lock_script_single, who_finds_another_node_at_his_path_has_lost_his) {
        g_autofree char *data = NULL;
        Script script = {0};
        ZkReply other;

        script_open(&script);
        data = hold_single(&script);
        other = node_of(ours(), data);
        other.stat.czxid++;
        port_reply(expect(&script, REQUEST_GET), other);
        script_await(&script, LOCK_EVENT_LOST);
        script_close(&script);
}

/* The first of two is lost while the second is being made. */
Test(lock_script_single, a_node_that_is_made_after_its_set_was_lost_is_deleted) {
        const LockRequest requests[] = {{.resource = "A"}, single};
        const LockOptions options = {.parent = "/locks", .wait = USEC_INFINITY};
        g_autofree char *data = NULL;
        Script script = {0};
        ZkCall *call, *create;
        ZkWatch *watch;

        script_open(&script);
        cr_assert_eq(lock_set_acquire(script.session, requests, G_N_ELEMENTS(requests), &options,
                                      on_lock, &script, &script.set),
                     0);
        call = expect(&script, REQUEST_CREATE);
        script.contender = g_strconcat(call->path, "0000000003", NULL);
        port_reply(call, (ZkReply){.code = ZK_OK, .path = script.contender, .stat = own_stat()});
        port_reply(expect(&script, REQUEST_LIST),
                   list_of((const char *const[]){strrchr(script.contender, '/') + 1, NULL}));
        create = expect(&script, REQUEST_CREATE);
        cr_assert_str_eq(create->path, NODE);
        data = g_strdup(create->data);
        call = expect(&script, REQUEST_GET);
        watch = call->watch;
        port_reply(call, node_of(ours(), ""));
        watch->func(ZK_WATCH_DELETED, script.contender, watch->userdata);
        script_await(&script, LOCK_EVENT_LOST);
        port_reply(create, (ZkReply){.code = ZK_OK, .path = NODE, .stat = own_stat()});
        script.set = lock_set_free(script.set);
        cr_assert(is_deleted(&script, data), "it stays as long as the session");
        script_close(&script);
}

/* An administrator was quicker than the list that was to confirm it. */
Test(lock_script_single, who_is_not_in_the_list_that_confirms_it_has_lost_it) {
        Script script = {0};

        script_open(&script);
        script_ask(&script, single);
        port_reply(expect(&script, REQUEST_CREATE),
                   (ZkReply){.code = ZK_OK, .path = NODE, .stat = own_stat()});
        port_reply(expect(&script, REQUEST_LIST), list_of((const char *const[]){NULL}));
        script_await(&script, LOCK_EVENT_LOST);
        cr_assert_eq(script.events[LOCK_EVENT_HELD], 0);
        script_close(&script);
}

/* Nor does it queue for the next one. */
Test(lock_script_single, who_has_lost_one_before_it_was_held_queues_for_no_other) {
        const LockRequest both[] = {single, {.resource = "b", .naming = LOCK_NAMING_SINGLE_NODE}};
        const LockOptions options = {.parent = "/locks", .wait = USEC_INFINITY};
        Script script = {0};

        script_open(&script);
        cr_assert_eq(lock_set_acquire(script.session, both, G_N_ELEMENTS(both), &options, on_lock,
                                      &script, &script.set),
                     0);
        port_reply(expect(&script, REQUEST_CREATE),
                   (ZkReply){.code = ZK_OK, .path = NODE, .stat = own_stat()});
        port_reply(expect(&script, REQUEST_LIST), list_of((const char *const[]){NULL}));
        script_await(&script, LOCK_EVENT_LOST);
        expect_quiet(&script);
        script_close(&script);
}

/* What was not told is not looked at, either: that would be said in the log. */
Test(lock_script_single, who_may_not_list_what_confirms_it_is_told_why) {
        Script script = {0};

        (void)g_log_set_always_fatal(G_LOG_FATAL_MASK | G_LOG_LEVEL_CRITICAL);
        script_open(&script);
        script_ask(&script, single);
        port_reply(expect(&script, REQUEST_CREATE),
                   (ZkReply){.code = ZK_OK, .path = NODE, .stat = own_stat()});
        answer(&script, REQUEST_LIST, ZK_NO_AUTH);
        script_await(&script, LOCK_EVENT_FAILED);
        cr_expect(strstr(lock_set_fault(script.set), "cannot list /locks/a"), "%s",
                  lock_set_fault(script.set));
        script_close(&script);
}
