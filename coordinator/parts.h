/* The parts of the coordinator, one of everything: what coordinator.c makes and puts together, and
 * life.c moves. None of them knows it. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <systemd/sd-event.h>

#include "daemon-config.h"
#include "jobset.h"
#include "node.h"
#include "session.h"
#include "settle.h"
#include "unit.h"

typedef struct ClockWatch ClockWatch;
typedef struct CommandLocks CommandLocks;
typedef struct Coordinator Coordinator;
typedef struct DigestMemory DigestMemory;
typedef struct EndedUnits EndedUnits;
typedef struct Ending Ending;
typedef struct EnsembleMemory EnsembleMemory;
typedef struct FenceLink FenceLink;
typedef struct Fitness Fitness;
typedef struct Gate Gate;
typedef struct Housekeeping Housekeeping;
typedef struct Inventory Inventory;
typedef struct JobTable JobTable;
typedef struct LaunchSweep LaunchSweep;
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
typedef struct Remains Remains;
typedef struct Requests Requests;
typedef struct Runs Runs;
typedef struct Tree Tree;
typedef struct Withdrawals Withdrawals;

/* What every transaction needs, and what tidies up after them. */
typedef struct CoordinatorStore {
        LedgerCache *ledgers;
        Pruner *pruner;
        SettleWindow *settles;
        Settler settler;
        Housekeeping *housekeeping;
        EnsembleMemory *ensemble; /* how far they have come */
} CoordinatorStore;

/* What others left: the process before us, and nodes that are gone. */
typedef struct CoordinatorLeft {
        Recovery *recovery;      /* runs that ZooKeeper says are ours */
        Leftovers *leftovers;    /* units that no Run follows */
        Remains *remains;        /* results that were not written */
        EndedUnits *ended_units; /* what was ended although no Run followed it, and why */
        LaunchSweep *launches;   /* drop-ins of runs that are no more */
        LeftQueues *queues;
        Orphans *orphans; /* runs of the dead */
} CoordinatorLeft;

struct Coordinator {
        DaemonConfig *config;
        Node *node; /* what the parts below know of us */
        Session *session;
        UnitManager *units;
        FenceLink *fence;

        /* this node among the others */
        Tree *tree;
        ClockWatch *clock;
        Registration *registration;
        Members *members;
        Fitness *fitness;
        Ranks *ranks;
        Gate *gate;

        /* the jobs: what the files have, and what became of it */
        JobSet *jobset;
        DigestMemory *digests;
        Withdrawals *withdrawals; /* of jobs that left our files */
        Inventory *inventory;
        Reload *reload;
        JobTable *jobs;

        Runs *runs; /* claimed by us and not settled yet */
        CoordinatorStore store;
        CoordinatorLeft left;

        /* what people ask for */
        Requests *requests;
        CommandLocks *command_locks;
        Ending *ending;
};
