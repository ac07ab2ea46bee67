/* The ledger: what ZooKeeper remembers of a job's ticks. Pure: the data, its one line of JSON, and
 * the rules by which it changes; others read and write it.
 *
 *   {"v":1, "mark":T, "from":T, "digest":"hex", "instead_of":"hex", "schedule":"text",
 *    "zones":{"from":T, "changes":"text"}, "withdrawn":T, "came":T, "freed":S, "succeeded":S,
 *    "overdue":S, "failing":true, "was":"name", "renamed":"name", "open":[entry...],
 *    "last":{run record, short}}
 *
 * Every tick at or before max(mark, from) is settled, or was never owed. Above it a tick is decided
 * when an entry covers it: claimed (a run is under way), or already final while an older tick is
 * still open. A tick that nothing covers is undecided: somebody still owes it. A tick that is to
 * be retried is decided, by the attempt that ended last, and its entry says from when on the next
 * one may begin: the mark does not move over it until that is settled, or given up. Entries of
 * manual runs have tick 0, and so have those of attempts of a settled tick that somebody asked for
 * by hand: they are open until settled and never move the mark. The entry of a
 * skipped stretch that ends at the mark stays, because the next tick that is skipped for the same
 * reason goes into it, and into its record. Where runs are side by side, one that lasts keeps the
 * mark from many that are over: entries of such are joined, see ledger_compact().
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "run-record.h"
#include "schedule.h"

/* A ledger of this many entries is full: it takes no claims, and of skips only those that need no
 * entry of their own, or whose entry goes with the next ledger_compact(). */
#define LEDGER_OPEN_MAX 64

/* Longer ones are not noted: there is no longer schedule. */
#define LEDGER_SCHEDULE_MAX ((size_t)(SCHEDULE_SIZE_MAX + SCHEDULE_MORE_TEXT_MAX))
#define LEDGER_ZONES_MAX ((size_t)8192)

/* In place of a schedule; no expression is written so. */
#define LEDGER_SERVICE "service"

/* From so many entries on, those that say no more than that their ticks are decided are joined. */
#define LEDGER_OPEN_MANY 32

/* The reason of a range that was joined because the ledger was full, not because of its reason. */
#define LEDGER_WHY_SEVERAL "for several reasons, too many to tell apart"

typedef struct LedgerEntry {
        int64_t tick;   /* 0: a run by hand */
        int64_t to;     /* the last tick it covers; equal to tick but for skipped ranges */
        unsigned count; /* how many ticks */
        unsigned attempt;
        RunState state; /* claimed, or final */
        char *run;
        char *node; /* of the claim; NULL when skipped */
        char *why;  /* NULL but for skipped */
        usec_t claimed;
        bool again;           /* claimed: another attempt of the tick may follow it */
        usec_t not_before;    /* final: a retry follows, and begins then at the earliest
                                 (CLOCK_REALTIME); 0: none does */
        bool service;         /* a run of a service */
        unsigned short_lived; /* then: so many runs in a row before it, and once it is final with
                                 it, lived for a short time */
        bool continues;       /* then: claimed: also without its locks; unknown: it may be alive */
} LedgerEntry;

typedef struct Ledger {
        int64_t mark;
        int64_t from;
        char *digest;     /* "" when the job was withdrawn for good */
        char *instead_of; /* the digest in whose place that was put because nobody had it; NULL */
        char *schedule;   /* of that definition, in normal form; "" when it has none,
                             LEDGER_SERVICE where it is one; NULL: not known, or too long */
        int64_t zones_from;
        char *zones; /* the changes of offset that are in force from then on, for two years, as
                        schedule_transitions() tells them; NULL: none, not known, or too long */
        int64_t withdrawn; /* a node lost the job then, and whether others have it is not clear yet;
                              0 otherwise. Until it is, the definition stays in force */
        int64_t came;      /* the job is there since then, and nothing has succeeded; 0: since
                              `from`, or something has */
        usec_t freed;      /* the end of a run was written then, long after it, or what was to be
                              retried was given up; 0: no later than the last run ended */
        usec_t succeeded;  /* the last run that succeeded ended then; 0: none has since the job is
                              there, or versions before this one did not note it */
        usec_t overdue;    /* that no run succeeds for too long was told then; 0: it was not, or one
                              has succeeded since */
        bool failing;      /* the newest run that is over did not succeed, and nobody stopped it */
        char *was;         /* the name under which the job stood before it came here; or NULL */
        char *renamed;   /* the name under which it goes on: nothing is claimed or skipped here any
                            more; NULL: it has not left */
        GPtrArray *open; /* LedgerEntry, sorted by tick */
        RunRecord *last; /* the newest settled run, short; NULL before the first */
} Ledger;

Ledger *ledger_new(int64_t from, const char *digest);
Ledger *ledger_free(Ledger *ledger);
DEFINE_CLEANUP(Ledger, ledger_free);
Ledger *ledger_copy(const Ledger *ledger);

char *ledger_encode(const Ledger *ledger);
/* Return: 0; -EBADMSG when the data is no ledger. */
int ledger_decode(const char *data, size_t size, Ledger **ret_ledger);

/* Everything at or before this is settled or not owed. */
int64_t ledger_floor(const Ledger *ledger);
/* Return: the entry that covers a tick above the floor, or NULL. */
const LedgerEntry *ledger_find_tick(const Ledger *ledger, int64_t tick);
const LedgerEntry *ledger_find_run(const Ledger *ledger, const char *run);
bool ledger_is_decided(const Ledger *ledger, int64_t tick);
/* Return: the oldest entry of a run that is under way: still claimed, or of a service that was
 * given up and may be alive (ledger_may_be_alive()); or NULL. */
const LedgerEntry *ledger_first_claimed(const Ledger *ledger);
/* Return: whether it is a run of a service of which it is not known whether it has ended: nothing
 * of the job begins beside it, by whatever definition, until it is said how it did. */
bool ledger_may_be_alive(const LedgerEntry *entry);
/* Return: the entry that is to be retried first, of those that may begin together the oldest; or
 * NULL. */
const LedgerEntry *ledger_first_retry(const Ledger *ledger);
/* Return: the oldest entry that is to be retried only while what is in force has ticks; or NULL. */
const LedgerEntry *ledger_first_retry_by_ticks(const Ledger *ledger);
/* Return: the entry of a run of the tick, by hand or not, that is under way or is to be retried; or
 * NULL. */
const LedgerEntry *ledger_find_unsettled(const Ledger *ledger, int64_t tick);
/* Return: whether it is decided, and nothing more is to come of it by itself. */
bool ledger_is_settled(const Ledger *ledger, int64_t tick);
/* Return: how many runs are under way or to be retried, manual ones too. */
unsigned ledger_count_unsettled(const Ledger *ledger);
/* Return: whether somebody may claim it: it is undecided, or to be retried. */
bool ledger_is_claimable(const Ledger *ledger, int64_t tick);
/* Return: the number of the attempt that a claim of this tick is. */
unsigned ledger_next_attempt(const Ledger *ledger, int64_t tick);
/* Return: the second from which on it may be started: `start` (schedule_start()), or for what is to
 * be retried the end of the pause. `ledger` may be NULL. */
int64_t ledger_due(const Ledger *ledger, int64_t tick, int64_t start);
/* Return: the first undecided tick after `after` and at or before `until`. False when there is
 * none. */
bool ledger_next_undecided(const Ledger *ledger, const Schedule *schedule, int64_t after,
                           int64_t until, int64_t *ret_tick);

/* Return: the first stretch of undecided ticks after `after` and at or before `until`, in *ret_from
 * and *ret_to. False when there is none. */
bool ledger_next_stretch(const Ledger *ledger, const Schedule *schedule, int64_t after,
                         int64_t until, int64_t *ret_from, int64_t *ret_to);

/* What the record of a run of a service does not say since it was lost, so that another run follows
 * this one as it does any other. `by_others`: on behalf of a node that is away, and may run it
 * still. Anything else is left as it is. */
void ledger_complete(const Ledger *ledger, RunRecord *record, bool by_others);
/* Return: until when ticks that came meanwhile had to wait for the last run, or for what was to
 * follow it; 0: there was none. */
usec_t ledger_free_since(const Ledger *ledger);
/* Return: since when the job is there, whatever its definition was, as long as no run of it has
 * succeeded. */
int64_t ledger_came(const Ledger *ledger);
/* Return: when a run succeeded last, as far as that is known; 0: not since the job is there. */
usec_t ledger_last_success(const Ledger *ledger);
/* Return: since when no run has succeeded: the last success, or since when the job is there. */
usec_t ledger_without_success_since(const Ledger *ledger);
/* Return: newly allocated, the ledger with which the job goes on under another name, `job`. What is
 * to be attempted again goes with it. `was`: the name that it had. */
Ledger *ledger_move(const Ledger *ledger, const char *was, const char *job);
/* The job goes on under that name from `now` on. No version of any definition is in force here, not
 * even one of those that do not know of names. */
void ledger_leave(Ledger *ledger, const char *renamed, int64_t now);
/* Return: the tick of the service that is in force: the first second after its definition came into
 * force, so that it is another with each; 0: what is in force is none. */
int64_t ledger_service_tick(const Ledger *ledger);
/* Return: whether that run, as its entry has it, is of a service that is not in force any more. */
bool ledger_is_of_earlier_service(const Ledger *ledger, const LedgerEntry *entry);
/* Notes that the zones of the schedule (NULL: none) are in force as this machine knows them. */
void ledger_set_zones(Ledger *ledger, const Schedule *schedule, int64_t now);
/* Return: 0 with the schedule in force, newly allocated, or NULL when there is none, as with a
 * service; -ENOENT where it is not known. */
int ledger_schedule(const Ledger *ledger, Schedule **ret_schedule);

/* A node lost the job at `now`. Whether others have it is not known: nothing else changes. */
void ledger_withdraw(Ledger *ledger, int64_t now);
/* A node has the job as it is in force. */
void ledger_resume(Ledger *ledger);
/* Return: the second by which others that had the job would look at its ledger: that in which the
 * oldest tick that is owed starts at the latest, or of the withdrawal where that is later or
 * nothing will ever be due. */
int64_t ledger_withdrawal_shows(const Ledger *ledger, const Schedule *schedule);

/* For what changes a ledger (ledger-change.h, ledger-skip.h). Return: the entry of that run, or
 * NULL. */
LedgerEntry *ledger_entry_of_run(Ledger *ledger, const char *run);
/* Return: the entry of that tick where it is to be retried, or NULL. */
LedgerEntry *ledger_entry_to_retry(Ledger *ledger, int64_t tick);
/* Takes the entry. */
void ledger_add_entry(Ledger *ledger, LedgerEntry *entry);
/* Frees what it has, not the entry. */
void ledger_entry_clear(LedgerEntry *entry);
/* Return: whether nothing more is to come of what it covers. */
bool ledger_entry_is_over(const LedgerEntry *entry);
/* Return: whether it can be retried. */
bool ledger_entry_may_retry(const LedgerEntry *entry);
