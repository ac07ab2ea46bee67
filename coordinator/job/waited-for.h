/* What is waited for is not skipped: whether anybody stands in the queues for a tick that would be
 * recorded as missed, or as one that no node could run: who stands there may be no member for a
 * moment, when somebody deletes its node. And which tick the process before us waited for. Of jobs
 * whose lock-wait may be longer than their start deadline. */
#pragma once

#include "decision.h"
#include "waiter-looks.h"

typedef struct WaitedFor WaitedFor;

typedef enum WaitedForVerdict {
        WAITED_FOR_BY_NOBODY,
        WAITED_FOR_BY_US,     /* by the process before us: waited_for_tick() */
        WAITED_FOR_BY_OTHERS, /* of other nodes */
} WaitedForVerdict;

/* As WaitersFunc. `found` is for waited_for_judge(). */
typedef void (*WaitedForFunc)(int error, const GPtrArray *found, void *userdata);

WaitedFor *waited_for_new(WaiterLooks *looks, const char *job, WaitedForFunc func, void *userdata);
WaitedFor *waited_for_free(WaitedFor *waited);
DEFINE_CLEANUP(WaitedFor, waited_for_free);

/* Return: whether what is to be skipped may be waited for, so that it is to be looked for first. */
bool waited_for_matters(const JobSpec *spec, const Decision *decision);
/* Looks. Return: 0, then exactly one call of the function, unless it is stopped; negative errno. */
int waited_for_look(WaitedFor *waited, const JobSpec *spec);
void waited_for_stop(WaitedFor *waited);
/* `may_run`: this node. */
WaitedForVerdict waited_for_judge(WaitedFor *waited, const JobSpec *spec, const GPtrArray *found,
                                  const Decision *decision, bool may_run);

/* The tick that the process before us waited for, or 0. */
int64_t waited_for_tick(const WaitedFor *waited);
void waited_for_set_tick(WaitedFor *waited, int64_t tick);
