/* The three clocks, in microseconds.
 *
 * Deadlines of locks run on CLOCK_BOOTTIME, because a suspended machine's session goes on ageing at
 * the server; other time-outs run on CLOCK_MONOTONIC; CLOCK_REALTIME says only what to write into a
 * record and which tick is due.
 */
#pragma once

#include <stdbool.h>

#include "usec.h"

/* 2000-01-01 and 2100-01-01. */
#define CLOCK_WALL_MIN (UINT64_C(946684800) * USEC_PER_SEC)
#define CLOCK_WALL_MAX (UINT64_C(4102444800) * USEC_PER_SEC)

usec_t clock_boottime(void);
usec_t clock_monotonic(void);
usec_t clock_realtime(void);

/* Return: whether a wall clock may show that: before 2000 one was never set, or has lost its
 * battery, and from 2100 on its time is damaged. What is written by such a time would stand in the
 * way of all that comes after it. */
static inline bool clock_is_plausible(usec_t realtime) {
        return realtime >= CLOCK_WALL_MIN && realtime < CLOCK_WALL_MAX;
}
