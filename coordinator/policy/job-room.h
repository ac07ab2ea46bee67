/* How many more jobs there is room for, when files are taken into force one after the other. A file
 * is taken whole or not at all: half of one would be a definition that nobody wrote. Pure. */
#pragma once

#include "diagnostics.h"
#include "job-file.h"

typedef struct JobRoom {
        guint left; /* of JOBS_MAX; what was set aside for files to come is not in it */
} JobRoom;

/* Takes room for `jobs` of the file's jobs, of which `aside` have theirs set aside for this file.
 * Return: false when that is more than is left; then nothing is taken, and an error names the file
 * and the limit. */
bool job_room_take(JobRoom *room, const JobFile *file, guint jobs, guint aside,
                   Diagnostics *diagnostics);
