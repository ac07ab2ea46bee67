/* What happened, as nobody in the cluster knows it: every run, from its first process to its last,
 * and what befell the machines. The checker reads it. */
#pragma once

#include <glib.h>

#include "plan.h"
#include "service.h"

typedef struct HistoryRun {
        unsigned number; /* in the order in which they began */
        char *node, *job, *run, *unit;
        int64_t tick; /* 0: manual */
        unsigned attempt;
        int64_t token;
        usec_t begun, over,
            empty;         /* true time; 0: not yet. `over`: the main process, `empty`: all */
        UnitResult result; /* once over */
        bool stopped;      /* somebody asked for its end */
        bool
            excused; /* its node could not do its part: it was frozen, or nobody was there to act */
} HistoryRun;

/* Somebody else who holds a lock. */
typedef struct HistoryHold {
        unsigned number; /* in the order in which they began */
        char *node, *who, *resource;
        PlanMode mode;
        unsigned slots;
        bool excused;
        bool unattended; /* its end is the daemon's to see to, as a run's */
} HistoryHold;

typedef struct History History;

History *history_new(World *world);
History *history_free(History *history);
DEFINE_CLEANUP(History, history_free);

/* Return: the run, the history's. */
HistoryRun *history_begun(History *history, const char *node, const Service *service);
void history_over(History *history, const Service *service, const char *node);
/* Somebody asked for its end. */
void history_ordered(History *history, const Service *service, const char *node);
/* Return: the run; NULL where it never was one. */
const HistoryRun *history_empty(History *history, const Service *service, const char *node);

/* Return: the hold, the history's, until it ends. */
HistoryHold *history_hold_begins(History *history, const char *node, const char *who,
                                 const PlanLock *lock);
void history_hold_ends(History *history, HistoryHold *hold);

/* Something befell the node now. */
void history_disturb(History *history, const char *node);
/* Return: whether something befell it, or something that had befallen it ended, at that time. */
bool history_was_disturbed(const History *history, const char *node, usec_t from, usec_t to);
/* The node crashed: what had ended, and was not written down elsewhere, is known to nobody. */
void history_crash(History *history, const char *node);
bool history_has_crashed(const History *history, const char *node, usec_t from, usec_t to);
/* The runs of this node that live, or begin in a moment, may outlive their locks from now on, and
 * no promise holds for them. */
void history_excuse(History *history, const char *node);
/* The same, where it is the daemon alone that cannot act: others who hold locks there can. */
void history_excuse_runs(History *history, const char *node);

/* Return: of HistoryRun, all of them; those that live. Borrowed. */
const GPtrArray *history_runs(const History *history);
const GPtrArray *history_alive(const History *history);
/* Return: of HistoryHold. Borrowed. */
const GPtrArray *history_holds(const History *history);
