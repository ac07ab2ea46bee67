/* See claim.h. */
#include "claim.h"

#include <errno.h>

#include "draw.h"
#include "ensemble-memory.h"
#include "flight.h"
#include "paths.h"
#include "timer.h"
#include "tree.h"
#include "zk-ops.h"

#define READ_BACK_DELAY (200 * USEC_PER_MSEC)

struct Claim {
        Node *node; /* weak */
        Tree *tree; /* weak */
        ClaimFunc func;
        void *userdata;
        RunRecord *record;
        Ledger *ledger;
        int32_t ledger_version;
        char *record_path, *ledger_path, *open_path;
        guint ledger_op, turn_op; /* turn_op 0: there is none */
        bool outrun;
        ZkCall *call;
        Flight *reads; /* after an unknown outcome */
        sd_event_source *retry;
        ClaimOutcome outcome; /* as those reads have it so far */
        ZkCode refusal;
};

RunRecord *run_record_for_claim(const Node *node, const char *job, const char *run, int64_t tick,
                                unsigned attempt) {
        RunRecord *record = run_record_new(job, run);
        char nonce[DRAW_ID_MAX];

        draw_id(nonce);
        record->tick = tick;
        record->attempt = attempt;
        record->node = g_strdup(node->config->node_name);
        record->boot = g_strdup(node->boot_id);
        record->nonce = g_strdup(nonce);
        record->unit = unit_name_for_run(job, run);
        record->state = RUN_CLAIMED;
        record->claimed = clock_realtime();
        return record;
}

Claim *claim_free(Claim *claim) {
        if (!claim)
                return NULL;
        zk_call_free(claim->call);
        flight_free(claim->reads);
        sd_event_source_disable_unref(claim->retry);
        run_record_free(claim->record);
        ledger_free(claim->ledger);
        g_free(claim->record_path);
        g_free(claim->ledger_path);
        g_free(claim->open_path);
        g_free(claim);
        return NULL;
}

RunRecord *claim_steal_record(Claim *claim) {
        return g_steal_pointer(&claim->record);
}

Ledger *claim_steal_ledger(Claim *claim, int32_t *ret_version) {
        *ret_version = claim->ledger_version;
        return g_steal_pointer(&claim->ledger);
}

const char *claim_fault(const Claim *claim) {
        return zk_code_to_string(claim->refusal);
}

bool claim_was_outrun(const Claim *claim) {
        return claim->outrun;
}

/* ---- after an unknown outcome ---- */

static void claim_read_back(Claim *claim);

static void claim_on_retry(void *userdata) {
        claim_read_back(userdata);
}

static void claim_on_read_back(ZkCode code, void *userdata) {
        Claim *claim = userdata;

        claim->reads = flight_free(claim->reads);
        if (claim->outcome == CLAIM_WON)
                ensemble_memory_wrote(claim->node->ensemble, claim->record->token);
        if (code != ZK_UNKNOWN ||
            timer_in(claim->node->event, &claim->retry, READ_BACK_DELAY, claim_on_retry, claim) < 0)
                claim->func(code == ZK_UNKNOWN ? CLAIM_OVER : claim->outcome, claim->userdata);
}

static void claim_on_record(const ZkReply *reply, void *userdata) {
        Claim *claim = userdata;
        _cleanup_(run_record_freep) RunRecord *found = NULL;

        if (reply->code == ZK_NO_NODE) {
                claim->outcome = CLAIM_STALE; /* it was not done, and after the sync it will not be:
                                                 the old connection is gone */
        } else if (reply->code == ZK_OK) {
                bool ours = run_record_decode(reply->data, reply->data_size, &found) == 0 &&
                            g_strcmp0(found->nonce, claim->record->nonce) == 0;
                claim->outcome = ours ? CLAIM_WON : CLAIM_LOST;
                claim->record->token = reply->stat.czxid;
        }
}

static void claim_on_ledger(const ZkReply *reply, void *userdata) {
        Claim *claim = userdata;
        Ledger *found = NULL;

        if (reply->code == ZK_OK && ledger_decode(reply->data, reply->data_size, &found) == 0) {
                ledger_free(claim->ledger);
                claim->ledger = found;
                claim->ledger_version = reply->stat.version;
        }
}

/* The answer of the transaction was lost. In one flight: sync (with whatever server we now have),
 * the record, the ledger. The reads count only with their sync: a server that is behind may not
 * show what another one did. Repeated until it is known, or the session is over. */
static void claim_read_back(Claim *claim) {
        claim->outcome = CLAIM_OVER;
        claim->reads = flight_new(session_zk(claim->node->session), claim_on_read_back, claim);
        flight_sync(claim->reads, claim->record_path);
        flight_get(claim->reads, claim->record_path, claim_on_record, claim);
        flight_get(claim->reads, claim->ledger_path, claim_on_ledger, claim);
        if (flight_depart(claim->reads) < 0) {
                claim->reads = flight_free(claim->reads);
                claim->func(CLAIM_OVER, claim->userdata);
        }
}

/* ---- the transaction ---- */

/* Return: whether nothing was done because of what stands in the roll. */
static bool claim_failed_at_turn(const Claim *claim, const ZkReply *reply) {
        return claim->turn_op > 0 && reply->code == ZK_BAD_VERSION &&
               zk_ops_failed_at(reply, claim->turn_op);
}

static void claim_on_done(const ZkReply *reply, void *userdata) {
        Claim *claim = userdata;

        claim->call = NULL;
        switch (reply->code) {
        case ZK_OK:
                claim->record->token = reply->results[claim->ledger_op].stat.mzxid;
                claim->ledger_version = reply->results[claim->ledger_op].stat.version;
                node_clock_sample(claim->node, reply->results[claim->ledger_op].stat.mtime_ms,
                                  reply->sent_realtime);
                ensemble_memory_wrote(claim->node->ensemble, claim->record->token);
                claim->func(CLAIM_WON, claim->userdata);
                return;
        case ZK_UNKNOWN:
                claim_read_back(claim);
                return;
        case ZK_NODE_EXISTS:
                claim->func(CLAIM_LOST, claim->userdata);
                return;
        case ZK_CLOSED:
                claim->func(CLAIM_OVER, claim->userdata);
                return;
        case ZK_NO_NODE: /* a contender, or part of the layout */
                tree_repair(claim->tree);
                claim->func(CLAIM_STALE, claim->userdata);
                return;
        default:
                claim->outrun = claim_failed_at_turn(claim, reply);
                if (!claim->outrun)
                        tree_control_is_stale(claim->tree);
                claim->refusal = reply->code;
                claim->func(zk_code_is_refusal(reply->code) ? CLAIM_REFUSED : CLAIM_STALE,
                            claim->userdata);
        }
}

static int claim_send(Claim *claim, Zk *zk, const char *const *contenders, const char *request,
                      const RollTurn *turn) {
        const DaemonConfig *config = claim->node->config;
        g_autoptr(GArray) ops = zk_ops_new();
        g_autofree char *control = path_control(config->root),
                        *member = path_node(config->root, config->node_name),
                        *session = path_session(config->root, config->node_name,
                                                session_id(claim->node->session));
        g_autofree char *record = run_record_encode(claim->record),
                        *ledger = ledger_encode(claim->ledger);

        for (const char *const *contender = contenders; contender && *contender; contender++)
                zk_ops_add(ops, ZK_OP_CHECK, *contender, NULL, -1);
        if (!contenders || !*contenders) {
                zk_ops_add(ops, ZK_OP_CHECK, member, NULL, -1);
                zk_ops_add(ops, ZK_OP_CHECK, session, NULL, -1);
        }
        zk_ops_add(ops, ZK_OP_CHECK, control, NULL, tree_control_version(claim->tree));
        claim->ledger_op = ops->len;
        zk_ops_add(ops, ZK_OP_SET, claim->ledger_path, ledger, claim->ledger_version);
        zk_ops_add(ops, ZK_OP_CREATE, claim->record_path, record, 0);
        zk_ops_add(ops, ZK_OP_CREATE, claim->open_path, "", 0);
        if (request)
                zk_ops_add(ops, ZK_OP_DELETE, request, NULL, -1);
        claim->turn_op = turn ? ops->len : 0;
        if (turn)
                zk_ops_add(ops, turn->data ? ZK_OP_SET : ZK_OP_CHECK, turn->path, turn->data,
                           turn->version);
        return zk_ops_send(ops, zk, claim_on_done, claim, &claim->call);
}

int claim_start(Node *node, Tree *tree, RunRecord *record, Ledger *ledger, int32_t ledger_version,
                const char *const *contenders, const char *request, const RollTurn *turn,
                ClaimFunc func, void *userdata, Claim **ret_claim) {
        const char *root = node->config->root;
        _cleanup_(claim_freep) Claim *claim = NULL;
        Zk *zk = node_zk(node);
        int r;

        if (!zk)
                return -ENOTCONN;
        record->locks = contenders ? g_strdupv((char **)contenders) : NULL;
        claim = g_new0(Claim, 1);
        claim->node = node;
        claim->tree = tree;
        claim->func = func;
        claim->userdata = userdata;
        claim->record = record;
        claim->ledger = ledger;
        claim->ledger_version = ledger_version;
        claim->record_path = path_run(root, record->job, record->run);
        claim->ledger_path = path_job(root, record->job);
        claim->open_path = path_open_run(root, record->node, record->job, record->run);
        r = claim_send(claim, zk, contenders, request, turn);
        if (r < 0) {
                claim->record = NULL;
                claim->ledger = NULL;
                return r;
        }
        *ret_claim = g_steal_pointer(&claim);
        return 0;
}
