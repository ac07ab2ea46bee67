/* Pauses between tries: they double up to a limit, and what failed together is not tried again
 * together. */
#pragma once

#include <stdint.h>

#include "clock.h"

/* Return: how long to wait before the next try, after `failures` before the last one: between a
 * half and the whole of `first`, of twice that, and so on up to `max`. Where between is for
 * `spread`: dice, or what is always the same of one thing. */
usec_t backoff_pause(usec_t first, usec_t max, unsigned failures, uint32_t spread);

/* One thing that is tried again and again. Zeroed: nothing failed yet, or not lately. */
typedef struct Backoff {
        unsigned failures; /* one after the other */
        usec_t until;      /* when the pause is over */
} Backoff;

/* It failed at `now`. Return: how long to wait, as backoff_pause(). A try before the pause was over
 * makes that no longer. */
usec_t backoff_failed(Backoff *backoff, usec_t first, usec_t max, uint32_t spread, usec_t now);

/* Return: a spread that is always the same for that name, and another for one that is like it. */
uint32_t backoff_spread(const char *name);
