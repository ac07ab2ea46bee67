/* When a run of a service has ended: does another follow, and after what pause? Pure: how the run
 * ended and how long it lived goes in, a verdict comes out.
 *
 * A service is to run always, so it is started again whatever its end was, a success too. Runs that
 * live only for a short time one after the other are the mark of one that cannot run: the pause
 * between them doubles up to the most. A run that lived for SERVICE_RESTART_LONG has shown that it
 * can, and the count begins anew.
 *
 * A run that was lost (its node died, was drained, or lost its locks) says nothing of the service:
 * the next one follows at once, elsewhere. What is lost again and again within a short time may be
 * what fells the machines, and is given the pause. A run that may be alive although it was given up
 * has no successor until it is known how it ended: there are never two.
 *
 * A run that somebody stopped is followed by another after the first pause. What keeps a service
 * down is a pause of the job, which is not asked about here.
 */
#pragma once

#include <stdbool.h>

#include "clock.h"
#include "run-state.h"

/* No run follows a short one sooner, whatever the definition says: each is a record and a claim. */
#define SERVICE_RESTART_MIN (1 * USEC_PER_SEC)
/* A run that lived for so long was none that lives for a short time. */
#define SERVICE_RESTART_LONG (10 * USEC_PER_MINUTE)

typedef struct ServiceEnd {
        RunState state;
        bool continues;          /* it was given up, and may be alive */
        usec_t lived;            /* from its start to its end; 0: not known */
        unsigned short_lived;    /* runs in a row before this one that lived for a short time */
        usec_t delay, max_delay; /* the first pause, and the most it doubles up to */
} ServiceEnd;

typedef struct ServiceRestart {
        bool follows;
        usec_t pause;         /* from when the end is written, by the server's clock */
        unsigned short_lived; /* for the next end */
} ServiceRestart;

/* Return: what follows that end; nothing follows a state that is none. */
ServiceRestart service_restart_after(const ServiceEnd *end);
