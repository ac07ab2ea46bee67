/* What the next step of a job is decided by, and what follows of it about times alone: when each of
 * its ticks starts, how long it is fresh, and when it is our turn. What is done then is
 * decision.h's. Pure. */
#pragma once

#include "decision-pause.h"
#include "decision-window.h"
#include "job.h"
#include "ledger.h"

/* How long a tick is fresh after its turn at the last rank. */
#define DECISION_FRESH_SLACK (2 * USEC_PER_SEC)

typedef struct DecisionInput {
        const char *job;
        const Schedule *schedule; /* NULL: it has none */
        bool service;             /* then: it is one (decision-service.h) */
        const Ledger *ledger;
        const char *self; /* our node's name */
        usec_t now;       /* CLOCK_REALTIME */
        uint32_t rank;
        usec_t takeover_delay;
        usec_t start_deadline;
        JobOverlap overlap;
        unsigned beside; /* so many runs may be side by side; 0 and 1: one after the other */
        JobCatchUp catch_up;
        bool nobody; /* no member can run the job at present; `rank` is ours among all members */
        const DecisionPause *pause;   /* or NULL */
        const DecisionWindow *window; /* as it is at `now`; NULL: what is due may always begin */
        const char *waited_run; /* the run of another node that we have been waiting for, or NULL */
        bool waited_long_enough; /* it stood there for a whole session timeout and two server ticks
                                  */
} DecisionInput;

/* Return: what is decided by of a job as its definition and this node's configuration say it, at
 * that moment, all borrowed; the rest is the caller's. */
DecisionInput decision_input(const JobSpec *spec, const DaemonConfig *config, usec_t now);

/* Return: when the tick starts. Starts come in their ticks' order, each before the next tick. */
usec_t decision_start(const DecisionInput *input, int64_t tick);
/* Return: the newest second such that all ticks up to it start before `moment`. */
int64_t decision_started_before(const DecisionInput *input, usec_t moment);
/* The same, with those that start at that moment. */
int64_t decision_started_by(const DecisionInput *input, usec_t moment);
/* Return: the newest second such that all ticks up to it started more than `span` ago. */
int64_t decision_started_ago(const DecisionInput *input, usec_t span);
/* Return: whether several runs of the job may be under way. */
bool decision_side_by_side(const DecisionInput *input);
/* Return: the run that keeps others of the job from beginning, or NULL. */
const LedgerEntry *decision_in_the_way(const DecisionInput *input);
/* Return: whether the run that is in the way is ours. Its owner answers for every tick at once,
 * whatever its rank. */
bool decision_self_is_running(const DecisionInput *input);
/* Return: when it is our turn: by our rank after the tick may begin. */
usec_t decision_turn(const DecisionInput *input, int64_t tick);
/* Return: whether its start deadline has passed. */
bool decision_is_expired(const DecisionInput *input, int64_t tick);
/* Return: the newest second such that the start deadline of all ticks up to it has passed. */
int64_t decision_last_expired(const DecisionInput *input);
/* Return: the newest tick that is not fresh any more, whatever the ledger says: all before it are
 * not fresh either. What has waited is, up to its start deadline. */
int64_t decision_last_stale(const DecisionInput *input);
/* Return: whether there is one in (after, until], and the newest of them. */
bool decision_newest_undecided(const DecisionInput *input, int64_t after, int64_t until,
                               int64_t *ret_tick);
/* The same of those that have come after `after` and whose turn it is. */
bool decision_newest_in_turn(const DecisionInput *input, int64_t after, int64_t *ret_tick);
/* Return: the next moment at which the clock alone gives us something to do: the turn of the next
 * undecided tick that is not dealt with now, always after now. USEC_INFINITY: none. */
usec_t decision_next_moment(const DecisionInput *input, int64_t stale, int64_t now_tick);
