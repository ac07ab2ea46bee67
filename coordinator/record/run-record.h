/* The record of one run (or of one range of skipped ticks): /jobs/JOB/runs/ID. One line of JSON,
 * and the same object that the D-Bus surface hands out (bus-interface.h). Pure: encoding and
 * decoding only. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "cleanup.h"
#include "clock.h"
#include "job.h"
#include "run-parent.h"
#include "run-state.h"

/* What was settled at the claim of what comes before it and after it: what it follows, and what the
 * definition said of what follows its end. */
typedef struct RunTerms {
        usec_t takeover_after;   /* of one that continues: others begin so long after its node was
                                    gone; USEC_INFINITY */
        unsigned attempts;       /* of its tick, in all; 0 and 1: this one alone */
        usec_t delay, max_delay; /* before the next one */
        char *no_retry;          /* exit statuses after which none follows (exit-set.h); or NULL */
        bool rerun;              /* another one follows where this one is lost */
        bool roll;               /* its job keeps account of its rolls (rolls.h) */
        usec_t rejoin_timeout;   /* so long its machine is waited for, after its end or where that
                                    rebooted over it; 0: it is not */
        JobReboot reboot;
        bool service;         /* of a service: another one follows for ever (service-restart.h) */
        unsigned short_lived; /* then: before it, runs in a row that lived for a short time */
        RunParent parent;     /* whose end asked for it */
} RunTerms;

/* Of a range of skipped ticks. */
typedef struct RunStretch {
        int64_t to; /* the last of them; 0: not a range */
        unsigned count;
} RunStretch;

/* How a run ended that was recorded as unknown, by the word of a person: the state is what he said.
 */
typedef struct RunResolution {
        usec_t at;    /* CLOCK_REALTIME; 0: nobody has */
        char *by;     /* who */
        char *before; /* why it was unknown; NULL: that was not said */
} RunResolution;

typedef struct RunRecord {
        char *run; /* "TICK-ATTEMPT", for a manual run "EPOCH-mHEX", for skipped ticks "TICK-0" */
        char *job;
        int64_t tick; /* 0: manual */
        RunStretch stretch;
        unsigned attempt;
        char *node, *boot, *nonce, *unit, *invocation; /* NULL where it does not apply */
        char **locks; /* absolute paths of the contenders, NULL-terminated; may be NULL */
        RunState state;
        char *why;
        char *who;
        int exit_status;                /* -1: none */
        int signal;                     /* 0: none */
        usec_t claimed, started, ended; /* CLOCK_REALTIME, 0: not (yet) */
        usec_t cpu;                     /* USEC_INFINITY: not known */
        int64_t token;                  /* fencing token; not stored: it is the znode's czxid */
        bool
            continues; /* also without its locks: while it is claimed, no other run of the job is */
        RunTerms terms;
        RunResolution resolution;
} RunRecord;

RunRecord *run_record_new(const char *job, const char *run);
RunRecord *run_record_free(RunRecord *record);
DEFINE_CLEANUP(RunRecord, run_record_free);
RunRecord *run_record_copy(const RunRecord *record);

/* A person says how it ended, of a record whose state is unknown and that nobody has resolved. What
 * is known of it otherwise, and when it was recorded, stays. */
void run_record_resolve(RunRecord *record, RunState state, const char *by, const char *why,
                        usec_t now);

/* It becomes one that nobody has said anything of. */
void run_record_forget_resolution(RunRecord *record);

/* Return: a new reference: all that others may know, so without the nonce, by which a node knows a
 * unit as its own. */
json_t *run_record_to_json(const RunRecord *record);
/* Return: 0; -EBADMSG when the object is not a record. */
int run_record_from_json(const json_t *object, RunRecord **ret_record);

/* Return: one line, newly allocated (g_free). */
char *run_record_encode(const RunRecord *record);
/* Return: 0; -EBADMSG when the data is not a record of ours (broken, foreign, too large). */
int run_record_decode(const char *data, size_t size, RunRecord **ret_record);

/* Return: whether what stands at the path of one of the record's contenders is that contender, by
 * its czxid: it was there before the claim. A name that is not unique (naming single-node) may be
 * another's by now. */
bool run_record_is_contender(const RunRecord *record, int64_t czxid);
