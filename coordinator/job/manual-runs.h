/* The manual runs of one job: all that are asked for and come by no tick, whether a person asks or
 * the end of another run does (`parent`), and that this node is to start, first come first served.
 * Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cleanup.h"
#include "clock.h"
#include "run-parent.h"

typedef struct ManualRun {
        char *id;      /* of the run */
        char *request; /* its request's; NULL: it is the same */
        char *who;
        int64_t tick;            /* of which it is a further attempt; 0: of none */
        bool is_ours;            /* no other node may claim it */
        usec_t asked, not_after; /* CLOCK_REALTIME */
        const RunParent *parent; /* whose end asks for it; NULL: somebody does. Of a copy its own */
} ManualRun;

ManualRun *manual_run_copy(const ManualRun *run);
ManualRun *manual_run_free(ManualRun *run);
DEFINE_CLEANUP(ManualRun, manual_run_free);
/* Return: the id of its request, borrowed. */
const char *manual_run_request(const ManualRun *run);

typedef struct ManualRuns ManualRuns;

ManualRuns *manual_runs_new(void);
ManualRuns *manual_runs_free(ManualRuns *runs);
DEFINE_CLEANUP(ManualRuns, manual_runs_free);

/* It is copied; when it was asked for is now. */
void manual_runs_add(ManualRuns *runs, const ManualRun *run);
/* Return: the one that was asked for first, borrowed until it is dropped; NULL: none. */
const ManualRun *manual_runs_first(const ManualRuns *runs);
/* It is started, or refused. `id` need not be one of them. */
void manual_runs_drop(ManualRuns *runs, const char *id);
void manual_runs_clear(ManualRuns *runs);
