/* Who follows a leader, as it sees them: LearnerHandler. See leader.c. */
#include "leader-inside.h"

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

void learner_free(void *data) {
        Learner *learner = data;

        server_timer_free(learner->telling);
        wire_ignore(learner->in);
        wire_close(learner->out);
        g_free(learner);
}
