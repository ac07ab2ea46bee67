/* Can this machine run a job?
 *
 * Only what is certainly missing counts. The daemon has no capabilities, so what it may not look
 * into, such as a program in a user's own directory, is given the benefit of the doubt: the service
 * manager will say.
 */
#pragma once

#include "daemon-config.h"
#include "job.h"
#include "unit-checks.h"

/* Each returns NULL when nothing is in the way, else a newly allocated sentence (g_free). */

/* The executable is missing or not executable, the user or group is unknown, or the working
 * directory is missing; NULL where it does not apply. May block for long; for any thread. */
char *machine_unfit_reason(const char *executable, const char *user, const char *group,
                           const char *working_directory);
/* The job asks for a resource in another way than this machine's configuration declares. */
char *resource_unfit_reason(const JobSpec *spec, const DaemonConfig *config);
/* Both, and what systemd says of its settings, which `checks` remembers. May block for long: not in
 * the daemon (fitness.h). */
char *job_unfit_reason(const JobSpec *spec, const DaemonConfig *config, UnitChecks *checks);
