/* base/clock.h for a simulation: the clocks of the machine whose turn it is. */
#include "clock.h"

#include "process.h"

static usec_t clock_of_turn(clockid_t clock) {
        return machine_clock(process_machine(process_turn()), clock);
}

usec_t clock_boottime(void) {
        return clock_of_turn(CLOCK_BOOTTIME);
}

usec_t clock_monotonic(void) {
        return clock_of_turn(CLOCK_MONOTONIC);
}

usec_t clock_realtime(void) {
        return clock_of_turn(CLOCK_REALTIME);
}

usec_t usec_add(usec_t a, usec_t b) {
        return a > USEC_INFINITY - b ? USEC_INFINITY : a + b;
}

usec_t usec_sub(usec_t a, usec_t b) {
        if (a == USEC_INFINITY)
                return USEC_INFINITY;
        return a > b ? a - b : 0;
}
