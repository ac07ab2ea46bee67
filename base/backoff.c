/* See backoff.h. */
#include "backoff.h"

#include <glib.h>

/* What is multiplied by this has its last bits, in which names that are numbered differ, in the
 * first ones: 2^32 divided by the golden ratio. */
#define BACKOFF_MULTIPLIER 2654435769U
#define BACKOFF_SPREADS 4294967296.0

usec_t backoff_pause(usec_t first, usec_t max, unsigned failures, uint32_t spread) {
        usec_t pause = failures < 64 && first <= max >> failures ? first << failures : max;
        usec_t half = pause / 2;

        return half + (usec_t)((double)half * (spread / BACKOFF_SPREADS));
}

usec_t backoff_failed(Backoff *backoff, usec_t first, usec_t max, uint32_t spread, usec_t now) {
        if (backoff->until <= now)
                backoff->until =
                    usec_add(now, backoff_pause(first, max, backoff->failures++, spread));
        return backoff->until - now;
}

uint32_t backoff_spread(const char *name) {
        return (uint32_t)g_str_hash(name) * BACKOFF_MULTIPLIER;
}
