/* The manual runs that were asked for of one job and that this node is to start, first come first
 * served. Pure. */
#pragma once

#include "cleanup.h"
#include "clock.h"

typedef struct ManualRun {
        char *id; /* of the request, and so of the run */
        char *who;
        usec_t asked, not_after; /* CLOCK_REALTIME */
} ManualRun;

ManualRun *manual_run_copy(const ManualRun *run);
ManualRun *manual_run_free(ManualRun *run);
DEFINE_CLEANUP(ManualRun, manual_run_free);

typedef struct ManualRuns ManualRuns;

ManualRuns *manual_runs_new(void);
ManualRuns *manual_runs_free(ManualRuns *runs);
DEFINE_CLEANUP(ManualRuns, manual_runs_free);

void manual_runs_add(ManualRuns *runs, const char *id, const char *who, usec_t not_after);
/* Return: the one that was asked for first, borrowed until it is dropped; NULL: none. */
const ManualRun *manual_runs_first(const ManualRuns *runs);
/* It is started, or refused. `id` need not be one of them. */
void manual_runs_drop(ManualRuns *runs, const char *id);
void manual_runs_clear(ManualRuns *runs);
