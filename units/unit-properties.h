/* What one GetAll on a service tells, as far as we care. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

#include "cleanup.h"
#include "clock.h"

/* The types of units that have started once their main process was executed, or says so. */
#define UNIT_TYPE_EXEC "exec"
#define UNIT_TYPE_NOTIFY "notify"

#define UNIT_NONCE_VARIABLE "JOBKEEPER_NONCE="

/* The program of a launch step (launch-dropin.h), without its directory. */
#define LAUNCH_PROGRAM_NAME "jobkeeper-launch"

typedef struct UnitProperties {
        char *load_state;
        char *active_state;
        char *result;
        char *control_group; /* "" while there is none */
        char *slice;
        char *type;
        bool fenced;       /* it is bound to the fence */
        char *nonce;       /* NULL: it has none, so it is not ours */
        char *systemd_job; /* object path of the queued job, NULL: none */
        char invocation_id[33];
        uint32_t main_pid;
        int32_t exec_main_code; /* CLD_*, 0 until the main process has ended */
        int32_t exec_main_status;
        usec_t exec_main_start; /* CLOCK_REALTIME */
        usec_t exec_main_exit;
        usec_t exec_main_gone; /* CLOCK_MONOTONIC: the same */
        usec_t began;          /* CLOCK_MONOTONIC: it left being inactive; 0: never */
        int32_t launch_status; /* exit status of its launch step, 0 until that has failed */
        usec_t active_enter;   /* CLOCK_REALTIME, 0: never: no main process has ended well, or said
                                  that it has started (unit_properties_outlive_start()) */
        usec_t active_left; /* CLOCK_MONOTONIC: it was active, and PID 1 has ended it, or seen its
                               end, then; 0: never */
        usec_t start_limit; /* USEC_INFINITY: none */
        usec_t stop_limit;  /* the same; 0: not told */
        usec_t cpu;
} UnitProperties;

/* Reads the reply of GetAll for all interfaces of a service. Return: 0 or negative errno. */
int unit_properties_read(sd_bus_message *reply, UnitProperties *ret_properties);
void unit_properties_clear(UnitProperties *properties);

/* Reads an invocation id, which travels as 16 bytes (or none while the unit was never started), as
 * 32 hex digits (or ""). */
int unit_invocation_id_read(sd_bus_message *message, char ret_id[33]);

/* Return: whether the unit is loaded and the start with this nonce made it. */
bool unit_properties_are_of(const UnitProperties *properties, const char *nonce);
/* Return: whether its start job is done before its main process is. */
bool unit_properties_short_start(const UnitProperties *properties);
/* Return: whether it is one, and that is done: how its start job ended tells nothing of its end. */
bool unit_properties_outlive_start(const UnitProperties *properties);
/* Return: whether the main process has ended, or will never run. */
bool unit_properties_over(const UnitProperties *properties);
