/* The `window:` of a job: read from its file into the job's schedule. */
#pragma once

#include "diagnostics.h"
#include "job.h"
#include "yaml.h"

/* Judges the one of `defaults:` (NULL: there is none) for itself; its expressions are read in
 * `zone`. */
void job_windows_judge(const YamlNode *window, const char *zone, Diagnostics *diagnostics);
/* Gives the job's schedule, to which all else was added, its windows: its own, or those of
 * `defaults` (may be NULL), which have been judged for themselves: what is wrong with them for this
 * job alone, in its time zone, is told. Faults go to `diagnostics`. */
void job_windows_read(JobSpec *spec, const YamlNode *job, const YamlNode *defaults,
                      Diagnostics *diagnostics);
