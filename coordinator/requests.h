/* Requests: manual runs, asked for by writing a node under /requests that every candidate watches;
 * the claim deletes it in the same transaction. */
#pragma once

#include "coordinator.h"

Requests *requests_new(Coordinator *coordinator);
Requests *requests_free(Requests *requests);
DEFINE_CLEANUP(Requests, requests_free);

/* We are ready (or resumed): lists and watches. */
void requests_start(Requests *requests);
void requests_reset(Requests *requests);

/* How long a request may wait to be taken. */
#define REQUEST_LIFETIME (60 * USEC_PER_SEC)

typedef void (*RequestWrittenFunc)(int error, const char *run, void *userdata);
/* Asks the cluster for a run of `job`, in the name of `who`. The callback gets 0 and the run's id
 * once it is written, or a negative errno. Return: 0, -ENOTCONN; *ret_call cancels the callback. */
typedef struct RequestCall RequestCall;
int requests_submit(Requests *requests, const char *job, const char *who, RequestWrittenFunc func,
                    void *userdata, RequestCall **ret_call);
RequestCall *request_call_free(RequestCall *call);
