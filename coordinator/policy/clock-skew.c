/* See clock-skew.h. */
#include "clock-skew.h"

#include <stdlib.h>

/* Return: whether a sample that took long counts: there is none, and the clock was not set while it
 * was under way. */
static bool clock_skew_takes_slow(const ClockSkew *skew, usec_t sent, int64_t offset) {
        return !skew->measured && skew->seen && sent >= skew->seen &&
               llabs(offset - skew->seen_offset) < (int64_t)CLOCK_SKEW_STEP_MIN;
}

void clock_skew_sample(ClockSkew *skew, usec_t server, usec_t sent, usec_t received,
                       usec_t boottime, usec_t precision) {
        int64_t low = (int64_t)sent - (int64_t)(server + USEC_PER_MSEC),
                high = (int64_t)received - (int64_t)server;

        if (received > sent && received - sent > precision &&
            !clock_skew_takes_slow(skew, sent, (int64_t)received - (int64_t)boottime)) {
                skew->seen = received;
                skew->seen_offset = (int64_t)received - (int64_t)boottime;
                return;
        }
        /* Anything between low and high is possible: blame the clock only for what the network
         * cannot explain. */
        skew->skew = low > 0 ? low : high < 0 ? high : 0;
        skew->measured = boottime;
        skew->offset = (int64_t)received - (int64_t)boottime;
}

/* Return: whether our clock was set since the measurement, which then says nothing any more. */
static bool clock_skew_was_stepped(const ClockSkew *skew, usec_t realtime, usec_t boottime) {
        int64_t offset = (int64_t)realtime - (int64_t)boottime;

        return skew->measured && llabs(offset - skew->offset) >= (int64_t)CLOCK_SKEW_STEP_MIN;
}

bool clock_skew_is_fresh(const ClockSkew *skew, usec_t boottime) {
        return skew->measured && boottime < usec_add(skew->measured, CLOCK_SKEW_AGE_MAX);
}

bool clock_skew_is_known(const ClockSkew *skew, usec_t realtime, usec_t boottime) {
        return clock_skew_is_fresh(skew, boottime) &&
               !clock_skew_was_stepped(skew, realtime, boottime);
}

bool clock_skew_exceeds(const ClockSkew *skew, usec_t limit) {
        return skew->measured && (usec_t)llabs(skew->skew) > limit;
}
