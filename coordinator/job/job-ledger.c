/* See job-ledger.h. */
#include "job-ledger.h"

#include <errno.h>

#include "backoff.h"
#include "in-force.h"
#include "ledger-cursor.h"
#include "renaming.h"

typedef struct LedgerBackoffs {
        Backoff reads, writes; /* refused */
        Backoff unreadable, drifted;
} LedgerBackoffs;

struct JobLedger {
        ClockWatch *clock; /* weak */
        JobSpec *spec;
        const JobLedgerEvents *events;
        void *userdata;

        LedgerCursor *cursor;
        LedgerWriter *writer;
        InForce *in_force;
        Renaming *renaming;
        LedgerBackoffs backoffs;
        char *drifted_from; /* the digest in force that ours last differed from */
};

static void job_ledger_on_cursor(LedgerCursorEvent event, void *userdata);
static void job_ledger_on_written(LedgerWriteOutcome outcome, const char *refused, void *userdata);
static void job_ledger_on_remembered(void *userdata);
static void job_ledger_on_renaming(RenamingEvent event, void *userdata);

JobLedger *job_ledger_new(const JobParts *parts, const JobSpec *spec, const JobLedgerEvents *events,
                          void *userdata) {
        const LedgerCursorParts cursor = {parts->node, parts->ledgers, parts->runs,
                                          parts->recovery};
        const LedgerWriterParts writer = {parts->node, parts->tree, parts->ledgers, parts->pruner,
                                          parts->jobset};
        InForceParts in_force = {.node = parts->node,
                                 .tree = parts->tree,
                                 .ledgers = parts->ledgers,
                                 .digests = parts->digests,
                                 .registration = parts->registration,
                                 .members = parts->members,
                                 .jobset = parts->jobset};
        JobLedger *ledger = g_new0(JobLedger, 1);

        ledger->clock = parts->clock;
        ledger->spec = job_spec_ref(spec);
        ledger->events = events;
        ledger->userdata = userdata;
        ledger->cursor = ledger_cursor_new(&cursor, spec->name, job_ledger_on_cursor, ledger);
        ledger->writer = ledger_writer_new(&writer, spec->name, job_ledger_on_written, ledger);
        in_force.writer = ledger->writer;
        ledger->in_force = in_force_new(&in_force, spec->name, job_ledger_on_remembered, ledger);
        ledger->renaming = renaming_new(parts, spec->name, job_ledger_on_renaming, ledger);
        return ledger;
}

JobLedger *job_ledger_free(JobLedger *ledger) {
        if (!ledger)
                return NULL;
        renaming_free(ledger->renaming);
        in_force_free(ledger->in_force);
        ledger_writer_free(ledger->writer);
        ledger_cursor_free(ledger->cursor);
        job_spec_free(ledger->spec);
        g_free(ledger->drifted_from);
        g_free(ledger);
        return NULL;
}

void job_ledger_cancel(JobLedger *ledger) {
        ledger_cursor_reset(ledger->cursor);
        ledger_writer_cancel(ledger->writer);
        renaming_reset(ledger->renaming);
        in_force_reset(ledger->in_force);
}

void job_ledger_reset(JobLedger *ledger) {
        job_ledger_cancel(ledger);
        ledger_writer_reset(ledger->writer);
        job_ledger_try_anew(ledger);
        job_ledger_forget(ledger);
}

/* ---- the definition ---- */

const JobSpec *job_ledger_spec(const JobLedger *ledger) {
        return ledger->spec;
}

void job_ledger_take_spec(JobLedger *ledger, const JobSpec *spec) {
        JobSpec *taken = job_spec_ref(spec);
        bool had_another_name = g_strcmp0(spec->books.was.job, ledger->spec->books.was.job) != 0;

        job_spec_free(ledger->spec);
        ledger->spec = taken;
        if (had_another_name && in_force_closed_why(ledger->in_force))
                job_ledger_definition_changed(ledger);
}

void job_ledger_definition_changed(JobLedger *ledger) {
        in_force_changed(ledger->in_force);
        job_ledger_try_anew(ledger);
}

void job_ledger_try_anew(JobLedger *ledger) {
        ledger->backoffs = (LedgerBackoffs){0};
}

bool job_ledger_is_unchecked(const JobLedger *ledger) {
        return in_force_is_unchecked(ledger->in_force);
}

bool job_ledger_is_drifted(const JobLedger *ledger) {
        return in_force_is_drifted(ledger->in_force);
}

bool job_ledger_is_ours(const JobLedger *ledger) {
        return in_force_is(ledger->in_force, ledger->spec);
}

/* ---- what is known ---- */

const Ledger *job_ledger_known(const JobLedger *ledger) {
        return ledger_cursor_ledger(ledger->cursor);
}

void job_ledger_forget(JobLedger *ledger) {
        ledger_cursor_forget(ledger->cursor);
}

bool job_ledger_is_watching(const JobLedger *ledger) {
        return ledger_cursor_is_watching(ledger->cursor);
}

bool job_ledger_is_crowded_out(const JobLedger *ledger) {
        return ledger_cursor_is_crowded_out(ledger->cursor);
}

const char *job_ledger_fault(const JobLedger *ledger) {
        const char *fault = ledger_cursor_fault(ledger->cursor);

        if (!fault && !job_ledger_known(ledger))
                fault = renaming_fault(ledger->renaming);
        if (!fault)
                fault = in_force_closed_why(ledger->in_force);
        /* What could not be written is read again first. */
        return fault || job_ledger_known(ledger) ? fault : ledger_writer_fault(ledger->writer);
}

bool job_ledger_waits(const JobLedger *ledger) {
        return !job_ledger_known(ledger) && renaming_waits(ledger->renaming);
}

/* ---- writing ---- */

static void job_ledger_over(JobLedger *ledger, usec_t delay) {
        ledger->events->over(delay, ledger->userdata);
}

/* To be looked at again after a pause that is longer than the one before it. */
static usec_t job_ledger_pause(const JobLedger *ledger, Backoff *backoff, usec_t first,
                               usec_t max) {
        return backoff_failed(backoff, first, max, backoff_spread(ledger->spec->name),
                              clock_boottime());
}

static usec_t job_ledger_pause_refused(const JobLedger *ledger, Backoff *backoff) {
        return job_ledger_pause(ledger, backoff, JOB_REFUSED_DELAY, JOB_REFUSED_DELAY_MAX);
}

static usec_t job_ledger_write_again_in(JobLedger *ledger, LedgerWriteOutcome outcome) {
        switch (outcome) {
        case LEDGER_WRITE_DONE:
                ledger->backoffs.writes = (Backoff){0};
                return 0;
        case LEDGER_WRITE_AGAIN:
                return 0;
        case LEDGER_WRITE_REFUSED:
                return job_ledger_pause_refused(ledger, &ledger->backoffs.writes);
        case LEDGER_WRITE_CLOSED:
                return USEC_INFINITY;
        case LEDGER_WRITE_FAILED:
                break;
        }
        return JOB_RETRY_DELAY;
}

static void job_ledger_on_written(LedgerWriteOutcome outcome, const char *refused, void *userdata) {
        JobLedger *ledger = userdata;

        in_force_written(ledger->in_force, outcome);
        if (refused)
                ledger->events->refused(refused, ledger->userdata);
        job_ledger_over(ledger, job_ledger_write_again_in(ledger, outcome));
}

int job_ledger_skip(JobLedger *ledger, const DecisionSkip *skips, size_t n) {
        return ledger_writer_skip(ledger->writer, ledger->spec->schedule, skips, n, false);
}

int job_ledger_refuse(JobLedger *ledger, const ManualRun *run, const char *why) {
        return ledger_writer_refuse(ledger->writer, run, why);
}

int job_ledger_repair(JobLedger *ledger, const char *run, int64_t tick, const JobSpec *spec) {
        return ledger_writer_repair(ledger->writer, run, tick, spec);
}

void job_ledger_doubt_records(JobLedger *ledger) {
        ledger_writer_doubt_records(ledger->writer);
}

void job_ledger_look_for_records(JobLedger *ledger) {
        ledger_writer_look_for_records(ledger->writer);
}

/* ---- reading ---- */

/* Nothing is written by a clock that was not compared with the server's lately. That is begun, and
 * the ledger is read again a moment later. */
static void job_ledger_wait_for_clock(JobLedger *ledger) {
        usec_t delay = clock_watch_measure(ledger->clock);

        job_ledger_forget(ledger);
        job_ledger_over(ledger, delay);
}

/* A write was begun before anything else, or (`error`) could not be. */
static void job_ledger_writes(JobLedger *ledger, int error) {
        ledger->events->writes(ledger->userdata);
        if (error < 0)
                job_ledger_on_written(ledger_writer_outcome(error), NULL, ledger);
}

/* Meanwhile it may be considered for anything else. */
static void job_ledger_on_remembered(void *userdata) {
        JobLedger *ledger = userdata;

        ledger->events->changed(ledger->userdata);
}

/* The others may come round to our definition; where they came to yet another one, they are at it.
 */
static void job_ledger_on_drifted(JobLedger *ledger) {
        const Ledger *known = job_ledger_known(ledger);
        const char *digest = known ? known->digest : "";
        usec_t patience = in_force_patience_left(ledger->in_force), pause;
        Backoff *backoff = &ledger->backoffs.drifted;

        if (g_strcmp0(ledger->drifted_from, digest) != 0)
                *backoff = (Backoff){0};
        g_free(ledger->drifted_from);
        ledger->drifted_from = g_strdup(digest);
        pause = job_ledger_pause(ledger, backoff, JOB_FAULT_DELAY, JOB_DRIFTED_DELAY_MAX);
        job_ledger_over(ledger, MIN(pause, usec_add(patience, 1)));
}

static void job_ledger_follow(JobLedger *ledger, InForceVerdict verdict) {
        if (verdict != IN_FORCE_DRIFTED)
                ledger->backoffs.drifted = (Backoff){0};
        switch (verdict) {
        case IN_FORCE_OURS:
                ledger->events->read(ledger->userdata);
                return;
        case IN_FORCE_DRIFTED:
                job_ledger_on_drifted(ledger);
                return;
        case IN_FORCE_NEEDS_CLOCK:
                job_ledger_wait_for_clock(ledger);
                return;
        case IN_FORCE_REMEMBERS:
                job_ledger_forget(ledger);
                job_ledger_over(ledger, USEC_INFINITY);
                return;
        case IN_FORCE_WRITES:
                job_ledger_writes(ledger, 0);
                return;
        case IN_FORCE_FAILED:
                job_ledger_writes(ledger, in_force_error(ledger->in_force));
        }
}

static void job_ledger_take(JobLedger *ledger) {
        bool may_change = clock_watch_is_good(ledger->clock);

        if (job_ledger_known(ledger))
                job_ledger_follow(ledger,
                                  in_force_check(ledger->in_force, ledger->spec, may_change));
        else if (may_change)
                job_ledger_follow(ledger, in_force_make_ledger(ledger->in_force, ledger->spec));
        else
                job_ledger_wait_for_clock(ledger);
}

/* ---- the name that it had ---- */

static void job_ledger_read_again(JobLedger *ledger, usec_t delay) {
        job_ledger_forget(ledger);
        job_ledger_over(ledger, delay);
}

static void job_ledger_on_renaming(RenamingEvent event, void *userdata) {
        JobLedger *ledger = userdata;

        switch (event) {
        case RENAMING_NOTHING:
                job_ledger_take(ledger);
                return;
        case RENAMING_WRITES:
                ledger->events->writes(ledger->userdata);
                return;
        case RENAMING_AGAIN:
                job_ledger_read_again(ledger, 0);
                return;
        case RENAMING_WAITS:
                job_ledger_read_again(ledger, renaming_is_watching(ledger->renaming)
                                                  ? USEC_INFINITY
                                                  : JOB_FAULT_DELAY);
                return;
        case RENAMING_ELSEWHERE:
                if (renaming_may_come_back(ledger->renaming))
                        ledger->backoffs.drifted = (Backoff){0};
                job_ledger_follow(
                    ledger, in_force_close(ledger->in_force, renaming_fault(ledger->renaming)));
                return;
        case RENAMING_FAILED:
                job_ledger_read_again(ledger, JOB_RETRY_DELAY);
                return;
        case RENAMING_REFUSED:
                job_ledger_read_again(ledger,
                                      job_ledger_pause_refused(ledger, &ledger->backoffs.writes));
                return;
        case RENAMING_CLOSED:
                job_ledger_read_again(ledger, USEC_INFINITY);
                return;
        case RENAMING_CHANGED:
                ledger->events->changed(ledger->userdata);
        }
}

static void job_ledger_look_at_old_name(JobLedger *ledger) {
        int r = renaming_look(ledger->renaming, ledger->spec);

        if (r < 0)
                job_ledger_read_again(ledger, r == -ENOTCONN ? USEC_INFINITY : JOB_RETRY_DELAY);
}

static void job_ledger_look_at_new_name(JobLedger *ledger) {
        int r =
            renaming_look_back(ledger->renaming, ledger->spec, job_ledger_known(ledger)->renamed);

        if (r < 0)
                job_ledger_read_again(ledger, r == -ENOTCONN ? USEC_INFINITY : JOB_RETRY_DELAY);
}

static void job_ledger_on_read(JobLedger *ledger) {
        switch (in_force_rename_need(ledger->in_force, ledger->spec)) {
        case RENAME_NOT:
                job_ledger_take(ledger);
                return;
        case RENAME_LOOK_BACK:
                if (clock_watch_is_good(ledger->clock))
                        job_ledger_look_at_new_name(ledger);
                else
                        job_ledger_follow(ledger, in_force_close(ledger->in_force, NULL));
                return;
        case RENAME_LOOK:
                if (clock_watch_is_good(ledger->clock))
                        job_ledger_look_at_old_name(ledger);
                else
                        job_ledger_wait_for_clock(ledger);
        }
}

/* What stands there could be read. */
static void job_ledger_forget_faults(JobLedger *ledger) {
        ledger->backoffs.reads = ledger->backoffs.unreadable = (Backoff){0};
}

static void job_ledger_on_cursor(LedgerCursorEvent event, void *userdata) {
        JobLedger *ledger = userdata;

        switch (event) {
        case LEDGER_CURSOR_READ:
                job_ledger_forget_faults(ledger);
                job_ledger_on_read(ledger);
                return;
        case LEDGER_CURSOR_ABSENT:
                job_ledger_forget_faults(ledger);
                job_ledger_forget(ledger);
                job_ledger_on_read(ledger);
                return;
        case LEDGER_CURSOR_UNREADABLE:
                job_ledger_over(ledger, job_ledger_pause(ledger, &ledger->backoffs.unreadable,
                                                         JOB_FAULT_DELAY, JOB_REFUSED_DELAY_MAX));
                return;
        case LEDGER_CURSOR_REFUSED:
                job_ledger_over(ledger, job_ledger_pause_refused(ledger, &ledger->backoffs.reads));
                return;
        case LEDGER_CURSOR_FAILED:
                job_ledger_over(ledger, JOB_RETRY_DELAY);
                return;
        case LEDGER_CURSOR_CLOSED:
                job_ledger_over(ledger, USEC_INFINITY);
                return;
        case LEDGER_CURSOR_CHANGED:
                job_ledger_try_anew(ledger);
                ledger->events->changed(ledger->userdata);
        }
}

int job_ledger_read(JobLedger *ledger, bool watch) {
        return ledger_cursor_read(ledger->cursor, watch);
}

void job_ledger_stop_reading(JobLedger *ledger) {
        ledger_cursor_stop(ledger->cursor);
        renaming_stop(ledger->renaming);
}
