/* The ledger as one job deals with it: read by a LedgerCursor, written by a LedgerWriter, and read
 * for good only where InForce finds our definition in force; where that is to be put there first,
 * it is, and the owner hears that. One read or one write is under way at a time. */
#pragma once

#include "job-parts.h"
#include "ledger-writer.h"

typedef struct JobLedger JobLedger;

/* All from the loop. */
typedef struct JobLedgerEvents {
        /* It was read, and our definition is in force. */
        void (*read)(void *userdata);
        /* Somebody wrote it since it was read with a watch, or the watch is lost; or what kept us
         * from writing it is over. */
        void (*changed)(void *userdata);
        /* It is being written before anything else: over() follows. */
        void (*writes)(void *userdata);
        /* What was under way is over, and nothing else follows from it: to be looked at again after
         * `delay`; USEC_INFINITY: with the next session. */
        void (*over)(usec_t delay, void *userdata);
        /* A manual run is refused, and is none any more: over() follows. */
        void (*refused)(const char *run, void *userdata);
} JobLedgerEvents;

/* Parts and events are borrowed, and live longer. */
JobLedger *job_ledger_new(const JobParts *parts, const JobSpec *spec, const JobLedgerEvents *events,
                          void *userdata);
JobLedger *job_ledger_free(JobLedger *ledger);
DEFINE_CLEANUP(JobLedger, job_ledger_free);

/* Drops what is under way, and the watch. */
void job_ledger_cancel(JobLedger *ledger);
/* The session is gone, and with it what was known. */
void job_ledger_reset(JobLedger *ledger);

const JobSpec *job_ledger_spec(const JobLedger *ledger);
void job_ledger_take_spec(JobLedger *ledger, const JobSpec *spec);
/* The one that was taken is another: the ledger has to be read to know whether it is in force. */
void job_ledger_definition_changed(JobLedger *ledger);
/* Something was done about what keeps it from us, maybe: the pauses between tries are short again.
 */
void job_ledger_try_anew(JobLedger *ledger);

/* Each of the following begins something. Return: 0, or a negative errno and nothing follows;
 * -ENOTCONN when there is no session. */
int job_ledger_read(JobLedger *ledger, bool watch);
int job_ledger_skip(JobLedger *ledger, const DecisionSkip *skips, size_t n);
int job_ledger_refuse(JobLedger *ledger, const ManualRun *run, const char *why);
/* As ledger_writer_repair(). */
int job_ledger_repair(JobLedger *ledger, const char *run, int64_t tick, const JobSpec *spec);
/* Nobody waits for what is being read any more. */
void job_ledger_stop_reading(JobLedger *ledger);
/* As those of the writer. */
void job_ledger_look_for_records(JobLedger *ledger);
void job_ledger_doubt_records(JobLedger *ledger);

/* Return: the ledger as last seen, borrowed until the loop runs; NULL when it is not known. */
const Ledger *job_ledger_known(const JobLedger *ledger);
void job_ledger_forget(JobLedger *ledger);
bool job_ledger_is_watching(const JobLedger *ledger);
/* Return: whether there was no room to watch it when that was last asked for. */
bool job_ledger_is_crowded_out(const JobLedger *ledger);
/* Return: whether it was not looked at yet if our definition is the one in force. */
bool job_ledger_is_unchecked(const JobLedger *ledger);
bool job_ledger_is_drifted(const JobLedger *ledger);
/* Return: whether what is known of it has our definition in force. Others may have put it there
 * that we do not go by: a settle reads it, too. */
bool job_ledger_is_ours(const JobLedger *ledger);
/* Return: whether it is not known yet because a run of the name that the job had is under way. */
bool job_ledger_waits(const JobLedger *ledger);
/* Return: why it cannot be used, a sentence, borrowed, or NULL. */
const char *job_ledger_fault(const JobLedger *ledger);
