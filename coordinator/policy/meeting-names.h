/* By which names those have come that a job waits for together (record/meetings.h): who had another
 * name when it came is the same by its new one, as long as its definition says what it was. Pure.
 */
#pragma once

#include "jobset.h"
#include "meetings.h"

typedef struct MeetingNames {
        char *job;      /* that waits */
        char **parents; /* that are waited for */
        char **were;    /* the name of before of each of them; "": it had none */
} MeetingNames;

/* Return: newly allocated, as the set has them now. `job` waits for several together. */
MeetingNames *meeting_names_new(const JobSet *jobset, const JobSpec *job);
MeetingNames *meeting_names_free(MeetingNames *names);
DEFINE_CLEANUP(MeetingNames, meeting_names_free);

/* Return: the jobs that are waited for, borrowed. */
const char *const *meeting_names_parents(const MeetingNames *names);
/* Who has come there has come by the name that it has now. */
void meeting_names_apply(const MeetingNames *names, Meetings *meetings);
