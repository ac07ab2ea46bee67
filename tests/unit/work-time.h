/* How long something takes where nobody else has the machine: the processor time of the thread. A
 * limit on that is one on the work, and holds beside other tests as well. */
#pragma once

#include <time.h>

#include "clock.h"

/* Return: the microseconds that the calling thread has spent so far. */
static inline usec_t work_time(void) {
        struct timespec spent;

        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
        return (usec_t)spent.tv_sec * USEC_PER_SEC + (usec_t)spent.tv_nsec / 1000;
}
