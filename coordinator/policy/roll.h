/* The roll of a tick over the nodes of a job of mode each-node: may this node begin now? What is
 * known of the others' runs goes in (record/rolls.h), a verdict comes out. Pure.
 *
 * A roll stops when as many nodes have failed for its tick as `max-failures` says: whoever has not
 * begun it by then does not. A run has failed when no further attempt of it follows, as for whoever
 * is alarmed (policy/follow.h): it failed, took too long, was interrupted, or nobody knows how it
 * ended. What somebody stopped has not. A node that has begun goes on to its further attempts.
 *
 * Where nodes take turns, one whose lock is free is not yet over: of a node that died it is its
 * session that has gone, and its run is settled by others after that. Until then nobody has its
 * turn, so that nobody begins beside what may be the failure that stops the roll. */
#pragma once

#include "rolls.h"

typedef enum RollVerdict {
        ROLL_GO,
        ROLL_WAIT,    /* for the end of another node's run */
        ROLL_STOPPED, /* the tick is not run here any more */
        ROLL_VERDICT_COUNT,
} RollVerdict;

typedef struct RollInput {
        const Rolls *rolls;
        int64_t tick;
        const char *node;      /* that asks; of its own runs its ledger tells */
        bool begun;            /* it has had an attempt of the tick */
        unsigned turns;        /* so many nodes run it at a time; 0: nobody waits for another */
        unsigned max_failures; /* 0: any number */
} RollInput;

/* Return: the verdict. With ROLL_WAIT *ret_run is the oldest run that is waited for, borrowed from
 * the rolls; else NULL. */
RollVerdict roll_judge(const RollInput *input, const RollRun **ret_run);
/* Return: newly allocated, why it is so, a sentence for people; "" for ROLL_GO. */
char *roll_why(const RollInput *input);
/* Return: whether a run that has come to that state, and is not attempted again, has failed. */
bool roll_is_failure(RunState state);
