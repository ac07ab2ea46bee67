/* A service manager in this process, in which runs really end: a unit's main process ends when the
 * test says so, with the result that the test gives, what it left lives on if the test wants that,
 * and a stop or a kill is obeyed at once, or late. Units outlive the daemon that started them and
 * are found again. A program that uses it gets unit_start() and the like from its linker, and not
 * the library's.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <systemd/sd-event.h>

#include "unit.h"

typedef enum ServiceState {
        SERVICE_ASKED,     /* PID 1 has not taken the start yet */
        SERVICE_RUNNING,   /* the main process lives */
        SERVICE_LINGERING, /* only what it left does */
        SERVICE_OVER,      /* nothing is left but the result */
        SERVICE_FORGOTTEN, /* nothing at all */
} ServiceState;

/* A unit as PID 1 has it. */
typedef struct Service {
        char *name, *nonce, *slice, *command; /* `command`: "PROGRAM ARGUMENT" */
        char **environment;
        ServiceState state;
        bool lingers; /* what the main process leaves lives until service_empty(), or a kill */
        UnitResult result;
        unsigned stops, kills; /* how often each was asked for */
        Unit *unit;            /* who watches it; NULL */
} Service;

typedef struct ServiceManager {
        sd_event *event;
        GPtrArray *services; /* Service, in the order of their starts, the forgotten included */
        bool hold_starts;    /* PID 1 takes none; service_begin() */
        bool deaf;           /* stops and kills do nothing; service_obey() */
        bool shuts_down;     /* what ends, ends because the machine is shut down */
        bool refuses;        /* PID 1 refuses to start anything */
        bool no_room;        /* for what refuses: there is none under /run */
        int start_error;     /* of unit_start() and unit_adopt() */
        bool disconnected;   /* the bus is away */
        usec_t silence;      /* unit_manager_silence(); service_manager_falls_silent() */
        usec_t fence_left;   /* UnitResult's, of what is absent */
        usec_t patience;     /* after which what a clearing ends is told to be stuck */
        bool busy;           /* PID 1 has still to answer */
        /* Where launch steps are written, and what they noted is read; NULL: they are not. */
        const char *dropin_root;
        int query_error;        /* of unit_manager_query_systemd_job(); -ENOTCONN at first */
        SystemdJob systemd_job; /* its answer */
} ServiceManager;

extern ServiceManager service_manager;
extern GPtrArray *started; /* what units were started with, adopted ones not: "PROGRAM ARGUMENT" */

void service_manager_begin(sd_event *event);
void service_manager_end(void);
/* PID 1 has taken such a job for the daemon's own unit, and says so to whoever listens. */
void service_manager_has_a_job(SystemdJob systemd_job);

/* PID 1 has not answered for so long, and whoever wants to know hears of it; 0: it answers. */
void service_manager_falls_silent(usec_t silence);

/* Return: the one that was started last, or the one of that name; NULL where there is none. */
Service *service_newest(void);
Service *service_find(const char *name);
/* Return: whether something of it lives. */
bool service_is_alive(const Service *service);
/* Return: how many are alive. */
unsigned services_alive(void);

/* PID 1 takes the start. */
void service_begin(Service *service);
/* The main process ends: with an exit status, by a signal, or as systemd's result says. */
void service_exit(Service *service, int status);
void service_die(Service *service, int signal);
void service_end(Service *service, UnitOutcome outcome, int status, const char *detail);
/* What the main process left is gone. */
void service_empty(Service *service);
/* What was asked of it while PID 1 was deaf is done. */
void service_obey(Service *service);
/* It is gone without a trace, as after a reboot; whoever watches it finds nothing. */
void service_vanish(Service *service);
/* One that nobody here started. */
Service *service_add(const char *name, const char *nonce, const char *slice);
