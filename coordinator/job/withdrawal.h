/* Withdrawals: telling the ledger that a job is not in our files any more, so that, added again one
 * day, it begins at its re-adding instead of catching up with everything between. Only a node whose
 * own file lost the job does it. However many jobs go at once, WITHDRAWALS_BUSY_MAX of them have a
 * request under way; the others wait for those. */
#pragma once

#include "clock-watch.h"
#include "digest-memory.h"
#include "jobset.h"
#include "node.h"
#include "prune.h"
#include "tree.h"

#define WITHDRAWALS_BUSY_MAX 64

typedef struct Withdrawals Withdrawals;

/* All weak. */
typedef struct WithdrawalsParts {
        const Node *node;
        DigestMemory *digests;
        ClockWatch *clock;
        Tree *tree;
        Pruner *pruner;
        const JobSet *jobset; /* what follows an attempt that is the last one after all */
} WithdrawalsParts;

/* The parts are copied. */
Withdrawals *withdrawals_new(const WithdrawalsParts *parts);
Withdrawals *withdrawals_free(Withdrawals *withdrawals);
DEFINE_CLEANUP(Withdrawals, withdrawals_free);

/* Begins one, unless it is under way. */
void withdrawals_add(Withdrawals *withdrawals, const char *job);
/* The job is there again. */
void withdrawals_remove(Withdrawals *withdrawals, const char *job);
/* The session is gone: begun again with the next. */
void withdrawals_reset(Withdrawals *withdrawals);
/* Return: for how long others may still say that they have a job: also those whose connection just
 * broke, and those of a higher rank. */
usec_t withdrawal_patience(const DaemonConfig *config);
/* Return: how many are not over. */
unsigned withdrawals_size(const Withdrawals *withdrawals);
