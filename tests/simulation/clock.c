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
