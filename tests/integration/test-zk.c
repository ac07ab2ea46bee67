/* The port against a real server: every request, watches, multis, and what happens to all of them
 * when the server goes. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helper-zookeeper-main.h"
#include "zk-request.h"

#define LIMIT (20 * USEC_PER_SEC)

/* One connection and what it saw. */
typedef struct Client {
        sd_event *event;
        Zk *zk;
        ZkState states[32];
        size_t n_states;
        unsigned refused, in_vain; /* lines of the library's log */
} Client;

static void on_state(Zk *zk, ZkState state, void *userdata) {
        Client *client = userdata;

        (void)zk;
        if (client->n_states < G_N_ELEMENTS(client->states))
                client->states[client->n_states++] = state;
}

static void on_log(int priority, const char *message, void *userdata) {
        Client *client = userdata;

        (void)priority;
        client->refused += strstr(message, "refused") != NULL;
        client->in_vain += strstr(message, "trying all servers") != NULL;
}

typedef struct Expect {
        const Client *client;
        ZkState state;
} Expect;

static bool is_in_state(void *userdata) {
        const Expect *expect = userdata;

        return zk_state(expect->client->zk) == expect->state;
}

static bool await_state(Client *client, ZkState state) {
        return loop_until(client->event, is_in_state, &(Expect){client, state}, LIMIT);
}

static void client_open(Client *client, const char *servers, const ZkSessionId *session) {
        int r;

        r = sd_event_new(&client->event);
        cr_assert_geq(r, 0);
        r = zk_connect(client->event,
                       &(ZkOptions){
                           .servers = servers,
                           .session_timeout = 4 * USEC_PER_SEC,
                           .session = session,
                           .log = on_log,
                           .state = on_state,
                           .userdata = client,
                       },
                       &client->zk);
        cr_assert_eq(r, 0);
}

static void client_connect(Client *client, const char *servers) {
        client_open(client, servers, NULL);
        cr_assert(await_state(client, ZK_STATE_CONNECTED));
}

static void client_close(Client *client) {
        zk_close(client->zk);
        cr_assert(await_state(client, ZK_STATE_CLOSED));
        client->zk = zk_free(client->zk);
        client->event = sd_event_unref(client->event);
}

/* The answer to one request, copied. */
typedef struct Answer {
        unsigned count;
        ZkCode code;
        char *path, *data, *children;
        size_t data_size, n_children, n_results;
        ZkStat stat;
        ZkOpResult results[8];
        usec_t sent;
} Answer;

static void on_reply(const ZkReply *reply, void *userdata) {
        Answer *answer = userdata;

        answer->count++;
        answer->code = reply->code;
        answer->path = g_strdup(reply->path);
        answer->data = g_strdup(reply->data);
        answer->data_size = reply->data_size;
        answer->children =
            reply->children ? g_strjoinv(",", (char **)(void *)reply->children) : NULL;
        answer->n_children = reply->n_children;
        answer->stat = reply->stat;
        answer->sent = reply->sent;
        answer->n_results = reply->n_results;
        for (size_t i = 0; i < reply->n_results && i < G_N_ELEMENTS(answer->results); i++)
                answer->results[i] = reply->results[i];
}

static Answer *answer_reset(Answer *answer) {
        g_free(answer->path);
        g_free(answer->data);
        g_free(answer->children);
        *answer = (Answer){0};
        return answer;
}

static bool is_answered(void *userdata) {
        return ((Answer *)userdata)->count > 0;
}

/* Checks that a request was sent, and awaits its answer. */
static ZkCode await_answer(Client *client, int sent, Answer *answer) {
        cr_assert_eq(sent, 0, "not sent: %d", sent);
        cr_assert(loop_until(client->event, is_answered, answer, LIMIT), "no answer");
        cr_assert_eq(answer->count, 1);
        return answer->code;
}

typedef struct Seen {
        unsigned count;
        ZkWatchEvent event;
        char path[128];
} Seen;

static void on_watch(ZkWatchEvent event, const char *path, void *userdata) {
        Seen *seen = userdata;

        seen->count++;
        seen->event = event;
        g_strlcpy(seen->path, path, sizeof(seen->path));
}

static bool has_fired(void *userdata) {
        return ((Seen *)userdata)->count > 0;
}

static ZkCode create(Client *client, const char *path, const char *data, unsigned flags) {
        Answer answer = {0};
        ZkCode code = await_answer(
            client, zk_create(client->zk, path, data, flags, on_reply, &answer, NULL), &answer);

        answer_reset(&answer);
        return code;
}

static ZkCode set(Client *client, const char *path, const char *data, int32_t version) {
        Answer answer = {0};
        ZkCode code = await_answer(
            client, zk_set(client->zk, path, data, version, on_reply, &answer, NULL), &answer);

        answer_reset(&answer);
        return code;
}

static ZkCode delete (Client *client, const char *path, int32_t version) {
        Answer answer = {0};
        ZkCode code = await_answer(
            client, zk_delete(client->zk, path, version, on_reply, &answer, NULL), &answer);

        answer_reset(&answer);
        return code;
}

static ZkCode exists(Client *client, const char *path) {
        Answer answer = {0};
        ZkCode code = await_answer(
            client, zk_exists(client->zk, path, on_reply, &answer, NULL, NULL, NULL, NULL),
            &answer);

        answer_reset(&answer);
        return code;
}

Test(zk, connects_and_closes_without_a_leaked_descriptor) {
        unsigned before = count_descriptors();
        Client client = {0};

        client_connect(&client, zookeeper_shared());
        cr_assert_str_eq(zk_server(client.zk), zookeeper_shared());
        cr_assert_eq(zk_timeout(client.zk), 4 * USEC_PER_SEC);
        cr_assert_neq(zk_session_id(client.zk).id, 0);
        cr_assert_eq(client.states[0], ZK_STATE_CONNECTED);
        zk_close(client.zk);
        zk_close(client.zk); /* idempotent */
        client_close(&client);
        cr_assert_eq(client.n_states, 2);
        cr_assert_eq(client.states[1], ZK_STATE_CLOSED);
        cr_assert_eq(count_descriptors(), before);
}

Test(zk, create_gives_path_and_stat) {
        Client client = {0};
        Answer a = {0};

        client_connect(&client, zookeeper_shared());
        cr_assert_eq(create(&client, "/create", NULL, 0), ZK_OK);
        cr_assert_eq(create(&client, "/create", NULL, 0), ZK_NODE_EXISTS);
        cr_assert_eq(create(&client, "/create/no/parent", "x", 0), ZK_NO_NODE);
        await_answer(&client,
                     zk_create(client.zk, "/create/s-", "four",
                               ZK_CREATE_EPHEMERAL | ZK_CREATE_SEQUENTIAL, on_reply, &a, NULL),
                     &a);
        cr_assert_eq(a.code, ZK_OK);
        cr_assert_str_eq(a.path, "/create/s-0000000000");
        cr_assert_eq(a.stat.ephemeral_owner, zk_session_id(client.zk).id);
        cr_assert_eq(a.stat.data_length, 4);
        cr_assert_gt(a.stat.czxid, 0);
        cr_assert_gt(a.stat.ctime_ms, 0);
        cr_assert_gt(a.sent, 0);
        cr_assert_eq(create(&client, "/create/s-0000000000/child", NULL, 0),
                     ZK_NO_CHILDREN_FOR_EPHEMERALS);
        answer_reset(&a);
        await_answer(
            &client,
            zk_create(client.zk, "/create/box", NULL, ZK_CREATE_CONTAINER, on_reply, &a, NULL), &a);
        cr_assert_eq(a.code, ZK_OK);
        cr_assert_str_eq(a.path, "/create/box");
        answer_reset(&a);
        cr_assert_eq(zk_create(client.zk, "/create/x", NULL,
                               ZK_CREATE_CONTAINER | ZK_CREATE_EPHEMERAL, on_reply, &a, NULL),
                     -EINVAL);
        cr_assert_eq(zk_create(client.zk, "no-slash", NULL, 0, on_reply, &a, NULL), -EINVAL);
        client_close(&client);
}

Test(zk, set_get_exists_delete_children_sync) {
        Client client = {0};
        Answer a = {0};

        client_connect(&client, zookeeper_shared());
        cr_assert_eq(create(&client, "/basic", "one", 0), ZK_OK);
        cr_assert_eq(create(&client, "/basic/b", "", 0), ZK_OK);
        cr_assert_eq(create(&client, "/basic/a", NULL, 0), ZK_OK);

        await_answer(&client, zk_get(client.zk, "/basic", on_reply, &a, NULL, NULL, NULL, NULL),
                     &a);
        cr_assert_eq(a.code, ZK_OK);
        cr_assert_str_eq(a.data, "one");
        cr_assert_eq(a.data_size, 3);
        cr_assert_eq(a.stat.num_children, 2);
        answer_reset(&a);
        await_answer(&client, zk_get(client.zk, "/basic/a", on_reply, &a, NULL, NULL, NULL, NULL),
                     &a);
        cr_assert_str_eq(a.data, "");
        cr_assert_eq(a.data_size, 0);
        answer_reset(&a);

        cr_assert_eq(set(&client, "/basic", "two", 7), ZK_BAD_VERSION);
        await_answer(&client, zk_set(client.zk, "/basic", "three", 0, on_reply, &a, NULL), &a);
        cr_assert_eq(a.code, ZK_OK);
        cr_assert_eq(a.stat.version, 1);
        answer_reset(&a);

        await_answer(&client,
                     zk_get_children(client.zk, "/basic", on_reply, &a, NULL, NULL, NULL, NULL),
                     &a);
        cr_assert_eq(a.n_children, 2);
        cr_assert(strcmp(a.children, "a,b") == 0 || strcmp(a.children, "b,a") == 0);
        cr_assert_eq(a.stat.cversion, 2);
        answer_reset(&a);

        cr_assert_eq(exists(&client, "/basic/a"), ZK_OK);
        cr_assert_eq(exists(&client, "/basic/c"), ZK_NO_NODE);
        cr_assert_eq(delete (&client, "/basic", -1), ZK_NOT_EMPTY);
        cr_assert_eq(delete (&client, "/basic/a", 5), ZK_BAD_VERSION);
        cr_assert_eq(delete (&client, "/basic/a", 0), ZK_OK);
        cr_assert_eq(delete (&client, "/basic/a", -1), ZK_NO_NODE);
        await_answer(&client, zk_sync(client.zk, "/basic", on_reply, &a, NULL), &a);
        cr_assert_eq(a.code, ZK_OK);
        answer_reset(&a);
        client_close(&client);
}

Test(zk, requests_are_served_in_order) {
        Client client = {0};
        Answer a = {0}, list = {0};

        client_connect(&client, zookeeper_shared());
        cr_assert_eq(create(&client, "/flight", NULL, 0), ZK_OK);
        cr_assert_eq(zk_create(client.zk, "/flight/n-", NULL,
                               ZK_CREATE_EPHEMERAL | ZK_CREATE_SEQUENTIAL, on_reply, &a, NULL),
                     0);
        await_answer(&client,
                     zk_get_children(client.zk, "/flight", on_reply, &list, NULL, NULL, NULL, NULL),
                     &list);
        cr_assert_eq(a.count, 1, "the answer to the create comes before that to the list");
        cr_assert_str_eq(list.children, "n-0000000000");
        answer_reset(&a);
        answer_reset(&list);
        client_close(&client);
}

Test(zk, multi_commits_all_with_stats) {
        Client client = {0};
        Answer a = {0};

        client_connect(&client, zookeeper_shared());
        cr_assert_eq(create(&client, "/multi", "0", 0), ZK_OK);
        cr_assert_eq(create(&client, "/multi/old", NULL, 0), ZK_OK);
        const ZkOp ops[] = {
            {.type = ZK_OP_CHECK, .path = "/multi", .version = 0},
            {.type = ZK_OP_SET, .path = "/multi", .data = "1", .version = 0},
            {.type = ZK_OP_CREATE, .path = "/multi/new", .data = "x", .flags = ZK_CREATE_EPHEMERAL},
            {.type = ZK_OP_DELETE, .path = "/multi/old", .version = -1},
        };
        await_answer(&client, zk_multi(client.zk, ops, G_N_ELEMENTS(ops), on_reply, &a, NULL), &a);
        cr_assert_eq(a.code, ZK_OK);
        cr_assert_eq(a.n_results, G_N_ELEMENTS(ops));
        for (size_t i = 0; i < a.n_results; i++)
                cr_assert_eq(a.results[i].code, ZK_OK);
        cr_assert_eq(a.results[1].stat.version, 1);
        cr_assert_gt(a.results[1].stat.mzxid, 0);
        answer_reset(&a);
        cr_assert_eq(exists(&client, "/multi/new"), ZK_OK);
        cr_assert_eq(exists(&client, "/multi/old"), ZK_NO_NODE);
        client_close(&client);
}

Test(zk, multi_that_fails_changes_nothing_and_names_the_culprit) {
        Client client = {0};
        Answer a = {0};

        client_connect(&client, zookeeper_shared());
        cr_assert_eq(create(&client, "/multi-failed", "0", 0), ZK_OK);
        const ZkOp ops[] = {
            {.type = ZK_OP_SET, .path = "/multi-failed", .data = "1", .version = 0},
            {.type = ZK_OP_CHECK, .path = "/multi-failed", .version = 9},
            {.type = ZK_OP_CREATE, .path = "/multi-failed/new"},
        };
        await_answer(&client, zk_multi(client.zk, ops, G_N_ELEMENTS(ops), on_reply, &a, NULL), &a);
        cr_assert_eq(a.code, ZK_BAD_VERSION);
        cr_assert_eq(a.n_results, 3);
        cr_assert_eq(a.results[0].code, ZK_ROLLED_BACK);
        cr_assert_eq(a.results[1].code, ZK_BAD_VERSION);
        cr_assert_eq(a.results[2].code, ZK_ROLLED_BACK);
        answer_reset(&a);
        cr_assert_eq(exists(&client, "/multi-failed/new"), ZK_NO_NODE);
        cr_assert_eq(zk_multi(client.zk, ops, 0, on_reply, &a, NULL), -EINVAL);
        client_close(&client);
}

/* Heartbeats in doubt rely on it: a multi that changes nothing is a transaction all the same. */
Test(zk, multi_of_a_check_alone_is_a_transaction) {
        g_autofree char *before = NULL, *after = NULL;
        const ZkOp check = {.type = ZK_OP_CHECK, .path = "/", .version = -1};
        Client client = {0};
        Answer a = {0};

        client_connect(&client, zookeeper_shared());
        before = zookeeper_ask(zookeeper_shared(), "srvr");
        await_answer(&client, zk_multi(client.zk, &check, 1, on_reply, &a, NULL), &a);
        cr_assert_eq(a.code, ZK_OK);
        after = zookeeper_ask(zookeeper_shared(), "srvr");
        cr_assert_str_neq(strstr(before, "Zxid:"), strstr(after, "Zxid:"));
        cr_assert(strncmp(strstr(before, "Zxid:"), strstr(after, "Zxid:"), 20) != 0,
                  "the highest zxid grew");
        answer_reset(&a);
        client_close(&client);
}

Test(zk, watches_fire_once_with_their_event) {
        ZkWatch *data = NULL, *absent = NULL, *children = NULL;
        Seen on_data = {0}, on_absent = {0}, on_children = {0};
        Client client = {0};
        Answer a = {0}, b = {0}, c = {0};

        client_connect(&client, zookeeper_shared());
        cr_assert_eq(create(&client, "/watch", "0", 0), ZK_OK);
        await_answer(&client,
                     zk_get(client.zk, "/watch", on_reply, &a, NULL, on_watch, &on_data, &data),
                     &a);
        await_answer(
            &client,
            zk_exists(client.zk, "/watch/x", on_reply, &b, NULL, on_watch, &on_absent, &absent),
            &b);
        cr_assert_eq(b.code, ZK_NO_NODE);
        await_answer(&client,
                     zk_get_children(client.zk, "/watch", on_reply, &c, NULL, on_watch,
                                     &on_children, &children),
                     &c);

        cr_assert_eq(create(&client, "/watch/x", NULL, 0), ZK_OK);
        cr_assert(loop_until(client.event, has_fired, &on_absent, LIMIT));
        cr_assert(loop_until(client.event, has_fired, &on_children, LIMIT));
        cr_assert_eq(on_absent.event, ZK_WATCH_CREATED);
        cr_assert_str_eq(on_absent.path, "/watch/x");
        cr_assert_eq(on_children.event, ZK_WATCH_CHILDREN);
        cr_assert_eq(set(&client, "/watch", "1", -1), ZK_OK);
        cr_assert(loop_until(client.event, has_fired, &on_data, LIMIT));
        cr_assert_eq(on_data.event, ZK_WATCH_CHANGED);

        cr_assert_eq(set(&client, "/watch", "2", -1), ZK_OK);
        cr_assert_eq(delete (&client, "/watch/x", -1), ZK_OK);
        cr_assert_eq(on_data.count + on_absent.count + on_children.count, 3, "each fired once");
        zk_watch_free(data);
        zk_watch_free(absent);
        zk_watch_free(children);
        client_close(&client);
        answer_reset(&a);
        answer_reset(&b);
        answer_reset(&c);
}

Test(zk, watch_freed_before_it_fires_is_silent) {
        ZkWatch *watch = NULL;
        Seen seen = {0};
        Client client = {0};
        Answer a = {0};

        client_connect(&client, zookeeper_shared());
        cr_assert_eq(create(&client, "/late", "0", 0), ZK_OK);
        await_answer(&client,
                     zk_get(client.zk, "/late", on_reply, &a, NULL, on_watch, &seen, &watch), &a);
        watch = zk_watch_free(watch);
        cr_assert_eq(set(&client, "/late", "1", -1), ZK_OK);
        cr_assert_eq(exists(&client, "/late"), ZK_OK);
        cr_assert_eq(seen.count, 0);
        answer_reset(&a);
        client_close(&client);
}

/* The library would call back once for each that it was told of, long after all of them are freed.
 */
Test(zk, many_watches_on_one_path_are_one_to_the_library) {
        enum { MANY = 50 };
        ZkWatch *watches[MANY] = {NULL};
        Seen seen[MANY] = {{0}};
        Client client = {0};
        Answer a = {0};

        client_connect(&client, zookeeper_shared());
        cr_assert_eq(create(&client, "/shared", "0", 0), ZK_OK);
        for (size_t i = 0; i < MANY; i++) {
                await_answer(&client,
                             zk_get(client.zk, "/shared", on_reply, &a, NULL, on_watch, &seen[i],
                                    &watches[i]),
                             &a);
                answer_reset(&a);
                if (i % 10 != 0)
                        watches[i] = zk_watch_free(watches[i]);
        }
        cr_assert_eq(g_hash_table_size(zk_requests(client.zk)->watches.watched), 1);
        cr_assert_eq(set(&client, "/shared", "1", -1), ZK_OK);
        cr_assert_eq(exists(&client, "/shared"), ZK_OK);
        for (size_t i = 0; i < MANY; i++) {
                cr_assert_eq(seen[i].count, i % 10 == 0, "%zu", i);
                zk_watch_free(watches[i]);
        }
        cr_assert_eq(g_hash_table_size(zk_requests(client.zk)->watches.watched), 0);
        client_close(&client);
}

/* The second one's request overtakes the event that the first one waits for, or follows it: in
 * neither case may an event before its answer count for it. */
Test(zk, an_event_is_for_those_who_were_answered_before_it) {
        Client client = {0}, other = {0};

        client_connect(&client, zookeeper_shared());
        client_connect(&other, zookeeper_shared());
        cr_assert_eq(create(&client, "/turns", "0", 0), ZK_OK);
        for (unsigned i = 0; i < 100; i++) {
                ZkWatch *first = NULL, *second = NULL;
                Seen seen[2] = {{0}};
                Answer a = {0}, b = {0}, c = {0};

                await_answer(
                    &client,
                    zk_get(client.zk, "/turns", on_reply, &a, NULL, on_watch, &seen[0], &first),
                    &a);
                if (i % 2 == 0)
                        cr_assert_eq(zk_set(other.zk, "/turns", "1", -1, on_reply, &c, NULL), 0);
                g_usleep((gulong)(i / 2) * 10);
                cr_assert_eq(
                    zk_get(client.zk, "/turns", on_reply, &b, NULL, on_watch, &seen[1], &second),
                    0);
                if (i % 2 == 1)
                        cr_assert_eq(zk_set(other.zk, "/turns", "1", -1, on_reply, &c, NULL), 0);
                cr_assert(loop_until(client.event, is_answered, &b, LIMIT));
                cr_assert(loop_until(client.event, has_fired, &seen[0], LIMIT));
                cr_assert(loop_until(other.event, is_answered, &c, LIMIT));
                cr_assert_eq(exists(&client, "/turns"), ZK_OK);
                /* It has heard of the one change by its answer or by its event. */
                cr_assert_eq(seen[1].count, b.stat.version == a.stat.version, "round %u", i);
                zk_watch_free(first);
                zk_watch_free(second);
                answer_reset(&a);
                answer_reset(&b);
                answer_reset(&c);
                cr_assert_eq(set(&client, "/turns", "2", -1), ZK_OK);
        }
        client_close(&other);
        client_close(&client);
}

Test(zk, failed_get_leaves_no_watch) {
        ZkWatch *watch = NULL;
        Seen seen = {0};
        Client client = {0};
        Answer a = {0};

        client_connect(&client, zookeeper_shared());
        await_answer(&client,
                     zk_get(client.zk, "/absent", on_reply, &a, NULL, on_watch, &seen, &watch), &a);
        cr_assert_eq(a.code, ZK_NO_NODE);
        cr_assert_eq(create(&client, "/absent", NULL, 0), ZK_OK);
        cr_assert_eq(exists(&client, "/absent"), ZK_OK);
        cr_assert_eq(seen.count, 0);
        watch = zk_watch_free(watch);
        answer_reset(&a);
        client_close(&client);
}

Test(zk, watches_are_capped_by_the_packet_that_re_registers_them) {
        g_autofree char *padding = g_strnfill(900, 'x');
        g_autoptr(GPtrArray) watches = g_ptr_array_new();
        Seen seen = {0};
        Client client = {0};
        ZkWatch *watch;
        int r = 0;

        client_connect(&client, zookeeper_shared());
        for (unsigned i = 0; i < 1100 && r == 0; i++) {
                g_autofree char *path = g_strdup_printf("/%s-%u", padding, i);

                r = zk_exists(client.zk, path, NULL, NULL, NULL, on_watch, &seen, &watch);
                if (r == 0)
                        g_ptr_array_add(watches, watch);
        }
        cr_assert_eq(r, -ENOBUFS);
        cr_assert_gt(watches->len, 900);
        for (guint i = 0; i < watches->len; i++)
                zk_watch_free(watches->pdata[i]);
        cr_assert_eq(exists(&client, "/"), ZK_OK);
        client_close(&client);
}

Test(zk, freed_call_is_not_called_back_but_done) {
        ZkCall *call = NULL;
        Client client = {0};
        Answer a = {0};

        client_connect(&client, zookeeper_shared());
        cr_assert_eq(zk_create(client.zk, "/freed-call", NULL, 0, on_reply, &a, &call), 0);
        cr_assert_not_null(call);
        call = zk_call_free(call);
        cr_assert_eq(exists(&client, "/freed-call"), ZK_OK);
        cr_assert_eq(a.count, 0);
        client_close(&client);
}

Test(zk, close_answers_what_is_pending_and_ends_the_session) {
        Client client = {0}, other = {0};
        Answer a = {0}, b = {0};

        client_connect(&client, zookeeper_shared());
        cr_assert_eq(create(&client, "/closing", NULL, ZK_CREATE_EPHEMERAL), ZK_OK);
        cr_assert_eq(zk_sync(client.zk, "/", on_reply, &a, NULL), 0);
        zk_close(client.zk);
        cr_assert_eq(a.count, 0, "not from inside");
        cr_assert_eq(zk_sync(client.zk, "/", on_reply, &b, NULL), -ENOTCONN);
        client_close(&client);
        cr_assert_eq(a.count, 1);
        cr_assert_eq(a.code, ZK_CLOSED);
        cr_assert_eq(b.count, 0);

        client_connect(&other, zookeeper_shared());
        cr_assert_eq(exists(&other, "/closing"), ZK_NO_NODE);
        client_close(&other);
}

Test(zk, abandoned_session_lives_on_and_can_be_attached_to) {
        Client client = {0}, other = {0};
        ZkSessionId session;

        client_connect(&client, zookeeper_shared());
        cr_assert_eq(create(&client, "/abandoned", NULL, ZK_CREATE_EPHEMERAL), ZK_OK);
        session = zk_session_id(client.zk);
        zk_abandon(client.zk);
        cr_assert(await_state(&client, ZK_STATE_CLOSED));
        client.zk = zk_free(client.zk);
        client.event = sd_event_unref(client.event);

        client_open(&other, zookeeper_shared(), &session);
        cr_assert(await_state(&other, ZK_STATE_CONNECTED));
        cr_assert_eq(zk_session_id(other.zk).id, session.id);
        cr_assert_eq(exists(&other, "/abandoned"), ZK_OK);
        client_close(&other);
}

Test(zk, attaching_to_a_session_that_is_gone_expires) {
        Client client = {0}, other = {0};
        ZkSessionId session;

        client_connect(&client, zookeeper_shared());
        session = zk_session_id(client.zk);
        client_close(&client);
        client_open(&other, zookeeper_shared(), &session);
        cr_assert(await_state(&other, ZK_STATE_EXPIRED));
        cr_assert_eq(zk_sync(other.zk, "/", NULL, NULL, NULL), -ENOTCONN);
        client_close(&other);
}

Test(zk, free_without_close_leaks_nothing) {
        unsigned before = count_descriptors();
        ZkWatch *watch = NULL;
        ZkCall *call = NULL;
        Client client = {0};
        Seen seen = {0};
        Answer a = {0};

        client_connect(&client, zookeeper_shared());
        cr_assert_eq(zk_exists(client.zk, "/freed", on_reply, &a, &call, on_watch, &seen, &watch),
                     0);
        client.zk = zk_free(client.zk);
        call = zk_call_free(call);
        watch = zk_watch_free(watch);
        client.event = sd_event_unref(client.event);
        cr_assert_eq(a.count, 0);
        cr_assert(await_descriptors(before));
}

Test(zk, free_while_connecting_leaks_nothing) {
        unsigned before = count_descriptors();
        Client client = {0};

        client_open(&client, zookeeper_shared(), NULL);
        client.zk = zk_free(client.zk);
        client.event = sd_event_unref(client.event);
        cr_assert(await_descriptors(before));
}

static bool was_refused_again(void *userdata) {
        return ((Client *)userdata)->refused >= 3;
}

/* Between two rounds the library would warn of it: with its list of servers, which is freed on
 * another thread where the handle is closed at that moment. */
Test(zk, the_library_is_not_asked_for_the_warning_that_reads_its_servers) {
        g_autofree char *nobody = g_strdup_printf("127.0.0.1:%u", zookeeper_free_ports(1));
        Client client = {0};

        client_open(&client, nobody, NULL);
        cr_assert(loop_until(client.event, was_refused_again, &client, LIMIT));
        cr_expect_eq(client.in_vain, 0);
        client_close(&client);
}

Test(zk, unresolvable_name_is_a_sentence) {
        Client client = {0};

        client_open(&client, "no-such-host.invalid:2181", NULL);
        cr_assert(await_state(&client, ZK_STATE_FAILED));
        cr_assert_not_null(strstr(zk_fault(client.zk), "no-such-host.invalid"));
        cr_assert_eq(zk_sync(client.zk, "/", NULL, NULL, NULL), -ENOTCONN);
        client_close(&client);
}

Test(zk, malformed_addresses_are_a_sentence) {
        static const char *const wrong[] = {
            "", "host:port", "127.0.0.1:", "[::1", ":2181", "127.0.0.1:99999999999"};

        for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
                Client client = {0};

                client_open(&client, wrong[i], NULL);
                cr_assert(await_state(&client, ZK_STATE_FAILED), "\"%s\"", wrong[i]);
                cr_assert_str_neq(zk_fault(client.zk), "");
                client_close(&client);
        }
}

Test(zk, one_good_name_of_two_is_enough) {
        g_autofree char *servers =
            g_strdup_printf("no-such-host.invalid:2181, %s", zookeeper_shared());
        Client client = {0};

        client_connect(&client, servers);
        client_close(&client);
}

#define DESCRIPTORS 256

static void open_descriptors(bool *ret_open) {
        for (int fd = 0; fd < DESCRIPTORS; fd++)
                ret_open[fd] = fcntl(fd, F_GETFD) >= 0;
}

static unsigned descriptors_of_a_child(void) {
        g_autofree char *output = NULL;
        g_auto(GStrv) lines = NULL;

        cr_assert(g_spawn_sync(NULL, (char *[]){(char *)"/bin/ls", (char *)"/proc/self/fd", NULL},
                               NULL, G_SPAWN_LEAVE_DESCRIPTORS_OPEN, NULL, NULL, &output, NULL,
                               NULL, NULL));
        lines = g_strsplit(g_strstrip(output), "\n", -1);
        return g_strv_length(lines);
}

Test(zk, no_descriptor_reaches_a_child) {
        unsigned in_child = descriptors_of_a_child(), ours = 0;
        bool before[DESCRIPTORS];
        Client client = {0};

        open_descriptors(before);
        client_connect(&client, zookeeper_shared());
        for (int fd = 0; fd < DESCRIPTORS; fd++) {
                int flags = fcntl(fd, F_GETFD);

                if (before[fd] || flags < 0)
                        continue;
                ours++;
                cr_assert(flags & FD_CLOEXEC, "descriptor %d would leak", fd);
        }
        cr_assert_geq(ours, 4, "a pipe's two ends, a socket, an eventfd are there to be looked at");
        cr_assert_eq(descriptors_of_a_child(), in_child);
        client_close(&client);
}

Test(zk, outcome_is_unknown_when_the_server_dies) {
        ZooKeeperServer *server = zookeeper_server_new(ZOOKEEPER_TICK_MS);
        Client client = {0};
        Answer a = {0}, b = {0};
        ZkWatch *watch = NULL;
        Seen seen = {0};

        client_connect(&client, zookeeper_server_address(server));
        cr_assert_eq(create(&client, "/watched", "0", 0), ZK_OK);
        await_answer(&client,
                     zk_get(client.zk, "/watched", on_reply, &b, NULL, on_watch, &seen, &watch),
                     &b);
        zookeeper_server_freeze(server);
        cr_assert_eq(zk_create(client.zk, "/unknown", NULL, 0, on_reply, &a, NULL), 0);
        zookeeper_server_kill(server);
        cr_assert_eq(await_answer(&client, 0, &a), ZK_UNKNOWN);
        cr_assert(await_state(&client, ZK_STATE_SUSPENDED));
        cr_assert_str_eq(zk_server(client.zk), "");

        zookeeper_server_start(server);
        cr_assert(await_state(&client, ZK_STATE_CONNECTED));
        cr_assert_eq(seen.count, 0, "session events do not reach watches");
        cr_assert_eq(set(&client, "/watched", "1", -1), ZK_OK);
        cr_assert(loop_until(client.event, has_fired, &seen, LIMIT), "the watch was set again");
        zk_watch_free(watch);
        client_close(&client);
        answer_reset(&a);
        answer_reset(&b);
        zookeeper_server_free(server);
}

/* The client has sent nothing yet: a server refuses who has seen a higher zxid than its own,
 * instead of saying "expired". */
Test(zk, server_says_expired) {
        ZooKeeperServer *server = zookeeper_server_new(ZOOKEEPER_TICK_MS);
        Client client = {0};

        client_connect(&client, zookeeper_server_address(server));
        zookeeper_server_kill(server);
        zookeeper_server_wipe(server);
        zookeeper_server_start(server);
        cr_assert(await_state(&client, ZK_STATE_EXPIRED));
        cr_assert_eq(zk_sync(client.zk, "/", NULL, NULL, NULL), -ENOTCONN);
        client_close(&client);
        zookeeper_server_free(server);
}

ZOOKEEPER_MAIN;
