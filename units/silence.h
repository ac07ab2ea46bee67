/* Silence: PID 1 has not answered for so long that what is asked of it now would come too late.
 *
 * It counts from when the oldest call was sent that still waits for its answer, or from when the
 * connection was lost: PID 1 answers in the order in which it is asked. What ended without an
 * answer, because who asked waited no longer, ends no silence; only an answer does. A clock runs
 * while something waits, and not otherwise: where nothing is left that could be answered, something
 * is asked so that it can. Who was not there to hear, because this process did not run, is given
 * another moment.
 */
#pragma once

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "cleanup.h"
#include "clock.h"

/* PID 1 answers in milliseconds, and in seconds where hundreds of units start at once
 * (start-window.h); jobs elsewhere wait for what this node does not begin. */
#define SILENCE_PATIENCE (5 * USEC_PER_SEC)

typedef struct Silence Silence;

typedef struct SilenceEvents {
        /* Nothing waits for PID 1, and it is not known that it answers: ask what costs little. */
        void (*ask)(void *userdata);
        /* It has begun, or is over. */
        void (*changed)(bool silent, void *userdata);
        void *userdata; /* of both, which come from the loop only */
} SilenceEvents;

/* Return: 0 or negative errno. */
int silence_new(sd_event *event, usec_t patience, const SilenceEvents *events,
                Silence **ret_silence);
Silence *silence_free(Silence *silence);
DEFINE_CLEANUP(Silence, silence_free);

/* From now on something waits for PID 1: a call was sent, or there is no connection. */
void silence_waits(Silence *silence);
/* PID 1 has answered. `oldest`, here and below: when the oldest call was sent that still waits
 * (CLOCK_MONOTONIC); 0: none does. */
void silence_answered(Silence *silence, usec_t oldest);
/* A call was not answered in time. */
void silence_missed(Silence *silence, usec_t oldest);
/* Nobody waits for the answer of a call any more, which may still come. */
void silence_let_go(Silence *silence, usec_t oldest);

/* Return: for how long it has lasted; 0: PID 1 answers, as far as is known. */
usec_t silence_lasts(const Silence *silence);
