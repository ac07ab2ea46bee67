/* What people ask the cluster for: a run of a job, or that one be stopped. */
#pragma once

typedef struct Requested {
        const char *job, *who;
        const char *run;  /* of a run that is asked for: NULL where it is none yet */
        const char *node; /* for that one alone; NULL: any */
} Requested;
