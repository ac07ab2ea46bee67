/* Job files as texts, for tests of what stands in them. In messages the file is called "f". */
#pragma once

#include "job-file.h"

/* Parses a file and expects these errors. Return: the file. */
JobFile *parse_job_file(const char *text, const char *errors);
/* The same, where the file itself is of no interest. */
void expect_job_file(const char *text, const char *errors);
/* Return: newly allocated, a file with a job "a", which has this line at 4:5; "exec" itself stands
 * at 3:5. */
char *job_file_with_line(const char *line);
/* Return: the job of that name, borrowed; the test fails where there is none. */
const JobSpec *job_in_file(const JobFile *file, const char *name);
