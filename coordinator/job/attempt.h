/* One attempt to run a tick, or a manual run: the queueing for its locks, and the claim once they
 * are held. It is made when queueing begins and freed when it is over, whatever became of it. A
 * reload that changes nothing of what it waits for does not end it: attempt_take_spec().
 *
 * It knows neither when nor whether: that is for its owner, who hears of each outcome. */
#pragma once

#include "ledger-cache.h"
#include "manual-runs.h"
#include "node.h"
#include "runs.h"
#include "tree.h"

typedef struct Attempt Attempt;

typedef enum AttemptEvent {
        ATTEMPT_HELD,      /* all locks are */
        ATTEMPT_TIMED_OUT, /* they were not free in time; none is left */
        ATTEMPT_FAULTY,    /* they cannot be had: attempt_fault() */
        ATTEMPT_LOST,      /* somebody took them away */
        /* After attempt_claim(): */
        ATTEMPT_WON,   /* it runs, with the locks, and the ledger is known as it now is */
        ATTEMPT_TAKEN, /* a record of this run stands there already */
        ATTEMPT_STALE, /* something is not what we thought: decide again */
        ATTEMPT_OVER,  /* nobody can tell whether it was done */
} AttemptEvent;

/* From the loop. The attempt may be freed in it. */
typedef void (*AttemptFunc)(AttemptEvent event, void *userdata);

/* All weak. */
typedef struct AttemptParts {
        Node *node;
        Tree *tree;
        LedgerCache *ledgers;
        Runs *runs;
} AttemptParts;

/* Asks for the locks that `spec` names, for a tick or for a manual run (`run`, copied; then `tick`
 * is 0). Where it names none, all are held from the beginning, and ATTEMPT_HELD does not come.
 * Return: 0; negative errno. The parts are copied. */
int attempt_new(const AttemptParts *parts, const JobSpec *spec, int64_t tick, const ManualRun *run,
                AttemptFunc func, void *userdata, Attempt **ret_attempt);
/* Lets go of the locks; of a claim that is on its way nobody hears. */
Attempt *attempt_free(Attempt *attempt);
DEFINE_CLEANUP(Attempt, attempt_free);

/* Return: whether it is for this tick, or for this manual run, and has what it waits with: locks
 * that were lost while a claim was under way are gone. */
bool attempt_is_for(const Attempt *attempt, int64_t tick, const ManualRun *run);
/* Return: 0 for a manual run. */
int64_t attempt_tick(const Attempt *attempt);
/* Return: the id of the run that it would make, borrowed. */
const char *attempt_run(const Attempt *attempt);
/* Return: the manual run, borrowed, or NULL: it is for a tick. */
const ManualRun *attempt_manual(const Attempt *attempt);
/* Return: what was asked for, and is claimed and run; borrowed. */
const JobSpec *attempt_spec(const Attempt *attempt);
/* The definition is another that waits alike: what is claimed and run is of this one. */
void attempt_take_spec(Attempt *attempt, const JobSpec *spec);
bool attempt_holds_locks(const Attempt *attempt);
/* Return: which lock it waits for, a sentence, or "" where it waits for none; borrowed until it is
 * asked again. */
const char *attempt_waits_for(Attempt *attempt);
/* Return: why the locks cannot be had, a sentence, borrowed. */
const char *attempt_fault(const Attempt *attempt);

/* The locks are held and the ledger was just read: claims. Return: 0; -EBUSY when a run of the job
 * is still being ended here; another negative errno. */
int attempt_claim(Attempt *attempt);
/* The claim was stale. Return: whether it may be tried again with the same locks, for `spec`. */
bool attempt_may_claim_again(Attempt *attempt, const JobSpec *spec);

bool attempt_needs_locks(const JobSpec *spec);
/* Return: until when (CLOCK_REALTIME) anybody waits for a tick's locks, of a job that says for how
 * long: queueing begins before the start deadline. */
usec_t attempt_wait_ends(const JobSpec *spec, int64_t tick);
