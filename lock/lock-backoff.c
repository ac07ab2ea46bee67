/* See lock-backoff.h. */
#include "lock-backoff.h"

#include <glib.h>

#define BACKOFF_MIN (50 * USEC_PER_MSEC)
#define BACKOFF_MAX (5 * USEC_PER_SEC)
#define BACKOFF_DOUBLINGS 7

usec_t lock_backoff(unsigned failures) {
        usec_t pause = MIN(BACKOFF_MIN << MIN(failures, BACKOFF_DOUBLINGS), BACKOFF_MAX);

        return pause / 2 + (usec_t)g_random_int_range(0, (gint32)(pause / 2));
}
