/* Requests: manual runs, asked for by writing a node under /requests that every candidate watches;
 * the claim deletes it in the same transaction. It is called as its run is; or, where one node
 * alone is to claim it, by a name of its own, and says which run: a version that does not know of
 * that leaves it alone. So is what the end of another run asks for (store/settle-asks.h), which
 * also says whose end that was, and how long it may wait; where that was asked for a job by a name
 * that it had, on a machine with its old file, it is for the job as it is called now. And wishes
 * that a run be stopped, of other names, which the node that runs it heeds at once and deletes when
 * the run is settled. */
#pragma once

#include "clock-watch.h"
#include "gate.h"
#include "jobset.h"
#include "manual-runs.h"
#include "members.h"
#include "request-note.h"

typedef struct Requests Requests;

/* What it uses. */
typedef struct RequestsParts {
        const Node *node;
        Members *members;
        ClockWatch *clock;
        const Gate *gate;
        const JobSet *jobset; /* which names jobs had */
} RequestsParts;

typedef struct RequestsEvents {
        /* Return: our rank for a request of that job; PLACEMENT_NONE where we cannot run it. */
        uint32_t (*rank)(const char *job, void *userdata);
        /* Return: whether it is not known yet if we can. */
        bool (*is_undecided)(const char *job, void *userdata);
        /* Return: whether what we took stands in the queues for its locks. */
        bool (*stands_for)(const char *job, const char *run, void *userdata);
        /* It is ours to run. */
        void (*take)(const char *job, const ManualRun *run, void *userdata);
        /* What was ours to run is gone: started, refused, or taken away, by whomever. */
        void (*gone)(const char *job, const char *run, void *userdata);
        /* Return: 1 if what became of that attempt by hand may be recorded: its tick is settled, so
         * that the record is in nobody's way who decides it; 0 if not; -ENODATA where it is not
         * known here. */
        int (*may_record)(const char *job, const char *run, void *userdata);
        /* Somebody wants that run of ours to end; said again and again until it has. Return:
         * whether we have it, and it is not settled yet. */
        bool (*stop)(const char *job, const char *run, const char *who, void *userdata);
} RequestsEvents;

/* `events` lives longer than the requests. */
Requests *requests_new(const RequestsParts *parts, const RequestsEvents *events, void *userdata);
Requests *requests_free(Requests *requests);
DEFINE_CLEANUP(Requests, requests_free);

/* We are ready (or resumed): lists and watches. */
void requests_start(Requests *requests);
void requests_reset(Requests *requests);

/* Return: who wants that run to end, as far as is known, borrowed; NULL: nobody. */
const char *requests_who_stops(const Requests *requests, const char *job, const char *run);

typedef void (*RequestWrittenFunc)(int error, const char *run, void *userdata);
/* Asks the cluster for a run. The callback gets 0 and the run's id once it is written, or a
 * negative errno. Return: 0, -ENOTCONN; *ret_call cancels the callback. */
typedef struct RequestCall RequestCall;
int requests_submit(Requests *requests, const Requested *wish, RequestWrittenFunc func,
                    void *userdata, RequestCall **ret_call);
/* Asks the node to stop the run, for REQUEST_LIFETIME. The same. */
int requests_submit_stop(Requests *requests, const Requested *wish, RequestWrittenFunc func,
                         void *userdata, RequestCall **ret_call);
RequestCall *request_call_free(RequestCall *call);
