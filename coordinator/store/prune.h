/* Pruning: the oldest records beyond a job's `history` are deleted. Apart from everything that must
 * not fail: a record that cannot be deleted (somebody gave it children, or took the right away)
 * keeps no run from being settled, and is tried again when more have come.
 *
 * What stands there is listed after the first record that this process adds to a job, and then once
 * for every few; a transaction deletes what is too much. Only names that are runs' are touched, and
 * none that the ledger has open.
 */
#pragma once

#include "jobset.h"
#include "node.h"

typedef struct Pruner Pruner;

/* How many records more than `history` there may be for a while, if a quarter of it is as much. */
#define PRUNE_SLACK_MAX 8

/* `jobset` tells how many records are kept of a job. */
Pruner *pruner_new(const Node *node, const JobSet *jobset);
Pruner *pruner_free(Pruner *pruner);
DEFINE_CLEANUP(Pruner, pruner_free);

/* A record was added to the job, or written over. */
void pruner_note(Pruner *pruner, const char *job);
/* The session is gone. */
void pruner_reset(Pruner *pruner);
