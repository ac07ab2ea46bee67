/* Settling: the one transaction that writes a run's result, and with it lets go of its locks.
 *
 *   check and set the record · set the ledger · delete open/NODE/RUN · delete the contenders that
 * are still ours · create the requests for the runs that follow it (settle-asks.h)
 *
 * The first try trusts what we know (the record's version, the ledger's last known version): one
 * flight when nobody else wrote. When it fails, the truth is read (record, ledger, which contenders
 * exist, whether there is a newer attempt) and it is tried again with that, until it is done, or
 * there is nothing to do because somebody settled it finally, or the session ends; then it is begun
 * again in the next session. After an unknown outcome the record that is read tells whether it was
 * done.
 *
 * A record that another node settled as unknown (it could not know better) is refined to the true
 * result while no newer attempt exists. So it is by a person who knows (RunResolution), whose word
 * is refined no more, also by the node that saw the end: it is told in the log where it is another.
 * Of the run, which may live still, nothing else is touched then. It is the one transaction: before
 * it nothing is said, after it all of it, whatever becomes of this process.
 *
 * Where the job was renamed since the run was claimed, its record stays under the name that it had,
 * and what is open of it stands in the ledger of the name that it has: that is set, and those of
 * the names before are checked to be left still.
 */
#pragma once

#include "clock-watch.h"
#include "jobset.h"
#include "ledger-cache.h"
#include "node.h"
#include "prune.h"
#include "run-record.h"
#include "settle-window.h"

/* What every settle of this node needs. */
typedef struct Settler {
        const Node *node;     /* weak */
        const JobSet *jobset; /* weak: schedules that are too long to stand in a ledger */
        Pruner *pruner;       /* weak */
        LedgerCache *ledgers; /* weak */
        ClockWatch *clock;    /* weak: what the server's clock shows, by which attempts follow */
        SettleWindow *window; /* weak; NULL: any number may read at a time */
} Settler;

typedef struct Settle Settle;

typedef enum SettleOutcome {
        SETTLE_DONE,
        SETTLE_ELSEWHERE, /* it is settled finally, not by us */
        SETTLE_AGAIN,     /* the session went away: begin again when there is one */
} SettleOutcome;
typedef void (*SettleFunc)(SettleOutcome outcome, void *userdata);

typedef struct SettleRequest {
        const RunRecord *record; /* as it is to be: final; copied */
        const char *owner;       /* whose open entry: the node of the claim */
        int32_t record_version;  /* -1: not known, or its contenders may not be its own any more:
                                    read first */
        bool only_if_claimed;    /* on behalf of a dead node: nothing is refined, and its contenders
                                    are not deleted */
} SettleRequest;

/* The request is copied. Return: 0; -ENOTCONN; negative errno. The callback comes from the loop. */
int settle_start(const Settler *settler, const SettleRequest *request, SettleFunc func,
                 void *userdata, Settle **ret_settle);
Settle *settle_free(Settle *settle);
DEFINE_CLEANUP(Settle, settle_free);
