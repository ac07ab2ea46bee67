/* Credentials: what is made with them is out of reach for who has none, or others; they hold over a
 * reconnect; a server that refuses them is told from one that is silent; and they are never logged.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "helper-acl.h"
#include "helper-proxy.h"
#include "helper-zookeeper-main.h"
#include "session.h"
#include "zk-request.h"

#define LIMIT (20 * USEC_PER_SEC)
#define OURS "jobkeeper:correct horse battery staple"
#define THEIRS "jobkeeper:wrong horse"

typedef struct Client Client;

struct Client {
        sd_event *event;
        Zk *zk;
        unsigned states[ZK_STATE_CLOSED + 1];
        void (*connected)(Client *client); /* is called within the callback, or NULL */
        GString *log;
};

static void on_state(Zk *zk, ZkState state, void *userdata) {
        Client *client = userdata;

        (void)zk;
        client->states[state]++;
        if (state == ZK_STATE_CONNECTED && client->connected)
                client->connected(client);
}

static void on_log(int priority, const char *message, void *userdata) {
        Client *client = userdata;

        (void)priority;
        g_string_append(client->log, message);
}

typedef struct Expect {
        const Client *client;
        ZkState state;
        unsigned count;
} Expect;

static bool was_in_state(void *userdata) {
        const Expect *expect = userdata;

        return expect->client->states[expect->state] >= expect->count;
}

static void await_state(Client *client, ZkState state, unsigned count) {
        cr_assert(loop_until(client->event, was_in_state, &(Expect){client, state, count}, LIMIT),
                  "state %d did not come: %s", state, client->log->str);
}

static void client_begin(Client *client) {
        int r;

        *client = (Client){.log = g_string_new(NULL)};
        r = sd_event_new(&client->event);
        cr_assert_geq(r, 0);
}

static void client_open(Client *client, const char *servers, const char *auth) {
        int r;

        r = zk_connect(client->event,
                       &(ZkOptions){
                           .servers = servers,
                           .session_timeout = 4 * USEC_PER_SEC,
                           .auth = auth,
                           .log = on_log,
                           .state = on_state,
                           .userdata = client,
                       },
                       &client->zk);
        cr_assert_eq(r, 0);
}

static void client_connect(Client *client, const char *auth) {
        client_begin(client);
        client_open(client, zookeeper_shared(), auth);
        await_state(client, ZK_STATE_CONNECTED, 1);
}

static void client_free(Client *client) {
        client->zk = zk_free(client->zk);
        client->event = sd_event_unref(client->event);
        cr_assert_null(strstr(client->log->str, "horse"), "%s", client->log->str);
        g_string_free(client->log, TRUE);
}

static void client_close(Client *client) {
        zk_close(client->zk);
        await_state(client, ZK_STATE_CLOSED, 1);
        client_free(client);
}

typedef struct Answer {
        bool come;
        ZkCode code;
} Answer;

static void on_reply(const ZkReply *reply, void *userdata) {
        *(Answer *)userdata = (Answer){true, reply->code};
}

static bool has_come(void *userdata) {
        return ((Answer *)userdata)->come;
}

static ZkCode code_of(Client *client, int sent, Answer *answer) {
        cr_assert_eq(sent, 0, "not sent: %d", sent);
        cr_assert(loop_until(client->event, has_come, answer, LIMIT), "no answer");
        return answer->code;
}

static ZkCode create(Client *client, const char *path, unsigned flags) {
        Answer answer = {0};

        return code_of(client, zk_create(client->zk, path, "x", flags, on_reply, &answer, NULL),
                       &answer);
}

static ZkCode get(Client *client, const char *path) {
        Answer answer = {0};

        return code_of(client, zk_get(client->zk, path, on_reply, &answer, NULL, NULL, NULL, NULL),
                       &answer);
}

static ZkCode list(Client *client, const char *path) {
        Answer answer = {0};

        return code_of(client,
                       zk_get_children(client->zk, path, on_reply, &answer, NULL, NULL, NULL, NULL),
                       &answer);
}

static ZkCode set(Client *client, const char *path) {
        Answer answer = {0};

        return code_of(client, zk_set(client->zk, path, "y", -1, on_reply, &answer, NULL), &answer);
}

static ZkCode delete (Client *client, const char *path) {
        Answer answer = {0};

        return code_of(client, zk_delete(client->zk, path, -1, on_reply, &answer, NULL), &answer);
}

/* The directory is as closed as the node: who may write to it could delete the node. */
static void check_is_shut_out(Client *client, const char *directory, const char *node) {
        g_autofree char *other = g_strconcat(directory, "/other", NULL);

        cr_assert_eq(get(client, node), ZK_NO_AUTH);
        cr_assert_eq(set(client, node), ZK_NO_AUTH);
        cr_assert_eq(delete (client, node), ZK_NO_AUTH);
        cr_assert_eq(list(client, directory), ZK_NO_AUTH);
        cr_assert_eq(create(client, other, 0), ZK_NO_AUTH);
}

Test(zk_auth, nodes_made_with_a_secret_are_shut_for_who_has_none_or_another) {
        Client owner, same, other, none;

        client_connect(&owner, OURS);
        client_connect(&same, OURS);
        client_connect(&other, THEIRS);
        client_connect(&none, NULL);
        cr_assert_eq(create(&owner, "/shut", 0), ZK_OK);
        cr_assert_eq(create(&owner, "/shut/a", ZK_CREATE_EPHEMERAL), ZK_OK);
        check_is_shut_out(&other, "/shut", "/shut/a");
        check_is_shut_out(&none, "/shut", "/shut/a");
        cr_assert_eq(get(&same, "/shut/a"), ZK_OK);
        cr_assert_eq(set(&same, "/shut/a"), ZK_OK);
        cr_assert_eq(list(&same, "/shut"), ZK_OK);
        cr_assert_eq(delete (&same, "/shut/a"), ZK_OK);
        client_close(&none);
        client_close(&other);
        client_close(&same);
        client_close(&owner);
}

Test(zk_auth, what_a_transaction_makes_is_shut_too) {
        const ZkOp ops[] = {{.type = ZK_OP_CREATE, .path = "/multi", .data = "x"},
                            {.type = ZK_OP_CREATE, .path = "/multi/a", .data = "x"}};
        Client owner, none;
        Answer answer = {0};

        client_connect(&owner, OURS);
        client_connect(&none, NULL);
        cr_assert_eq(code_of(&owner, zk_multi(owner.zk, ops, 2, on_reply, &answer, NULL), &answer),
                     ZK_OK);
        check_is_shut_out(&none, "/multi", "/multi/a");
        cr_assert_eq(get(&owner, "/multi/a"), ZK_OK);
        client_close(&none);
        client_close(&owner);
}

Test(zk_auth, containers_are_shut_too) {
        Client owner, none;

        client_connect(&owner, OURS);
        client_connect(&none, NULL);
        cr_assert_eq(create(&owner, "/container", ZK_CREATE_CONTAINER), ZK_OK);
        cr_assert_eq(create(&owner, "/container/a", ZK_CREATE_EPHEMERAL), ZK_OK);
        check_is_shut_out(&none, "/container", "/container/a");
        client_close(&none);
        client_close(&owner);
}

Test(zk_auth, without_a_secret_nodes_are_open) {
        Client owner, none;

        client_connect(&owner, NULL);
        client_connect(&none, THEIRS);
        cr_assert_eq(create(&owner, "/open", 0), ZK_OK);
        cr_assert_eq(create(&owner, "/open/a", ZK_CREATE_EPHEMERAL), ZK_OK);
        cr_assert_eq(get(&none, "/open/a"), ZK_OK);
        cr_assert_eq(delete (&none, "/open/a"), ZK_OK);
        client_close(&none);
        client_close(&owner);
}

/* The first request after each reconnect, and those that waited for it, need the secret. */
typedef struct Rights {
        Answer answer;
        char *others;
} Rights;

static void on_rights(const ZkReply *reply, void *userdata) {
        Rights *rights = userdata;

        rights->answer = (Answer){true, reply->code};
        rights->others = g_strdup(reply->others);
}

static void expect_others(Client *client, const char *path, ZkCode code, const char *others) {
        Rights rights = {0};

        cr_expect_eq(
            code_of(client, zk_get_acl(client->zk, path, on_rights, &rights, NULL), &rights.answer),
            code, "%s", path);
        cr_expect_str_eq(rights.others, others, "%s", path);
        g_free(rights.others);
}

Test(zk_auth, who_else_may_change_a_node_is_told) {
        Client ours, theirs, none;

        client_connect(&ours, OURS);
        client_connect(&theirs, "mallory:x");
        client_connect(&none, NULL);
        cr_assert_eq(create(&ours, "/rights-ours", 0), ZK_OK);
        cr_assert_eq(create(&theirs, "/rights-theirs", 0), ZK_OK);
        cr_assert_eq(create(&none, "/rights-open", 0), ZK_OK);
        expect_others(&ours, "/rights-ours", ZK_OK, "");
        expect_others(&ours, "/rights-theirs", ZK_NO_AUTH, "");
        expect_others(&ours, "/rights-open", ZK_OK, "world:anyone");
        expect_others(&none, "/rights-open", ZK_OK, "world:anyone");
        expect_others(&ours, "/nothing", ZK_NO_NODE, "");
        acl_set(zookeeper_shared(), "/rights-open", 1); /* read */
        expect_others(&ours, "/rights-open", ZK_OK, "");
        client_close(&ours);
        client_close(&theirs);
        client_close(&none);
}

Test(zk_auth, the_secret_holds_after_every_reconnect) {
        Client owner;
        Proxy *proxy = NULL;

        client_connect(&owner, OURS);
        cr_assert_eq(create(&owner, "/again", 0), ZK_OK);
        client_close(&owner);

        client_begin(&owner);
        proxy = proxy_new(owner.event, zookeeper_shared());
        client_open(&owner, proxy_address(proxy), OURS);
        await_state(&owner, ZK_STATE_CONNECTED, 1);
        for (unsigned i = 1; i <= 5; i++) {
                Answer early = {0};

                proxy_cut(proxy);
                await_state(&owner, ZK_STATE_SUSPENDED, i);
                cr_assert_eq(zk_get(owner.zk, "/again", on_reply, &early, NULL, NULL, NULL, NULL),
                             0);
                await_state(&owner, ZK_STATE_CONNECTED, i + 1);
                cr_assert_eq(create(&owner, "/again/a", ZK_CREATE_EPHEMERAL), ZK_OK);
                cr_assert_eq(get(&owner, "/again/a"), ZK_OK);
                cr_assert_eq(delete (&owner, "/again/a"), ZK_OK);
                cr_assert(early.come);
                cr_assert_neq(early.code, ZK_NO_AUTH);
        }
        proxy_cut(proxy);
        proxy_admit(proxy, false);
        zk_close(owner.zk);
        await_state(&owner, ZK_STATE_CLOSED, 1);
        (void)proxy_free(proxy);
        client_free(&owner);
}

Test(zk_auth, many_connections_one_after_another_have_it_from_the_first_request) {
        Client owner;

        client_connect(&owner, OURS);
        cr_assert_eq(create(&owner, "/first", 0), ZK_OK);
        client_close(&owner);
        for (size_t i = 0; i < 20; i++) {
                client_connect(&owner, OURS);
                cr_assert_eq(get(&owner, "/first"), ZK_OK);
                client_close(&owner);
        }
}

Test(zk_auth, what_is_no_user_and_password_is_refused) {
        static const char *const bad[] = {"", "user", ":password"};
        sd_event *event = NULL;
        Zk *zk = NULL;

        cr_assert_geq(sd_event_new(&event), 0);
        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
                cr_assert_eq(zk_connect(event,
                                        &(ZkOptions){.servers = zookeeper_shared(),
                                                     .session_timeout = USEC_PER_SEC,
                                                     .auth = bad[i]},
                                        &zk),
                             -EINVAL, "\"%s\"", bad[i]);
        cr_assert_null(zk);
        sd_event_unref(event);
}

/* The loop hears of the refusal later than the library's thread does, which is awaited here within
 * the loop's turn. That nothing is left behind is for the leak check at the process's end to see.
 */
static void ask_when_refused(Client *client) {
        const ZkOp check = {.type = ZK_OP_CHECK, .path = "/", .version = -1};
        zhandle_t *library = zk_requests(client->zk)->handle;
        usec_t until = usec_add(clock_monotonic(), LIMIT);

        while (zoo_state(library) != ZOO_AUTH_FAILED_STATE) {
                cr_assert_lt(clock_monotonic(), until, "no refusal");
                g_usleep(USEC_PER_MSEC);
        }
        cr_expect_eq(zk_state(client->zk), ZK_STATE_CONNECTED);
        cr_expect_eq(zk_multi(client->zk, &check, 1, on_reply, NULL, NULL), -ENOTCONN);
        cr_expect_eq(zk_create(client->zk, "/x", NULL, 0, on_reply, NULL, NULL), -ENOTCONN);
}

static void on_session_event(Session *session, SessionEvent event, void *userdata) {
        unsigned *events = userdata;

        (void)session;
        events[event]++;
}

static bool has_fault(void *userdata) {
        return ((unsigned *)userdata)[SESSION_EVENT_FAULT] > 0;
}

static bool is_closed(void *userdata) {
        return ((unsigned *)userdata)[SESSION_EVENT_CLOSED] > 0;
}

/* A server that knows no passwords. */
Test(zk_auth, a_server_that_refuses_the_credentials_is_told_from_a_silent_one, .timeout = 120) {
        ZooKeeperServer *server;
        Client client;
        Session *session = NULL;
        unsigned events[SESSION_EVENT_CLOSED + 1] = {0};

        setenv("JAVA_TOOL_OPTIONS", "-Dzookeeper.DigestAuthenticationProvider.enabled=false", 1);
        server = zookeeper_server_new(ZOOKEEPER_TICK_MS);
        client_begin(&client);
        client.connected = ask_when_refused;
        client_open(&client, zookeeper_server_address(server), OURS);
        await_state(&client, ZK_STATE_AUTH_FAILED, 1);
        cr_assert_eq(client.states[ZK_STATE_CONNECTED], 1);
        cr_assert_eq(zk_create(client.zk, "/x", NULL, 0, on_reply, NULL, NULL), -ENOTCONN);

        cr_assert_eq(
            session_new(client.event,
                        &(SessionOptions){.servers = zookeeper_server_address(server),
                                          .session_timeout = 4 * USEC_PER_SEC,
                                          .rule = {.tick_time = ZOOKEEPER_TICK_MS * USEC_PER_MSEC,
                                                   .sync_limit = 1,
                                                   .heartbeat = 200 * USEC_PER_MSEC,
                                                   .fence_budget = 500 * USEC_PER_MSEC},
                                          .auth = OURS},
                        on_session_event, events, &session),
            0);
        cr_assert(loop_until(client.event, has_fault, events, LIMIT));
        cr_assert_not_null(strstr(session_fault(session), "credentials"), "%s",
                           session_fault(session));
        cr_assert_eq(events[SESSION_EVENT_CONNECTED], 0);
        session_close(session);
        cr_assert(loop_until(client.event, is_closed, events, LIMIT));
        session = session_free(session);
        client_close(&client);
        (void)zookeeper_server_free(server);
}

ZOOKEEPER_MAIN;
