/* The pause of a job, as what is due of it is decided by it: the last one, which may be over. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cleanup.h"
#include "clock.h"

typedef struct DecisionPause {
        usec_t since; /* 0: not known */
        usec_t until; /* USEC_INFINITY: it lasts */
        char *why; /* a part of a sentence: "paused by ...", at most SAID_TEXT_MAX bytes: a ledger
                      has one for each of many stretches */
} DecisionPause;

/* Return: as the control node (NULL: nothing is known) has it, read at `now` (CLOCK_REALTIME);
 * NULL: there was none. */
DecisionPause *decision_pause_new(const json_t *control, const char *job, usec_t now);
DecisionPause *decision_pause_free(DecisionPause *pause);
DEFINE_CLEANUP(DecisionPause, decision_pause_free);

/* `pause` may be NULL. Return: whether it lasts. */
bool decision_pause_lasts(const DecisionPause *pause);
/* Return: whether a tick that starts then, where nobody has begun it, is not to begin, now or ever.
 */
bool decision_pause_covers(const DecisionPause *pause, int64_t start);
/* Return: the last second in which what starts is covered. */
int64_t decision_pause_last(const DecisionPause *pause);
