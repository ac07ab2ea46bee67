/* Asking the daemon for a lock, and waiting for it: also while the daemon is restarted. Ends with
 * one of the three outcomes, and with none once it was told to end. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <systemd/sd-bus.h>

#include "cleanup.h"
#include "lock-task.h"

typedef struct LockAsking LockAsking;

typedef struct LockAskingFuncs {
        /* The daemon holds it for us: what it says of it. */
        void (*on_held)(const json_t *answer, void *userdata);
        /* It is not to be had; people were told. `status` is the exit status. */
        void (*on_failed)(int status, void *userdata);
        /* There is no daemon that holds it for us: `why`. */
        void (*on_absent)(const char *why, void *userdata);
} LockAskingFuncs;

/* The bus was reached (bus-reach.h). `give_up_at` is on CLOCK_MONOTONIC; the task must outlive it.
 * Return: 0 or negative errno. */
int lock_asking_new(sd_event *event, sd_bus *bus, const LockTask *task, usec_t give_up_at,
                    const LockAskingFuncs *funcs, void *userdata, LockAsking **ret_asking);
LockAsking *lock_asking_free(LockAsking *asking);
DEFINE_CLEANUP(LockAsking, lock_asking_free);

void lock_asking_begin(LockAsking *asking);

/* It is over: nothing is said or asked any more. */
void lock_asking_end(LockAsking *asking);

/* The daemon came or went; `known`: there was one before. */
void lock_asking_daemon(LockAsking *asking, bool there, bool known);
