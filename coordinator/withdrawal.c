/* See withdrawal.h. */
#include "withdrawal.h"

#include "digest-memory.h"
#include "ledger.h"
#include "log.h"
#include "message-id.h"
#include "paths.h"

typedef struct Withdrawal {
        Coordinator *coordinator; /* weak: owns us */
        char *job, *path;
        ZkCall *call;
} Withdrawal;

void withdrawal_free(void *data) {
        Withdrawal *withdrawal = data;

        zk_call_free(withdrawal->call);
        g_free(withdrawal->job);
        g_free(withdrawal->path);
        g_free(withdrawal);
}

void withdrawal_reset(Coordinator *coordinator) {
        g_hash_table_remove_all(coordinator->withdrawals);
}

/* Done, or somebody else wrote in between: then the job is still remembered, and the next reload or
 * restart tries again. */
static void over(Withdrawal *withdrawal, bool done) {
        const LogAbout about = {.message_id = MESSAGE_RELOADED, .job = withdrawal->job};

        if (done) {
                digest_memory_set(withdrawal->coordinator->digests, withdrawal->job, NULL);
                log_info(
                    &about,
                    "the job is not in this node's files any more: withdrawn from the cluster");
        }
        g_hash_table_remove(withdrawal->coordinator->withdrawals, withdrawal->job);
}

static void on_written(const ZkReply *reply, void *userdata) {
        Withdrawal *withdrawal = userdata;

        withdrawal->call = NULL;
        over(withdrawal, reply->code == ZK_OK);
}

static void on_ledger(const ZkReply *reply, void *userdata) {
        Withdrawal *withdrawal = userdata;
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        g_autofree char *data = NULL;
        Zk *zk = coordinator_zk(withdrawal->coordinator);

        withdrawal->call = NULL;
        if (reply->code != ZK_OK || ledger_decode(reply->data, reply->data_size, &ledger) < 0 ||
            *ledger->digest == '\0') {
                over(withdrawal, reply->code == ZK_OK || reply->code == ZK_NO_NODE);
                return;
        }
        ledger_adopt_digest(ledger, "", (int64_t)(clock_realtime() / USEC_PER_SEC));
        data = ledger_encode(ledger);
        if (!zk || zk_set(zk, withdrawal->path, data, reply->stat.version, on_written, withdrawal,
                          &withdrawal->call) < 0)
                over(withdrawal, false);
}

void withdrawal_start(Coordinator *coordinator, const char *job) {
        Withdrawal *withdrawal;
        Zk *zk = coordinator_zk(coordinator);

        if (!zk || g_hash_table_contains(coordinator->withdrawals, job))
                return;
        withdrawal = g_new0(Withdrawal, 1);
        withdrawal->coordinator = coordinator;
        withdrawal->job = g_strdup(job);
        withdrawal->path = path_job(coordinator->config->root, job);
        g_hash_table_insert(coordinator->withdrawals, withdrawal->job, withdrawal);
        if (zk_get(zk, withdrawal->path, on_ledger, withdrawal, &withdrawal->call, NULL, NULL,
                   NULL) < 0)
                over(withdrawal, false);
}
