/* Thousands of requests at once, of which a few hundred are under way and the rest waits in the
 * port: in order, passed by heartbeats alone, and answered whatever becomes of the session.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>

#include "helper-proxy.h"
#include "helper-zookeeper-main.h"
#include "zk-request.h"

#define LIMIT (30 * USEC_PER_SEC)
enum { MANY = 5000, SOME = 3 * ZK_REQUESTS_MAX };

/* One connection, and how its requests were answered. */
typedef struct Client {
        sd_event *event;
        Zk *zk;
        GArray *codes; /* of ZkCode, in the order of the answers */
        GArray *tags;  /* of unsigned, which they answer */
        unsigned awaited;
        GPtrArray *asks; /* of what asks_new() made */
} Client;

/* A request that knows which one it is. */
typedef struct Ask {
        Client *client;
        unsigned tag;
        ZkCall *call;
        unsigned answers;
} Ask;

static void on_state(Zk *zk, ZkState state, void *userdata) {
        (void)zk;
        (void)state;
        (void)userdata;
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

static void client_connect(Client *client, const char *servers, sd_event *event) {
        if (event)
                client->event = sd_event_ref(event);
        else
                cr_assert_geq(sd_event_new(&client->event), 0);
        client->codes = g_array_new(FALSE, FALSE, sizeof(ZkCode));
        client->tags = g_array_new(FALSE, FALSE, sizeof(unsigned));
        client->asks = g_ptr_array_new_with_free_func(g_free);
        cr_assert_eq(zk_connect(client->event,
                                &(ZkOptions){.servers = servers,
                                             .session_timeout = 10 * USEC_PER_SEC,
                                             .state = on_state,
                                             .userdata = client},
                                &client->zk),
                     0);
        cr_assert(await_state(client, ZK_STATE_CONNECTED));
}

static void client_free(Client *client) {
        client->zk = zk_free(client->zk);
        client->event = sd_event_unref(client->event);
        g_array_unref(client->codes);
        g_array_unref(client->tags);
        g_ptr_array_unref(client->asks);
}

static void client_close(Client *client) {
        zk_close(client->zk);
        cr_assert(await_state(client, ZK_STATE_CLOSED));
        client_free(client);
}

static void on_answer(const ZkReply *reply, void *userdata) {
        Ask *ask = userdata;

        ask->call = NULL;
        ask->answers++;
        g_array_append_val(ask->client->codes, reply->code);
        g_array_append_val(ask->client->tags, ask->tag);
}

static bool are_answered(void *userdata) {
        const Client *client = userdata;

        return client->codes->len >= client->awaited;
}

static void await_answers(Client *client, unsigned n) {
        client->awaited = n;
        cr_assert(loop_until(client->event, are_answered, client, LIMIT), "%u of %u answers",
                  client->codes->len, n);
}

static ZkCode code_of(const Client *client, unsigned i) {
        return g_array_index(client->codes, ZkCode, i);
}

static unsigned tag_of(const Client *client, unsigned i) {
        return g_array_index(client->tags, unsigned, i);
}

/* Checks that so many were answered, in the order in which they were asked, and all like this. */
static void check_in_order(const Client *client, unsigned n, ZkCode code) {
        cr_assert_eq(client->codes->len, n);
        for (unsigned i = 0; i < n; i++) {
                cr_assert_eq(tag_of(client, i), i, "answer %u is the one to %u", i,
                             tag_of(client, i));
                cr_assert_eq(code_of(client, i), code, "%u: %s", i,
                             zk_code_to_string(code_of(client, i)));
        }
}

/* Likewise, but what was served before the end may say so. */
static void check_ended_in_order(const Client *client, unsigned n) {
        unsigned served = 0;

        cr_assert_eq(client->codes->len, n);
        while (served < n && code_of(client, served) == ZK_OK)
                served++;
        cr_assert_lt(served, n);
        for (unsigned i = 0; i < n; i++) {
                cr_assert_eq(tag_of(client, i), i);
                cr_assert_eq(code_of(client, i), i < served ? ZK_OK : ZK_CLOSED, "%u: %s", i,
                             zk_code_to_string(code_of(client, i)));
        }
}

static Ask *asks_new(Client *client, unsigned n) {
        Ask *asks = g_new0(Ask, n);

        g_ptr_array_add(client->asks, asks);
        for (unsigned i = 0; i < n; i++) {
                asks[i].client = client;
                asks[i].tag = i;
        }
        return asks;
}

/* Makes a directory, and asks for n nodes in it at once. */
static Ask *ask_nodes(Client *client, const char *directory, unsigned n) {
        Ask *asks = asks_new(client, n);

        for (unsigned i = 0; i < n; i++) {
                char path[64];

                (void)snprintf(path, sizeof(path), "%s/%u", directory, i);
                cr_assert_eq(zk_create(client->zk, path, "", 0, on_answer, &asks[i], &asks[i].call),
                             0);
        }
        return asks;
}

static void on_code(const ZkReply *reply, void *userdata) {
        *(int *)userdata = (int)reply->code;
}

static bool is_known(void *userdata) {
        return *(int *)userdata >= 0;
}

static ZkCode await_code(Client *client, int sent, int *code) {
        cr_assert_eq(sent, 0);
        cr_assert(loop_until(client->event, is_known, code, LIMIT));
        return (ZkCode)*code;
}

static void make_directory(Client *client, const char *path) {
        int code = -1;

        cr_assert_eq(
            await_code(client, zk_create(client->zk, path, "", 0, on_code, &code, NULL), &code),
            ZK_OK);
}

static ZkCode look_for(Client *client, const char *path) {
        int code = -1;

        return await_code(
            client, zk_exists(client->zk, path, on_code, &code, NULL, NULL, NULL, NULL), &code);
}

static void on_children(const ZkReply *reply, void *userdata) {
        *(int *)userdata = (int)reply->n_children;
}

static int count_children(Client *client, const char *path) {
        int n = -1;

        (void)await_code(
            client, zk_get_children(client->zk, path, on_children, &n, NULL, NULL, NULL, NULL), &n);
        return n;
}

/* How many requests had been answered when the heartbeat was. */
typedef struct Beat {
        const Client *client;
        unsigned count, before;
        ZkCode code;
} Beat;

static void on_beat(const ZkReply *reply, void *userdata) {
        Beat *beat = userdata;

        beat->count++;
        beat->before = beat->client->codes->len;
        beat->code = reply->code;
}

static void check_heartbeat_passes(bool write) {
        Client client = {0};
        Ask *asks;
        Beat beat = {.client = &client};

        client_connect(&client, zookeeper_shared(), NULL);
        asks = asks_new(&client, MANY);
        for (unsigned i = 0; i < MANY; i++)
                cr_assert_eq(zk_get(client.zk, "/", on_answer, &asks[i], NULL, NULL, NULL, NULL),
                             0);
        cr_assert_eq(zk_heartbeat(client.zk, write, on_beat, &beat, NULL), 0);
        await_answers(&client, MANY);
        check_in_order(&client, MANY, ZK_OK);
        cr_assert_eq(beat.count, 1);
        cr_assert_eq(beat.code, ZK_OK);
        cr_assert_eq(beat.before, ZK_REQUESTS_MAX, "%u answers before it", beat.before);
        client_close(&client);
}

Test(zk_window, a_heartbeat_is_served_before_what_waits) {
        check_heartbeat_passes(false);
}

Test(zk_window, a_heartbeat_that_writes_is_too) {
        check_heartbeat_passes(true);
}

/* Heartbeats take no place from the others. */
Test(zk_window, heartbeats_are_not_counted) {
        Client client = {0};
        Ask *asks;
        Beat beat = {.client = &client};

        client_connect(&client, zookeeper_shared(), NULL);
        for (unsigned i = 0; i < 10; i++)
                cr_assert_eq(zk_heartbeat(client.zk, false, on_beat, &beat, NULL), 0);
        cr_assert_eq(zk_requests(client.zk)->under_way, 0);
        asks = asks_new(&client, SOME);
        for (unsigned i = 0; i < SOME; i++)
                cr_assert_eq(zk_sync(client.zk, "/", on_answer, &asks[i], NULL), 0);
        cr_assert_eq(zk_requests(client.zk)->under_way, ZK_REQUESTS_MAX);
        cr_assert_eq(zk_requests(client.zk)->waiting.length, SOME - ZK_REQUESTS_MAX);
        await_answers(&client, SOME);
        cr_assert_eq(beat.count, 10);
        cr_assert_eq(zk_requests(client.zk)->under_way, 0);
        client_close(&client);
}

/* Every kind of request, each of which needs the one before it to have been served. */
static void ask_a_life(Client *client, Ask *asks, unsigned i) {
        char path[64] = "", data[64] = "";
        ZkOp ops[] = {{.type = ZK_OP_CHECK, .path = path, .version = 1},
                      {.type = ZK_OP_SET, .path = path, .data = data, .version = 1},
                      {.type = ZK_OP_DELETE, .path = path, .version = 2},
                      {.type = ZK_OP_CREATE, .path = path, .data = data}};

        (void)snprintf(path, sizeof(path), "/window-lives/%u", i / 8);
        (void)snprintf(data, sizeof(data), "data of %u", i / 8);
        cr_assert_eq(zk_create(client->zk, path, data, 0, on_answer, &asks[i], NULL), 0);
        cr_assert_eq(zk_set(client->zk, path, data, 0, on_answer, &asks[i + 1], NULL), 0);
        cr_assert_eq(zk_multi(client->zk, ops, G_N_ELEMENTS(ops), on_answer, &asks[i + 2], NULL),
                     0);
        cr_assert_eq(zk_get(client->zk, path, on_answer, &asks[i + 3], NULL, NULL, NULL, NULL), 0);
        cr_assert_eq(
            zk_get_children(client->zk, path, on_answer, &asks[i + 4], NULL, NULL, NULL, NULL), 0);
        cr_assert_eq(zk_get_acl(client->zk, path, on_answer, &asks[i + 5], NULL), 0);
        cr_assert_eq(zk_exists(client->zk, path, on_answer, &asks[i + 6], NULL, NULL, NULL, NULL),
                     0);
        cr_assert_eq(zk_delete(client->zk, path, 0, on_answer, &asks[i + 7], NULL), 0);
        /* What was asked does not depend on what we do with ours. */
        memset(path, '!', sizeof(path) - 1);
        memset(data, '!', sizeof(data) - 1);
        ops[0].version = 17;
}

Test(zk_window, the_order_is_that_of_asking_for_all_kinds) {
        Client client = {0};
        Ask *asks;

        client_connect(&client, zookeeper_shared(), NULL);
        make_directory(&client, "/window-lives");
        asks = asks_new(&client, SOME / 8 * 8);
        for (unsigned i = 0; i < SOME / 8 * 8; i += 8)
                ask_a_life(&client, asks, i);
        await_answers(&client, SOME / 8 * 8);
        check_in_order(&client, SOME / 8 * 8, ZK_OK);
        cr_assert_eq(count_children(&client, "/window-lives"), 0);
        client_close(&client);
}

/* Asks for another one as soon as it is answered. */
typedef struct Chain {
        Ask ask, next;
} Chain;

static void on_chain(const ZkReply *reply, void *userdata) {
        Chain *chain = userdata;

        on_answer(reply, &chain->ask);
        cr_assert_eq(zk_sync(chain->ask.client->zk, "/", on_answer, &chain->next, NULL), 0);
}

Test(zk_window, what_is_asked_in_an_answer_stands_behind_what_waits) {
        Client client = {0};
        g_autofree Chain *chains = g_new0(Chain, SOME);

        client_connect(&client, zookeeper_shared(), NULL);
        for (unsigned i = 0; i < SOME; i++) {
                chains[i].ask = (Ask){.client = &client, .tag = i};
                chains[i].next = (Ask){.client = &client, .tag = SOME + i};
                cr_assert_eq(zk_sync(client.zk, "/", on_chain, &chains[i], NULL), 0);
        }
        await_answers(&client, 2 * SOME);
        check_in_order(&client, 2 * SOME, ZK_OK);
        client_close(&client);
}

static void on_watch(ZkWatchEvent event, const char *path, void *userdata) {
        (void)event;
        (void)path;
        ++*(unsigned *)userdata;
}

static bool has_fired(void *userdata) {
        return *(unsigned *)userdata > 0;
}

Test(zk_window, who_waits_and_is_cancelled_hears_nothing_and_is_served) {
        Client client = {0};
        Ask *asks;
        unsigned fired[3] = {0};
        ZkWatch *watches[3] = {NULL};
        static const char *const watched[] = {"/window-cancelled/a", "/window-cancelled/b",
                                              "/window-cancelled/c"};
        ZkCall *calls[3] = {NULL};
        Ask extra[3] = {{.client = &client}, {.client = &client}, {.client = &client}};

        client_connect(&client, zookeeper_shared(), NULL);
        make_directory(&client, "/window-cancelled");
        asks = ask_nodes(&client, "/window-cancelled", SOME);
        for (unsigned i = 0; i < 3; i++)
                cr_assert_eq(zk_exists(client.zk, watched[i], on_answer, &extra[i], &calls[i],
                                       on_watch, &fired[i], &watches[i]),
                             0);
        for (unsigned i = 0; i < SOME; i += 2)
                asks[i].call = zk_call_free(asks[i].call);
        /* The first is not to hear the answer, the second neither that nor the event, the third
         * both. */
        calls[0] = zk_call_free(calls[0]);
        calls[1] = zk_call_free(calls[1]);
        watches[1] = zk_watch_free(watches[1]);

        await_answers(&client, SOME / 2 + 1);
        for (unsigned i = 0; i < SOME; i++)
                cr_assert_eq(asks[i].answers, i % 2, "%u", i);
        cr_assert_eq(extra[0].answers + extra[1].answers, 0);
        cr_assert_eq(extra[2].answers, 1);
        cr_assert_eq(count_children(&client, "/window-cancelled"), SOME);
        for (unsigned i = 0; i < 3; i++)
                make_directory(&client, watched[i]);
        cr_assert(loop_until(client.event, has_fired, &fired[2], LIMIT));
        cr_assert_eq(fired[0], 1);
        cr_assert_eq(fired[1], 0);
        (void)zk_watch_free(watches[0]);
        (void)zk_watch_free(watches[2]);
        client_close(&client);
}

/* Cancelled by the answer to another one. */
static void on_first(const ZkReply *reply, void *userdata) {
        Ask *asks = userdata;

        on_answer(reply, asks);
        for (unsigned i = 1; i < SOME; i++)
                asks[i].call = zk_call_free(asks[i].call);
}

Test(zk_window, an_answer_may_cancel_all_others) {
        Client client = {0};
        Ask *asks;

        client_connect(&client, zookeeper_shared(), NULL);
        asks = asks_new(&client, SOME);
        for (unsigned i = 0; i < SOME; i++)
                cr_assert_eq(zk_sync(client.zk, "/", i == 0 ? on_first : on_answer, &asks[i],
                                     i == 0 ? NULL : &asks[i].call),
                             0);
        cr_assert_eq(look_for(&client, "/"), ZK_OK);
        cr_assert_eq(client.codes->len, 1);
        client_close(&client);
}

/* A server that does not answer takes what is under way, and never hears of what waits. */
Test(zk_window, what_waits_is_lost_with_the_connection) {
        ZooKeeperServer *server = zookeeper_server_new(ZOOKEEPER_TICK_MS);
        Client client = {0};
        g_autofree char *last = g_strdup_printf("/window-lost/%u", SOME - 1);
        ZkWatch *watch = NULL;
        unsigned fired = 0;
        Ask extra = {.client = &client, .tag = SOME};

        client_connect(&client, zookeeper_server_address(server), NULL);
        make_directory(&client, "/window-lost");
        zookeeper_server_freeze(server);
        (void)ask_nodes(&client, "/window-lost", SOME);
        cr_assert_eq(zk_exists(client.zk, "/window-lost/x", on_answer, &extra, NULL, on_watch,
                               &fired, &watch),
                     0);
        zookeeper_server_kill(server);
        await_answers(&client, SOME + 1);
        check_in_order(&client, SOME + 1, ZK_UNKNOWN);
        cr_assert_eq(zk_requests(client.zk)->waiting.length, 0);

        zookeeper_server_start(server);
        cr_assert(await_state(&client, ZK_STATE_CONNECTED));
        cr_assert_eq(look_for(&client, last), ZK_NO_NODE);
        g_array_set_size(client.codes, 0);
        g_array_set_size(client.tags, 0);
        make_directory(&client, "/window-later");
        make_directory(&client, "/window-lost/x");
        (void)ask_nodes(&client, "/window-later", SOME);
        await_answers(&client, SOME);
        check_in_order(&client, SOME, ZK_OK);
        cr_assert_eq(fired, 0, "a watch that was not set");
        (void)zk_watch_free(watch);
        client_close(&client);
        zookeeper_server_free(server);
}

/* Also where there is a server at once that would serve it. */
Test(zk_window, what_waits_is_not_kept_for_the_next_connection) {
        g_autofree char *last = g_strdup_printf("/window-cut/%u", SOME - 1);
        Client client = {0};
        sd_event *event = NULL;
        Proxy *proxy;

        cr_assert_geq(sd_event_new(&event), 0);
        proxy = proxy_new(event, zookeeper_shared());
        client_connect(&client, proxy_address(proxy), event);
        make_directory(&client, "/window-cut");
        (void)ask_nodes(&client, "/window-cut", SOME);
        proxy_cut(proxy);
        await_answers(&client, SOME);
        check_in_order(&client, SOME, ZK_UNKNOWN);
        cr_assert(await_state(&client, ZK_STATE_CONNECTED));
        cr_assert_eq(look_for(&client, last), ZK_NO_NODE);
        client_close(&client);
        proxy_free(proxy);
        event = sd_event_unref(event);
}

/* What is asked in the first answers that say so is for the next connection, and stands behind
 * what is lost. */
Test(zk_window, what_is_asked_in_an_answer_stands_behind_what_is_lost) {
        Client client = {0};
        g_autofree Chain *chains = g_new0(Chain, SOME);
        sd_event *event = NULL;
        Proxy *proxy;

        cr_assert_geq(sd_event_new(&event), 0);
        proxy = proxy_new(event, zookeeper_shared());
        client_connect(&client, proxy_address(proxy), event);
        for (unsigned i = 0; i < SOME; i++) {
                chains[i].ask = (Ask){.client = &client, .tag = i};
                chains[i].next = (Ask){.client = &client, .tag = SOME + i};
                cr_assert_eq(zk_sync(client.zk, "/", on_chain, &chains[i], NULL), 0);
        }
        proxy_cut(proxy);
        await_answers(&client, 2 * SOME);
        for (unsigned i = 0; i < 2 * SOME; i++) {
                cr_assert_eq(tag_of(&client, i), i, "answer %u is the one to %u", i,
                             tag_of(&client, i));
                cr_assert_eq(code_of(&client, i), i < SOME ? ZK_UNKNOWN : ZK_OK, "%u: %s", i,
                             zk_code_to_string(code_of(&client, i)));
        }
        client_close(&client);
        proxy_free(proxy);
        event = sd_event_unref(event);
}

/* Asks again until it is done. */
static void on_persistent(const ZkReply *reply, void *userdata) {
        Ask *ask = userdata;

        if (reply->code == ZK_UNKNOWN)
                cr_assert_eq(zk_sync(ask->client->zk, "/", on_persistent, ask, NULL), 0);
        else
                on_answer(reply, ask);
}

Test(zk_window, what_is_asked_again_while_all_is_lost_is_served_later) {
        ZooKeeperServer *server = zookeeper_server_new(ZOOKEEPER_TICK_MS);
        Client client = {0};
        Ask *asks;

        client_connect(&client, zookeeper_server_address(server), NULL);
        zookeeper_server_freeze(server);
        asks = asks_new(&client, SOME);
        for (unsigned i = 0; i < SOME; i++)
                cr_assert_eq(zk_sync(client.zk, "/", on_persistent, &asks[i], NULL), 0);
        zookeeper_server_kill(server);
        cr_assert(await_state(&client, ZK_STATE_SUSPENDED));
        loop_for(client.event, 100 * USEC_PER_MSEC); /* some rounds of losing all of them */
        zookeeper_server_start(server);
        await_answers(&client, SOME);
        for (unsigned i = 0; i < SOME; i++)
                cr_assert_eq(asks[i].answers, 1);
        cr_assert_eq(zk_requests(client.zk)->waiting.length, 0);
        cr_assert_eq(zk_requests(client.zk)->under_way, 0);
        client_close(&client);
        zookeeper_server_free(server);
}

static bool has_connected_twice(void *userdata) {
        return proxy_connects(userdata) >= 2;
}

/* The server that it comes back to says "expired", while what was asked meanwhile waits. */
Test(zk_window, what_waits_ends_with_the_session) {
        ZooKeeperServer *server = zookeeper_server_new(ZOOKEEPER_TICK_MS);
        Client client = {0};
        Ask *asks;
        sd_event *event = NULL;
        Proxy *proxy;

        cr_assert_geq(sd_event_new(&event), 0);
        proxy = proxy_new(event, zookeeper_server_address(server));
        client_connect(&client, proxy_address(proxy), event);
        proxy_admit(proxy, false);
        zookeeper_server_kill(server);
        zookeeper_server_wipe(server);
        zookeeper_server_start(server);
        cr_assert(await_state(&client, ZK_STATE_SUSPENDED));
        zookeeper_server_freeze(server);
        proxy_admit(proxy, true);
        cr_assert(loop_until(event, has_connected_twice, proxy, LIMIT));
        asks = asks_new(&client, SOME);
        for (unsigned i = 0; i < SOME; i++)
                cr_assert_eq(zk_sync(client.zk, "/", on_answer, &asks[i], NULL), 0);
        cr_assert_eq(zk_requests(client.zk)->waiting.length, SOME - ZK_REQUESTS_MAX);
        zookeeper_server_thaw(server);
        await_answers(&client, SOME);
        check_in_order(&client, SOME, ZK_CLOSED);
        cr_assert_eq(zk_state(client.zk), ZK_STATE_EXPIRED);
        client_close(&client);
        proxy_free(proxy);
        event = sd_event_unref(event);
        zookeeper_server_free(server);
}

typedef struct Full {
        Client *client;
        const char *directory;
} Full;

static bool is_full(void *userdata) {
        const Full *full = userdata;

        return count_children(full->client, full->directory) == SOME;
}

Test(zk_window, what_waits_goes_out_before_the_session_is_closed) {
        static const char directory[] = "/window-closed";
        Client client = {0}, other = {0};

        client_connect(&other, zookeeper_shared(), NULL);
        client_connect(&client, zookeeper_shared(), NULL);
        make_directory(&client, directory);
        (void)ask_nodes(&client, directory, SOME);
        zk_close(client.zk);
        cr_assert_eq(client.codes->len, 0, "not from inside");
        cr_assert_eq(zk_sync(client.zk, "/", NULL, NULL, NULL), -ENOTCONN);
        cr_assert_eq(zk_heartbeat(client.zk, false, NULL, NULL, NULL), -ENOTCONN);
        cr_assert(await_state(&client, ZK_STATE_CLOSED));
        check_ended_in_order(&client, SOME);
        client_free(&client);
        cr_assert(loop_until(other.event, is_full, &(Full){&other, directory}, LIMIT),
                  "only %d of %d", count_children(&other, directory), SOME);
        client_close(&other);
}

/* Nor is anything owed to those who asked, but an answer. */
Test(zk_window, what_waits_when_the_session_is_left_is_answered_and_never_sent) {
        static const char directory[] = "/window-left";
        Client client = {0}, other = {0};

        client_connect(&other, zookeeper_shared(), NULL);
        client_connect(&client, zookeeper_shared(), NULL);
        make_directory(&client, directory);
        (void)ask_nodes(&client, directory, SOME);
        zk_abandon(client.zk);
        cr_assert(await_state(&client, ZK_STATE_CLOSED));
        check_ended_in_order(&client, SOME);
        client_free(&client);
        cr_assert_leq(count_children(&other, directory), ZK_REQUESTS_MAX);
        client_close(&other);
}

Test(zk_window, freed_with_a_full_queue_it_leaks_nothing_and_calls_nobody) {
        unsigned before = count_descriptors();
        Client client = {0};
        Ask *asks;
        ZkWatch *watch = NULL;
        unsigned fired = 0;

        client_connect(&client, zookeeper_shared(), NULL);
        make_directory(&client, "/window-freed");
        asks = ask_nodes(&client, "/window-freed", SOME);
        cr_assert_eq(zk_get(client.zk, "/window-freed", NULL, NULL, NULL, on_watch, &fired, &watch),
                     0);
        client.zk = zk_free(client.zk);
        for (unsigned i = 0; i < SOME; i++) {
                cr_assert_eq(asks[i].answers, 0);
                asks[i].call = zk_call_free(asks[i].call);
        }
        (void)zk_watch_free(watch);
        client_free(&client);
        cr_assert(await_descriptors(before));
}

/* Its fault is found when it is sent: by then only an answer can say it. */
Test(zk_window, a_path_that_is_none_is_a_fault_once_it_has_waited) {
        Client client = {0};
        Ask *asks;

        client_connect(&client, zookeeper_shared(), NULL);
        asks = asks_new(&client, SOME + 2);
        cr_assert_eq(zk_sync(client.zk, "no path", on_answer, &asks[0], NULL), -EINVAL);
        for (unsigned i = 0; i < SOME; i++)
                cr_assert_eq(zk_sync(client.zk, "/", on_answer, &asks[i], NULL), 0);
        cr_assert_eq(zk_create(client.zk, "no path", "", 0, on_answer, &asks[SOME], NULL), 0);
        cr_assert_eq(zk_create(client.zk, "/x", "", 99, on_answer, NULL, NULL), -EINVAL);
        cr_assert_eq(zk_sync(client.zk, "/", on_answer, &asks[SOME + 1], NULL), 0);
        await_answers(&client, SOME + 2);
        for (unsigned i = 0; i < SOME + 2; i++)
                cr_assert_eq(code_of(&client, i), tag_of(&client, i) == SOME ? ZK_FAULT : ZK_OK);
        client_close(&client);
}

ZOOKEEPER_MAIN;
