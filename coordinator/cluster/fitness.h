/* Which jobs can this machine run, as the daemon knows it.
 *
 * A look at a user goes through NSS, which may be a directory server far away, and a look at a file
 * may hit a mount whose server is dead: both block for as long as they like. So they are looked at
 * on threads, and the loop is told. What systemd says of a job's settings comes from a process,
 * which such a thread waits for. Meanwhile a job keeps the verdict that it has; a new one is
 * "pending", which is as good as unfit. FITNESS_THREADS_MAX looks can hang before the others have
 * to wait for them.
 */
#pragma once

#include <systemd/sd-event.h>

#include "cleanup.h"
#include "daemon-config.h"
#include "job.h"

#define FITNESS_THREADS_MAX 8

typedef struct Fitness Fitness;
/* From the loop: the verdict on these jobs (NULL-terminated, each once) is new or another. */
typedef void (*FitnessFunc)(const char *const *jobs, void *userdata);

/* Return: 0 or negative errno. */
int fitness_new(sd_event *event, FitnessFunc func, void *userdata, Fitness **ret_fitness);
/* Does not wait for the looks that are under way. */
Fitness *fitness_free(Fitness *fitness);
DEFINE_CLEANUP(Fitness, fitness_free);

/* Looks at a job, also one that was looked at before: an answer that is still on its way no longer
 * counts. Everything is copied. */
void fitness_ask(Fitness *fitness, const JobSpec *spec, const DaemonConfig *config);
/* The job is gone, or is none of this node's. */
void fitness_forget(Fitness *fitness, const char *job);

/* Return: whether the job was never looked at to the end. */
bool fitness_is_pending(const Fitness *fitness, const char *job);
/* Return: why this machine cannot run the job, a sentence; NULL when it can, and when that is not
 * known. Borrowed until the loop runs. */
const char *fitness_why(const Fitness *fitness, const char *job);
