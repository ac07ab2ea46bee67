/* Which of the jobs that another one waits for together have come: for each tick that some of them
 * have ended for, and not all. It stands in one node for the job that waits (meetings/JOB), and
 * each end that counts is added by the very transaction that records it, on the version that was
 * read: of two that come at the same moment one is refused, reads again, and sees the other. So the
 * last one to come is one alone. It takes the tick out again, and asks for the run.
 *
 * What never meets stays until MEETINGS_MAX newer ticks are half met: then the oldest goes. Pure.
 */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cleanup.h"

/* With as many jobs as may be waited for together, whatever they are called, it is less than
 * JSON_LINE_MAX. */
#define MEETINGS_MAX 30

/* One that has come. */
typedef struct MeetingPart {
        char *job, *run;
} MeetingPart;

typedef struct Meeting {
        int64_t tick;
        GPtrArray *come; /* MeetingPart, in the order in which they came */
} Meeting;

typedef struct Meetings {
        GPtrArray *list; /* Meeting, the oldest tick first */
} Meetings;

Meeting *meeting_free(Meeting *meeting);
DEFINE_CLEANUP(Meeting, meeting_free);

/* Return: newly allocated, nobody has come. */
Meetings *meetings_new(void);
Meetings *meetings_free(Meetings *meetings);
DEFINE_CLEANUP(Meetings, meetings_free);

/* Return: one line, newly allocated. */
char *meetings_encode(const Meetings *meetings);
/* Return: 0; -EBADMSG for what we would not have written. */
int meetings_decode(const char *data, size_t size, Meetings **ret_meetings);

/* A run of `parent` has ended for that tick as it is asked for; one of the same that came before it
 * counts for both. `parents`: NULL-terminated, all that are waited for. Return: whether they are
 * all there now; then nothing is kept of the tick. Otherwise *ret_gone is a tick that is given up
 * for it, newly allocated, which may be this one; or NULL. */
bool meetings_come(Meetings *meetings, const char *const *parents, int64_t tick, const char *parent,
                   const char *run, Meeting **ret_gone);

/* Who came under the name `was` is called `job` by now. Where that has come itself it counts. */
void meetings_rename(Meetings *meetings, const char *was, const char *job);

/* Return: newly allocated, the oldest tick, given up because what is kept is larger than that as it
 * is written; NULL where it is not. One tick is always kept. */
Meeting *meetings_give_up(Meetings *meetings, size_t size_max);

/* Return: newly allocated, "a, b": those of `parents` that have not come. */
char *meeting_missing(const Meeting *meeting, const char *const *parents);
/* Return: the same of that tick; all of them where nobody has come. */
char *meetings_missing(const Meetings *meetings, const char *const *parents, int64_t tick);
/* Return: a new reference, for people: [{"tick", "come": [{"job", "run"}], "missing": [...]}]. */
json_t *meetings_report(const Meetings *meetings, const char *const *parents);
