/* Reading the job files anew while the daemon runs: on a thread, because ten thousand jobs take
 * their time to parse and a file system may hang; the loop is told when it is done. */
#pragma once

#include <systemd/sd-event.h>

#include "cleanup.h"
#include "diagnostics.h"
#include "job-files.h"

typedef struct JobLoader JobLoader;
/* From the loop: what job_files_load() returned and gave; `files` is NULL when it failed. */
typedef void (*JobLoaderFunc)(int r, GPtrArray *files, Diagnostics *diagnostics, void *userdata);

/* Return: 0 or negative errno. */
int job_loader_new(sd_event *event, JobLoaderFunc func, void *userdata, JobLoader **ret_loader);
/* Does not wait for a thread that is still reading. */
JobLoader *job_loader_free(JobLoader *loader);
DEFINE_CLEANUP(JobLoader, job_loader_free);

/* Reads the files of these directories. While that is under way already they are read once more
 * after it, because they may have changed behind it; only the last time is told. Return: 0, or
 * negative errno when there is no thread to be had. */
int job_loader_start(JobLoader *loader, const char *const *directories);
/* Return: whether that is under way. */
bool job_loader_is_busy(const JobLoader *loader);
