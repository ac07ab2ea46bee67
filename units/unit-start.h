/* What a unit is made of, and the one message that makes it: StartTransientUnit. */
#pragma once

#include <stdbool.h>
#include <systemd/sd-bus.h>

#include "cleanup.h"
#include "clock.h"

/* What a unit is ordered after unless its spec says otherwise: at shutdown runs stop first, and are
 * settled while there is a network. */
#define DAEMON_UNIT "jobkeeperd.service"
#define UNIT_AFTER_DEFAULT DAEMON_UNIT, "network.target"

/* When it has started, which ends its start job. */
typedef enum UnitReady {
        UNIT_READY_AT_END,   /* its main process is over: Type=oneshot */
        UNIT_READY_AT_START, /* that was executed: Type=exec. Whatever waits for all start jobs, as
                                the end of a machine's boot does, does not wait for its end */
        UNIT_READY_NOTIFIED, /* that says so by sd_notify(3): Type=notify */
} UnitReady;

typedef struct UnitSpec {
        const char *name; /* "....service" */
        const char *description;
        const char *const *argv;        /* NULL-terminated */
        bool argv_expand;               /* let PID 1 expand ${VARIABLES} */
        const char *user, *group;       /* NULL: not set */
        const char *const *environment; /* "NAME=value", NULL-terminated */
        /* Absolute paths, NULL-terminated, "-" before one that may be missing. */
        const char *const *environment_files;
        const char *const *credentials; /* "NAME:PATH", NULL-terminated */
        const char *working_directory;  /* NULL: not set */
        const char *const *log_fields;  /* "NAME=value", NULL-terminated */
        /* Further settings, which go into the launch step's file: "NAME=VALUE", NULL-terminated;
         * NULL: none. */
        const char *const *unit_settings, *const *service_settings;
        const char *slice;
        bool fenced;              /* it ends when the fence does */
        const char *const *after; /* units it is ordered after, so that at shutdown it stops before
                                     them; NULL: UNIT_AFTER_DEFAULT */
        const char *nonce; /* 32 hex digits: tells our unit from another of the same name; travels
                              in its environment as JOBKEEPER_NONCE */
        /* The launch step: the program that PID 1 runs before the command, with the words that it
         * is to have besides (launch-dropin.h), NULL-terminated; NULL: none. */
        const char *const *launch;
        UnitReady ready;
        usec_t timeout;      /* until it is ready, USEC_INFINITY: none */
        usec_t stop_timeout; /* from SIGTERM to SIGKILL */
} UnitSpec;

/* Return: PID 1's word for its type, constant. */
const char *unit_type_of(const UnitSpec *spec);

/* A copy that owns everything in it. */
UnitSpec *unit_spec_copy(const UnitSpec *spec);
UnitSpec *unit_spec_free(UnitSpec *spec);
DEFINE_CLEANUP(UnitSpec, unit_spec_free);

/* Appends to the properties of a unit, be it a service or a scope, what it is ordered after (NULL:
 * UNIT_AFTER_DEFAULT), and what it is bound to. Return: 0 or negative errno. */
int unit_start_append_order(sd_bus_message *message, const char *const *after, bool fenced);

/* Makes the message. `referenced` asks PID 1 to keep the unit loaded for as long as our connection
 * lives, so that the result of a run that was stopped and exited 0 can still be read. Return: 0;
 * -EINVAL where a string is not UTF-8; or another negative errno. */
int unit_start_message(sd_bus *bus, const UnitSpec *spec, bool referenced,
                       sd_bus_message **ret_message);
