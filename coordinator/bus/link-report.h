/* The links of a job as an answer tells of them: both what its definition names, and who follows it
 * and whom it serves, which stands in the definitions of others. */
#pragma once

#include <jansson.h>

#include "jobset.h"

/* Return: a new reference, [{"job", "on"}] of what it runs after, in the order of its definition.
 */
json_t *link_report_after(const JobLinks *links);
/* Return: newly allocated, "links" of Next (bus-interface.h); NULL where the job has none. */
json_t *link_report(const JobSet *jobset, const JobSpec *spec);
