/* How often a job comes to be run for one tick of another, over all jobs that are in force: once
 * for each way that the links lead from that to it, since what follows any of several jobs is run
 * after each of them. Where ways part and meet again they multiply, and a few such places one
 * behind the other would make a crowd of runs out of one tick that no person has meant. So there
 * is a limit, and the link that would lead beyond it does not take effect. Its job does otherwise,
 * like one that names a job which is not there.
 *
 * What waits for several together is run once for a tick, however often they come. The hooks
 * (on-failure, on-recovery) count as ways, but are not taken out: an end has one of them, so that
 * without `after` nothing parts. Pure. */
#pragma once

#include <glib.h>

#include "diagnostics.h"

/* So often at most. As many as one may follow, each of which follows the same one. */
#define JOB_WAYS_MAX 64

/* Takes the links that lead too far out of `after` (linked_jobs_index()), and tells of each: not
 * those that were in `before` (the same; NULL: nothing was) as long as others are enough. `jobs`:
 * JobSpec, each name but once; what is in a circle, or only behind one, is left out. */
void job_ways_limit(const GPtrArray *jobs, GHashTable *after, GHashTable *before,
                    Diagnostics *diagnostics);
