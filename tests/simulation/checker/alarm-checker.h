/* The alarm of jobs of which a success is expected within a time (`expect-within`): it is true, it
 * is told, and once. See alarm-checker.c. */
#pragma once

#include "write-checker.h"

AlarmBook *alarm_book_new(void);
AlarmBook *alarm_book_free(AlarmBook *book);

/* The record of a run is written; `before`: as it stood, NULL: there was none. */
void alarm_note_record(const Write *write, const RunRecord *before, const RunRecord *after);
/* A ledger of the job is written, under that name. */
void alarm_judge_ledger(const Write *write, const PlanJob *job, const char *name,
                        const Ledger *before, const Ledger *after);
/* A client on that host has a session, made or come back to. */
void alarm_note_connected(AlarmBook *book, const char *host, usec_t now);
