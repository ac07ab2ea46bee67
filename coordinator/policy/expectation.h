/* Is a job overdue (`expect-within`), and is that to be told, now, by us? Pure: times and our rank
 * go in, a verdict comes out.
 *
 * A job is overdue when no run of it has succeeded for longer than its definition expects, whatever
 * kept it: runs that fail, nodes that are gone, a pause. Ranks below PLACEMENT_RANKS tell, each at
 * its turn, and none that stands in the ledger to have been told: so it is told once in the
 * cluster, by a node that lives and has the job, and once again each day while it lasts. The
 * success that ends it takes that out of the ledger again. Nobody hears of that, and the next
 * silence may be too long `within` later: so it is looked again by then.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"

/* How often it is said again while it lasts. */
#define EXPECTATION_REMIND (1 * USEC_PER_DAY)
/* What could not be told is tried again after that. */
#define EXPECTATION_PAUSE (1 * USEC_PER_MINUTE)

/* Times are the servers'. */
typedef struct ExpectationInput {
        usec_t within; /* USEC_INFINITY: nothing is expected */
        usec_t since;  /* the last success, or since when the job is there */
        usec_t told;   /* 0: it was not */
        usec_t now;
        uint32_t rank; /* PLACEMENT_NONE: it is for others to tell */
        usec_t takeover_delay;
} ExpectationInput;

typedef struct Expectation {
        bool tell;    /* that it is overdue, by us, now */
        bool told;    /* it was; what ends that is seen in ZooKeeper alone */
        usec_t again; /* when to look again; USEC_INFINITY: not before our rank is another */
} Expectation;

Expectation expectation_judge(const ExpectationInput *input);
/* Return: whether it is overdue at `now`. */
bool expectation_is_overdue(usec_t within, usec_t since, usec_t now);
