/* Job files that are none: a crontab or a systemd unit that somebody copied to jobs.d. Pure. */
#pragma once

#include "mark.h"

/* Return: NULL when the text looks like neither; otherwise a newly allocated message (g_free) that
 * says what it looks like and how its first entry is written here, with the entry's place in *mark
 * (whose file stays). Nothing that is a job file looks like one of the two. */
char *foreign_file_explain(const char *text, Mark *mark);
