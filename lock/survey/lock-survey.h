/* A survey: who holds a resource, who waits for it, and since when. For people (`jobkeeper locks`),
 * never for a decision: what it tells was true when the servers were asked.
 */
#pragma once

#include "lock-entry.h"
#include "session.h"

typedef struct LockSurvey LockSurvey;

/* `error`: 0, -ENOTCONN when the session went, -EACCES, -EIO. The survey may be freed in it. */
typedef void (*LockSurveyFunc)(LockSurvey *survey, int error, void *userdata);

/* One resource of a survey: its name, and where it stands when not under the parent (NULL). */
typedef struct LockPlace {
        const char *resource;
        const char *path;
} LockPlace;

/* Return: whether a child of the parent is named as a resource. */
typedef bool (*LockNameFunc)(const char *name);

/* Looks at the given places, or (n_places 0) at every child of `parent` that `is_name` (NULL: any)
 * takes for a resource: others may write there as well. A resource that does not exist has no
 * entries and is no error; nor is one whose data we may not read, which shows without it, nor one
 * that we may not list, which lock_survey_unreadable() names. What a broken connection left
 * unanswered is asked again once it is back. Return: 0 once sent, then exactly one call of `func`;
 * -ENOTCONN; negative errno. */
int lock_survey_new(Session *session, const char *parent, LockNameFunc is_name,
                    const LockPlace *places, size_t n_places, LockSurveyFunc func, void *userdata,
                    LockSurvey **ret_survey);
/* Return: whether a question may be sent now; if not, lock_survey_go_on() is to be called once one
 * may. */
typedef bool (*LockPaceFunc)(void *userdata);

/* The same, no faster than `pace` says. */
int lock_survey_new_paced(Session *session, const char *parent, LockNameFunc is_name,
                          const LockPlace *places, size_t n_places, LockPaceFunc pace,
                          void *pace_userdata, LockSurveyFunc func, void *userdata,
                          LockSurvey **ret_survey);
/* May call `func`; nothing happens once that was called. */
void lock_survey_go_on(LockSurvey *survey);
LockSurvey *lock_survey_free(LockSurvey *survey);
DEFINE_CLEANUP(LockSurvey, lock_survey_free);

/* Of LockEntry, by resource and then in the order of the queue. Borrowed; complete once `func` was
 * called without an error. */
const GPtrArray *lock_survey_entries(const LockSurvey *survey);
/* Names of resources that we may not look into, in no order. Borrowed, as the entries. */
const GPtrArray *lock_survey_unreadable(const LockSurvey *survey);
