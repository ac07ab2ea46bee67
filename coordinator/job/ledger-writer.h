/* The writes to a job's ledger that are neither claims nor settles: making it, putting a definition
 * in force, skips, refused requests, and repair. Each is a transaction that names the version it
 * was decided on, and one of them is under way at a time.
 *
 * What was written stands in the ledger cache when it is over; when it failed, nothing stands
 * there: the ledger is to be read again. */
#pragma once

#include "decision.h"
#include "ledger-cache.h"
#include "manual-runs.h"
#include "node.h"
#include "prune.h"
#include "tree.h"

typedef struct LedgerWriter LedgerWriter;

typedef enum LedgerWriteOutcome {
        LEDGER_WRITE_DONE,
        LEDGER_WRITE_AGAIN,   /* something else was written meanwhile: decide again */
        LEDGER_WRITE_FAILED,  /* it may be done later */
        LEDGER_WRITE_REFUSED, /* the server does not let us: ledger_writer_fault() */
        LEDGER_WRITE_CLOSED,  /* the session is gone */
} LedgerWriteOutcome;

/* From the loop. `refused`: the manual run that it refused, and that is none any more; or NULL.
 * Another write may be begun in it. */
typedef void (*LedgerWriterFunc)(LedgerWriteOutcome outcome, const char *refused, void *userdata);

/* All weak. */
typedef struct LedgerWriterParts {
        const Node *node;
        Tree *tree;
        LedgerCache *ledgers;
        Pruner *pruner;
        const JobSet *jobset; /* what follows an attempt that is the last one after all */
} LedgerWriterParts;

/* The parts are copied. */
LedgerWriter *ledger_writer_new(const LedgerWriterParts *parts, const char *job,
                                LedgerWriterFunc over, void *userdata);
LedgerWriter *ledger_writer_free(LedgerWriter *writer);
DEFINE_CLEANUP(LedgerWriter, ledger_writer_free);

/* Nobody waits for what is under way any more. */
void ledger_writer_cancel(LedgerWriter *writer);
/* The session is gone, and with it what is known of the layout. */
void ledger_writer_reset(LedgerWriter *writer);

/* Each of the following begins a write on top of the ledger that is known. Return: 0, then exactly
 * one call of the function unless it is cancelled; negative errno when nothing was sent, of which
 * ledger_writer_outcome() makes an outcome. */

/* There is none yet. `ledger` is taken over. */
int ledger_writer_make(LedgerWriter *writer, Ledger *ledger);
/* It becomes `next` (taken over). `note` (constant; NULL: nothing) is logged then, under that
 * message id. */
int ledger_writer_set(LedgerWriter *writer, Ledger *next, const char *note_id, const char *note);
/* `schedule` is the one in force. `more_follows`: what is written next is decided on another ledger
 * than this leaves, which is read again for it. */
int ledger_writer_skip(LedgerWriter *writer, const Schedule *schedule, const DecisionSkip *skips,
                       size_t n, bool more_follows);
/* The manual run is recorded as skipped; one of a tick that is not settled is not recorded. */
int ledger_writer_refuse(LedgerWriter *writer, const ManualRun *run, const char *why);
/* A record stands where we wanted to claim (`tick` 0: a manual run): takes it into the ledger. One
 * that is none of this run's is kept aside first, and the run is unknown. `spec` is what we wanted
 * to claim by: its schedule counts where the one in force is too long to stand in the ledger. */
int ledger_writer_repair(LedgerWriter *writer, const char *run, int64_t tick, const JobSpec *spec);

/* Sees to it, once a session, that there is a directory for the records; and once more where what
 * was believed to be there may not be. */
void ledger_writer_look_for_records(LedgerWriter *writer);
void ledger_writer_doubt_records(LedgerWriter *writer);

/* Return: why the server refused the last write, a sentence, borrowed, or NULL. */
const char *ledger_writer_fault(const LedgerWriter *writer);
/* Return: what an error of the above means. */
LedgerWriteOutcome ledger_writer_outcome(int error);
