/* What a job is doing on this node, for people. */
#pragma once

typedef enum ScheduledJobState {
        JOB_UNREAD,
        JOB_IDLE,
        JOB_NO_NODE, /* no node of the cluster can run it */
        JOB_WAITING,
        JOB_RUNNING,
        JOB_DRIFTED,
        JOB_UNFIT
} ScheduledJobState;
