/* Asking jobkeeperd on the system bus. Calls are synchronous: this is a command that waits for one
 * answer, not a daemon. */
#pragma once

#include <jansson.h>
#include <systemd/sd-bus.h>

#include "cleanup.h"
#include "clock.h"

/* How a question ended. */
typedef enum BusOutcome {
        BUS_ANSWERED,
        BUS_NO_DAEMON, /* no such bus, or nobody owns the name */
        BUS_NO_ANSWER, /* it did not answer in time, or went away meanwhile */
        BUS_NO_SUCH_JOB,
        BUS_JOB_ELSEWHERE, /* another node has it, or each has its own */
        BUS_NOT_CONNECTED, /* the daemon has no ZooKeeper session */
        BUS_NO_CANDIDATE,
        BUS_NO_SUCH_LOCK,
        BUS_STOPPING, /* it is just going; another one will come */
        BUS_DENIED,   /* the bus's policy does not let us */
        BUS_FAILED,
} BusOutcome;

typedef struct BusAnswer {
        BusOutcome outcome;
        char *text;    /* the daemon's JSON, when answered */
        json_t *json;  /* the same, parsed */
        char *message; /* a sentence, when not */
} BusAnswer;

/* What no question of ours takes longer for, except waiting for a run. */
#define BUS_TIMEOUT (25 * USEC_PER_SEC)

/* Calls `method` with arguments as sd_bus_message_append() takes them, and fills *ret, whose old
 * content is freed. */
void bus_ask(BusAnswer *ret, const char *method, usec_t timeout, const char *types, ...);
/* Fills *ret, whose old content is freed, with what came back to a question: an answer or an error.
 */
void bus_answer_take(BusAnswer *ret, sd_bus_message *reply, const char *method);
void bus_answer_done(BusAnswer *answer);
#define _cleanup_answer_ _cleanup_(bus_answer_done)

/* Return: the outcome that a D-Bus error name stands for. Pure. */
BusOutcome bus_outcome_from_error(const char *name);

/* Return: the exit status of an outcome. Pure. */
int bus_outcome_exit(BusOutcome outcome);

/* Complains about an answer that is none. Return: its exit status. */
int bus_answer_report(const BusAnswer *answer);
