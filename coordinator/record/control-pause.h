/* What of the control node (control.h) says that jobs are paused: one, or all. Pure.
 *
 *     "paused": {"all": PAUSE, "jobs": {"orders": PAUSE}}
 *     PAUSE: {"by": "alice on n1", "why": "the database moves", "since": T, "until": T}
 *
 * Nothing of a paused job begins. A pause that is over stays there, with its end: what came due by
 * then and was not begun is not caught up with, whoever looks at it and however late. The last one
 * says enough for that: what nobody had begun when an earlier one ended was not begun when a later
 * one did either, or is none of theirs any more. An end that is further ahead than clocks may
 * differ is no end: such a pause lasts, so that it is shown, and can be ended. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "statement.h"

/* So many jobs can be paused one by one. Beside those that are, the pauses stay that ended last. */
#define CONTROL_PAUSED_MAX 128

/* Nobody writes an end that is further ahead of any clock by which things are begun. */
#define CONTROL_PAUSE_AHEAD_MAX (60 * USEC_PER_SEC)

/* One whose end cannot be read lasts. */
typedef struct ControlPause {
        Statement said; /* who paused it */
        usec_t until;   /* CLOCK_REALTIME, 0: it lasts */
        bool all;       /* of all jobs */
} ControlPause;
void control_pause_clear(ControlPause *pause);

/* `control` may be NULL: nothing is known. `now`: CLOCK_REALTIME. Return: whether the job is
 * paused, by itself, with the job whose instance it is, or with all, or was; *ret_pause is filled
 * in then, with the one that counts: what lasts before what is over, and of that what ended last.
 */
bool control_pause_of(const json_t *control, const char *job, usec_t now, ControlPause *ret_pause);
/* The same, but only of a pause that lasts. */
bool control_pause_lasts(const json_t *control, const char *job, usec_t now,
                         ControlPause *ret_pause);
/* The same of one entry: of the job itself, or where `job` is NULL of all. Return: whether that is
 * paused; *ret_pause is filled in then, unless NULL. */
bool control_is_paused(const json_t *control, const char *job, usec_t now, ControlPause *ret_pause);

/* Return: how many jobs are paused one by one. */
unsigned control_count_paused(const json_t *control, usec_t now);

/* `job` NULL: all. `now`: the servers' time, as far as it is known. Of one that is paused already
 * it changes who and why, and not since when. Return: 0, -ENOSPC. */
int control_pause(json_t *control, const char *job, usec_t now, const ControlPause *pause);
/* Return: whether it was paused. */
bool control_resume(json_t *control, const char *job, usec_t now);

/* The job has another name now: what is said of it, also that it was paused, is said of that,
 * unless that is paused for as long itself: somebody who knew the new name may have paused it
 * meanwhile. `control` may be NULL. `now`: as above. Return: whether there was anything to move. */
bool control_pause_move(json_t *control, const char *from, const char *to, usec_t now);

/* For people. Return: newly allocated, a part of a sentence, the same for as long as it lasts; a
 * new reference: {"all", "by", "why", "since"}. */
char *control_pause_to_text(const ControlPause *pause);
json_t *control_pause_to_json(const ControlPause *pause);
