/* What is due of a job, for this node: what decision.h is asked, by our rank, and with what we know
 * of the run that stands in the way. */
#pragma once

#include "decision.h"
#include "ledger-cache.h"
#include "node.h"
#include "ranks.h"
#include "tree.h"

typedef struct JobDecision JobDecision;

/* All weak. */
typedef struct JobDecisionParts {
        const Node *node;
        const Tree *tree;
        const LedgerCache *ledgers;
        const Ranks *ranks;
} JobDecisionParts;

/* The parts are copied. */
JobDecision *job_decision_new(const JobDecisionParts *parts, const char *job);
JobDecision *job_decision_free(JobDecision *decision);
DEFINE_CLEANUP(JobDecision, job_decision_free);

/* What stood in the way is forgotten. */
void job_decision_reset(JobDecision *decision);

/* The ledger is known: what is due by it? `queues`: we stand in the queues for a tick. What is
 * returned may point to the pause, which is the same until the next call. */
Decision job_decide(JobDecision *decision, const JobSpec *spec, bool queues);
/* Return: the pause of the job by which that was decided, borrowed; NULL: none. */
const DecisionPause *job_decision_pause(const JobDecision *decision);
/* Return: the same of the job's window. */
const DecisionWindow *job_decision_window(const JobDecision *decision);
/* Return: whether no member can run it; while we do not know who is there, nobody knows. */
bool job_decision_has_no_node(const JobDecision *decision, const JobSpec *spec);
/* Return: whether we run what is claimed. The owner of the run in the way answers for every tick,
 * whatever its rank has become. */
bool job_decision_is_running_here(const JobDecision *decision);

/* A run of another node stands in the way. Return: how long it is waited for still: after that the
 * node that runs it cannot have its session any more. */
usec_t job_decision_wait_for(JobDecision *decision, const LedgerEntry *blocker);
