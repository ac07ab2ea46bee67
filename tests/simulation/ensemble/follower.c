/* A server that follows: org.apache.zookeeper.server.quorum.Learner and Follower.
 *
 * It writes down what is proposed and does what is committed, in order, whenever it hears of it: so
 * what it shows is old by so much. Its clients' writes go to the leader, and come back as what was
 * committed. When the leader has said nothing for syncLimit ticks, or the connection ends, it lets
 * its clients go and looks for another one. */
#include "ensemble-inside.h"

#define CONNECT_MIN (1 * USEC_PER_MSEC)
#define CONNECT_MAX (60 * USEC_PER_MSEC)

struct Follower {
        Server *server;
        Server *leader; /* weak: servers stay */
        Wire *in, *out; /* NULL: not connected yet */
        bool serving;
        usec_t heard;
        GArray *sessions; /* of Heard: since the last ping */
};

void follower_send(Follower *follower, Packet *packet) {
        wire_send(follower->out, packet);
}

void follower_heard(Follower *follower, int64_t session, usec_t timeout) {
        const Heard heard = {session, timeout};

        for (guint i = 0; i < follower->sessions->len; i++)
                if (g_array_index(follower->sessions, Heard, i).session == session)
                        return;
        g_array_append_val(follower->sessions, heard);
}

static void follower_write(const Follower *follower, Transaction *txn) {
        g_queue_push_tail(&follower->server->logged, txn_ref(txn));
}

/* All up to there is written down. */
static void follower_ack(Follower *follower, int64_t zxid) {
        Packet *packet = packet_new(PACKET_ACK);

        packet->zxid = zxid;
        follower_send(follower, packet);
}

static void follower_on_proposal(Follower *follower, Transaction *txn) {
        follower_write(follower, txn);
        follower_ack(follower, txn->zxid);
}

/* What it had written down beside what the leader has is no more. */
static void follower_on_sync(Follower *follower, Packet *packet) {
        Server *server = follower->server;
        Transaction *txn;

        if (packet->epoch < server->accepted) {
                server_look(server, "that leader is one of the past");
                return;
        }
        forgetting_begin(server);
        server->epoch = server->accepted = packet->epoch;
        while ((txn = g_queue_pop_head(&server->logged)))
                (void)txn_unref(txn);
        if (packet->snapshot) {
                data_tree_free(server->tree);
                server->tree = g_steal_pointer(&packet->snapshot);
                server->position = packet->position;
        }
        server->lineage = packet->lineage;
        server_catch_up(server, packet->position);
        /* It may have done already what the leader has not. */
        for (size_t i = server->position - packet->position; i < packet->proposals->len; i++)
                follower_write(follower, packet->proposals->pdata[i]);
        follower_ack(follower, server_logged_zxid(server));
        follower_send(follower, packet_new(PACKET_SYNCED));
}

static void follower_on_commit(const Follower *follower, int64_t zxid) {
        _cleanup_(txn_unrefp) Transaction *txn = NULL;

        if (zxid <= data_tree_zxid(follower->server->tree)) /* done already */
                return;
        txn = g_queue_pop_head(&follower->server->logged);
        g_assert_cmpint(txn->zxid, ==, zxid);
        server_apply(follower->server, txn);
}

static void follower_on_ping(Follower *follower) {
        Packet *packet = packet_new(PACKET_PONG);

        packet->heard = g_steal_pointer(&follower->sessions);
        follower->sessions = g_array_new(FALSE, FALSE, sizeof(Heard));
        follower_send(follower, packet);
}

static void follower_on_packet(void *message, void *userdata) {
        Packet *packet = message;
        Follower *follower = userdata;
        Server *server = follower->server;

        if (!packet) {
                server_look(server, "the leader is gone");
                return;
        }
        follower->heard = server_now(server);
        switch (packet->type) {
        case PACKET_SYNC:
                follower_on_sync(follower, packet);
                break;
        case PACKET_PROPOSAL:
                follower_on_proposal(follower, packet->txn);
                break;
        case PACKET_UP_TO_DATE:
                ensemble_say(server, "follows %s", host_name(follower->leader->host));
                follower->serving = true;
                break;
        case PACKET_COMMIT:
                follower_on_commit(follower, packet->zxid);
                break;
        case PACKET_PING:
                follower_on_ping(follower);
                break;
        case PACKET_FLUSHED:
                connection_on_flushed(server, packet->session, packet->xid);
                break;
        case PACKET_REVALIDATED:
                connection_on_revalidated(server, packet->session, packet->xid, packet->valid);
                break;
        default:
                g_assert_not_reached();
        }
        packet_free(packet);
}

static void follower_on_check(void *userdata) {
        Follower *follower = userdata;
        const EnsembleOptions *options = ensemble_options(follower->server->ensemble);
        usec_t now = server_now(follower->server),
               until = follower->heard + options->sync_limit * options->tick;

        if (now >= until)
                server_look(follower->server, "the leader is silent");
        else
                server_after(follower->server, until - now, follower_on_check, follower);
}

void follower_lag(Follower *follower) {
        if (follower->in)
                wire_set_slow(follower->in, follower->server->lag);
}

static void follower_on_connect(void *userdata) {
        Follower *follower = userdata;
        Server *leader = follower->leader;
        Packet *packet;

        if (!leader->leader || host_is_down(leader->host)) {
                server_look(follower->server, "nobody leads there");
                return;
        }
        follower->in = wire_new(leader->host, follower->server->host, follower_on_packet, follower,
                                packet_drop);
        follower_lag(follower);
        follower->out = leader_accept(leader->leader, follower->server, follower->in);
        packet = packet_new(PACKET_JOIN);
        packet->epoch = follower->server->epoch;
        packet->zxid = server_logged_zxid(follower->server);
        follower_send(follower, packet);
}

Follower *follower_new(Server *server, Server *leader) {
        Follower *follower = g_new0(Follower, 1);

        follower->server = server;
        follower->leader = leader;
        follower->heard = server_now(server);
        follower->sessions = g_array_new(FALSE, FALSE, sizeof(Heard));
        server_after(server, world_draw_between(server->chance, CONNECT_MIN, CONNECT_MAX),
                     follower_on_connect, follower);
        follower_on_check(follower);
        return follower;
}

Follower *follower_free(Follower *follower) {
        if (!follower)
                return NULL;
        if (follower->in) {
                wire_ignore(follower->in);
                wire_close(follower->out);
        }
        g_array_unref(follower->sessions);
        g_free(follower);
        return NULL;
}

bool follower_serves(const Follower *follower) {
        return follower->serving;
}

void follower_pause(Follower *follower, bool paused) {
        if (follower->in)
                wire_pause(follower->in, paused);
}

const Server *follower_leader(const Follower *follower) {
        return follower->leader;
}
