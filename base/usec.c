/* See usec.h. */
#include "usec.h"

usec_t usec_add(usec_t a, usec_t b) {
        return a > USEC_INFINITY - b ? USEC_INFINITY : a + b;
}

usec_t usec_sub(usec_t a, usec_t b) {
        if (a == USEC_INFINITY)
                return USEC_INFINITY;
        return a > b ? a - b : 0;
}

usec_t usec_doubled(usec_t first, usec_t most, unsigned times) {
        usec_t span = first < most ? first : most;

        for (; times > 0 && span > 0 && span < most; times--)
                span = span > most / 2 ? most : 2 * span;
        return span;
}
