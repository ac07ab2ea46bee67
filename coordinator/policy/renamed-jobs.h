/* `was` over all jobs together: a job cannot go on from one that is defined still, nor can two from
 * one. What was in force keeps what it has, and the file that comes later gives way: a job that
 * goes on from one in force does not take effect, nor does a new one, of another file, with the
 * name that one had before; what was in force of either stays. Of two that go on from one both take
 * effect, and that without `was` which did not have it before. What does not take effect itself
 * defines nothing. */
#pragma once

#include <glib.h>

#include "diagnostics.h"

/* Tells of the jobs of the good ones of `files` (JobFile) that are such; they become their files'
 * duplicates, or lose `was`. `others`: JobSpec that will be in force beside them. `before`: what
 * was in force, name in the files → JobSpec. */
void renamed_jobs_check(const GPtrArray *files, const GPtrArray *others, GHashTable *before,
                        Diagnostics *diagnostics);
