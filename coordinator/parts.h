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
