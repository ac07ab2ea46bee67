/* The server that leads: org.apache.zookeeper.server.quorum.Leader and LearnerHandler.
 *
 * Each write becomes a proposal, which everybody who follows writes down; once a quorum has (the
 * leader among them), it is done: here first, then wherever the word arrives. Who comes to follow
 * is first told all that is done, and all that is proposed. What a new leader finds written down,
 * it proposes anew: so a request that was under way when its leader died is done, if one of the
 * quorum had heard of it. Leaders are numbered (epochs), and whoever has followed one follows none
 * that came before it.
 *
 * A leader does not know whether others still follow. Twice a tick it asks, and when too few have
 * said anything for syncLimit ticks, it gives up. Until then it commits nothing, but answers reads,
 * syncs and pings.
 */
#include "leader-inside.h"

#define INIT_LIMIT 10
/* Between deletions of containers. */
#define CONTAINERS_AT_ONCE 100

/* ---- its time ---- */

static void leader_on_containers(void *userdata) {
        Leader *leader = userdata;
        g_autoptr(GPtrArray) paths = data_tree_empty_containers(leader->server->tree);

        server_after(leader->server, ensemble_options(leader->server->ensemble)->container_interval,
                     leader_on_containers, leader);
        for (guint i = 0; i < MIN(paths->len, CONTAINERS_AT_ONCE); i++) {
                const ZkOp op = {.type = ZK_OP_DELETE, .path = paths->pdata[i], .version = -1};
                _cleanup_(request_unrefp) Request *request =
                    request_new_write(REQUEST_DELETE_CONTAINER, &op, 1);

                leader_submit(leader, request, TXN_NO_ORIGIN);
        }
}

/* Sessions expire when the leader's clock is at a multiple of the tick. */
static void leader_on_expiry(void *userdata) {
        Leader *leader = userdata;
        usec_t tick = ensemble_options(leader->server->ensemble)->tick;
        usec_t now = server_now(leader->server);
        g_autoptr(GArray) expired = session_tracker_expire(leader->tracker, now);

        server_after(leader->server, tick - now % tick, leader_on_expiry, leader);
        for (guint i = 0; i < expired->len; i++) {
                int64_t session = g_array_index(expired, int64_t, i);

                ensemble_say(leader->server, "expires session %" G_GINT64_MODIFIER "x", session);
                leader_close_session(leader, session, 0, TXN_NO_ORIGIN);
        }
}

static void track_session(int64_t session, usec_t timeout, void *userdata) {
        const Leader *leader = userdata;

        session_tracker_add(leader->tracker, session, timeout, server_now(leader->server));
}

/* A quorum follows: what was written down is done, and clients are served. Sessions get their whole
 * time again. */
static void leader_serve(Leader *leader) {
        Server *server = leader->server;
        usec_t tick = ensemble_options(server->ensemble)->tick;

        /* It stood still while they came to follow it, and they have given it up since. */
        if (!ensemble_has_all(server->ensemble, server)) {
                server_look(server, "another one has led meanwhile");
                return;
        }
        ensemble_say(server, "leads");
        leader->serving = true;
        server->epoch = leader->epoch;
        leader->next_zxid = leader->epoch << 32;
        leader_commit(leader);
        data_tree_set_zxid(server->tree, leader->next_zxid);
        data_tree_each_session(server->tree, track_session, leader);
        leader_tell(leader, PACKET_UP_TO_DATE, 0);
        server_after(server, tick - server_now(server) % tick, leader_on_expiry, leader);
        server_after(server, ensemble_options(server->ensemble)->container_interval,
                     leader_on_containers, leader);
}

static unsigned leader_count(const Leader *leader) {
        unsigned count = 1;

        for (guint i = 0; i < leader->learners->len; i++)
                count += ((Learner *)leader->learners->pdata[i])->synced;
        return count;
}

unsigned leader_followers(const Leader *leader) {
        return leader_count(leader) - 1;
}

void leader_consider(Leader *leader) {
        if (!leader->serving && leader_count(leader) >= ensemble_quorum(leader->server->ensemble))
                leader_serve(leader);
}
static bool leader_is_quiet(const Leader *leader, usec_t since) {
        const EnsembleOptions *options = ensemble_options(leader->server->ensemble);

        return server_now(leader->server) > since + options->sync_limit * options->tick;
}

/* Return: false: it leads no more, and is gone. */
static bool leader_check_quorum(Leader *leader) {
        const EnsembleOptions *options = ensemble_options(leader->server->ensemble);
        bool enough;

        for (guint i = leader->learners->len; i-- > 0;)
                if (leader_is_quiet(leader, ((Learner *)leader->learners->pdata[i])->heard))
                        g_ptr_array_remove_index(leader->learners, i);
        enough = leader_count(leader) >= ensemble_quorum(leader->server->ensemble);
        if (leader->serving
                ? enough
                : server_now(leader->server) < leader->since + INIT_LIMIT * options->tick)
                return true;
        server_look(leader->server, "too few follow");
        return false;
}

/* Leader.lead: each half tick it asks, each whole one it counts. */
static void leader_on_half_tick(void *userdata) {
        Leader *leader = userdata;

        leader->half = !leader->half;
        if (!leader->half && !leader_check_quorum(leader))
                return;
        leader_tell(leader, PACKET_PING, 0);
        server_after(leader->server, ensemble_options(leader->server->ensemble)->tick / 2,
                     leader_on_half_tick, leader);
}

/* ---- its life ---- */

static void leader_on_loaded(void *userdata) {
        leader_consider(userdata);
}

Leader *leader_new(Server *server) {
        Leader *leader = g_new0(Leader, 1);

        leader->server = server;
        leader->preparer = preparer_new(server->tree);
        leader->tracker = session_tracker_new(ensemble_options(server->ensemble)->tick);
        leader->learners = g_ptr_array_new_with_free_func(learner_free);
        leader->since = server_now(server);
        leader->epoch = server->accepted = ensemble_next_epoch(server->ensemble);
        if (ensemble_options(server->ensemble)->forgetful) /* before anybody is told of it */
                ensemble_lose_rest(server->ensemble, server);
        g_queue_init(&leader->proposals);
        for (GList *link = server->logged.head; link; link = link->next) {
                Proposal *proposal = g_new0(Proposal, 1);

                proposal->txn = txn_ref(link->data);
                proposal->written = true;
                g_queue_push_tail(&leader->proposals, proposal);
        }
        server_after(server, world_draw_between(server->chance, SYNC_MIN, SYNC_MAX),
                     leader_on_loaded, leader);
        server_after(server, ensemble_options(server->ensemble)->tick / 2, leader_on_half_tick,
                     leader);
        return leader;
}

Leader *leader_free(Leader *leader) {
        if (!leader)
                return NULL;
        g_ptr_array_unref(leader->learners);
        g_queue_clear_full(&leader->proposals, proposal_free);
        session_tracker_free(leader->tracker);
        preparer_free(leader->preparer);
        g_free(leader);
        return NULL;
}

bool leader_serves(const Leader *leader) {
        return leader->serving;
}

void leader_pause(Leader *leader, bool paused) {
        for (guint i = 0; i < leader->learners->len; i++)
                wire_pause(((Learner *)leader->learners->pdata[i])->in, paused);
}
