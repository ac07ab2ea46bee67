/* What every server has: its disk, its timers, and what it is at the moment.
 *
 * A frozen server does nothing: its timers wait, and so does what is sent to it. When it goes on it
 * believes what it believed before, until something tells it otherwise. */
#include "server.h"

#include "ensemble-inside.h"

struct ServerTimer {
        Server *server;
        WorldTask *task; /* NULL: it was due while the server was frozen */
        WorldFunc func;
        void *userdata;
        GList link;
};

Server *server_new(Ensemble *ensemble, unsigned index, Host *host) {
        Server *server = g_new0(Server, 1);
        g_autofree char *stream = g_strdup_printf("server %s", host_name(host));

        server->ensemble = ensemble;
        server->index = index;
        server->host = host;
        server->chance = world_chance_new(network_world(host_network(host)), stream);
        server->phase = world_draw_between(server->chance, 0, ensemble_options(ensemble)->tick);
        server->tree = data_tree_new();
        g_queue_init(&server->logged);
        g_queue_init(&server->timers);
        g_queue_init(&server->connections);
        server->watches = watch_table_new();
        server->by_session = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
        return server;
}

static void txn_drop(void *txn) {
        (void)txn_unref(txn);
}

Server *server_free(Server *server) {
        if (!server)
                return NULL;
        server_stop(server);
        forgetting_free(server->forgetting);
        g_queue_clear_full(&server->logged, txn_drop);
        data_tree_free(server->tree);
        watch_table_free(server->watches);
        g_hash_table_unref(server->by_session);
        world_chance_free(server->chance);
        g_free(server);
        return NULL;
}

World *server_world(const Server *server) {
        return network_world(host_network(server->host));
}

usec_t server_now(const Server *server) {
        return world_now(server_world(server)) + server->phase;
}

int64_t server_time_ms(const Server *server) {
        return (int64_t)((ENSEMBLE_EPOCH * USEC_PER_SEC + world_now(server_world(server))) /
                         USEC_PER_MSEC);
}

int64_t server_logged_zxid(const Server *server) {
        const Transaction *last = g_queue_peek_tail((GQueue *)&server->logged);

        return last ? last->zxid : data_tree_zxid(server->tree);
}

bool server_is_behind(const Server *server, int64_t epoch, int64_t zxid) {
        return epoch != server->epoch ? epoch > server->epoch : zxid > server_logged_zxid(server);
}

bool server_serves(const Server *server) {
        return (server->leader && leader_serves(server->leader)) ||
               (server->follower && follower_serves(server->follower));
}

/* ---- timers ---- */

static void server_on_timer(void *userdata) {
        ServerTimer *timer = userdata;
        WorldFunc func = timer->func;
        void *func_userdata = timer->userdata;

        timer->task = NULL;
        if (timer->server->frozen)
                return;
        server_timer_free(timer);
        func(func_userdata);
}

ServerTimer *server_after(Server *server, usec_t delay, WorldFunc func, void *userdata) {
        ServerTimer *timer = g_new0(ServerTimer, 1);

        timer->server = server;
        timer->func = func;
        timer->userdata = userdata;
        timer->link.data = timer;
        g_queue_push_tail_link(&server->timers, &timer->link);
        timer->task = world_after(server_world(server), delay, server_on_timer, timer);
        return timer;
}

ServerTimer *server_timer_free(ServerTimer *timer) {
        if (!timer)
                return NULL;
        world_task_free(timer->task);
        g_queue_unlink(&timer->server->timers, &timer->link);
        g_free(timer);
        return NULL;
}

/* ---- what it is ---- */

/* Clients are let go before anything else: nothing more is said to them. */
static void server_let_go(Server *server) {
        while (server->connections.head)
                connection_end(server->connections.head->data);
        server->leader = leader_free(server->leader);
        server->follower = follower_free(server->follower);
        while (server->timers.head)
                server_timer_free(server->timers.head->data);
}

void server_look(Server *server, const char *why) {
        server_let_go(server);
        ensemble_say(server, "looks for a leader: %s", why);
        server->state = SERVER_LOOKING;
        election_begin(server);
}

void server_stop(Server *server) {
        server_let_go(server);
        server->state = SERVER_DOWN;
        server->frozen = false;
        forgetting_strike(server);
}

void server_freeze(Server *server, bool frozen) {
        server->frozen = frozen;
        for (GList *link = server->connections.head; link; link = link->next)
                connection_pause(link->data, frozen);
        if (server->leader)
                leader_pause(server->leader, frozen);
        if (server->follower)
                follower_pause(server->follower, frozen);
        for (GList *link = server->timers.head; link && !frozen; link = link->next) {
                ServerTimer *timer = link->data;

                if (!timer->task)
                        timer->task = world_after(server_world(server), 0, server_on_timer, timer);
        }
}

/* ---- transactions ---- */

static void server_on_change(ZkWatchEvent event, const TreeNode *node, void *userdata) {
        const Server *server = userdata;

        watch_table_fire(server->watches, event, node);
}

void server_apply(Server *server, Transaction *txn) {
        _cleanup_(txn_result_freep) TransactionResult *result =
            data_tree_apply(server->tree, txn, server_on_change, server);

        g_assert_true(server->lineage != ensemble_lineage(server->ensemble) ||
                      ensemble_history(server->ensemble, server->position) == txn);
        server->position++;
        connection_on_applied(server, txn, result);
}

void server_catch_up(Server *server, size_t position) {
        while (server->position < position)
                server_apply(server, ensemble_history(server->ensemble, server->position));
}

/* ---- what it asks its leader ---- */

void server_submit(Server *server, Request *request) {
        Packet *packet;

        if (server->leader) {
                leader_submit(server->leader, request, server->index);
                return;
        }
        packet = packet_new(PACKET_REQUEST);
        packet->request = request_ref(request);
        follower_send(server->follower, packet);
}

/* LeaderZooKeeperServer's CommitProcessor does not wait: a leader's own clients are told at once.
 */
void server_flush(Server *server, int64_t session, uint64_t xid) {
        Packet *packet;

        if (server->leader) {
                leader_flush_here(server->leader, session, xid);
                return;
        }
        packet = packet_new(PACKET_FLUSH);
        packet->session = session;
        packet->xid = xid;
        follower_send(server->follower, packet);
}

void server_revalidate(Server *server, int64_t session, uint64_t xid, usec_t timeout) {
        Packet *packet;

        if (server->leader) {
                connection_on_revalidated(
                    server, session, xid,
                    leader_revalidate(server->leader, server->index, session, timeout));
                return;
        }
        packet = packet_new(PACKET_REVALIDATE);
        packet->session = session;
        packet->xid = xid;
        packet->timeout = timeout;
        follower_send(server->follower, packet);
}

void server_touch(Server *server, int64_t session, usec_t timeout) {
        if (server->leader)
                leader_touch(server->leader, session, timeout);
        else
                follower_heard(server->follower, session, timeout);
}
