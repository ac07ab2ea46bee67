/* Does the systemd of this machine take the settings that a job has in `unit:`?
 *
 * PID 1 ignores what it does not understand, and only logs it: a limit with a slip in it would be
 * none. So systemd-analyze(1) is asked before, about a unit that has the settings and never runs.
 */
#pragma once

#include <stdbool.h>

#include "job.h"

/* Return: that unit's file, newly allocated; NULL: the job has no settings. */
char *unit_check_text(const JobSpec *spec);

/* Return: what is wrong with it, a sentence, newly allocated (g_free); NULL: nothing.
 * `*ret_certain` is false where it could not be found out, which is a reason as well. May block for
 * long; for any thread. */
char *unit_check_run(const char *text, bool *ret_certain);
