/* How a unit ended, and the table that translates systemd's and the bus's words. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"

typedef enum UnitOutcome {
        UNIT_OUTCOME_PENDING, /* not ended yet */
        UNIT_OUTCOME_SUCCESS,
        UNIT_OUTCOME_EXIT_CODE,    /* exit_status is the code */
        UNIT_OUTCOME_SIGNAL,       /* exit_status is the signal */
        UNIT_OUTCOME_TIMEOUT,      /* its time limit passed */
        UNIT_OUTCOME_START_FAILED, /* never ran: no such executable or user, refused by PID 1;
                                      `detail` says what */
        UNIT_OUTCOME_NOT_BEGUN,    /* nor did this one: PID 1 has other plans, which exclude it: a
                                      shutdown, mostly; in its words, in `detail` */
        UNIT_OUTCOME_NO_ROOM,      /* nor this: PID 1 could not write down what it is; its words in
                                      `detail` */
        UNIT_OUTCOME_OTHER,   /* another systemd result (oom-kill, resources, ...), in `detail` */
        UNIT_OUTCOME_UNKNOWN, /* the unit vanished before its result could be read */
} UnitOutcome;

/* Whether it ended by itself, or who had PID 1 end it. */
typedef enum UnitStop {
        UNIT_STOP_NONE,
        UNIT_STOP_OWNER,    /* unit_stop() or unit_kill() */
        UNIT_STOP_OTHER,    /* somebody else: `systemctl stop UNIT` */
        UNIT_STOP_SHUTDOWN, /* the machine is being shut down */
        UNIT_STOP_FENCE,    /* the fence left off, to which it was bound */
} UnitStop;

typedef struct UnitResult {
        UnitOutcome outcome;
        UnitStop stop;
        bool left;        /* the main process left something, which had to be ended */
        int exit_status;  /* exit code or signal number, by outcome */
        int refusal;      /* exit status of the launch step that did not let it run; 0: none did */
        char detail[200]; /* systemd's own word or the bus's error message; "" on success */
        char invocation_id[33];
        usec_t
            started; /* CLOCK_REALTIME of the main process's start and end, 0 where it never ran */
        usec_t ended;
        usec_t cpu; /* USEC_INFINITY: not accounted */
        /* Of one that is absent: when the fence left off last, CLOCK_MONOTONIC; 0: never. */
        usec_t fence_left;
} UnitResult;

/* Classifies what GetAll on the service says: Result, ExecMainCode (CLD_*), ExecMainStatus. Exit
 * statuses 200-243 of systemd itself (systemd.exec(5), "Process Exit Codes") are starts that
 * failed, and so is any end without a main process (code 0) but a time-out. */
UnitOutcome unit_outcome_from_service(const char *result, int exec_main_code, int exec_main_status);

/* Return: systemd's name of one of its own exit statuses ("EXEC" for 203), NULL for any other. */
const char *unit_exit_status_name(int status);

/* The Result word that the main process by itself would have earned. systemd says "timeout" also of
 * a service whose remains outlived the stop timeout after somebody stopped it; then this is what to
 * ask instead. */
const char *unit_result_word_of_process(int exec_main_code, int exec_main_status);

/* What an error of StartTransientUnit means. */
typedef enum UnitBusFault {
        UNIT_BUS_REFUSED,   /* PID 1 understood and said no: the unit does not exist */
        UNIT_BUS_NO_ROOM,   /* the same: it could not write down what the unit is */
        UNIT_BUS_OUTRANKED, /* the same, because of a job that it has: a shutdown's, mostly */
        UNIT_BUS_EXISTS,    /* a unit of that name is loaded */
        UNIT_BUS_BUSY,      /* too many calls, try again */
        UNIT_BUS_UNKNOWN,   /* nobody knows whether it was done: read the unit */
} UnitBusFault;
UnitBusFault unit_bus_fault_from_error(const char *error_name);

const char *unit_outcome_to_string(UnitOutcome outcome);
