/* See clock-skew.h. */
#include "clock-skew.h"

#include <stdlib.h>

/* Return: whether the clock was not set between what it showed as `then` and a sample that was sent
 * at `sent`, and came at `offset`. */
static bool clock_skew_was_left(usec_t then, int64_t offset_then, usec_t sent, int64_t offset) {
        return sent >= then && llabs(offset - offset_then) < (int64_t)CLOCK_SKEW_STEP_MIN;
}

static bool clock_skew_was_set(const ClockSkew *skew, int64_t offset) {
        return skew->measured && llabs(offset - skew->offset) >= (int64_t)CLOCK_SKEW_STEP_MIN;
}

/* A sample that took long. What is known bounds it: a measurement of before (`ret_known`), if the
 * clock was not set since; and if there is none, the clock may be right. Return: whether it
 * counts. */
static bool clock_skew_takes_slow(const ClockSkew *skew, usec_t sent, int64_t offset,
                                  bool *ret_known) {
        if (skew->measured && !clock_skew_was_set(skew, offset)) {
                if (!clock_skew_was_left((usec_t)((int64_t)skew->measured + skew->offset),
                                         skew->offset, sent, offset))
                        return false;
                *ret_known = true;
                return true;
        }
        return skew->seen && clock_skew_was_left(skew->seen, skew->seen_offset, sent, offset);
}

/* The first that came since the clock was set, if it was, is kept: where answers overlap, none is
 * asked for after the last. */
static void clock_skew_see(ClockSkew *skew, usec_t received, int64_t offset) {
        if (skew->seen && llabs(offset - skew->seen_offset) < (int64_t)CLOCK_SKEW_STEP_MIN)
                return;
        skew->seen = received;
        skew->seen_offset = offset;
}

static int64_t clock_skew_within(int64_t value, int64_t low, int64_t high) {
        return low > value ? low : high < value ? high : value;
}

void clock_skew_sample(ClockSkew *skew, usec_t server, usec_t sent, usec_t received,
                       usec_t boottime, usec_t precision) {
        int64_t low = (int64_t)sent - (int64_t)(server + USEC_PER_MSEC),
                high = (int64_t)received - (int64_t)server,
                offset = (int64_t)received - (int64_t)boottime, moved = offset - skew->offset;
        bool slow = received > sent && received - sent > precision, known = false;

        if (received < sent) /* it was set back meanwhile: neither tells what the other says */
                return;
        if (slow && !clock_skew_takes_slow(skew, sent, offset, &known)) {
                clock_skew_see(skew, received, offset);
                return;
        }
        skew->low = known ? clock_skew_within(skew->low + moved, low, high) : low;
        skew->high = known ? clock_skew_within(skew->high + moved, low, high) : high;
        /* Blame the clock only for what neither the network nor what was known can explain. */
        skew->skew = clock_skew_within(0, skew->low, skew->high);
        skew->measured = boottime;
        skew->offset = offset;
}

bool clock_skew_was_stepped(const ClockSkew *skew, usec_t realtime, usec_t boottime) {
        return clock_skew_was_set(skew, (int64_t)realtime - (int64_t)boottime);
}

bool clock_skew_is_fresh(const ClockSkew *skew, usec_t boottime) {
        return skew->measured && boottime < usec_add(skew->measured, CLOCK_SKEW_AGE_MAX);
}

bool clock_skew_is_known(const ClockSkew *skew, usec_t realtime, usec_t boottime) {
        return clock_skew_is_fresh(skew, boottime) &&
               !clock_skew_was_stepped(skew, realtime, boottime);
}

void clock_skew_forget(ClockSkew *skew) {
        *skew = (ClockSkew){
            .before = skew->measured ? skew->offset - skew->skew : skew->before,
        };
}

usec_t clock_skew_server_time(const ClockSkew *skew, usec_t boottime) {
        int64_t ahead = skew->measured ? skew->offset - skew->skew : skew->before;

        return ahead ? (usec_t)((int64_t)boottime + ahead) : 0;
}

bool clock_skew_exceeds(const ClockSkew *skew, usec_t limit) {
        return skew->measured && (usec_t)llabs(skew->skew) > limit;
}
