/* What a job uses of the daemon: the parts below it, all weak. A job's work and its ledger take
 * them as they are; what is below these is given of them what it needs. */
#pragma once

#include "clock-watch.h"
#include "digest-memory.h"
#include "gate.h"
#include "ledger-cache.h"
#include "leftovers.h"
#include "members.h"
#include "node.h"
#include "prune.h"
#include "ranks.h"
#include "recovery.h"
#include "registration.h"
#include "runs.h"
#include "tree.h"
#include "waiter-looks.h"

/* When it is tried again: what failed and may be well at once, and what people have to see to or
 * others have to come round to. What the server refuses, what stands there and is no ledger, and a
 * ledger that others have another definition in, may stay so for days, and for all jobs at once:
 * the pauses double (backoff.h). */
#define JOB_RETRY_DELAY (1 * USEC_PER_SEC)
#define JOB_REFUSED_DELAY (2 * USEC_PER_SEC)
#define JOB_REFUSED_DELAY_MAX (300 * USEC_PER_SEC)
#define JOB_FAULT_DELAY (30 * USEC_PER_SEC)
#define JOB_DRIFTED_DELAY_MAX (600 * USEC_PER_SEC)
/* Where so many are watched that there is no room for one more watch. */
#define JOB_CROWDED_OUT_DELAY (20 * USEC_PER_SEC)
/* By how much a wait for locks may end early by the wall clock, which is slewed meanwhile. */
#define JOB_HASTE_MAX (1 * USEC_PER_SEC)

typedef struct JobParts JobParts;

struct JobParts {
        Node *node;
        Tree *tree;
        LedgerCache *ledgers;
        DigestMemory *digests;
        Registration *registration;
        Members *members;
        Ranks *ranks;
        ClockWatch *clock;
        Gate *gate;
        Pruner *pruner;
        Runs *runs;
        Recovery *recovery;
        Leftovers *leftovers;
        WaiterLooks *looks; /* the table's */
        const JobSet *jobset;
};
