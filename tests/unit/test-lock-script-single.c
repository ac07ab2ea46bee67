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

/* Answers a sync and the read that follows it. */
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
                deleted = deleted || call->request == REQUEST_DELETE;
                port_reply(call, call->request == REQUEST_GET ? node_of(ours(), data)
                                                              : (ZkReply){.code = ZK_OK});
        }
        return deleted;
}

/* A session holds it, and what was adopted is given up before it is known whose it is. */
Test(lock_script_single, who_gives_up_an_adopted_node_spares_that_of_another_set) {
        g_autofree char *data = NULL;
        Script script = {0};
        LockSet *adopted = NULL;
        ZkCall *create;

        script_open(&script);
        script_ask(&script, single);
        create = expect(&script, REQUEST_CREATE);
        data = g_strdup(create->data);
        port_reply(create, (ZkReply){.code = ZK_OK, .path = NODE, .stat = own_stat()});
        port_reply(expect(&script, REQUEST_LIST), list_of((const char *const[]){"lock", NULL}));
        script_await(&script, LOCK_EVENT_HELD);
        cr_assert_eq(lock_set_adopt(script.session, (const char *const[]){NODE, NULL}, on_lock,
                                    &script, &adopted),
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
