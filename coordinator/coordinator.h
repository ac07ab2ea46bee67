/* The coordinator: what jobkeeperd is. It owns one of everything and decides what follows from
 * what.
 *
 * One event loop in one thread. Nothing blocks; every answer comes as a callback; every object that
 * waits owns its pending calls, and freeing it cancels them. Everything a run needs is
 * level-triggered: a ScheduledJob asks "what is to be done now?" (decision.h) after every event
 * that may change the answer, and asking once too often does no harm.
 *
 * Life of a session: CONNECTED or ATTACHED → units that must not run any more are gone → the tree
 * is checked → the node is registered → runs that a process before us left are found again →
 * `ready`. At SESSION_EVENT_STOP every run is stopped, those included that are not found yet; at
 * SESSION_EVENT_LOST they are killed, and everything learnt from ZooKeeper is forgotten.
 */
// clang-format off
/*
 *   job files ───▶ JobSet ───▶ ScheduledJob ─── claim ───▶ Run ◀───▶ UnitManager ◀───▶ PID 1
 *                              one a job: when is a        one a claim: its unit,
 *                              tick due, and is it ours?   its result, the settle
 *                                   ▲                          ▲
 *                                   └────────────┬─────────────┘
 *                                                │ locks, ledgers, records
 *   ZooKeeper ◀───▶ Session ─────────────────────┤
 *                                                ├── Tree          the layout, the cluster's pause
 *                                                ├── Registration  our own node among the members
 *                                                ├── Members       who is there, and so the ranks
 *                                                ├── Recovery      runs of the process before us
 *                                                ├── Orphans       runs of the dead
 *                                                ├── Requests      manual runs
 *                                                └── CommandLocks  what `jobkeeper lock` holds
 *
 *   people ◀───▶ Surface (D-Bus, bus-interface.h): asks all of the above, as face.c shows it
 */
// clang-format on
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <systemd/sd-event.h>

#include "daemon-config.h"
#include "jobset.h"
#include "node.h"
#include "session.h"
#include "unit.h"

typedef struct ClaimGate ClaimGate;
typedef struct ClockWatch ClockWatch;
typedef struct CommandLocks CommandLocks;
typedef struct Coordinator Coordinator;
typedef struct DigestMemory DigestMemory;
typedef struct EndedUnits EndedUnits;
typedef struct Ending Ending;
typedef struct Fitness Fitness;
typedef struct Gate Gate;
typedef struct Housekeeping Housekeeping;
typedef struct Inventory Inventory;
typedef struct JobParts JobParts;
typedef struct JobTable JobTable;
typedef struct LedgerCache LedgerCache;
typedef struct LeftQueues LeftQueues;
typedef struct Leftovers Leftovers;
typedef struct Members Members;
typedef struct Orphans Orphans;
typedef struct Pruner Pruner;
typedef struct Ranks Ranks;
typedef struct Recovery Recovery;
typedef struct Registration Registration;
typedef struct Reload Reload;
typedef struct Requests Requests;
typedef struct RunPlaces RunPlaces;
typedef struct Runs Runs;
typedef struct Settler Settler;
typedef struct Tree Tree;
typedef struct Withdrawals Withdrawals;

typedef struct CoordinatorOptions {
        const char *config_path;
        const char *prefix;      /* of the job directories; "" on a real system */
        const char *runtime_dir; /* /run/jobkeeper */
        const char *state_dir;   /* /var/lib/jobkeeper */
} CoordinatorOptions;

struct Coordinator {
        sd_event *event;
        char *config_path;
        Node *node; /* what the parts below know of us */
        DaemonConfig *config;

        JobSet *jobset;
        JobTable *jobs;
        JobParts *job_parts;  /* what each job uses */
        Inventory *inventory; /* of the jobs in our files */
        Reload *reload;       /* of those files */
        LedgerCache *ledgers;
        Runs *runs;        /* claimed by us and not settled yet */
        RunPlaces *places; /* of max-runs */
        Gate *gate;        /* what keeps us from beginning anything, for the others */
        DigestMemory *digests;
        Fitness *fitness;

        Session *session;
        UnitManager *units;
        Tree *tree;
        ClockWatch *clock;
        ClaimGate *claim_gate;
        Registration *registration;
        Members *members;
        Ranks *ranks;
        Recovery *recovery;
        EndedUnits *ended_units;
        LeftQueues *left_queues;
        Leftovers *leftovers;
        Orphans *orphans;
        Pruner *pruner;
        Settler *settler; /* what every settle needs */
        Housekeeping *housekeeping;
        Requests *requests;
        CommandLocks *command_locks;
        Ending *ending;

        Withdrawals *withdrawals; /* of jobs that left our files */

        bool attached; /* the session is the one of the process before us */
};

/* Reads the configuration and the jobs, connects to everything. Return: 0, -EBADMSG when the
 * configuration is wrong (logged), or negative errno. */
int coordinator_new(sd_event *event, const CoordinatorOptions *options,
                    Coordinator **ret_coordinator);
Coordinator *coordinator_free(Coordinator *coordinator);
DEFINE_CLEANUP(Coordinator, coordinator_free);

/* SIGHUP: reads the job files again, on a thread; what is broken keeps its last good definition. */
void coordinator_reload(Coordinator *coordinator);
/* Return: whether that is under way. */
bool coordinator_is_reloading(const Coordinator *coordinator);
/* SIGTERM: asks PID 1 whether this is part of a restart; then either leaves runs and session for
 * the next process, or stops the runs, settles them and closes the session. Ends the event loop
 * when done. */
void coordinator_terminate(Coordinator *coordinator);
/* SIGINT: as for a real stop. */
void coordinator_stop(Coordinator *coordinator);
