/* The links of a job as an answer tells of them: both what its definition names and who follows it,
 * which stands in the definitions of others. */
#pragma once

#include <jansson.h>

#include "jobset.h"

/* Return: newly allocated, "links" of Next (bus-interface.h); NULL where the job has none. */
json_t *link_report(const JobSet *jobset, const JobSpec *spec);
