/* Looks for who waits (waiters.h), of many jobs: those that name the same resources find it out
 * together. Thousands may be due that wait for one resource, and each would read the whole queue,
 * in which all of them stand. Whoever asks while a look is under way gets what the next one finds:
 * it begins after that. */
#pragma once

#include "waiters.h"

/* So many jobs are told in one turn of the loop. */
#define WAITER_LOOKS_TOGETHER 100

typedef struct WaiterLooks WaiterLooks;
typedef struct WaiterLook WaiterLook;

WaiterLooks *waiter_looks_new(Node *node);
/* Nobody asks any more. */
WaiterLooks *waiter_looks_free(WaiterLooks *looks);
DEFINE_CLEANUP(WaiterLooks, waiter_looks_free);

/* Looks at the queues of all that the job locks. Return: 0, then exactly one call of `func` from
 * the loop, with who waits for this job or another, unless the look is freed before; negative
 * errno. */
int waiter_looks_ask(WaiterLooks *looks, const JobSpec *spec, WaitersFunc func, void *userdata,
                     WaiterLook **ret_look);
WaiterLook *waiter_look_free(WaiterLook *look);
DEFINE_CLEANUP(WaiterLook, waiter_look_free);
