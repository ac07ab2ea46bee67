/* Which requests are under way and which wait, and what becomes of them: the library's part is the
 * test's (--wrap), so that each answer comes when it wants.
 */
#include <criterion/criterion.h>
#include <errno.h>

#include "zk-request.h"

#define WAITING 20
#define ALL (ZK_REQUESTS_MAX + WAITING)

/* --wrap's name. */
int __wrap_zk_send(zhandle_t *handle, const ZkRequest *request, ZkSending *sending);

static GPtrArray *sent; /* of ZkSending, not answered yet */
static int send_error;

int __wrap_zk_send(zhandle_t *handle, const ZkRequest *request, ZkSending *sending) {
        (void)handle;
        (void)request;
        if (send_error == ZOK)
                g_ptr_array_add(sent, sending);
        return send_error;
}

typedef struct Port {
        ZkRequests requests; /* the first, as of a Zk */
        ZkQueue queue;
        unsigned answers, last; /* how many, and the tag of the latest */
        ZkCode code;            /* its */
        bool in_order;
        unsigned ask_more; /* so many are asked by the next answers, one each */
} Port;

static Port port;
static unsigned tags[2 * ALL];

static void ignore(void *owner) {
        (void)owner;
}

static void on_answer(const ZkReply *reply, void *userdata);

static void ask(unsigned tag) {
        tags[tag] = tag;
        cr_assert_eq(zk_sync((Zk *)(void *)&port, "/", on_answer, &tags[tag], NULL), 0);
}

static void on_answer(const ZkReply *reply, void *userdata) {
        unsigned tag = *(unsigned *)userdata;

        port.in_order = port.in_order && tag == port.answers;
        port.last = tag;
        port.code = reply->code;
        if (port.answers++ < port.ask_more)
                ask(ALL + port.answers - 1);
}

static void begin(void) {
        port = (Port){.in_order = true};
        send_error = ZOK;
        sent = g_ptr_array_new();
        cr_assert_eq(zk_queue_init(&port.queue, ignore, NULL), 0);
        zk_requests_init(&port.requests, &port.queue, NULL);
        port.requests.handle = (zhandle_t *)(void *)&port;
        for (unsigned i = 0; i < ALL; i++)
                ask(i);
        cr_assert_eq(sent->len, ZK_REQUESTS_MAX);
}

static void end(void) {
        zk_requests_clear(&port.requests);
        zk_queue_clear(&port.queue);
        g_ptr_array_unref(sent);
}

/* Dispatches what is in the queue by now. */
static void turn(void) {
        ZkItem *item;

        zk_take(&port.queue);
        while ((item = g_queue_pop_head(&port.queue.taken))) {
                zk_call_answer(&port.requests, item);
                (void)zk_item_free(item);
        }
}

/* The library answers the first n that were sent. */
static void answer(unsigned n, int error) {
        for (unsigned i = 0; i < n; i++)
                zk_send_back(sent->pdata[i], error);
        for (unsigned i = 0; i < n; i++)
                zk_queue_unexpect(&port.queue); /* its own, beside that of the sending */
        g_ptr_array_remove_range(sent, 0, n);
        turn();
}

static unsigned waiting(void) {
        return port.requests.waiting.length;
}

Test(zk_request, an_answer_sends_one_that_waits) {
        begin();
        answer(1, ZOK);
        cr_assert_eq(waiting(), WAITING - 1);
        cr_assert_eq(sent->len, ZK_REQUESTS_MAX);
        answer(sent->len, ZNONODE);
        cr_assert_eq(waiting(), 0);
        cr_assert_eq(sent->len, WAITING - 1);
        answer(sent->len, ZOK);
        cr_assert_eq(port.answers, ALL);
        cr_assert(port.in_order);
        cr_assert_eq(port.requests.under_way, 0);
        end();
}

/* However late the others that were under way are answered. */
Test(zk_request, what_waits_is_lost_behind_what_was_under_way) {
        begin();
        answer(1, ZCONNECTIONLOSS);
        turn();
        cr_assert_eq(port.answers, 1, "only what the library has answered");
        cr_assert_eq(sent->len, ZK_REQUESTS_MAX - 1, "nothing more is sent");
        answer(sent->len - 1, ZCONNECTIONLOSS);
        turn();
        cr_assert_eq(port.answers, ZK_REQUESTS_MAX - 1);
        answer(1, ZCONNECTIONLOSS);
        turn();
        cr_assert_eq(port.answers, ALL);
        cr_assert(port.in_order);
        cr_assert_eq(port.code, ZK_UNKNOWN);
        cr_assert_eq(sent->len, 0);
        end();
}

/* It is lost once: not by the other answers that say so, nor by those that the port makes up. */
Test(zk_request, what_is_asked_after_a_loss_is_sent_behind_it) {
        begin();
        port.ask_more = ALL;
        answer(1, ZCONNECTIONLOSS);
        cr_assert_eq(waiting(), WAITING + 1);
        answer(sent->len, ZCONNECTIONLOSS);
        turn();
        cr_assert_eq(port.answers, ALL);
        cr_assert(port.in_order);
        cr_assert_eq(sent->len, ZK_REQUESTS_MAX);
        cr_assert_eq(waiting(), WAITING);
        answer(sent->len, ZOK);
        answer(sent->len, ZOK);
        cr_assert_eq(port.answers, 2 * ALL);
        cr_assert(port.in_order);
        cr_assert_eq(port.code, ZK_OK);
        end();
}

Test(zk_request, every_answer_that_says_so_loses_what_waits) {
        static const struct {
                int error;
                ZkCode code;
        } losses[] = {{ZCONNECTIONLOSS, ZK_UNKNOWN},
                      {ZOPERATIONTIMEOUT, ZK_UNKNOWN},
                      {ZRUNTIMEINCONSISTENCY, ZK_UNKNOWN},
                      {ZSESSIONEXPIRED, ZK_CLOSED},
                      {ZAUTHFAILED, ZK_CLOSED},
                      {ZCLOSING, ZK_CLOSED}};

        for (size_t i = 0; i < G_N_ELEMENTS(losses); i++) {
                begin();
                answer(sent->len, losses[i].error);
                turn();
                cr_assert_eq(port.answers, ALL, "%d", losses[i].error);
                cr_assert(port.in_order);
                cr_assert_eq(port.code, losses[i].code);
                cr_assert_eq(sent->len, 0);
                end();
        }
}

/* The library knows already that it is over, and what is under way does not say so yet. */
Test(zk_request, what_is_refused_after_it_waited_is_answered_in_its_place) {
        begin();
        send_error = ZINVALIDSTATE;
        answer(1, ZOK);
        cr_assert_eq(waiting(), WAITING);
        turn();
        cr_assert_eq(port.answers, 1);
        answer(sent->len, ZSESSIONEXPIRED);
        turn();
        cr_assert_eq(port.answers, ALL);
        cr_assert(port.in_order);
        cr_assert_eq(port.code, ZK_CLOSED);
        end();
}

static int ask_all_or_nothing(ZkOp op) {
        const ZkOp ops[] = {{.type = ZK_OP_CHECK, .path = "/", .version = -1}, op};

        return zk_multi((Zk *)(void *)&port, ops, G_N_ELEMENTS(ops), NULL, NULL, NULL);
}

/* The library would end the process. */
Test(zk_request, what_the_library_does_not_survive_in_a_multi_is_refused) {
        static const char *const bad[] = {NULL,    "",     "a",    "/a/",   "//a",   "/a//b", "/.",
                                          "/a/..", "/./a", "/a/.", "/../a", "/a\nb", "/a/b/"};

        begin();
        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
                for (ZkOpType type = ZK_OP_CHECK; type <= ZK_OP_DELETE; type++)
                        cr_expect_eq(ask_all_or_nothing((ZkOp){.type = type, .path = bad[i]}),
                                     -EINVAL, "%u %s", type, bad[i] ? bad[i] : "NULL");
        cr_expect_eq(ask_all_or_nothing(
                         (ZkOp){.type = ZK_OP_CREATE, .path = "/a", .flags = ZK_CREATE_CONTAINER}),
                     -EINVAL);
        cr_expect_eq(ask_all_or_nothing((ZkOp){
                         .type = ZK_OP_CREATE, .path = "/./a-", .flags = ZK_CREATE_SEQUENTIAL}),
                     -EINVAL);
        cr_expect_eq(waiting(), WAITING);
        end();
}

Test(zk_request, what_is_sound_in_a_multi_is_sent) {
        static const char *const good[] = {"/", "/a", "/a/b", "/.a", "/a..", "/a/...", "/\x7f"};

        begin();
        for (size_t i = 0; i < G_N_ELEMENTS(good); i++)
                cr_expect_eq(ask_all_or_nothing((ZkOp){.type = ZK_OP_SET, .path = good[i]}), 0,
                             "%s", good[i]);
        /* A number follows. */
        cr_expect_eq(ask_all_or_nothing((ZkOp){
                         .type = ZK_OP_CREATE, .path = "/a/", .flags = ZK_CREATE_SEQUENTIAL}),
                     0);
        cr_expect_eq(waiting(), WAITING + G_N_ELEMENTS(good) + 1);
        end();
}

Test(zk_request, nothing_is_sent_once_the_session_is_over) {
        begin();
        port.queue.over = true;
        answer(1, ZOK);
        cr_assert_eq(sent->len, ZK_REQUESTS_MAX - 1);
        answer(sent->len, ZOK);
        turn();
        cr_assert_eq(port.answers, ALL);
        cr_assert(port.in_order);
        cr_assert_eq(port.code, ZK_CLOSED);
        cr_assert_eq(sent->len, 0);
        end();
}

/* The library is being closed by then, on another thread. */
Test(zk_request, nor_is_what_was_asked_after_a_loss) {
        begin();
        port.ask_more = 1;
        answer(1, ZCONNECTIONLOSS);
        cr_assert_eq(waiting(), WAITING + 1);
        port.queue.over = true;
        answer(sent->len, ZCONNECTIONLOSS);
        cr_assert_eq(sent->len, 0);
        turn();
        cr_assert_eq(port.answers, ALL + 1);
        cr_assert(port.in_order);
        cr_assert_eq(port.code, ZK_CLOSED);
        end();
}

/* For who sends it before an orderly end. Its answers make no place for anybody. */
Test(zk_request, what_waits_is_handed_over_and_stays_in_the_books) {
        GQueue unsent = G_QUEUE_INIT;

        begin();
        zk_requests_take_unsent(&port.requests, &unsent);
        port.queue.over = true;
        cr_assert_eq(unsent.length, WAITING);
        cr_assert_eq(waiting(), 0);
        zk_requests_drain(&port.requests);
        cr_assert_eq(port.answers, ALL);
        cr_assert(port.in_order);
        cr_assert_eq(port.code, ZK_CLOSED);
        answer(sent->len, ZOK);
        cr_assert_eq(port.requests.under_way, 0);
        cr_assert_eq(port.requests.calls.length, WAITING);
        for (GList *link = unsent.head; link; link = link->next)
                g_ptr_array_add(sent, link->data);
        g_queue_clear(&unsent);
        answer(sent->len, ZOK);
        cr_assert_eq(port.requests.under_way, 0);
        cr_assert_eq(port.requests.calls.length, 0);
        cr_assert_eq(port.answers, ALL);
        end();
}

Test(zk_request, what_is_lost_already_is_not_handed_over) {
        GQueue unsent = G_QUEUE_INIT;

        begin();
        answer(1, ZCONNECTIONLOSS);
        zk_requests_take_unsent(&port.requests, &unsent);
        cr_assert_eq(unsent.length, 0);
        zk_requests_drain(&port.requests);
        cr_assert_eq(port.answers, ALL);
        cr_assert_eq(port.code, ZK_CLOSED);
        answer(sent->len, ZCONNECTIONLOSS);
        end();
}

static void on_change(ZkWatchEvent event, const char *path, void *userdata) {
        (void)event;
        (void)path;
        (void)userdata;
}

/* Else they would fill up, and nothing could be watched any more. */
Test(zk_request, the_watch_of_what_is_refused_is_not_kept_in_the_books) {
        ZkWatch *watch = NULL;

        begin();
        answer(sent->len, ZOK);
        answer(sent->len, ZOK);
        send_error = ZBADARGUMENTS;
        cr_expect_eq(zk_get((Zk *)(void *)&port, "a", NULL, NULL, NULL, on_change, NULL, &watch),
                     -EINVAL);
        cr_expect_null(watch);
        cr_expect_eq(port.requests.watches.bytes, 0);
        cr_expect_eq(g_hash_table_size(port.requests.watches.watched), 0);
        end();
}

Test(zk_request, without_a_session_nothing_is_asked) {
        const ZkOp op = {.type = ZK_OP_SET, .path = "/a"};

        cr_expect_eq(zk_set(NULL, "/a", "", -1, NULL, NULL, NULL), -ENOTCONN);
        cr_expect_eq(zk_multi(NULL, &op, 1, NULL, NULL, NULL), -ENOTCONN);
        cr_expect_eq(zk_heartbeat(NULL, true, NULL, NULL, NULL), -ENOTCONN);
}
