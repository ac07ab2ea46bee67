/* The three clocks, in microseconds.
 *
 * Deadlines of locks run on CLOCK_BOOTTIME, because a suspended machine's session goes on ageing at
 * the server; other time-outs run on CLOCK_MONOTONIC; CLOCK_REALTIME says only what to write into a
 * record and which tick is due.
 */
#pragma once

#include <stdint.h>

typedef uint64_t usec_t;

#define USEC_PER_MSEC ((usec_t)1000)
#define USEC_PER_SEC ((usec_t)1000000)
#define USEC_PER_MINUTE (60 * USEC_PER_SEC)
#define USEC_PER_HOUR (60 * USEC_PER_MINUTE)
#define USEC_PER_DAY (24 * USEC_PER_HOUR)
#define USEC_INFINITY UINT64_MAX

usec_t clock_boottime(void);
usec_t clock_monotonic(void);
usec_t clock_realtime(void);

/* a + b and a - b that stick to USEC_INFINITY and to 0 instead of wrapping. */
usec_t usec_add(usec_t a, usec_t b);
usec_t usec_sub(usec_t a, usec_t b);
