/* Why a tick of a job is run, was run, or is not, for people: what explanation.h says of it, and of
 * each node whose turn it is, and what keeps it. */
#pragma once

#include <jansson.h>

#include "job-decision.h"
#include "members.h"

/* All weak. */
typedef struct JobExplainParts {
        const Node *node;
        const Tree *tree;
        const Ranks *ranks;
        Members *members;
} JobExplainParts;

/* Return: why that member cannot run the job, a part of a sentence, newly allocated; NULL: it can,
 * or is this node, which has not looked yet. What keeps it from beginning anything just now is left
 * out. */
char *job_explain_node(const JobExplainParts *parts, const JobSpec *spec, const char *node);
/* `schedule`: the one in force; NULL: none. `ledger`: as it was just read; NULL: there is none.
 * `tick` 0: the oldest that is due and undecided, else the next one. Return: what Explain() answers
 * (bus-interface.h) but for the runs; a new reference. */
json_t *job_explain(const JobExplainParts *parts, const JobSpec *spec, const Schedule *schedule,
                    const Ledger *ledger, int64_t tick);
