/* What happened, as nobody in the cluster knows it: every run, from its first process to its last,
 * and what befell the machines. The checker reads it. */
#pragma once

#include <glib.h>

#include "plan.h"
#include "service.h"

/* What befalls a node. */
typedef enum HistoryMatter {
        HISTORY_DAEMON = 1 << 0,     /* it was killed, restarted or stopped, or came back */
        HISTORY_STANDSTILL = 1 << 1, /* the daemon or the machine did */
        HISTORY_CLOCK = 1 << 2,      /* somebody set it */
        HISTORY_CRASH = 1 << 3,      /* what had ended, and was not written, is known to nobody */
        HISTORY_SESSION = 1 << 4,    /* it, or a contender in it, was lost */
        HISTORY_PID1 = 1 << 5,       /* it was out of reach */
        HISTORY_ANY = (1 << 6) - 1,
        HISTORY_BUS = 1 << 6,   /* the connection to PID 1 broke: explains little */
        HISTORY_HANG = 1 << 7,  /* PID 1 answered nobody: explains that nothing ended for so long */
        HISTORY_DISK = 1 << 8,  /* it was full: how a run ended may not have been noted */
        HISTORY_FILES = 1 << 9, /* its job files say something else than the plan */
        HISTORY_BOOT = 1 << 10, /* it was booted */
} HistoryMatter;

typedef struct HistoryRun {
        unsigned number; /* in the order in which they began */
        char *node, *run, *unit;
        char *job;    /* as it was called first */
        int64_t tick; /* 0: manual */
        unsigned attempt;
        int64_t token;
        int64_t session; /* that was the node's when it began; 0: not known */
        usec_t begun, over,
            empty;         /* true time; 0: not yet. `over`: the main process, `empty`: all */
        usec_t ready;      /* a service said so; 0: it did not */
        UnitResult result; /* once over */
        bool continues;    /* without its locks: its record stands for them */
        bool stopped;      /* somebody asked for its end */
        usec_t ordered;    /* when PID 1 first heard of that; 0: it did not */
        bool by_fence;     /* PID 1 ended it with its fence, before it heard of anything else */
        bool by_shutdown;  /* PID 1 ended what there was of it with the machine */
        bool by_itself;    /* the main process ended before */
        bool asked;        /* its daemon had before the main process ended, heard or not */
        bool lost;         /* how it ended went with its machine, unread by a daemon that hung */
        bool excused; /* its node could not do its part: it was frozen, or nobody was there to act;
                         or it was given up, as its definition says */
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

/* `plan` lives longer. */
History *history_new(World *world, const Plan *plan);
History *history_free(History *history);
DEFINE_CLEANUP(History, history_free);

/* Return: the run, the history's. */
HistoryRun *history_begun(History *history, const char *node, const Service *service);
void history_ready(const History *history, const Service *service, const char *node);
void history_over(History *history, const Service *service, const char *node);
/* Somebody asked for its end. Return: the run where that was its fence, before anybody else; or
 * NULL. */
const HistoryRun *history_ordered(History *history, const Service *service, const char *node);
/* Return: the run; NULL where it never was one. */
const HistoryRun *history_empty(History *history, const Service *service, const char *node);

/* Others may begin beside it from now on. */
void history_give_up(const History *history, const char *job, const char *name);

/* Return: the hold, the history's, until it ends. */
HistoryHold *history_hold_begins(History *history, const char *node, const char *who,
                                 const PlanLock *lock);
void history_hold_ends(History *history, HistoryHold *hold);

/* That befell the node now, or ends now. */
void history_note(History *history, const char *node, HistoryMatter matter);
/* The same of what lasts, from now on until it ends. */
void history_note_begin(History *history, const char *node, HistoryMatter matter);
void history_note_end(History *history, const char *node, HistoryMatter matter);
/* Return: whether one of these (HistoryMatter) befell it, lasted or ended at that time. */
bool history_befell(const History *history, const char *node, unsigned matters, usec_t from,
                    usec_t to);
/* The files of that node say something else of the job from now on (NULL: nothing that can be read
 * of any), and as the plan does again. */
void history_note_edit(History *history, const char *node, const char *job);
void history_note_mended(History *history, const char *node, const char *job);
/* Return: whether that was so of that one then. */
bool history_was_edited(const History *history, const char *node, const char *job, usec_t from,
                        usec_t to);
/* The job file of that node is whole from now on, but that it has that job no more; NULL: it has
 * all, or says nothing that counts. */
void history_note_without(History *history, const char *node, const char *job);
/* Return: since when it has it no more; USEC_INFINITY: it has. */
usec_t history_without_since(const History *history, const char *node, const char *job);
/* The runs of this node that live, or begin in a moment, may outlive their locks from now on, and
 * no promise holds for them. */
void history_excuse(History *history, const char *node);

/* A person wants that run to end. By any of the job's names, as the next. */
void history_unwanted(const History *history, const char *job, const char *run);
/* Return: whether somebody did. */
bool history_is_unwanted(const History *history, const char *job, const char *run);

/* The machine crashes while its daemon hangs: nobody has read how those runs ended that did so
 * meanwhile. */
void history_lose(History *history, const char *node);

/* Return: of HistoryRun, all of them; those that live. Borrowed. */
const GPtrArray *history_runs(const History *history);
const GPtrArray *history_alive(const History *history);
/* Return: of HistoryHold. Borrowed. */
const GPtrArray *history_holds(const History *history);
