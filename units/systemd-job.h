/* Which job has PID 1 queued for a unit? Asked by who is about to decide whether its own end is a
 * restart. */
#pragma once

#include "unit-manager.h"

typedef enum SystemdJob {
        SYSTEMD_JOB_NONE,
        SYSTEMD_JOB_STOP,
        SYSTEMD_JOB_SHUTDOWN, /* a stop, and the whole machine is being shut down */
        SYSTEMD_JOB_RESTART,
        SYSTEMD_JOB_OTHER,
        SYSTEMD_JOB_UNKNOWN
} SystemdJob;
typedef void (*SystemdJobFunc)(SystemdJob systemd_job, void *userdata);

/* How long PID 1 may take to say whether our SIGTERM is part of a restart. */
#define RESTART_QUERY_TIMEOUT (2 * USEC_PER_SEC)

/* Asks which job PID 1 has queued for a unit ("jobkeeperd.service"). Answers within `timeout`, with
 * SYSTEMD_JOB_UNKNOWN where PID 1 does not, and with SYSTEMD_JOB_STOP where it says only that.
 * Return: 0 or negative errno. */
int unit_manager_query_systemd_job(UnitManager *manager, const char *unit, usec_t timeout,
                                   SystemdJobFunc func, void *userdata);
