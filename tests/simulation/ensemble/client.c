/* See client.h. */
#include "client.h"

#include <glib/gstdio.h>
#include <stdlib.h>

#include "event.h"
#include "handle.h"

#define PATIENCE (120 * USEC_PER_SEC)

struct Site {
        World *world;
        Network *network;
        Ensemble *ensemble;
        char *directory;
        GPtrArray *machines; /* of Machine */
        GPtrArray *clients;  /* of Client */
};

struct Client {
        Site *site;
        Process *process;
        sd_event *event;
        Zk *zk;
        ZkOptions options; /* only while it connects */
        GString *words;
        char *read;
        GPtrArray *watches; /* of ZkWatch */
        ClientAnswer answer;
        unsigned waiting;
};

/* A call into the product on the client's turn. */
typedef struct Call {
        Client *client;
        int (*func)(Client *client, const struct Call *call);
        const char *path, *data;
        int32_t version;
        unsigned flags;
        bool watch;
        int r;
} Call;

/* ---- the site ---- */

static bool ensemble_is_up(void *userdata) {
        const Site *site = userdata;

        for (unsigned i = 0; i < ensemble_size(site->ensemble); i++)
                if (!ensemble_serves(site->ensemble, i))
                        return false;
        return true;
}

Site *site_new(uint64_t seed, const EnsembleOptions *options) {
        Site *site = g_new0(Site, 1);

        site->world = world_new(seed);
        site->network = network_new(site->world);
        site->ensemble = ensemble_new(site->network, options);
        site->directory = g_dir_make_tmp("jobkeeper-site-XXXXXX", NULL);
        site->machines = g_ptr_array_new();
        site->clients = g_ptr_array_new();
        g_assert_true(site_await(site, ensemble_is_up, site, PATIENCE));
        return site;
}

Site *site_free(Site *site) {
        if (!site)
                return NULL;
        while (site->clients->len > 0)
                client_kill(site->clients->pdata[0]);
        g_ptr_array_unref(site->clients);
        for (guint i = 0; i < site->machines->len; i++)
                machine_free(site->machines->pdata[i]);
        g_ptr_array_unref(site->machines);
        ensemble_free(site->ensemble);
        network_free(site->network);
        world_free(site->world);
        machine_remove_tree(site->directory);
        g_free(site->directory);
        g_free(site);
        return NULL;
}

World *site_world(const Site *site) {
        return site->world;
}

Ensemble *site_ensemble(const Site *site) {
        return site->ensemble;
}

Host *site_host(const Site *site, const char *machine) {
        return network_host(site->network, machine);
}

void site_run(const Site *site, usec_t duration) {
        usec_t until = world_now(site->world) + duration;

        while (world_step(site->world, until)) {
        }
}

bool site_await(const Site *site, bool (*condition)(void *userdata), void *userdata, usec_t limit) {
        usec_t until = world_now(site->world) + limit;

        while (!condition(userdata))
                if (!world_step(site->world, until))
                        return false;
        return true;
}

static Machine *site_machine(Site *site, const char *name) {
        g_autofree char *directory = g_build_filename(site->directory, name, NULL);
        Machine *machine;

        for (guint i = 0; i < site->machines->len; i++)
                if (g_str_equal(machine_name(site->machines->pdata[i]), name))
                        return site->machines->pdata[i];
        machine = machine_new(site->world, name, directory);
        g_ptr_array_add(site->machines, machine);
        return machine;
}

/* ---- a client ---- */

static void client_say(Client *client, const char *what, const char *path) {
        g_string_append_printf(client->words, "%s%s%s%s", client->words->len > 0 ? " " : "", what,
                               path ? ":" : "", path ? path : "");
}

static void client_on_state(Zk *zk, ZkState state, void *userdata) {
        static const char *const words[] = {"connecting",  "connected", "suspended", "expired",
                                            "auth-failed", "failed",    "closed"};

        (void)zk;
        client_say(userdata, words[state], NULL);
}

static void client_begin(void *userdata) {
        Client *client = userdata;

        g_assert_cmpint(sd_event_new(&client->event), >=, 0);
        client->options.state = client_on_state;
        client->options.userdata = client;
        g_assert_cmpint(zk_connect(client->event, &client->options, &client->zk), ==, 0);
}

Client *client_new(Site *site, const char *machine, const char *servers, usec_t timeout,
                   const ZkSessionId *session, const char *auth) {
        Client *client = g_new0(Client, 1);

        client->site = site;
        client->process = process_new(site_machine(site, machine));
        client->words = g_string_new(NULL);
        client->watches = g_ptr_array_new();
        client->options = (ZkOptions){
            .servers = servers ? servers : ensemble_addresses(site->ensemble),
            .session_timeout = timeout,
            .session = session,
            .auth = auth,
        };
        g_ptr_array_add(site->clients, client);
        process_do(client->process, client_begin, client);
        return client;
}

static void answer_clear(ClientAnswer *answer) {
        g_free(answer->path);
        g_free(answer->data);
        g_free(answer->children);
        g_free(answer->others);
        *answer = (ClientAnswer){0};
}

static void client_clear(void *userdata) {
        Client *client = userdata;

        for (guint i = 0; i < client->watches->len; i++)
                zk_watch_free(client->watches->pdata[i]);
        g_ptr_array_unref(client->watches);
        client->zk = zk_free(client->zk);
        client->event = sd_event_unref(client->event);
        handles_finish(client->process);
}

Client *client_kill(Client *client) {
        if (!client)
                return NULL;
        process_end(client->process);
        process_do(client->process, client_clear, client);
        g_ptr_array_remove(client->site->clients, client);
        process_free(client->process);
        answer_clear(&client->answer);
        g_string_free(client->words, TRUE);
        g_free(client->read);
        g_free(client);
        return NULL;
}

Zk *client_zk(const Client *client) {
        return client->zk;
}

Process *client_process(const Client *client) {
        return client->process;
}

const char *client_read(Client *client) {
        g_free(client->read);
        client->read = g_strdup(client->words->str);
        g_string_truncate(client->words, 0);
        return client->read;
}

typedef struct Expectation {
        const Client *client;
        ZkState state;
} Expectation;

static bool client_is_in_state(void *userdata) {
        const Expectation *expectation = userdata;

        return zk_state(expectation->client->zk) == expectation->state;
}

bool client_await_state(const Client *client, ZkState state) {
        return site_await(client->site, client_is_in_state, &(Expectation){client, state},
                          PATIENCE);
}

static void client_do_close(void *userdata) {
        zk_close(((Client *)userdata)->zk);
}

static void client_do_abandon(void *userdata) {
        zk_abandon(((Client *)userdata)->zk);
}

void client_close(Client *client) {
        process_do(client->process, client_do_close, client);
}

void client_abandon(Client *client) {
        process_do(client->process, client_do_abandon, client);
}

/* ---- requests ---- */

static void client_on_watch(ZkWatchEvent event, const char *path, void *userdata) {
        static const char *const words[] = {"created", "deleted", "changed", "children"};

        client_say(userdata, words[event], path);
}

static void client_on_reply(const ZkReply *reply, void *userdata) {
        Client *client = userdata;
        ClientAnswer *answer = &client->answer;

        client->waiting--;
        answer_clear(answer);
        answer->code = reply->code;
        answer->path = g_strdup(reply->path);
        answer->data = g_strdup(reply->data);
        answer->others = g_strdup(reply->others);
        answer->stat = reply->stat;
        if (reply->children)
                answer->children = g_strjoinv(",", (char **)(void *)reply->children);
        for (size_t i = 0; i < MIN(reply->n_results, G_N_ELEMENTS(answer->results)); i++)
                answer->results[i] = reply->results[i].code;
        client_say(client, zk_code_to_string(reply->code), NULL);
}

static void client_do_call(void *userdata) {
        Call *call = userdata;

        call->r = call->func(call->client, call);
}

static bool client_is_answered(void *userdata) {
        return ((Client *)userdata)->waiting == 0;
}

static int client_send(const Call *call) {
        Call mutable = *call;

        process_do(call->client->process, client_do_call, &mutable);
        if (mutable.r == 0)
                call->client->waiting++;
        return mutable.r;
}

const ClientAnswer *client_answer(const Client *client) {
        return &client->answer;
}

static ZkCode client_ask(const Call *call) {
        Client *client = call->client;
        usec_t began = world_now(client->site->world);

        if (client_send(call) < 0)
                return ZK_CLOSED;
        g_assert_true(site_await(client->site, client_is_answered, client, PATIENCE));
        client->answer.took = world_now(client->site->world) - began;
        return client->answer.code;
}

static ZkWatch **client_watch(Client *client, bool watch) {
        if (!watch)
                return NULL;
        g_ptr_array_add(client->watches, NULL);
        return (ZkWatch **)&client->watches->pdata[client->watches->len - 1];
}

static int send_create(Client *client, const Call *call) {
        return zk_create(client->zk, call->path, call->data, call->flags, client_on_reply, client,
                         NULL);
}

static int send_delete(Client *client, const Call *call) {
        return zk_delete(client->zk, call->path, call->version, client_on_reply, client, NULL);
}

static int send_set(Client *client, const Call *call) {
        return zk_set(client->zk, call->path, call->data, call->version, client_on_reply, client,
                      NULL);
}

static int send_sync(Client *client, const Call *call) {
        (void)call;
        return zk_sync(client->zk, "/", client_on_reply, client, NULL);
}

static int send_get(Client *client, const Call *call) {
        return zk_get(client->zk, call->path, client_on_reply, client, NULL, client_on_watch,
                      client, client_watch(client, call->watch));
}

static int send_exists(Client *client, const Call *call) {
        return zk_exists(client->zk, call->path, client_on_reply, client, NULL, client_on_watch,
                         client, client_watch(client, call->watch));
}

static int send_list(Client *client, const Call *call) {
        return zk_get_children(client->zk, call->path, client_on_reply, client, NULL,
                               client_on_watch, client, client_watch(client, call->watch));
}

static int send_acl(Client *client, const Call *call) {
        return zk_get_acl(client->zk, call->path, client_on_reply, client, NULL);
}

ZkCode client_create(Client *client, const char *path, const char *data, unsigned flags) {
        return client_ask(&(Call){client, send_create, .path = path, .data = data, .flags = flags});
}

ZkCode client_delete(Client *client, const char *path, int32_t version) {
        return client_ask(&(Call){client, send_delete, .path = path, .version = version});
}

ZkCode client_set(Client *client, const char *path, const char *data, int32_t version) {
        return client_ask(
            &(Call){client, send_set, .path = path, .data = data, .version = version});
}

ZkCode client_sync(Client *client) {
        return client_ask(&(Call){client, send_sync});
}

ZkCode client_get(Client *client, const char *path, bool watch) {
        return client_ask(&(Call){client, send_get, .path = path, .watch = watch});
}

ZkCode client_exists(Client *client, const char *path, bool watch) {
        return client_ask(&(Call){client, send_exists, .path = path, .watch = watch});
}

ZkCode client_list(Client *client, const char *path, bool watch) {
        return client_ask(&(Call){client, send_list, .path = path, .watch = watch});
}

ZkCode client_acl(Client *client, const char *path) {
        return client_ask(&(Call){client, send_acl, .path = path});
}

void client_send_create(Client *client, const char *path, unsigned flags) {
        (void)client_send(&(Call){client, send_create, .path = path, .flags = flags});
}

bool client_waits(const Client *client) {
        return client->waiting > 0;
}
