/* What becomes of a job that has another name now (`was: OLD`): judged from its own ledger and from
 * that of the name that it had. Pure.
 *
 * A job goes on under its new name with one transaction, which makes the new ledger of the old one
 * and closes the old one. Whoever claims writes the ledger at the version that was read, so nothing
 * is claimed under the old name after it: also not by a node whose file still has that. It waits
 * until no run of the old name is under way, since such a run holds the lock of the old name alone.
 *
 * Files of before, without `was`, take it back where nobody has the new name any more: with the
 * same transaction the other way round. So one ledger of all its names is open at any time, and who
 * reads another one sees where that leads.
 */
#pragma once

#include "job.h"
#include "ledger.h"

/* Over so many names of a job it is looked where it has gone: it is seldom renamed more often. */
#define RENAME_NAMES_MAX 8

typedef enum RenameNeed {
        RENAME_NOT,       /* the ledger is to be taken as it is */
        RENAME_LOOK,      /* the ledger of the old name says what is to be done */
        RENAME_LOOK_BACK, /* the job has left, to where the ledger leads: that of the new name says
                             whether it comes back; otherwise nothing is claimed or skipped */
} RenameNeed;

/* `own`: the job's ledger, NULL where there is none. `changed`: the job's definition here is not
 * the one with which this node last agreed with the ledger, so that it may come after what stands
 * there. `follows`: this node's files define the job to which it left, too: what has its name now
 * is another. */
RenameNeed rename_need(const Ledger *own, const JobSpec *spec, bool changed, bool follows);

typedef enum RenameVerdict {
        RENAME_NOTHING, /* it has been done, or there is nothing to go on with */
        RENAME_BEGINS,  /* the old name has no ledger: it gets one that is closed */
        RENAME_TAKES,   /* the job goes on from the old name's */
        RENAME_BACK,    /* the job takes back what the new name's has, which nobody has any more */
        RENAME_WAITS,   /* one of these, once this run is over */
        RENAME_ELSEWHERE, /* what had the old name goes on under another one */
} RenameVerdict;

typedef struct Rename {
        RenameVerdict verdict;
        const LedgerEntry *run; /* RENAME_WAITS: borrowed from either ledger */
        const char *name;       /* RENAME_ELSEWHERE: borrowed likewise */
} Rename;

/* `old`: the ledger of spec->books.was, NULL where there is none. Both as they were read in one
 * look. */
Rename rename_judge(const Ledger *own, const Ledger *old, const JobSpec *spec);

/* The job has left (RENAME_LOOK_BACK). `next`: the ledger to which its own leads, over any names in
 * between, NULL where there is none. `absent`: nobody who is there has that job, nor is anybody
 * likely to come who has: also before it is withdrawn for good. What has just begun is in nobody's
 * files, either, for a moment. Return: RENAME_BACK, WAITS, or ELSEWHERE. */
Rename rename_judge_back(const Ledger *own, const Ledger *next, bool absent);

/* For people. Return: newly allocated, a sentence: what had the name `was` goes on as `name`. */
char *rename_left_text(const char *was, const char *name);

/* RENAME_BEGINS, RENAME_TAKES. Return: newly allocated, what the job's own ledger becomes, and that
 * of the old name. `now`: CLOCK_REALTIME in seconds. */
Ledger *rename_next_own(const Ledger *own, const Ledger *old, const JobSpec *spec, int64_t now);
Ledger *rename_next_old(const Ledger *old, const JobSpec *spec, int64_t now);
/* RENAME_BACK. The same of the job's own; that of the name that it had in between, `was`, becomes
 * what rename_next_old() says. */
Ledger *rename_next_back(const Ledger *own, const Ledger *next, const char *was,
                         const JobSpec *spec, int64_t now);
