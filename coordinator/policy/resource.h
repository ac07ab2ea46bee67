/* Resources: what a job (or a person) says of one and what this machine's configuration declares of
 * it, made one request of lock/. Pure. */
#pragma once

#include "daemon-config.h"
#include "job.h"
#include "lock.h"

/* Return: newly allocated (g_free), why a person may not ask for a resource of that name, as a
 * sentence; or NULL. */
char *resource_refusal(const char *name);

/* Fills the request for a resource as the configuration declares it. `slots` 0 and `naming` NULL:
 * as declared, or the default. Strings are borrowed from `name` and `config`. */
void resource_request(const DaemonConfig *config, const char *name, LockMode mode, unsigned slots,
                      const DaemonNaming *naming, LockRequest *ret_request);

/* The same for one entry of a job's `locks:`. */
void resource_request_of_job(const DaemonConfig *config, const JobResource *resource,
                             LockRequest *ret_request);

/* Return: newly allocated (g_free), the directory of a resource's contenders. */
char *resource_directory(const DaemonConfig *config, const char *name);

/* Return: NULL; or newly allocated (g_free), how what is asked for contradicts the configuration
 * (or cannot be at all), as a sentence that names the place there. */
char *resource_contradiction(const DaemonConfig *config, const char *name, LockMode mode,
                             unsigned slots, const DaemonNaming *naming);

/* Reports each of a job's resources that contradicts the configuration, with its mark in the job's
 * file. */
void resource_check_job(const DaemonConfig *config, const JobSpec *spec, Diagnostics *diagnostics);
