/* The ensemble as a whole: the history of what was committed, and what befalls servers.
 *
 * What was committed is one sequence for all; a server has done the beginning of it, and has
 * written down some more. So a server that was away is told the rest of the history, and never more
 * than one copy of a transaction is kept. */
#include "ensemble-inside.h"

#include <stdarg.h>

#include "trace.h"

/* So many transactions that everybody has done are forgotten at a time. */
#define FORGET_AT_ONCE 4096

struct Ensemble {
        Network *network;
        EnsembleOptions options;
        char *addresses;
        GPtrArray *servers; /* of Server */
        GPtrArray *history; /* of Transaction */
        size_t forgotten;   /* of the history's beginning */
        GArray *losses;     /* of size_t: how much of the history was left, each time */
        int64_t epoch;
        EnsembleWatcher watcher;
};

static GPtrArray *ensembles; /* of Ensemble, one a world */

/* ---- making ---- */

Ensemble *ensemble_of(const World *world) {
        for (guint i = 0; ensembles && i < ensembles->len; i++) {
                Ensemble *ensemble = ensembles->pdata[i];

                if (network_world(ensemble->network) == world)
                        return ensemble;
        }
        return NULL;
}

static void ensemble_register(Ensemble *ensemble) {
        if (!ensembles)
                ensembles = g_ptr_array_new();
        g_ptr_array_add(ensembles, ensemble);
}

static void ensemble_unregister(Ensemble *ensemble) {
        g_ptr_array_remove(ensembles, ensemble);
        if (ensembles->len == 0)
                g_clear_pointer(&ensembles, g_ptr_array_unref);
}

static void txn_drop(void *txn) {
        (void)txn_unref(txn);
}

static void server_drop(void *server) {
        server_free(server);
}

Ensemble *ensemble_new(Network *network, const EnsembleOptions *options) {
        Ensemble *ensemble = g_new0(Ensemble, 1);
        g_autoptr(GString) addresses = g_string_new(NULL);

        ensemble->network = network;
        ensemble->options = *options;
        if (options->min_timeout == 0)
                ensemble->options.min_timeout = 2 * options->tick;
        if (options->max_timeout == 0)
                ensemble->options.max_timeout = 20 * options->tick;
        ensemble->servers = g_ptr_array_new_with_free_func(server_drop);
        ensemble->history = g_ptr_array_new_with_free_func(txn_drop);
        ensemble->losses = g_array_new(FALSE, FALSE, sizeof(size_t));
        ensemble_register(ensemble);
        for (unsigned i = 0; i < options->n_servers; i++) {
                g_autofree char *name = g_strdup_printf("zk%u", i + 1);

                g_string_append_printf(addresses, "%s%s:2181", i > 0 ? "," : "", name);
                g_ptr_array_add(ensemble->servers,
                                server_new(ensemble, i, network_host(network, name)));
        }
        ensemble->addresses = g_strdup(addresses->str);
        for (unsigned i = 0; i < options->n_servers; i++)
                server_look(ensemble->servers->pdata[i], "it starts");
        return ensemble;
}

Ensemble *ensemble_free(Ensemble *ensemble) {
        if (!ensemble)
                return NULL;
        for (unsigned i = 0; i < ensemble->servers->len; i++)
                server_stop(ensemble->servers->pdata[i]);
        g_ptr_array_unref(ensemble->servers);
        g_ptr_array_unref(ensemble->history);
        g_array_unref(ensemble->losses);
        ensemble_unregister(ensemble);
        g_free(ensemble->addresses);
        g_free(ensemble);
        return NULL;
}

void ensemble_watch(Ensemble *ensemble, const EnsembleWatcher *watcher) {
        ensemble->watcher = watcher ? *watcher : (EnsembleWatcher){0};
}

const EnsembleWatcher *ensemble_watcher(const Ensemble *ensemble) {
        return &ensemble->watcher;
}

Network *ensemble_network(const Ensemble *ensemble) {
        return ensemble->network;
}

const EnsembleOptions *ensemble_options(const Ensemble *ensemble) {
        return &ensemble->options;
}

const char *ensemble_addresses(const Ensemble *ensemble) {
        return ensemble->addresses;
}

unsigned ensemble_size(const Ensemble *ensemble) {
        return ensemble->servers->len;
}

Server *ensemble_server(const Ensemble *ensemble, unsigned index) {
        return ensemble->servers->pdata[index];
}

unsigned ensemble_quorum(const Ensemble *ensemble) {
        return ensemble->options.n_servers / 2 + 1;
}

void ensemble_say(const Server *server, const char *format, ...) {
        g_autofree char *text = NULL;
        va_list arguments;

        if (!trace_is_on())
                return;
        va_start(arguments, format);
        text = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        trace_write(host_name(server->host), "%s", text);
}

Wire *ensemble_connect(Ensemble *ensemble, unsigned server, Host *host, Wire *out) {
        Server *one = ensemble_server(ensemble, server);

        if (one->state == SERVER_DOWN && !host_is_down(one->host) &&
            !network_is_cut(host, one->host) && !network_is_cut(one->host, host))
                return NULL;
        return connection_open(one, host, out);
}

/* ---- the history ---- */

Transaction *ensemble_history(const Ensemble *ensemble, size_t position) {
        return ensemble->history->pdata[position - ensemble->forgotten];
}

static void ensemble_forget(Ensemble *ensemble) {
        size_t least = SIZE_MAX;

        for (guint i = 0; i < ensemble->servers->len; i++)
                least = MIN(least, forgetting_position(ensemble_server(ensemble, i)));
        if (least - ensemble->forgotten < FORGET_AT_ONCE)
                return;
        g_ptr_array_remove_range(ensemble->history, 0, (guint)(least - ensemble->forgotten));
        ensemble->forgotten = least;
}

void ensemble_commit(Ensemble *ensemble, const Server *leader, Transaction *txn) {
        if (leader->lineage != ensemble_lineage(ensemble))
                return; /* of a history that is none any more */
        if (leader->position < ensemble_committed(ensemble)) {
                /* Its successor has done the same meanwhile. */
                g_assert_true(ensemble_history(ensemble, leader->position) == txn);
                return;
        }
        if (ensemble->watcher.committed)
                ensemble->watcher.committed(txn, leader->tree, ensemble->watcher.userdata);
        g_ptr_array_add(ensemble->history, txn_ref(txn));
        if (ensemble->history->len % FORGET_AT_ONCE == 0)
                ensemble_forget(ensemble);
}

unsigned ensemble_lineage(const Ensemble *ensemble) {
        return ensemble->losses->len;
}

/* Return: how much of the history the leader has, done or written down. */
static size_t ensemble_common(const Ensemble *ensemble, const Server *leader) {
        size_t committed = ensemble_committed(ensemble), common = leader->position;

        for (guint i = leader->lineage; i < ensemble->losses->len; i++)
                common = MIN(common, g_array_index(ensemble->losses, size_t, i));
        if (common < leader->position)
                return common;
        for (GList *link = leader->logged.head; link && common < committed; link = link->next) {
                if (ensemble_history(ensemble, common) != link->data)
                        break;
                common++;
        }
        return common;
}

bool ensemble_has_all(const Ensemble *ensemble, const Server *server) {
        return server->lineage == ensemble_lineage(ensemble) &&
               ensemble_common(ensemble, server) == ensemble_committed(ensemble);
}

void ensemble_lose_rest(Ensemble *ensemble, Server *leader) {
        size_t common = ensemble_common(ensemble, leader),
               lost = ensemble_committed(ensemble) - common;

        if (ensemble_has_all(ensemble, leader))
                return;
        ensemble_say(leader, "has not %zu transactions that were confirmed: they are lost", lost);
        g_ptr_array_set_size(ensemble->history, (gint)(common - ensemble->forgotten));
        g_array_append_val(ensemble->losses, common);
        leader->position = MIN(leader->position, common);
        leader->lineage = ensemble_lineage(ensemble);
}

int64_t ensemble_next_epoch(Ensemble *ensemble) {
        return ++ensemble->epoch;
}

size_t ensemble_committed(const Ensemble *ensemble) {
        return ensemble->forgotten + ensemble->history->len;
}

const DataTree *ensemble_tree(const Ensemble *ensemble) {
        const Server *newest = ensemble_server(ensemble, 0);

        for (guint i = 1; i < ensemble->servers->len; i++) {
                const Server *server = ensemble_server(ensemble, i);

                if (server->lineage != newest->lineage ? server->lineage > newest->lineage
                                                       : server->position > newest->position)
                        newest = server;
        }
        return newest->tree;
}

/* ---- faults ---- */

Host *ensemble_host(const Ensemble *ensemble, unsigned server) {
        return ensemble_server(ensemble, server)->host;
}

bool ensemble_is_running(const Ensemble *ensemble, unsigned server) {
        return ensemble_server(ensemble, server)->state != SERVER_DOWN;
}

void ensemble_kill(Ensemble *ensemble, unsigned server) {
        ensemble_say(ensemble_server(ensemble, server), "is killed");
        server_stop(ensemble_server(ensemble, server));
}

void ensemble_crash(Ensemble *ensemble, unsigned server) {
        ensemble_say(ensemble_server(ensemble, server), "crashes");
        host_crash(ensemble_host(ensemble, server));
        server_stop(ensemble_server(ensemble, server));
}

void ensemble_start(Ensemble *ensemble, unsigned server) {
        Server *one = ensemble_server(ensemble, server);

        if (one->state != SERVER_DOWN)
                return;
        if (host_is_down(one->host))
                host_boot(one->host);
        server_look(one, "it starts");
}

void ensemble_freeze(Ensemble *ensemble, unsigned server) {
        if (!ensemble_is_running(ensemble, server))
                return;
        ensemble_say(ensemble_server(ensemble, server), "is frozen");
        server_freeze(ensemble_server(ensemble, server), true);
}

void ensemble_thaw(Ensemble *ensemble, unsigned server) {
        ensemble_say(ensemble_server(ensemble, server), "goes on");
        server_freeze(ensemble_server(ensemble, server), false);
}

void ensemble_set_disk(Ensemble *ensemble, unsigned server, usec_t delay) {
        ensemble_server(ensemble, server)->disk_delay = delay;
}

void ensemble_set_lag(Ensemble *ensemble, unsigned server, usec_t lag) {
        Server *one = ensemble_server(ensemble, server);

        one->lag = lag;
        if (one->follower)
                follower_lag(one->follower);
}

void ensemble_part(Ensemble *ensemble, unsigned one, unsigned other, bool parted) {
        Host *a = ensemble_host(ensemble, one), *b = ensemble_host(ensemble, other);

        if (parted) {
                network_cut(a, b);
                network_cut(b, a);
        } else {
                network_mend(a, b);
                network_mend(b, a);
        }
}

bool ensemble_end_session(Ensemble *ensemble, int64_t session) {
        int leader = ensemble_leader(ensemble);

        if (leader < 0)
                return false;
        leader_close_session(ensemble_server(ensemble, (unsigned)leader)->leader, session, 0,
                             TXN_BY_HAND);
        return true;
}

static bool ensemble_submit(Ensemble *ensemble, RequestType type, const ZkOp *op) {
        _cleanup_(request_unrefp) Request *request = request_new_write(type, op, 1);
        int leader = ensemble_leader(ensemble);

        if (leader < 0)
                return false;
        leader_submit(ensemble_server(ensemble, (unsigned)leader)->leader, request, TXN_BY_HAND);
        return true;
}

bool ensemble_delete(Ensemble *ensemble, const char *path) {
        return ensemble_submit(ensemble, REQUEST_DELETE,
                               &(ZkOp){.type = ZK_OP_DELETE, .path = path, .version = -1});
}

bool ensemble_write(Ensemble *ensemble, const char *path, const char *data, int32_t version) {
        return ensemble_submit(
            ensemble, REQUEST_SET,
            &(ZkOp){.type = ZK_OP_SET, .path = path, .data = data, .version = version});
}

/* What was committed is one sequence still: all have come to its end, and something else is there.
 */
static void ensemble_replace_server(Ensemble *ensemble, Server *server, const DataTree *tree) {
        ensemble_say(server, tree ? "is set back" : "is emptied");
        server_stop(server);
        g_queue_clear_full(&server->logged, txn_drop);
        data_tree_free(server->tree);
        server->tree = tree ? data_tree_copy(tree) : data_tree_new();
        server->position = ensemble_committed(ensemble);
        server->lineage = ensemble_lineage(ensemble);
        server->epoch = server->accepted = ensemble->epoch;
}

void ensemble_replace(Ensemble *ensemble, const DataTree *tree) {
        for (guint i = 0; i < ensemble->servers->len; i++)
                ensemble_replace_server(ensemble, ensemble_server(ensemble, i), tree);
}

void ensemble_break_connections(Ensemble *ensemble, const char *host, bool arrives) {
        for (unsigned i = 0; i < ensemble_size(ensemble); i++)
                network_break(network_host(ensemble->network, host), ensemble_host(ensemble, i),
                              arrives);
}

/* ---- who knows ---- */

int ensemble_leader(const Ensemble *ensemble) {
        for (guint i = 0; i < ensemble->servers->len; i++) {
                const Server *server = ensemble_server(ensemble, i);

                if (server->leader && leader_serves(server->leader) && !server->frozen)
                        return (int)i;
        }
        return -1;
}

bool ensemble_serves(const Ensemble *ensemble, unsigned server) {
        return server_serves(ensemble_server(ensemble, server));
}
