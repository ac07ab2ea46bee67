/* The three clocks, in microseconds.
 *
 * Deadlines of locks run on CLOCK_BOOTTIME, because a suspended machine's session goes on ageing at
 * the server; other time-outs run on CLOCK_MONOTONIC; CLOCK_REALTIME says only what to write into a
 * record and which tick is due.
 */
#pragma once

#include "usec.h"

usec_t clock_boottime(void);
usec_t clock_monotonic(void);
usec_t clock_realtime(void);
