/* A survey: who holds a resource, who waits for it, and since when. For people (`jobkeeper locks`),
 * never for a decision: what it tells was true when the servers were asked.
 */
#pragma once

#include <glib.h>

#include "lock.h"

/* One contender, or one holder of a single node. */
typedef struct LockEntry {
        char *resource;
        char *path; /* of the contender */
        LockNaming naming;
        LockMode mode;
        bool slot;       /* one of several; `slots` of the resource tells of how many */
        unsigned slots;  /* 1 for a lock */
        bool foreign;    /* of no naming that we know, or of another than those before it */
        bool holds;      /* nobody is before it that keeps it waiting */
        unsigned before; /* how many are before it in the queue, whatever they are */
        char *payload;   /* its data as it stands there, valid UTF-8 */
        int64_t session; /* whose it is */
        int64_t token;   /* czxid */
        usec_t since;    /* the server's wall clock when it was made, CLOCK_REALTIME's epoch */
} LockEntry;

/* Return: the entry of the child `name` of the directory, as far as its name tells. */
LockEntry *lock_entry_new(const char *resource, const char *directory, const char *name);
LockEntry *lock_entry_free(LockEntry *entry);
DEFINE_CLEANUP(LockEntry, lock_entry_free);

/* Puts the entries of one resource into the order of its queue, and works out `slots`, `foreign`,
 * `holds` and `before`. `slots`: how many its directory says it has, 0 for a lock. Whoever is of no
 * naming that we know comes last; who can tell where he stands? Pure. */
void lock_entries_rank(GPtrArray *entries, unsigned slots);

/* Longer payloads are cut: they are for people. */
#define LOCK_ENTRY_PAYLOAD_MAX 4096

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
LockSurvey *lock_survey_free(LockSurvey *survey);
DEFINE_CLEANUP(LockSurvey, lock_survey_free);

/* Of LockEntry, by resource and then in the order of the queue. Borrowed; complete once `func` was
 * called without an error. */
const GPtrArray *lock_survey_entries(const LockSurvey *survey);
/* Names of resources that we may not look into, in no order. Borrowed, as the entries. */
const GPtrArray *lock_survey_unreadable(const LockSurvey *survey);
