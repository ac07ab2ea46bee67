/* Status, asked of a whole daemon (bus-fixture.h), and how its answer is looked at. */
#pragma once

#include "bus-fixture.h"
#include "ledger.h"

#define NODES "/jobkeeper/nodes"
#define JOB "/jobkeeper/jobs/a"

/* Starts the daemon with a job "a" that is due each hour. */
void begin_with_a(void);
/* Asks where there is no pause between two reports. Return: a new reference. */
json_t *ask_status(void);

/* Return: a member's text; "(none)". */
const char *string_of(const json_t *object, const char *member);
/* Return: of these objects that of which the member says this; NULL: none does. */
json_t *find_with(const json_t *array, const char *member, const char *value);
/* Return: of a report that job; NULL. */
json_t *job_of(const json_t *object, const char *name);
/* As compact JSON, its members sorted. */
void expect_text(const json_t *value, const char *expected);

/* Return: the ledger of "a", in which another node has claimed a tick, and a newer one is settled
 * above an older one that is not; ledger_free(). */
Ledger *ledger_with_claim(void);
