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
/* A file that root reads for the job (`credentials`: NAME:PATH) is not root's alone: PID 1 opens
 * it, and hangs at a FIFO, and follows a link to what only root may read. May block, too. */
char *inputs_unfit_reason(char *const *environment_files, char *const *credentials);
/* The job asks for a resource in another way than this machine's configuration declares. */
char *resource_unfit_reason(const JobSpec *spec, const DaemonConfig *config);
/* Both, and what systemd says of its settings, which `checks` remembers. May block for long: not in
 * the daemon (fitness.h). */
char *job_unfit_reason(const JobSpec *spec, const DaemonConfig *config, UnitChecks *checks);
