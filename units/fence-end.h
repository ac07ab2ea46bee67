/* Whether it was the fence that ended a unit which is bound to it.
 *
 * Whenever jobkeeper-fence leaves off, because it fired, was killed or hung, PID 1 stops all that
 * is bound to it, and nothing in such a unit says why. But PID 1 keeps when the fence was last
 * active: a unit that had begun before, and had not ended by then, was ended by that. A unit that
 * was stopped and ended well may be forgotten by the time that somebody asks; all that is left then
 * is when the fence left off, for those who know when the unit was started.
 */
#pragma once

#include "unit-manager.h"
#include "unit-properties.h"
#include "unit-result.h"

typedef struct FenceEnd {
        UnitManager *manager; /* weak */
        bool bound;
        usec_t began, gone; /* the unit, its main process; CLOCK_MONOTONIC, 0: not known */
        usec_t limit;       /* what it was given; USEC_INFINITY: no end */
        BusCall *ask;
        usec_t left; /* when the fence left off last, CLOCK_MONOTONIC; 0: never, or not known */
        void (*answered)(void *userdata);
        void *userdata;
} FenceEnd;

/* `answered`: PID 1 has said when, or does not say. */
void fence_end_init(FenceEnd *end, UnitManager *manager, void (*answered)(void *userdata),
                    void *userdata);
void fence_end_clear(FenceEnd *end);
/* A start of a unit that is bound is asked for now. */
void fence_end_expect(FenceEnd *end);
void fence_end_see(FenceEnd *end, const UnitProperties *properties);
void fence_end_ask(FenceEnd *end);
bool fence_end_asks(const FenceEnd *end);

/* Return: whether how it ended leaves open that the fence ended it. `word`: how its start job did;
 * NULL: nobody heard. Pure. */
bool fence_end_may_be(const FenceEnd *end, const UnitResult *result, const char *word);
/* Return: whether it did. PID 1 knows the last end of a fence alone; where that came later, and
 * nobody saw how the unit ended, one that died of what a stop sends it is taken for stopped. Pure.
 */
bool fence_end_was(const FenceEnd *end, const UnitResult *result);
/* Return: whether what seems to have been stopped by somebody had failed by itself, and it was the
 * fence that ended what was left: PID 1 takes the start job away, as long as something lives. Pure.
 */
bool fence_end_was_late(const FenceEnd *end, const UnitResult *result);
/* Return: the same, where it was its time limit that it had failed at, however it ended then. Pure.
 */
bool fence_end_was_overdue(const FenceEnd *end, const UnitResult *result);
