/* Requests: manual runs, asked for by writing a node under /requests that every candidate watches;
 * the claim deletes it in the same transaction. And wishes that a run be stopped, of other names,
 * which the node that runs it deletes once it does so. */
#pragma once

#include "clock-watch.h"
#include "gate.h"
#include "members.h"
#include "node.h"

typedef struct Requests Requests;

/* What it uses. */
typedef struct RequestsParts {
        const Node *node;
        Members *members;
        ClockWatch *clock;
        const Gate *gate;
} RequestsParts;

typedef struct RequestsEvents {
        /* Return: our rank for a request of that job; PLACEMENT_NONE where we cannot run it. */
        uint32_t (*rank)(const char *job, void *userdata);
        /* Return: whether it is not known yet if we can. */
        bool (*is_undecided)(const char *job, void *userdata);
        /* Return: whether what we took stands in the queues for its locks. */
        bool (*stands_for)(const char *job, const char *id, void *userdata);
        /* It is ours to run. */
        void (*take)(const char *job, const char *id, const char *who, usec_t not_after,
                     void *userdata);
        /* What was ours to run is gone: started, refused, or taken away, by whomever. */
        void (*gone)(const char *job, const char *id, void *userdata);
        /* Somebody wants that run of ours to end. Return: whether we have it. */
        bool (*stop)(const char *job, const char *run, const char *who, void *userdata);
} RequestsEvents;

/* `events` lives longer than the requests. */
Requests *requests_new(const RequestsParts *parts, const RequestsEvents *events, void *userdata);
Requests *requests_free(Requests *requests);
DEFINE_CLEANUP(Requests, requests_free);

/* We are ready (or resumed): lists and watches. */
void requests_start(Requests *requests);
void requests_reset(Requests *requests);

/* How long a request may wait to be taken, whatever it says: since the server has it. */
#define REQUEST_LIFETIME (60 * USEC_PER_SEC)

typedef struct RequestedStop {
        const char *job, *run, *node, *who;
} RequestedStop;

/* Return: who wants that run to end, as far as is known, borrowed; NULL: nobody. */
const char *requests_who_stops(const Requests *requests, const char *job, const char *run);

typedef void (*RequestWrittenFunc)(int error, const char *run, void *userdata);
/* Asks the cluster for a run of `job`, in the name of `who`. The callback gets 0 and the run's id
 * once it is written, or a negative errno. Return: 0, -ENOTCONN; *ret_call cancels the callback. */
typedef struct RequestCall RequestCall;
int requests_submit(Requests *requests, const char *job, const char *who, RequestWrittenFunc func,
                    void *userdata, RequestCall **ret_call);
/* Asks `node` to stop that run, in the name of `who`, for REQUEST_LIFETIME. The same; the callback
 * gets the id of the wish. */
int requests_submit_stop(Requests *requests, const RequestedStop *stop, RequestWrittenFunc func,
                         void *userdata, RequestCall **ret_call);
RequestCall *request_call_free(RequestCall *call);
