/* How to read what is current.
 *
 * A server may be behind the one that took our last request, or told us of an event. The usual
 * remedy is a sync before the read, but a sync is no transaction: the leader answers those of its
 * own clients at once, while what it has just had committed may not be applied there yet, though a
 * follower shows it; and a leader that was cut off goes on answering them for a while. So the
 * remedy here is a write that writes nothing, a multi of one check: it is a transaction like any
 * other, so the server that answers it has applied all before it, with a quorum behind it. Also one
 * that fails is.
 *
 * It is asked for only where an answer was lost, or a twin may stand.
 */
#include "lock-barrier.h"

static void barrier_on_reply(const ZkReply *reply, void *userdata) {
        Barrier *barrier = userdata;

        barrier->call = NULL;
        barrier->passed = reply->code != ZK_UNKNOWN && reply->code != ZK_CLOSED;
}

int barrier_send(Barrier *barrier, Zk *zk, const char *path) {
        const ZkOp check = {.type = ZK_OP_CHECK, .path = path, .version = -1};

        barrier_cancel(barrier);
        barrier->passed = false;
        return zk_multi(zk, &check, 1, barrier_on_reply, barrier, &barrier->call);
}

void barrier_cancel(Barrier *barrier) {
        barrier->call = zk_call_free(barrier->call);
}
