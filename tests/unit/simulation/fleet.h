/* A fleet of nodes in one process, in a time of the test's: what test-decision-simulation.c plays
 * with.
 *
 *   fleet.c         nodes: how they begin and die, their runs, and who settles these
 *   lock-queue.c    the job's own lock
 *   beside-a-job.c  clocks and timers, members, ranks, and what else a job asks of the daemon
 *
 * All of these stand in place of the library's for this one program; what a job itself consists of,
 * down to its claims, is the daemon's. There is one world at a time. */
#pragma once

#include "diagnostics.h"
#include "job-file.h"
#include "ledger-fixture.h"
#include "scheduled-job.h"
#include "slow-wire.h"
#include "timer.h"

#define NODES_MAX 6
#define EPOCH INT64_C(1763700000)
#define MS USEC_PER_MSEC
#define S USEC_PER_SEC
#define ROOT "/jobkeeper"
#define JOB ROOT "/jobs/job"
#define OWN_LOCK ROOT "/locks/job:job"

typedef struct World World;

/* A node: what is on it while it is up, and what of it is left while it is not. */
typedef struct Machine {
        char name[8];
        int64_t offset; /* of its clock, µs */
        bool up;
        DaemonConfig config;
        sd_event *event; /* never run: what it would dispatch is in the world's timers */
        Node *node;
        Zk *zk;
        Wire *wire;
        LedgerCache *ledgers;
        JobParts parts;
        ScheduledJob *job;
        uint32_t acted;  /* the rank by which it last acted */
        GPtrArray *sets; /* of LockSet, its own */
        char *claiming;  /* the run that it claims; or NULL */
        RunRecord *run;  /* that it runs; or NULL */
        LockSet *run_locks;
        Ledger *settled; /* the ledger as it was when its run was settled */
        int32_t settled_version;
        /* what happens when; USEC_INFINITY: not */
        usec_t run_ends, settled_at, measured_at, members_at, recovered_at;
        usec_t back_at, session_ends, orphans_at;
        int64_t session;
} Machine;

typedef struct SimTimer {
        Machine *machine;
        sd_event_source **slot;
        clockid_t clock;
        usec_t at;
        TimerFunc func;
        void *userdata;
} SimTimer;

struct World {
        guint32 seed;
        GRand *chance;
        JobFile *file;
        const JobSpec *spec;
        int64_t period;
        unsigned n_nodes;
        Machine nodes[NODES_MAX];
        GPtrArray *timers;    /* of SimTimer */
        GPtrArray *deletions; /* of Deletion */
        GQueue contenders;    /* of paths, in their order; some are gone */
        usec_t now, calm_from;
        usec_t takeover_delay, start_deadline, session_timeout, delay_max, run_max;
        JobCatchUp catch_up;
        double death, loss;
        Ledger *ledger; /* the server's, as it was last checked */
        int32_t version;
        unsigned char *decided; /* times, by number of the tick */
        unsigned n_ticks, n_claims, n_skips, n_steps;
};

extern World *world;     /* the one that is played */
extern Machine *current; /* on which something happens; NULL: at the server */

#define CHECK(condition, ...)                                                                      \
        do {                                                                                       \
                if (!(condition)) {                                                                \
                        g_autofree char *why = g_strdup_printf(__VA_ARGS__);                       \
                        g_autofree char *there = ledger_to_text(world->ledger);                    \
                        cr_assert_fail("seed %u, %.3f s: %s\n%s", world->seed,                     \
                                       (double)world->now / S - (double)EPOCH, why, there);        \
                }                                                                                  \
        } while (0)

/* ---- dice ---- */

usec_t sim_between(usec_t low, usec_t high);
/* Return: whether what goes wrong so often does now; never once all is to be well. */
bool sim_happens(double probability);
/* How long something takes, and when it is done that begins now. */
usec_t sim_delay(void);
usec_t sim_soon(void);

/* ---- the history: the test's ---- */

/* The ledger may have been written: checks what was. */
void sim_look_at_ledger(void);

/* ---- beside-a-job.c ---- */

usec_t sim_timer_due(const SimTimer *timer);
void sim_timer_fire(SimTimer *timer);
/* A node came or went: the others hear of it. */
void sim_members_changed(void);
uint32_t machine_rank(const Machine *machine);

/* ---- lock-queue.c ---- */

/* Return: when something happens to it; USEC_INFINITY: nothing does. */
usec_t lock_set_next(const LockSet *set);
void lock_set_step(LockSet *set);
/* Return: the path where a job's contender stands, borrowed; NULL: nowhere yet. */
const char *lock_set_path(const LockSet *set);
/* The first in the queue will hear of it. */
void sim_grant_locks(void);
/* Contenders that are on their way out. */
usec_t sim_next_deletion(void);
void sim_delete(void);

/* ---- fleet.c ---- */

typedef void (*MachineFunc)(Machine *machine);

void machine_begin(Machine *machine);
void machine_end(Machine *machine);
/* Its session lives on for a while, and it comes back. */
void machine_die(Machine *machine);
/* Return: when something of these happens to it, and what. */
usec_t machine_next(const Machine *machine, MachineFunc *ret_func);
