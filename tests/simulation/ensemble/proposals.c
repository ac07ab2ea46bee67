/* What a leader is asked for, from its being proposed to its being done. See leader.c. */
#include "leader-inside.h"

/* Writing down, with fsync. */
#define DISK_MIN 50
#define DISK_MAX 400

void proposal_free(void *data) {
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

void leader_tell(const Leader *leader, PacketType type, int64_t zxid) {
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

void leader_commit(Leader *leader) {
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
