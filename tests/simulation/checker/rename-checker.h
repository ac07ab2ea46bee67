/* Jobs that get another name. See rename-checker.c. */
#pragma once

#include "write-checker.h"

RenameBook *rename_book_new(void);
RenameBook *rename_book_free(RenameBook *book);

/* Return: the name under which the job stands in ZooKeeper, as it was committed last. */
const char *rename_name(const Checker *checker, const PlanJob *job);
/* Return: whether all files have the job under its other name, and it waits for the end of a run by
 * the first, which began before that tick and goes on still. */
bool rename_waits(const Checker *checker, const PlanJob *job, int64_t tick);
/* A ledger is written under that name. Return: whether it is the job's from then on, and is to be
 * judged as what comes after the one before, by whichever name. */
bool rename_judge_ledger(const Write *write, const PlanJob *job, const char *name);
/* It is committed. Return: the same. */
bool rename_note_ledger(const Checker *checker, const PlanJob *job, const char *name,
                        const Ledger *ledger);
/* A record is made. */
void rename_judge_record(const Write *write, const RunRecord *record);
/* At the end: what all files call otherwise goes on under that name. */
void rename_judge_end(Checker *checker, const PlanJob *job);
