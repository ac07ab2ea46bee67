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
};
