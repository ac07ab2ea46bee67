/* When the fence's timers may be moved. Pure.
 *
 * They are to pass before the locks of anything that lives behind the fence can be anybody else's.
 * So they follow the deadline of the session under which all of that was begun, and of no other:
 * while something of an earlier session lives, they stay as they are, whatever the present one
 * hears. Once nothing lives, the present one takes them over, and what begins from then on is its
 * own.
 *
 * A fence whose instant has passed while something lives is stopping that, and is not to be taken
 * back.
 *
 * One that nobody has set yet has found nothing alive that can be ended (fence.h), and what was to
 * begin under another fence does not begin beside it. So the present session takes it over,
 * whatever lives there: that is what the kernel cannot end, or is about to be refused. A process
 * that nobody can end thus keeps a machine from beginning anything no longer than until the next
 * fence.
 */
#pragma once

#include <stdbool.h>

/* Both of a fence's timers together. */
typedef enum FenceTimers {
        FENCE_TIMERS_UNSET,
        FENCE_TIMERS_SET,
        FENCE_TIMERS_PASSED, /* at least one has */
        FENCE_TIMERS_COUNT,
} FenceTimers;

typedef enum FenceArming {
        FENCE_ARMING_KEEP, /* they stay as they are; nothing may begin */
        FENCE_ARMING_MOVE, /* with the session's deadline */
        FENCE_ARMING_TAKE, /* the same, and from now on they are the session's */
} FenceArming;

/* `ours`: what lives was all begun under the present session, if anything does. `populated`: and
 * does it; of what is not ours also what is not known to be over. */
FenceArming fence_arming(FenceTimers timers, bool ours, bool populated);
/* Return: whether something may begin once that is done. */
bool fence_arming_guards(FenceArming arming);
