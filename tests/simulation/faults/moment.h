/* Moments at which a fault does most harm: a client has just sent something that counts. See
 * moment.c. */
#pragma once

#include "transaction.h"

typedef enum Moment {
        MOMENT_NONE,
        MOMENT_ATTACH, /* a process takes a session over, or comes back to it */
        MOMENT_QUEUE,  /* a contender is made */
        MOMENT_WATCH,  /* a contender, or how many may hold it at once, is put under watch */
        MOMENT_CLAIM,
        MOMENT_SETTLE,
        MOMENT_ORPHAN, /* a run of somebody else is settled */
        MOMENT_LEAVE,  /* a contender is deleted by itself */
        MOMENT_LEDGER, /* a ledger is written beside a claim and a settle: skips, withdrawals */
        MOMENT_READ,   /* something is read behind a sync: after an answer that was lost */
        MOMENTS
} Moment;

/* Return: what it is that this node asks for. */
Moment moment_of(const char *node, const Request *request);
const char *moment_to_string(Moment moment);
