/* The start job of a unit: a oneshot service's lasts as long as its main process, so how it ended
 * tells who ended that. When it was canceled, PID 1 was asked to stop the unit; if not by us, PID 1
 * is asked whether it is shutting the machine down; and whether the fence ended it (fence-end.h).
 * That of a unit which is ready once it runs, or says so itself, lasts until then, and no longer:
 * whether PID 1 was asked to end that is seen in how and when it ended.
 */
#pragma once

#include "fence-end.h"
#include "unit-manager.h"
#include "unit-result.h"

typedef struct StartJob {
        UnitManager *manager; /* weak */
        bool is_short;        /* it is done before the main process is */
        bool outlived;        /* the main process went on after it, and has ended */
        char *path;           /* its object on the bus; NULL: not known */
        char *word;           /* JobRemoved's about it; NULL: not heard */
        UnitStop stopper;     /* who took it away, where it was not the owner */
        BusCall *ask;
        FenceEnd fence;
        void (*answered)(void *userdata);
        void *userdata;
} StartJob;

/* `answered`: PID 1 has said who, or does not say. */
void start_job_init(StartJob *job, UnitManager *manager, void (*answered)(void *userdata),
                    void *userdata);
void start_job_clear(StartJob *job);

/* It is that one, unless another is known. */
void start_job_found(StartJob *job, const char *path);
/* A job of the unit has ended. `by_owner`: the owner has asked PID 1 to end the unit. */
void start_job_removed(StartJob *job, const char *path, const char *word, bool by_owner);
/* Nobody has a job for the unit any more, and it runs: `systemctl cancel` is no stop. */
void start_job_was_only_cancelled(StartJob *job);

/* Somebody else than the owner had PID 1 end the unit: it is asked whether it is about to end all
 * of them. */
void start_job_ask_who(StartJob *job);

/* The main process went on after it: how it ended tells nothing of that. */
void start_job_was_outlived(StartJob *job);

/* Return: whether it ended with that word. */
bool start_job_ended_as(const StartJob *job, const char *word);
/* Return: whether PID 1 has still to say who took it away, or when the fence left off. */
bool start_job_asks(const StartJob *job);
