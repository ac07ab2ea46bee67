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
 * turn, so that nobody begins beside what may be the failure that stops the roll.
 *
 * With `rejoin-timeout` it is not over either until its machine is back: a member of the cluster
 * again after its run was settled. A machine that is a member with the boot that it claimed in has
 * not been away, or not yet: a job that says "reboot" may end before its machine does. So it is
 * believed to stay only after ROLL_STAY; with another boot it is back at once. Whose machine is not
 * back in time stops the roll of its tick; those of other ticks go on without it.
 *
 * Where what stands there is damaged nobody knows who has failed or is under way, so nothing
 * begins, of whatever tick, before a person has deleted it. */
#pragma once

#include "member.h"
#include "rolls.h"

/* So long after its run a machine may still be about to go down, which nobody sees yet: systemd
 * delays a shutdown by 5 s for whoever asked for that (logind.conf(5), InhibitDelayMaxSec=), and
 * then has to come to our daemon. */
#define ROLL_STAY (10 * USEC_PER_SEC)

typedef enum RollVerdict {
        ROLL_GO,
        ROLL_WAIT,    /* for the end of another node's run, or for its machine */
        ROLL_STOPPED, /* the tick is not run here any more */
        ROLL_DAMAGED, /* nobody knows: nothing begins */
        ROLL_VERDICT_COUNT,
} RollVerdict;

typedef struct RollInput {
        const Rolls *rolls; /* NULL: what stands there is damaged */
        int64_t tick;
        const char *node;      /* that asks; of its own runs its ledger tells */
        bool begun;            /* it has had an attempt of the tick */
        unsigned turns;        /* so many nodes run it at a time; 0: nobody waits for another */
        unsigned max_failures; /* 0: any number */
        usec_t rejoin_timeout; /* 0: no machine is waited for after its run */
        usec_t now;            /* the servers' time */
        bool away;             /* for people alone: the node whose run is waited for is no member */
} RollInput;

/* Return: the verdict. With ROLL_WAIT *ret_run is the oldest run that is waited for, borrowed from
 * the rolls; else NULL. */
RollVerdict roll_judge(const RollInput *input, const RollRun **ret_run);
/* Return: newly allocated, why it is so, a sentence for people; "" for ROLL_GO. */
char *roll_why(const RollInput *input);
/* Return: whether a run that has come to that state, and is not attempted again, has failed. */
bool roll_is_failure(RunState state);

/* Return: whether the verdict may depend on whether the machine of that run is back. */
bool roll_awaits(const RollInput *input, const RollRun *run);
/* Return: whether it is, by what it says of itself as a member; NULL: it is none. */
bool roll_is_back(const RollRun *run, const Member *member, usec_t now);
/* The machine of that run of theirs, which is waited for, is back: what is kept of it is that it
 * has failed, if it has. */
void roll_take_back(Rolls *rolls, const RollRun *run);
/* After ROLL_STOPPED: notes in the rolls (which may be those of the input) whose machine is late,
 * so that the roll stays stopped when that comes. Return: whether that is news. */
bool roll_note_late(const RollInput *input, Rolls *rolls);
