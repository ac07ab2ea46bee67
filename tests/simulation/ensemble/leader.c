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
#include "ensemble-inside.h"

#include "disk.h"
#include "prepare.h"
#include "session-tracker.h"

/* Writing down, with fsync. */
#define DISK_MIN 50
#define DISK_MAX 400
/* What it takes to have somebody follow: reading, comparing, sending what is missing. */
#define SYNC_MIN (5 * USEC_PER_MSEC)
#define SYNC_MAX (150 * USEC_PER_MSEC)
#define INIT_LIMIT 10
/* Between deletions of containers. */
#define CONTAINERS_AT_ONCE 100

/* Who follows, as the leader sees it. */
typedef struct Learner {
        Leader *leader;
        unsigned index;
        Wire *in, *out;
        bool told;   /* what there is; from then on it is told of all that comes */
        bool synced; /* and has written it down */
        usec_t heard;
        ServerTimer *telling;
} Learner;

/* A client's sync, to be answered once what was proposed before it is done. */
typedef struct Flush {
        unsigned origin;
        int64_t session;
        uint64_t xid;
} Flush;

typedef struct Proposal {
        Transaction *txn;
        bool written;        /* by the leader */
        uint64_t written_by; /* bits: by who follows */
        GArray *flushes;     /* of Flush; NULL: none */
} Proposal;

struct Leader {
        Server *server;
        bool serving;
        int64_t epoch; /* its number among all leaders */
        Preparer *preparer;
        SessionTracker *tracker;
        GPtrArray *learners; /* of Learner */
        GQueue proposals;    /* of Proposal, those not done */
        int64_t next_zxid;
        Disk disk;
        usec_t since;
        bool half; /* between two ticks */
};

/* ---- proposals ---- */

static void proposal_free(void *data) {
        Proposal *proposal = data;

        if (proposal->flushes)
                g_array_unref(proposal->flushes);
        (void)txn_unref(proposal->txn);
        g_free(proposal);
}

static Learner *leader_learner(const Leader *leader, unsigned index) {
        for (guint i = 0; i < leader->learners->len; i++) {
                Learner *learner = leader->learners->pdata[i];

                if (learner->index == index)
                        return learner;
        }
        return NULL;
}

static void leader_tell(const Leader *leader, PacketType type, int64_t zxid) {
        for (guint i = 0; i < leader->learners->len; i++) {
                const Learner *learner = leader->learners->pdata[i];
                Packet *packet;

                if (!learner->told)
                        continue;
                packet = packet_new(type);
                packet->zxid = zxid;
                wire_send(learner->out, packet);
        }
}

static void learner_propose(const Learner *learner, Transaction *txn) {
        Packet *packet = packet_new(PACKET_PROPOSAL);

        packet->txn = txn_ref(txn);
        wire_send(learner->out, packet);
}

static void leader_flushed(const Leader *leader, const Flush *flush) {
        const Learner *learner = leader_learner(leader, flush->origin);
        Packet *packet;

        if (!learner)
                return;
        packet = packet_new(PACKET_FLUSHED);
        packet->session = flush->session;
        packet->xid = flush->xid;
        wire_send(learner->out, packet);
}

/* The same for a client of the leader's own. */
static void leader_flushed_here(const Leader *leader, const Flush *flush) {
        if (flush->origin == leader->server->index)
                connection_on_flushed(leader->server, flush->session, flush->xid);
}

/* What the transaction means for sessions. */
static void leader_note_session(const Leader *leader, const Transaction *txn) {
        if (txn->of == REQUEST_CLOSE)
                session_tracker_remove(leader->tracker, txn->session);
}

static void leader_do(Leader *leader, Proposal *proposal) {
        Server *server = leader->server;

        g_assert_true(g_queue_pop_head(&server->logged) == proposal->txn);
        ensemble_commit(server->ensemble, server, proposal->txn);
        leader_tell(leader, PACKET_COMMIT, proposal->txn->zxid);
        for (guint i = 0; proposal->flushes && i < proposal->flushes->len; i++)
                leader_flushed(leader, &g_array_index(proposal->flushes, Flush, i));
        leader_note_session(leader, proposal->txn);
        server_apply(server, proposal->txn);
        for (guint i = 0; proposal->flushes && i < proposal->flushes->len; i++)
                leader_flushed_here(leader, &g_array_index(proposal->flushes, Flush, i));
        preparer_done(leader->preparer, proposal->txn->zxid);
        (void)txn_unref(proposal->txn); /* the log's */
        proposal_free(proposal);
}

static void leader_commit(Leader *leader) {
        unsigned quorum = ensemble_quorum(leader->server->ensemble);
        Proposal *first;

        while (leader->serving && (first = g_queue_peek_head(&leader->proposals)) &&
               first->written && 1 + (unsigned)__builtin_popcountll(first->written_by) >= quorum)
                leader_do(leader, g_queue_pop_head(&leader->proposals));
}

static void leader_on_written(void *userdata) {
        Leader *leader = userdata;
        GList *link = leader->proposals.head;
        Proposal *proposal;

        while (((Proposal *)link->data)->written)
                link = link->next;
        proposal = link->data;
        proposal->written = true;
        g_queue_push_tail(&leader->server->logged, txn_ref(proposal->txn));
        leader_commit(leader);
}

/* Takes the transaction over. */
static void leader_propose(Leader *leader, Transaction *txn) {
        Server *server = leader->server;
        Proposal *proposal = g_new0(Proposal, 1);
        usec_t now = server_now(server), written;

        proposal->txn = txn;
        g_queue_push_tail(&leader->proposals, proposal);
        for (guint i = 0; i < leader->learners->len; i++)
                if (((Learner *)leader->learners->pdata[i])->told)
                        learner_propose(leader->learners->pdata[i], txn);
        written =
            disk_write(&leader->disk, now,
                       server->disk_delay + world_draw_between(server->chance, DISK_MIN, DISK_MAX));
        server_after(server, written - now, leader_on_written, leader);
}

static int64_t leader_next(Leader *leader) {
        return ++leader->next_zxid;
}

void leader_close_session(Leader *leader, int64_t session, uint64_t xid, unsigned origin) {
        Transaction *txn = preparer_close_session(leader->preparer, session, leader_next(leader),
                                                  server_time_ms(leader->server));

        txn->xid = xid;
        txn->origin = origin;
        session_tracker_set_closing(leader->tracker, session);
        leader_propose(leader, txn);
}

static void leader_create_session(Leader *leader, const Request *request, unsigned origin) {
        Transaction *txn = txn_new(leader_next(leader), server_time_ms(leader->server), 1);

        txn->of = REQUEST_CONNECT;
        txn->session = request->session;
        txn->timeout = request->timeout;
        txn->xid = request->xid;
        txn->origin = origin;
        txn->ops[0].type = TXN_CREATE_SESSION;
        session_tracker_add(leader->tracker, request->session, request->timeout,
                            server_now(leader->server));
        session_tracker_set_owner(leader->tracker, request->session, origin);
        leader_propose(leader, txn);
}

void leader_submit(Leader *leader, Request *request, unsigned origin) {
        ZkCode session = ZK_OK;
        Transaction *txn;

        if (request->type == REQUEST_CONNECT) {
                leader_create_session(leader, request, origin);
                return;
        }
        if (request->type == REQUEST_CLOSE) {
                leader_close_session(leader, request->session, request->xid, origin);
                return;
        }
        if (origin < TXN_BY_HAND)
                session = session_tracker_check(leader->tracker, request->session, origin);
        txn = preparer_prepare(leader->preparer, request, session, leader_next(leader),
                               server_time_ms(leader->server));
        txn->origin = origin;
        leader_propose(leader, txn);
}

static void proposal_add_flush(Proposal *proposal, const Flush *flush) {
        if (!proposal->flushes)
                proposal->flushes = g_array_new(FALSE, FALSE, sizeof(Flush));
        g_array_append_vals(proposal->flushes, flush, 1);
}

void leader_flush(Leader *leader, unsigned origin, int64_t session, uint64_t xid) {
        const Flush flush = {origin, session, xid};
        Proposal *last = g_queue_peek_tail(&leader->proposals);

        if (last)
                proposal_add_flush(last, &flush);
        else
                leader_flushed(leader, &flush);
}

/* CommitProcessor: a sync of a client of the leader's own is a read, and waits for nothing but what
 * its session wrote, over whichever connection that came. */
void leader_flush_here(Leader *leader, int64_t session, uint64_t xid) {
        const Flush flush = {leader->server->index, session, xid};

        for (GList *link = leader->proposals.tail; link; link = link->prev) {
                Proposal *proposal = link->data;

                if (proposal->txn->session != session)
                        continue;
                proposal_add_flush(proposal, &flush);
                return;
        }
        connection_on_flushed(leader->server, session, xid);
}

bool leader_revalidate(Leader *leader, unsigned origin, int64_t session, usec_t timeout) {
        bool valid =
            session_tracker_touch(leader->tracker, session, timeout, server_now(leader->server));

        if (valid)
                session_tracker_set_owner(leader->tracker, session, origin);
        return valid;
}

void leader_touch(Leader *leader, int64_t session, usec_t timeout) {
        (void)session_tracker_touch(leader->tracker, session, timeout, server_now(leader->server));
}

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

        if (!ensemble_has_all(server->ensemble, server)) {
                g_assert_true(ensemble_options(server->ensemble)->forgetful);
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

static void leader_consider(Leader *leader) {
        if (!leader->serving && leader_count(leader) >= ensemble_quorum(leader->server->ensemble))
                leader_serve(leader);
}

static void learner_free(void *data) {
        Learner *learner = data;

        server_timer_free(learner->telling);
        wire_ignore(learner->in);
        wire_close(learner->out);
        g_free(learner);
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

/* ---- who follows ---- */

static void txn_drop(void *txn) {
        (void)txn_unref(txn);
}

static void learner_on_told(void *userdata) {
        Learner *learner = userdata;
        const Leader *leader = learner->leader;
        Packet *packet = packet_new(PACKET_SYNC);

        learner->telling = NULL;
        learner->told = true;
        packet->epoch = leader->epoch;
        packet->position = leader->server->position;
        packet->lineage = leader->server->lineage;
        if (ensemble_server(leader->server->ensemble, learner->index)->lineage != packet->lineage)
                packet->snapshot = data_tree_copy(leader->server->tree);
        packet->proposals = g_ptr_array_new_with_free_func(txn_drop);
        for (GList *link = leader->proposals.head; link; link = link->next)
                g_ptr_array_add(packet->proposals, txn_ref(((Proposal *)link->data)->txn));
        wire_send(learner->out, packet);
}

/* Who knows more than a leader that does not serve yet must not count for it: that one has been
 * chosen without them. */
static void learner_on_joined(Learner *learner, int64_t epoch, int64_t zxid) {
        Server *server = learner->leader->server;

        if (!learner->leader->serving && server_is_behind(server, epoch, zxid)) {
                server_look(server, "somebody knows more");
                return;
        }
        if (!learner->told && !learner->telling)
                learner->telling =
                    server_after(server, world_draw_between(server->chance, SYNC_MIN, SYNC_MAX),
                                 learner_on_told, learner);
}

static void learner_on_synced(Learner *learner) {
        learner->synced = true;
        if (learner->leader->serving)
                wire_send(learner->out, packet_new(PACKET_UP_TO_DATE));
        leader_consider(learner->leader);
}

static void learner_on_ack(Learner *learner, int64_t zxid) {
        for (GList *link = learner->leader->proposals.head; link; link = link->next) {
                Proposal *proposal = link->data;

                if (proposal->txn->zxid > zxid)
                        break;
                proposal->written_by |= UINT64_C(1) << learner->index;
        }
        leader_commit(learner->leader);
}

static void learner_on_pong(const Learner *learner, const GArray *heard) {
        for (guint i = 0; i < heard->len; i++) {
                const Heard *one = &g_array_index(heard, Heard, i);

                leader_touch(learner->leader, one->session, one->timeout);
        }
}

static void learner_on_revalidate(const Learner *learner, const Packet *question) {
        Packet *packet = packet_new(PACKET_REVALIDATED);

        packet->session = question->session;
        packet->xid = question->xid;
        packet->valid = leader_revalidate(learner->leader, learner->index, question->session,
                                          question->timeout);
        wire_send(learner->out, packet);
}

static void learner_on_packet(void *message, void *userdata) {
        Packet *packet = message;
        Learner *learner = userdata;

        if (!packet) {
                g_ptr_array_remove(learner->leader->learners, learner);
                return;
        }
        learner->heard = server_now(learner->leader->server);
        switch (packet->type) {
        case PACKET_JOIN:
                learner_on_joined(learner, packet->epoch, packet->zxid);
                break;
        case PACKET_ACK:
                learner_on_ack(learner, packet->zxid);
                break;
        case PACKET_SYNCED:
                learner_on_synced(learner);
                break;
        case PACKET_PONG:
                learner_on_pong(learner, packet->heard);
                break;
        case PACKET_REQUEST:
                leader_submit(learner->leader, packet->request, learner->index);
                break;
        case PACKET_FLUSH:
                leader_flush(learner->leader, learner->index, packet->session, packet->xid);
                break;
        case PACKET_REVALIDATE:
                learner_on_revalidate(learner, packet);
                break;
        default:
                g_assert_not_reached();
        }
        packet_free(packet);
}

static void packet_drop(void *packet) {
        packet_free(packet);
}

Wire *leader_accept(Leader *leader, Server *follower, Wire *out) {
        Learner *learner = g_new0(Learner, 1);

        learner->leader = leader;
        learner->index = follower->index;
        learner->out = out;
        learner->heard = server_now(leader->server);
        learner->in =
            wire_new(follower->host, leader->server->host, learner_on_packet, learner, packet_drop);
        wire_pause(learner->in, leader->server->frozen);
        g_ptr_array_add(leader->learners, learner);
        return learner->in;
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
