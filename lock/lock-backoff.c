/* See lock-backoff.h. */
#include "lock-backoff.h"

#include <glib.h>

#include "backoff.h"
#include "draw.h"

#define BACKOFF_MIN (50 * USEC_PER_MSEC)
#define BACKOFF_MAX (5 * USEC_PER_SEC)

usec_t lock_backoff(unsigned failures) {
        return backoff_pause(BACKOFF_MIN, BACKOFF_MAX, failures, draw_bits());
}
