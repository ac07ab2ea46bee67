/* Steps of the wall clock without stepping the machine's.
 *
 * The functions that tell wall-clock time are defined here once more. A program's own definitions
 * come before those of the shared libraries it is linked with, so the ZooKeeper library, GLib and
 * sd-event see the shifted clock as well. (A preloaded library would do the same, but must come
 * before a sanitizer's run-time library, which must come first.) Timers are the kernel's and follow
 * the machine's clock; none of ours is set by the wall clock, which is what is to be shown.
 */
#include "wall-clock.h"

#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define USEC 1000000
#define NSEC 1000000000

static _Atomic int64_t shift; /* usec; read by the ZooKeeper library's threads, too */

void wall_clock_shift(int64_t usec) {
        atomic_store(&shift, usec);
}

/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): theirs are reserved */
int clock_gettime(clockid_t clock, struct timespec *ret) {
        int r = (int)syscall(SYS_clock_gettime, clock, ret);
        int64_t nsec;

        if (r < 0 || (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE))
                return r;
        nsec = ret->tv_nsec + atomic_load(&shift) % USEC * (NSEC / USEC);
        ret->tv_sec += atomic_load(&shift) / USEC + (nsec >= NSEC) - (nsec < 0);
        ret->tv_nsec = (nsec + NSEC) % NSEC;
        return 0;
}

int gettimeofday(struct timeval *restrict ret, void *restrict zone) {
        struct timespec now;

        (void)zone; /* obsolete */
        (void)clock_gettime(CLOCK_REALTIME, &now);
        *ret = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / (NSEC / USEC)};
        return 0;
}

time_t time(time_t *ret) {
        struct timespec now;

        (void)clock_gettime(CLOCK_REALTIME, &now);
        if (ret)
                *ret = now.tv_sec;
        return now.tv_sec;
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
