/* Every write that the servers commit, beside the promises: as it is committed, before anybody is
 * told of it.
 *
 * claim-checker.c: who claims a run holds all its locks, and its tick was not decided.
 * settle-checker.c: a run is settled once, by its own node or when nothing holds it any more, and
 * lets its locks go with that. step-checker.c: a ledger forgets nothing. skip-checker.c: what a
 * skip gives as its reason was so. rename-checker.c: jobs that get another name. retry-checker.c:
 * further attempts are made as the definition says. follow-checker.c: what follows a run.
 * roll-checker.c, rejoin-checker.c: what the machines do of a tick that each of them runs.
 * reboot-checker.c: what went with its machine. service-checker.c: what is kept running.
 * alarm-checker.c: that no run succeeds is told. time-checker.c: at the end, the times that a
 * record says. */
#pragma once

#include <jansson.h>

#include "checker.h"
#include "ledger.h"
#include "run-record.h"

/* What was claimed. */
typedef struct Claimed {
        char *job; /* as it was called first */
        char *run, *node;
        int64_t session; /* of the claim */
        int64_t zxid;
        usec_t at;              /* true time */
        const GPtrArray *locks; /* of PlanLock: as the definition says that it was claimed by */
        bool settled;
        bool by_others;        /* than its node */
        bool given_up;         /* by others than its node */
        bool continues;        /* without its locks */
        usec_t takeover_after; /* then: USEC_INFINITY: it is never given up */
        usec_t pause;          /* of a service, once it is settled: the least before the next */
        bool cleared;          /* somebody deleted a contender of it by hand: nothing is promised */
} Claimed;

/* `checker`: weak. */
WriteBook *write_book_new(Checker *checker);
WriteBook *write_book_free(WriteBook *book);

/* Return: the claim of that run, by any of the job's names; NULL: there was none. */
const Claimed *write_book_find(const WriteBook *book, const char *job, const char *run);

/* Return: the host whose session that is; NULL: it is not known. */
const char *write_book_host(const WriteBook *book, int64_t session);
/* Return: whose contender that is; NULL: no claimed run's. */
const Claimed *write_book_holder(const WriteBook *book, const char *path);

/* ---- for its parts ---- */

typedef struct AlarmBook AlarmBook;
typedef struct FollowBook FollowBook;
typedef struct ServiceBook ServiceBook;
typedef struct RejoinBook RejoinBook;

/* One write, and what it is about. */
typedef struct Write {
        WriteBook *book;
        Checker *checker;
        const Transaction *txn;
        const DataTree *tree; /* as it is without the transaction */
} Write;

/* Return: the node whose session it is; NULL: none of them. */
const char *write_author(const Write *write);
/* Return: how long the node has been no member, or had been when it came back just now; 0: it is
 * one. */
usec_t write_gone_for(const Write *write, const char *node);
/* In what follows a job is named by any of its names.
 *
 * Return: a copy of the record as it stands before the transaction, or (`after`) behind it; NULL:
 * there is none. */
RunRecord *write_record(const Write *write, const char *name, const char *run, bool after);
/* The same, under that very name. */
RunRecord *write_record_of(const Write *write, const char *name, const char *run, bool after);
/* Return: the ledger before the transaction, borrowed, or a copy of it behind it; NULL: there is
 * none. */
const Ledger *write_ledger(const Write *write, const char *job);
Ledger *write_ledger_after(const Write *write, const char *name);
ServiceBook *write_book_services(const WriteBook *book);
RejoinBook *write_book_rejoin(const WriteBook *book);
AlarmBook *write_book_alarms(const WriteBook *book);
/* Return: what stands there behind the transaction, borrowed; NULL: nothing. */
const char *write_data_after(const Write *write, const char *path);
FollowBook *write_follows(const Write *write);
/* Return: the control node before the transaction, a new reference; NULL: there is none. */
json_t *write_control(const Write *write);
/* The contender is a run's from now on. */
void write_note_lock(const Write *write, const char *path, Claimed *claimed);
Claimed *write_claimed(const Write *write, const char *job, const char *run);
Claimed *write_note_claim(const Write *write, const RunRecord *record);

void claim_judge(const Write *write, const RunRecord *record);
/* Return: whether that is a tick by any definition that the job ever had, where the record is of
 * one and not of what somebody asked for. */
bool tick_was_one(const Write *write, const RunRecord *record, int64_t tick);
/* What is claimed is one machine's of a job that each runs. See roll-checker.c. */
void roll_judge_claim(const Write *write, const RunRecord *record);
/* Return: whether so many other machines have failed for the tick that this one need not begin. */
bool roll_may_have_stopped(const Write *write, const PlanJob *job, int64_t tick);
/* Why a tick is skipped then, as it begins. */
#define ROLL_STOPPED_WHY "roll-stopped: "
/* Return: on how many other machines a run of the job is under way that is of a roll. */
unsigned roll_count_under_way(const Write *write, const PlanJob *job);
/* Return: whether the tick may be so old that nothing is known any more of its roll. */
bool roll_is_over(const Write *write, const PlanJob *job, int64_t tick);
/* Return: whether a machine may not have been back in time after its run of the tick. See
 * rejoin-checker.c. */
bool rejoin_may_have_stopped(const Write *write, const PlanJob *job, int64_t tick);
/* Return: whether whose turn it is by its lock may wait for machines yet, or for their runs. */
bool rejoin_keeps_waiting(const Write *write, const PlanJob *job);
/* A run is settled. See reboot-checker.c. */
void reboot_judge_settled(const Write *write, const Claimed *claimed, const RunRecord *before,
                          const RunRecord *after);
/* Return: whether it says that it went with its machine; whether that was rebooted by then. */
bool reboot_is_said(const RunRecord *record);
bool reboot_was_one(const Checker *checker, const HistoryRun *run, usec_t written);
void settle_judge(const Write *write, const RunRecord *before, const RunRecord *after);
/* A contender is deleted, by whom it belongs to or somebody else, while its session lives. */
void settle_judge_leaving(const Write *write, const char *path, const Claimed *claimed);
/* A tick, or a range of them, is skipped. */
void skip_judge(const Write *write, const RunRecord *record);
/* At the end: where the ledger of what is one machine's begins. See beginning-checker.c. */
void beginning_judge(Checker *checker, const PlanJob *job, const Ledger *ledger);
/* The record of a run as it stands in the end, `written` then, true time. */
void time_judge(Checker *checker, const HistoryRun *run, const RunRecord *record, usec_t written);
/* Return: whether the definition has another attempt follow what ended so. */
bool retry_follows(const PlanJob *job, const RunRecord *record);
/* A claim that is no first attempt. */
void retry_judge_claim(const Write *write, const PlanJob *job, const RunRecord *record);
/* What becomes of an entry that is claimed, or to be retried. */
void retry_judge_step(const Write *write, const LedgerEntry *entry, const char *name,
                      const Ledger *after);
/* A job is withdrawn, or was. */
void retry_judge_withdrawn(const Write *write, const char *name, const Ledger *before,
                           const Ledger *after);
/* A record is deleted. */
void retry_judge_forgotten(const Write *write, const RunRecord *record);
void step_judge(const Write *write, const char *job, const Ledger *before, const Ledger *after);
