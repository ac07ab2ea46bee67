/* How far our wall clock is from the ZooKeeper server's, measured from our own writes: the server
 * stamps a write with its own clock somewhere between our sending it and its answer. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"

/* A measurement older than this is not good enough to claim, skip or catch up by. */
#define CLOCK_SKEW_AGE_MAX (60 * USEC_PER_SEC)
/* More than slewing can do to a clock within that age: it was set. */
#define CLOCK_SKEW_STEP_MIN (200 * USEC_PER_MSEC)

typedef struct ClockSkew {
        int64_t skew;      /* ours minus the server's, µs: the nearest to 0 of what it may be */
        int64_t low, high; /* from here to there */
        usec_t measured;   /* CLOCK_BOOTTIME; 0: never */
        int64_t offset;    /* CLOCK_REALTIME minus CLOCK_BOOTTIME then */
        usec_t seen;       /* CLOCK_REALTIME of a sample that said too little; 0: none did */
        int64_t seen_offset;
        int64_t before; /* the server's time minus CLOCK_BOOTTIME, of before clock_skew_forget() */
} ClockSkew;

/* Takes a sample: `server` (ms precision) lies between `sent` and `received` (ours,
 * CLOCK_REALTIME), read at `boottime`. One whose answer took longer than `precision` says little by
 * itself, and the clock may have been set while it was under way: then it allows whatever the clock
 * shows. If the clock was not set since the last measurement, and the sample asked for after that,
 * it confirms the measurement, moved by what the clock was slewed since, or corrects it as far as
 * the two disagree: a server that is slow all the time is no reason to know nothing. Where there is
 * no such measurement, it counts if it was asked for after another one came, and the clock was not
 * set since. One that came before it was sent says that the clock was set back, and nothing else.
 */
void clock_skew_sample(ClockSkew *skew, usec_t server, usec_t sent, usec_t received,
                       usec_t boottime, usec_t precision);

/* Return: whether our clock was set since the measurement, which then says nothing any more; false
 * before the first. */
bool clock_skew_was_stepped(const ClockSkew *skew, usec_t realtime, usec_t boottime);
bool clock_skew_is_fresh(const ClockSkew *skew, usec_t boottime);
/* Return: whether there is a measurement that still says what our clock is worth: fresh, and the
 * clock was not set since. */
bool clock_skew_is_known(const ClockSkew *skew, usec_t realtime, usec_t boottime);
/* Nothing is known of our clock any more. What the servers' clocks show is, as far as clocks run
 * alike: what is dated before the next measurement is not dated by ours, which may be set
 * meanwhile.
 */
void clock_skew_forget(ClockSkew *skew);
/* Return: what the server's clock shows, CLOCK_REALTIME, whatever ours was set to since the
 * measurement; 0 before the first. */
usec_t clock_skew_server_time(const ClockSkew *skew, usec_t boottime);
/* Return: whether the clocks differ by more than `limit`; false before the first measurement. */
bool clock_skew_exceeds(const ClockSkew *skew, usec_t limit);
