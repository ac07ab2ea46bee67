/* The end of a session that is closed in order: what was asked before it is served by a server
 * that is slow, and nobody is waited for who is not there.
 */
#include <criterion/criterion.h>
#include <stdio.h>

#include "helper-zookeeper-main.h"
#include "zk.h"

#define LIMIT (20 * USEC_PER_SEC)
/* Less than a server that is connected is waited for. */
#define SOON (1500 * USEC_PER_MSEC)
/* What a session has for its end, see session_close(). */
#define CLOSE_MAX (5 * USEC_PER_SEC)
/* A server that has so many requests under way reads no further ones. */
#define THROTTLED "globalOutstandingLimit=10\n"
enum { MANY = 500 };

typedef struct Client {
        sd_event *event;
        Zk *zk;
        unsigned closed; /* requests that were answered so */
        int n_children;  /* of the directory; negative: not known yet */
} Client;

static void on_state(Zk *zk, ZkState state, void *userdata) {
        (void)zk;
        (void)state;
        (void)userdata;
}

static bool is_connected(void *userdata) {
        return zk_state(((Client *)userdata)->zk) == ZK_STATE_CONNECTED;
}

static bool is_suspended(void *userdata) {
        return zk_state(((Client *)userdata)->zk) == ZK_STATE_SUSPENDED;
}

static bool is_closed(void *userdata) {
        return zk_state(((Client *)userdata)->zk) == ZK_STATE_CLOSED;
}

static void client_connect(Client *client, const ZooKeeperServer *server) {
        const ZkOptions options = {.servers = zookeeper_server_address(server),
                                   .session_timeout = 10 * USEC_PER_SEC,
                                   .state = on_state};

        cr_assert_geq(sd_event_new(&client->event), 0);
        cr_assert_eq(zk_connect(client->event, &options, &client->zk), 0);
        cr_assert(loop_until(client->event, is_connected, client, LIMIT));
}

/* Waits for the end of one that is being closed. */
static void client_await_closed(Client *client, usec_t limit) {
        cr_assert(loop_until(client->event, is_closed, client, limit));
        client->zk = zk_free(client->zk);
        client->event = sd_event_unref(client->event);
}

static void client_close(Client *client) {
        zk_close(client->zk);
        client_await_closed(client, LIMIT);
}

static void on_answer(const ZkReply *reply, void *userdata) {
        ((Client *)userdata)->closed += reply->code == ZK_CLOSED;
}

static void ask_for_nodes(Client *client) {
        for (unsigned i = 0; i < MANY; i++) {
                char path[32];

                (void)snprintf(path, sizeof(path), "/all/%u", i);
                cr_assert_eq(zk_create(client->zk, path, "", 0, on_answer, client, NULL), 0);
        }
}

static void on_children(const ZkReply *reply, void *userdata) {
        ((Client *)userdata)->n_children = reply->code == ZK_OK ? (int)reply->n_children : 0;
}

static bool has_counted(void *userdata) {
        return ((Client *)userdata)->n_children >= 0;
}

static int count_children(Client *client, const char *path) {
        client->n_children = -1;
        cr_assert_eq(zk_get_children(client->zk, path, on_children, client, NULL, NULL, NULL, NULL),
                     0);
        cr_assert(loop_until(client->event, has_counted, client, LIMIT));
        return client->n_children;
}

static void make_directory(Client *client, const char *path, unsigned flags) {
        cr_assert_eq(zk_create(client->zk, path, "", flags, NULL, NULL, NULL), 0);
        (void)count_children(client, path); /* it was served by now */
}

static int thaw(sd_event_source *source, uint64_t usec, void *userdata) {
        (void)source;
        (void)usec;
        zookeeper_server_thaw(userdata);
        return 0;
}

/* The server stands still for a second, and takes one handful after the other afterwards: what it
 * has not read when the connection ends is never done. The loop goes on meanwhile. */
Test(zk_close, what_was_asked_before_is_served_by_a_slow_server) {
        ZooKeeperServer *server = zookeeper_server_new_with(ZOOKEEPER_TICK_MS, THROTTLED);
        Client client = {0}, other = {0};

        client_connect(&client, server);
        make_directory(&client, "/all", 0);
        make_directory(&client, "/mine", ZK_CREATE_EPHEMERAL);
        zookeeper_server_freeze(server);
        ask_for_nodes(&client);
        zk_close(client.zk);
        cr_assert_geq(sd_event_add_time_relative(client.event, NULL, CLOCK_MONOTONIC, USEC_PER_SEC,
                                                 0, thaw, server),
                      0);
        client_await_closed(&client, CLOSE_MAX);
        cr_assert_eq(client.closed, MANY);

        client_connect(&other, server);
        cr_assert_eq(count_children(&other, "/all"), MANY, "only %d of %d", other.n_children, MANY);
        /* in the order of the session's requests: that was ended behind them */
        cr_assert_eq(count_children(&other, "/"), 2, "/all and /zookeeper are left");
        client_close(&other);
        zookeeper_server_free(server);
}

/* Return: it has answered nothing of what was asked. */
static ZooKeeperServer *close_beside_a_silent_server(Client *client) {
        ZooKeeperServer *server = zookeeper_server_new(ZOOKEEPER_TICK_MS);

        client_connect(client, server);
        zookeeper_server_freeze(server);
        ask_for_nodes(client);
        zk_close(client->zk);
        return server;
}

Test(zk_close, a_silent_server_is_not_waited_for_without_end) {
        Client client = {0};
        ZooKeeperServer *server = close_beside_a_silent_server(&client);

        client_await_closed(&client, CLOSE_MAX);
        cr_assert_eq(client.closed, MANY);
        zookeeper_server_free(server);
}

Test(zk_close, without_a_connection_nobody_is_waited_for) {
        ZooKeeperServer *server = zookeeper_server_new(ZOOKEEPER_TICK_MS);
        Client client = {0};

        client_connect(&client, server);
        zookeeper_server_kill(server);
        cr_assert(loop_until(client.event, is_suspended, &client, LIMIT));
        ask_for_nodes(&client);
        zk_close(client.zk);
        client_await_closed(&client, SOON);
        zookeeper_server_free(server);
}

Test(zk_close, a_connection_that_is_lost_meanwhile_ends_the_wait) {
        Client client = {0};
        ZooKeeperServer *server = close_beside_a_silent_server(&client);

        zookeeper_server_kill(server);
        client_await_closed(&client, SOON);
        cr_assert_eq(client.closed, MANY);
        zookeeper_server_free(server);
}

ZOOKEEPER_MAIN;
