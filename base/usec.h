/* Microseconds, and what is added to them: spans and instants of any clock. */
#pragma once

#include <stdint.h>

typedef uint64_t usec_t;

#define USEC_PER_MSEC ((usec_t)1000)
#define USEC_PER_SEC ((usec_t)1000000)
#define USEC_PER_MINUTE (60 * USEC_PER_SEC)
#define USEC_PER_HOUR (60 * USEC_PER_MINUTE)
#define USEC_PER_DAY (24 * USEC_PER_HOUR)
#define USEC_INFINITY UINT64_MAX

/* a + b and a - b that stick to USEC_INFINITY and to 0 instead of wrapping. */
usec_t usec_add(usec_t a, usec_t b);
usec_t usec_sub(usec_t a, usec_t b);
/* Return: `first`, doubled so many times, but no more than `most`. */
usec_t usec_doubled(usec_t first, usec_t most, unsigned times);
