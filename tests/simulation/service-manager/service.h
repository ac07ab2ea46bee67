/* A service as PID 1 has it, and how its processes conduct themselves. */
#pragma once

#include <glib.h>

#include "process.h"
#include "unit-result.h"
#include "unit-start.h"

typedef struct Pid1 Pid1;
typedef struct Service Service;

typedef enum ServicePhase {
        SERVICE_QUEUED,    /* its start job waits, or its main process is being made */
        SERVICE_RUNNING,   /* the main process lives */
        SERVICE_LINGERING, /* only what it left does */
        SERVICE_OVER,      /* nothing is left but the result */
} ServicePhase;

/* What the main process makes of SIGTERM. */
typedef enum ServiceManners {
        SERVICE_DIES,
        SERVICE_EXITS, /* with status 0 */
        SERVICE_IGNORES,
} ServiceManners;

/* How PID 1 says that a start job ended. */
#define SYSTEMD_JOB_DONE "done"
#define SYSTEMD_JOB_FAILED "failed"
#define SYSTEMD_JOB_CANCELED "canceled"
/* What it says of a service whose main process ended without having said that it is ready. */
#define SYSTEMD_PROTOCOL "protocol"

typedef struct ServiceConduct {
        usec_t start;    /* until the main process is there */
        int cannot;      /* it never is: systemd's exit status (203: no such command); 0: it is */
        usec_t duration; /* of the main process */
        int status;      /* its exit status */
        usec_t remains;  /* how long what it leaves lives, if nobody ends it */
        ServiceManners manners;
        usec_t last_words; /* from SIGTERM to the end */
        usec_t word;       /* from its beginning until it says READY=1; 0, USEC_INFINITY: never */
        bool reboots;      /* what it says then is that the machine is to be rebooted */
} ServiceConduct;

struct Service {
        Pid1 *pid1; /* weak */
        UnitSpec *spec;
        ServicePhase phase;
        ServiceConduct conduct;
        UnitResult result;
        UnitResult own;      /* the main process's alone */
        usec_t began;        /* CLOCK_MONOTONIC: its start job does not wait any more; 0: it does */
        usec_t gone;         /* CLOCK_MONOTONIC: the main process is; 0: not yet, or never was */
        bool stopping;       /* it is being ended, or was */
        bool killed;         /* before the main process ended, or by a crash */
        bool timed_out;      /* its limit has passed */
        bool overdue;        /* it had to be killed after a stop, and nothing was wrong before */
        bool was_active;     /* its main process ended well, and by itself */
        bool outlives_start; /* its start job was done before its main process was */
        bool job_over;       /* its start job is */
        bool never;          /* its start job was taken back before anything ran */
        bool asked;          /* the daemon has asked PID 1 to end it, which may hear of it later */
        bool forgiven;       /* somebody had PID 1 forget that it failed */
        unsigned references; /* of who is connected, and wants it kept */
        ProcessTask *next;   /* of its own life: what the phase ends with */
        ProcessTask *limit, *killer, *word;
};

/* What a simulation wants of services, and wants to be told at the moment it happens. */
typedef struct ServiceWatcher {
        /* Fills in how it is going to conduct itself; it is all 0 before. */
        void (*conduct)(const Service *service, ServiceConduct *conduct, void *userdata);
        void (*begun)(const Service *service, void *userdata); /* the main process is there */
        void (*ready)(const Service *service, void *userdata); /* and says so */
        /* It wants the machine to be rebooted: not before this returns. */
        void (*reboots)(const Service *service, void *userdata);
        void (*over)(const Service *service, void *userdata); /* it is not any more */
        /* PID 1 was told to end it, alive or not. */
        void (*ordered)(const Service *service, void *userdata);
        /* Nothing of it lives. Told also of one that never ran. */
        void (*empty)(const Service *service, void *userdata);
        void *userdata;
} ServiceWatcher;

/* Starts one. `changed` is called whenever it is in another phase. */
Service *service_new(Pid1 *pid1, const UnitSpec *spec);
void service_free(void *data);

/* Of one that is not over. It may be freed by it. */
void service_stop(Service *service);
void service_kill(Service *service);
/* The fence is there, for which it may have waited. */
void service_is_let(Service *service);
/* Return: whether it waits for that. */
bool service_waits(const Service *service);
/* Its main process ends now, by itself. */
void service_end(Service *service);
/* What its launch step does as it is stopped while it is over, or active. */
void service_step_at_stop(Service *service);
/* PID 1 stops it and starts it again. Not while its start waits. */
void service_restart(Service *service);
/* Somebody has PID 1 forget that it failed, if it is over and did. */
void service_forgive(Service *service);
/* The machine is gone, and everything with it. */
void service_vanish(Service *service);
bool service_is_alive(const Service *service);
/* Return: whether PID 1 says that it failed. */
bool service_has_failed(const Service *service);
/* Return: whether PID 1 calls the end of its main process a good one: of what is no command that
 * ends by itself SIGTERM is one, too. */
bool service_ended_well(const Service *service);
/* Return: whether its start job ends before its main process does, if all is well. */
bool service_starts_early(const Service *service);
/* Return: whether it is over, and nothing but a reference keeps it. */
bool service_is_inactive(const Service *service);

/* Return: the value of a variable of its environment; NULL where it has none. */
const char *service_variable(const Service *service, const char *name);
