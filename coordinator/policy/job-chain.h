/* Chains of jobs that follow each other, over all jobs that are in force: one that is longer than
 * so many runs may follow each other (run-parent.h) ends before its last job. Each of its links is
 * good by itself, they may be in several files, and whoever begins further down comes to its end:
 * so it is a warning, at each load, and no job is taken out. Pure. */
#pragma once

#include <glib.h>

#include "diagnostics.h"

/* Warns of the longest chain, where that is too long. `jobs`: JobSpec, each name but once, in no
 * circle; what is in one is left out. */
void job_chain_check(const GPtrArray *jobs, Diagnostics *diagnostics);
