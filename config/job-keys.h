/* The key tables of job files: the file itself, and one job. */
#pragma once

#include "job.h"
#include "key.h"

/* What a job file has at its top: places in the tree, for job-file.c to go on with. */
typedef struct JobFileRoot {
        const YamlNode *defaults; /* NULL: none */
        const YamlNode *jobs;
} JobFileRoot;

extern const KeyTable job_file_table; /* decodes into JobFileRoot */
extern const KeyTable job_table; /* decodes into JobSpec; `schedule` is left to job-file.c, because
                                    it needs the timezone */

/* Return: a job with every default in place. */
JobSpec *job_spec_new(void);
