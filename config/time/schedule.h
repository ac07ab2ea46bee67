/* Schedules: which UTC seconds are a job's ticks. Pure: computed from the schedule alone, never
 * from "now".
 *
 * A schedule is one or several systemd OnCalendar expressions (systemd.time(7), "Calendar events":
 * lists, ranges, steps, `~`, weekdays, names such as "daily", a time zone suffix), or an interval
 * ("every"), whose ticks are the multiples of its length since the epoch.
 *
 * Daylight saving: a local time that does not exist is taken right after the gap, and one that
 * exists twice the first time; or otherwise (dst.h). Expressions that elapse in every hour of their
 * days (`*`, "0/1", "0..23": hourly or finer) follow real time instead: they elapse in both passes
 * of an overlap and not in a gap. The local zone of a node is never used.
 *
 * Exceptions take ticks away: what is excepted is no tick, as if no expression had it
 * (exceptions.h).
 *
 * Windows take none away: a tick that is to start outside of all of them is one, and does not begin
 * (windows.h).
 *
 * A random delay spreads the starts of the ticks, and is none of the ticks' business: a tick that
 * is started an hour later is the same tick. It is shorter than the time between any two ticks, so
 * that they start one after the other.
 *
 * Sub-second parts are refused. No input makes the search loop: it visits a bounded number of days,
 * to the year SCHEDULE_YEAR_MAX.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cleanup.h"
#include "clock.h"
#include "dst.h"
#include "schedule-years.h"
#include "windows.h"

typedef struct Schedule Schedule;

#define SCHEDULE_EXPRESSIONS_MAX 32
#define SCHEDULE_TEXT_MAX                                                                          \
        1024 /* an expression, as it is written and in normal form with its zone */
#define SCHEDULE_SIZE_MAX 4096    /* all of them in normal form */
#define SCHEDULE_MORE_TEXT_MAX 80 /* what else there is in it */

/* An empty schedule whose expressions are read in `zone` (an IANA name, NULL for UTC) where they
 * name none themselves. Return: 0; -EINVAL with a newly allocated sentence fragment in *ret_message
 * (g_free) when tzdata lists no such zone. */
int schedule_new(const char *zone, Schedule **ret_schedule, char **ret_message);
Schedule *schedule_free(Schedule *schedule);
DEFINE_CLEANUP(Schedule, schedule_free);

/* Says what becomes of fixed local times when clocks change, before any expression is added. */
void schedule_set_dst(Schedule *schedule, const Dst *dst);

/* Adds an expression or an interval. Return: 0; -EINVAL (not such an expression, can never elapse,
 * sub-second; an interval under 1 s or not whole seconds), -E2BIG (too many or too long) with a
 * sentence fragment in *ret_message. The schedule is unchanged on failure. */
int schedule_add_calendar(Schedule *schedule, const char *expression, char **ret_message);
int schedule_add_every(Schedule *schedule, usec_t interval, char **ret_message);

/* Adds an exception, read in `zone` where it names none itself. Return: 0; -EINVAL, -E2BIG with a
 * sentence fragment in *ret_message; then nothing is changed. */
int schedule_add_exception(Schedule *schedule, const char *expression, const char *zone,
                           char **ret_message);

/* Adds a window in which what is due may begin, read in `zone` where it names none itself; without
 * any it always may. Return: 0; -EINVAL, -E2BIG, and -ERANGE where it is about the length, with a
 * sentence fragment in *ret_message; then nothing is changed. */
int schedule_add_window(Schedule *schedule, const char *expression, const char *zone, usec_t length,
                        char **ret_message);
bool schedule_has_windows(const Schedule *schedule);
/* Return: the stretch, in a window or outside of all, that the instant is in; without windows all
 * of time is one that is open. */
WindowStretch schedule_window(const Schedule *schedule, int64_t instant);
/* Return: whether any tick of the job starts in a window. */
bool schedule_meets_window(const Schedule *schedule, const char *job);

/* Sets by how much a start is delayed at most; 0: not at all. All else has been added. Return: 0;
 * -EINVAL (not whole seconds, or two ticks lie no further apart) with a sentence fragment in
 * *ret_message; then nothing is changed. */
int schedule_set_random_delay(Schedule *schedule, usec_t delay, char **ret_message);
/* Return: in seconds. */
int64_t schedule_random_delay(const Schedule *schedule);
/* Return: the second in which a tick of the job is to be started: the tick itself, or later by its
 * delay, and always before the next tick. */
int64_t schedule_start(const Schedule *schedule, const char *job, int64_t tick);
/* Return: the last second not after `second` such that all ticks up to it have been started by
 * `second`; what follows it is still to be started. */
int64_t schedule_started(const Schedule *schedule, const char *job, int64_t second);

/* The first tick after, and the last tick before, an epoch second (both exclusive). Return: false
 * when there is none. */
bool schedule_next(const Schedule *schedule, int64_t after, int64_t *ret_tick);
bool schedule_previous(const Schedule *schedule, int64_t before, int64_t *ret_tick);

/* How many ticks there are in (after, until]; counts no further than `limit`. */
unsigned schedule_count(const Schedule *schedule, int64_t after, int64_t until, unsigned limit);

/* Return: newly allocated (g_free), the schedule in normal form, one expression a line with its
 * zone, and one more for whatever is not as by default: equal text, equal meaning. */
char *schedule_to_string(const Schedule *schedule);
/* The way back. Return: 0; -EINVAL when the text is not a schedule's normal form. */
int schedule_from_string(const char *text, Schedule **ret_schedule);

/* Return: newly allocated (g_free): every offset change of the schedule's zones in the two years
 * after `from`, as text, for nodes to notice that their tzdata differ, provided that all ask with
 * the same `from`. "" for UTC and intervals. */
char *schedule_transitions(const Schedule *schedule, int64_t from);
