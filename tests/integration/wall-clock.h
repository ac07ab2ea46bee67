/* A wall clock of the program's own, that a test can set. */
#pragma once

#include <stdint.h>

/* From now on CLOCK_REALTIME is that much ahead of the machine's, for this program and all
 * libraries in it; no other clock is touched. */
void wall_clock_shift(int64_t usec);
