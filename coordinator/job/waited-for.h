/* What is waited for is not skipped: whether anybody stands in the queues for a tick that would be
 * recorded as missed, and which tick the process before us waited for. Of jobs whose lock-wait may
 * be longer than their start deadline.
 *
 * That a tick is waited for stands nowhere but in the queues. What the process before us left there
 * is deleted, and until the job queues itself, for which it may have to wait for a place of
 * max-runs, a contender stands in for it: in the job's own queue alone, so that nothing else waits
 * for one that has no place. */
#pragma once

#include "decision.h"
#include "waiters.h"

typedef struct WaitedFor WaitedFor;

typedef enum WaitedForVerdict {
        WAITED_FOR_BY_NOBODY,
        WAITED_FOR_BY_US,     /* by the process before us: waited_for_tick() */
        WAITED_FOR_BY_OTHERS, /* of other nodes */
} WaitedForVerdict;

/* As WaitersFunc. `found` is for waited_for_judge(). */
typedef void (*WaitedForFunc)(int error, const GPtrArray *found, void *userdata);

WaitedFor *waited_for_new(Node *node, const char *job, WaitedForFunc func, void *userdata);
WaitedFor *waited_for_free(WaitedFor *waited);
DEFINE_CLEANUP(WaitedFor, waited_for_free);

/* Return: whether what is to be skipped may be waited for, so that it is to be looked for first. */
bool waited_for_matters(const JobSpec *spec, const Decision *decision);
/* Looks. Return: 0, then exactly one call of the function, unless it is stopped; negative errno. */
int waited_for_look(WaitedFor *waited, const JobSpec *spec);
void waited_for_stop(WaitedFor *waited);
WaitedForVerdict waited_for_judge(WaitedFor *waited, const JobSpec *spec, const GPtrArray *found,
                                  const Decision *decision);

/* The process before us waited for that tick: it is remembered, and where it still may be waited
 * for, a contender tells the others. */
void waited_for_stand_in(WaitedFor *waited, const JobSpec *spec, int64_t tick);
/* The job stands in the queues itself, or gives the tick up. */
void waited_for_stand_down(WaitedFor *waited);
/* The ledger was read: likewise, where it has the tick settled. */
void waited_for_check(WaitedFor *waited, const Ledger *ledger);
bool waited_for_is_standing_in(const WaitedFor *waited);
/* The session is gone, and with it what that process waited for. */
void waited_for_reset(WaitedFor *waited);
/* The tick that the process before us waited for, or 0. */
int64_t waited_for_tick(const WaitedFor *waited);
