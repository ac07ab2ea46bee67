/* What jobkeeperd and its fence agree on.
 *
 * The fence, a process of its own (jobkeeper-fence.service), sees to it that what is fenced on this
 * machine stops in time also when jobkeeperd cannot stop it: everything fenced lives in FENCE_SLICE
 * and is bound (BindsTo=) to FENCE_UNIT. jobkeeperd connects to FENCE_SOCKET (AF_UNIX,
 * SOCK_SEQPACKET). Whoever is not uid 0 in the cgroup FENCE_CLIENT_CGROUP is closed at once. The
 * others get one message, a FenceHello, with two descriptors (SCM_RIGHTS): timerfds on
 * CLOCK_BOOTTIME that both processes hold from then on, so that jobkeeperd moves the instants
 * without a word, and the kernel counts.
 *
 * - FENCE_TIMER_STOP, set (TFD_TIMER_ABSTIME) to when stopping begins: where something fenced lives
 *   then, the fence tells the service manager that it stops itself, and the manager stops all that
 *   is bound to it. It ends its connection at the same time.
 * - FENCE_TIMER_KILL, set to when nothing may be left but for what SIGKILL needs: the fence kills
 *   the slice's cgroup itself.
 *
 * A timer that was never set never fires. Neither side reads one: whether its instant has passed is
 * whether it is readable, and reading would take that back. The next jobkeeperd is given the same
 * timers, as they stand; they are not to be unset while anything fenced lives. What begins after a
 * stop that has passed and was not set anew is stopped at once.
 *
 * Each fence has an instance, the service manager's id of this start of it (INVOCATION_ID): 32
 * hexadecimal digits, in the FenceHello and, before the manager is told that the fence is ready, in
 * the file FENCE_INSTANCE_PATH, one line, in which what is about to begin looks which fence it is
 * that would guard it. A fence with another instance has never guarded what was begun under this
 * one, and what was has been stopped, and killed, by the time that it greets anybody.
 *
 * The connection stays open: its end tells each side that the other is gone. A newer one takes the
 * place of an older one. All that jobkeeperd ever sends is one message of one byte, FENCE_LEAVE: an
 * upgrade; the fence ends as soon as nothing fenced lives, and comes back as the new program.
 * Anything else ends the connection.
 *
 * The numbers are the machine's own: both ends are of one machine and one package.
 */
#pragma once

#include <stdint.h>

#define FENCE_UNIT "jobkeeper-fence.service"
#define FENCE_SOCKET "/run/jobkeeper-fence.sock"
#define FENCE_INSTANCE_PATH "/run/jobkeeper-fence/instance"
#define FENCE_SLICE "system-jobkeeper-fenced.slice"
/* Below the root of the cgroups, as PID 1 names them. */
#define FENCE_SLICE_CGROUP "/system.slice/system-jobkeeper.slice/" FENCE_SLICE
#define FENCE_CLIENT_CGROUP "/system.slice/jobkeeperd.service"

#define FENCE_MAGIC "jkfence1"   /* eight bytes, without the end of a string */
#define FENCE_INSTANCE_DIGITS 32 /* of an instance */
#define FENCE_LEAVE 'L'

/* The descriptors that come with a FenceHello, by their place. */
enum { FENCE_TIMER_STOP, FENCE_TIMER_KILL, FENCE_TIMERS };

/* Flags of a FenceHello. Without it the fence can only have the service manager stop what is bound
 * to it: it may not write cgroup.kill of the slice. */
#define FENCE_CAN_KILL (UINT32_C(1) << 0)

typedef struct FenceHello {
        char magic[8];    /* FENCE_MAGIC */
        char version[32]; /* JOBKEEPER_VERSION of the fence, with an end */
        char instance[FENCE_INSTANCE_DIGITS + 1];
        uint32_t flags;
} FenceHello;
