/* A run of job "a" of the fixture's daemon (daemon-fixture.h), from its claim to its settle: what
 * tests of runs ask of it. */
#pragma once

#include "daemon-fixture.h"
#include "run-record.h"

#define RUN_ROOT "/jobkeeper"
#define RUN_LEDGER RUN_ROOT "/jobs/a"
#define RUN_OPEN RUN_ROOT "/open/n1"
#define RUN_LOCK RUN_ROOT "/locks/job:a"

extern int64_t tick; /* of the run that is under way */

/* Starts one, of a job with `more` keys. */
void start_one(const char *more);
/* The same, and the daemon goes. */
void leave_it(void);

/* Where its record is to stand; g_free(). */
char *record_path(void);
/* Return: its record, which has to be there; run_record_free(). */
RunRecord *record_there(void);

/* Nothing of it is open, and nothing runs. */
bool is_over(void);
bool is_claimed_and_over(void);
/* Whether the service manager has forgotten the newest unit. */
bool is_forgotten(void);
/* It is settled so, nothing stands open, and nobody stands in the queue. */
void expect_settled(RunState state, const char *why);
