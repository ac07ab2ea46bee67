/* `was` over all jobs together: a job cannot go on from one that is defined still, nor can two from
 * one. Such a job does not take effect, like one that two files define: what was in force of it
 * stays, and what it names goes on. */
#pragma once

#include <glib.h>

#include "diagnostics.h"

/* Tells of the jobs of `files` (JobFile) that are such; they become their files' duplicates.
 * `others`: JobSpec that will be in force beside them. */
void renamed_jobs_check(const GPtrArray *files, const GPtrArray *others, Diagnostics *diagnostics);
