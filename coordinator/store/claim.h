/* The claim: the one transaction that writes "this run started here" while we hold the locks:
 *
 *   check(every contender; with none, our member node and session) · check(control) · set ledger
 * (version) · create the record · create open/NODE/RUN (· delete the request, for a manual run)
 * (· check or set the roll (version), where its job keeps account of that)
 *
 * All operations of a transaction share one zxid: the record's czxid, which is the fencing token,
 * is the ledger's new mzxid. After an unknown outcome the record is read back and the nonce
 * compared. */
#pragma once

#include "ledger.h"
#include "node.h"
#include "roll-look.h"
#include "run-record.h"
#include "tree.h"

typedef struct Claim Claim;

typedef enum ClaimOutcome {
        CLAIM_WON,     /* the record is ours: start it. The ledger as it now is came with it */
        CLAIM_LOST,    /* somebody else's run of this id exists */
        CLAIM_STALE,   /* the ledger, the control node or a contender is not what we thought: decide
                          again */
        CLAIM_REFUSED, /* the server does not let us write it: claim_fault() */
        CLAIM_OVER,    /* the session is over, or nobody can tell yet: decide again in the next */
} ClaimOutcome;
typedef void (*ClaimFunc)(ClaimOutcome outcome, void *userdata);

/* Claims `record` (taken over; its nonce, node, boot and unit are filled in by
 * run_record_for_claim()) on top of `ledger`, which already has the entry, at `ledger_version`.
 * `contenders` NULL-terminated. `request`: a request's path to delete, or NULL. `turn`: of the
 * roll, or NULL; both are borrowed for the call. Ownership of record and ledger moves in on success
 * only. Return: 0; -ENOTCONN; negative errno as zk_multi(). */
int claim_start(Node *node, Tree *tree, RunRecord *record, Ledger *ledger, int32_t ledger_version,
                const char *const *contenders, const char *request, const RollTurn *turn,
                ClaimFunc func, void *userdata, Claim **ret_claim);
Claim *claim_free(Claim *claim);
DEFINE_CLEANUP(Claim, claim_free);

/* After CLAIM_STALE. Return: whether it was only the roll that is not what it was. */
bool claim_was_outrun(const Claim *claim);
/* After CLAIM_REFUSED: what the server says, a constant. */
const char *claim_fault(const Claim *claim);
/* After CLAIM_WON: the record with its token, and the ledger with its version; ownership moves out.
 */
RunRecord *claim_steal_record(Claim *claim);
Ledger *claim_steal_ledger(Claim *claim, int32_t *ret_version);

/* Return: a record for a run of ours, claimed now; `tick` 0 for a manual run. */
RunRecord *run_record_for_claim(const Node *node, const char *job, const char *run, int64_t tick,
                                unsigned attempt);
