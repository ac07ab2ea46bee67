/* What launch steps of runs leave behind where a process ended just then: drop-ins whose units were
 * never started, or whose removal was not come to. */
#pragma once

#include "runs.h"

/* Removes what was left by processes that ended at the wrong moment, long ago. */
void launch_sweep(const char *root, const Runs *runs);
