/* Who asks for whom, over all jobs at once: the links of all kinds, as pairs of places in a list of
 * jobs. What is to be found in that is the business of who walks it. Pure. */
#pragma once

#include <glib.h>

/* When a run of the job at `from` ends, one of that at `to` may be asked for. */
typedef void (*JobGraphFunc)(guint from, guint to, void *userdata);

/* Calls `func` for each link between two of `jobs` (JobSpec), in the order of those which say it. A
 * name that none of them has leads nowhere. Takes as long as there are jobs and links. */
void job_graph_each(const GPtrArray *jobs, JobGraphFunc func, void *userdata);
