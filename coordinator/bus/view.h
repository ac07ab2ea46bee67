/* The view: what people are shown of the daemon over the bus, and the little that they may have it
 * do. The bus knows nothing else of the daemon; its owner fills this in. All is borrowed, and what
 * the functions return is good until the loop runs. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "command-locks.h"
#include "digest-memory.h"
#include "job-state.h"
#include "jobset.h"
#include "members.h"
#include "node.h"
#include "requested.h"
#include "runs.h"
#include "settle.h"
#include "tree.h"

typedef struct RequestCall RequestCall;
/* 0 and the run's id once the request is written, or negative errno and NULL. */
typedef void (*ViewRequestFunc)(int error, const char *run, void *userdata);

typedef struct ViewCalls {
        /* What keeps this node from claiming where the session has no fault: a sentence, or "". */
        const char *(*fault)(const void *userdata);
        /* A job's definition as this node works by it; NULL: it has no such job. */
        const JobSpec *(*job)(const void *userdata, const char *name);
        /* Of a job that it has. */
        ScheduledJobState (*job_state)(const void *userdata, const char *name);
        /* Of a job that it has: what keeps it, a sentence or ""; the caller's. */
        char *(*job_why)(const void *userdata, const char *name);
        /* Why a tick of it is run or not (job-explain.h); a new reference. */
        json_t *(*explain)(const void *userdata, const JobSpec *spec, const Schedule *schedule,
                           const Ledger *ledger, int64_t tick);
        /* Its ledger was seen to be another than it last saw: it is to read it, where it does not
         * deal with it already. */
        void (*look_again)(void *userdata, const char *name);
        /* Whether this machine can run the job at present; `nodes:` aside. */
        bool (*can_run)(const void *userdata, const char *name);
        /* Whether some node of the cluster can, or may turn out to. */
        bool (*has_candidate)(const void *userdata, const JobSpec *spec);
        /* Whether there are such nodes, and all of them are drained. */
        bool (*all_drained)(const void *userdata, const JobSpec *spec);
        /* The same, or outside of its window. */
        bool (*all_shut)(const void *userdata, const JobSpec *spec);
        /* That this node is outside of its window, a sentence, or NULL. */
        const char *(*outside)(const void *userdata);
        /* Until when a node is, as Member.outside. */
        int64_t (*outside_until)(const void *userdata, const char *node);
        /* Why a member cannot run the job, a sentence, newly allocated; NULL: it can, or may turn
         * out to. */
        char *(*node_why)(const void *userdata, const JobSpec *spec, const char *node);

        /* Asks the cluster for a run of the job. Return: 0, -ENOTCONN; *ret_call, to be forgotten,
         * cancels the callback. */
        int (*request)(void *userdata, const Requested *wish, ViewRequestFunc func,
                       void *func_userdata, RequestCall **ret_call);
        /* The same of the stop of a run, on the node that runs it. */
        int (*stop)(void *userdata, const Requested *wish, ViewRequestFunc func,
                    void *func_userdata, RequestCall **ret_call);
        RequestCall *(*forget_request)(RequestCall *call);
} ViewCalls;

typedef struct View {
        const Node *node;
        const JobSet *jobset;
        const Tree *tree;
        const DigestMemory *digests;
        Members *members;
        const Runs *runs;
        const Settler *settler;
        CommandLocks *locks;
        usec_t request_lifetime; /* so long may a request wait to be taken */
        const ViewCalls *calls;
        void *userdata; /* of the calls */
} View;
