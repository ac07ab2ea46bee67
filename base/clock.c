/* See clock.h. */
#include "clock.h"

#include <time.h>

static usec_t clock_read(clockid_t id) {
        struct timespec ts = {0};

        (void)clock_gettime(id, &ts); /* cannot fail for the three clocks every Linux has */
        return (usec_t)ts.tv_sec * USEC_PER_SEC + (usec_t)ts.tv_nsec / 1000;
}

usec_t clock_boottime(void) {
        return clock_read(CLOCK_BOOTTIME);
}

usec_t clock_monotonic(void) {
        return clock_read(CLOCK_MONOTONIC);
}

usec_t clock_realtime(void) {
        return clock_read(CLOCK_REALTIME);
}
