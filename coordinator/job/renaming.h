/* A job that had another name (`was`): reads the ledger of that one, and has the job go on from it
 * (policy/rename.h), with the one transaction
 *
 *   check(control) · set or create both ledgers, each at the version that was read
 *
 * A pause of the old name goes with it, in the same transaction, which then sets the control node
 * instead. While a run of the old name is under way its ledger is watched.
 *
 * A job that has left to another name is taken back from that in the same way, where nobody has
 * that any more: it was withdrawn for good; or somebody began to withdraw it, all members say that
 * it is not in their files, and those who were away for a moment are back. */
#pragma once

#include "job-parts.h"
#include "job.h"

typedef struct Renaming Renaming;

typedef enum RenamingEvent {
        RENAMING_NOTHING, /* the job's own ledger is to be taken as it is */
        RENAMING_WRITES,  /* it is being written: another one follows */
        RENAMING_AGAIN, /* it is written, or somebody else wrote: the ledger is to be read again */
        RENAMING_WAITS, /* a run is under way, renaming_fault(): CHANGED follows, if
                           renaming_is_watching() */
        RENAMING_ELSEWHERE, /* what had that name has another one now: renaming_fault(); soon it may
                               be otherwise, if renaming_may_come_back() */
        RENAMING_FAILED,    /* it may be done later */
        RENAMING_REFUSED,   /* the server does not let us, or what stands there is no ledger:
                               renaming_fault() */
        RENAMING_CLOSED,    /* the session is gone */
        RENAMING_CHANGED,   /* what was waited for may be over */
} RenamingEvent;

/* From the loop. */
typedef void (*RenamingFunc)(RenamingEvent event, void *userdata);

/* Parts are borrowed, and live longer. */
Renaming *renaming_new(const JobParts *parts, const char *job, RenamingFunc func, void *userdata);
Renaming *renaming_free(Renaming *renaming);
DEFINE_CLEANUP(Renaming, renaming_free);

/* Nothing that was begun is told any more, nor is anything watched. */
void renaming_reset(Renaming *renaming);
/* Nobody waits for the look that is under way any more. */
void renaming_stop(Renaming *renaming);
/* The job's own ledger was just read, and stands in the cache, or there is none. Return: 0, then
 * exactly one event but WRITES and CHANGED; -ENOTCONN, negative errno. */
int renaming_look(Renaming *renaming, const JobSpec *spec);
/* The same of a job whose own ledger leads to that of another name. */
int renaming_look_back(Renaming *renaming, const JobSpec *spec, const char *renamed);
/* Return: whether the last look found that what has its name is being withdrawn. */
bool renaming_may_come_back(const Renaming *renaming);
bool renaming_is_watching(const Renaming *renaming);
/* Return: whether the last look found a run that is waited for. */
bool renaming_waits(const Renaming *renaming);
/* Return: what the last look found in the way, a sentence, borrowed; NULL: nothing. */
const char *renaming_fault(const Renaming *renaming);
