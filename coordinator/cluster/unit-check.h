/* Does the systemd of this machine take the settings that a job has in `unit:`?
 *
 * PID 1 ignores what it does not understand, and only logs it: a limit with a slip in it would be
 * none. So systemd-analyze(1) is asked before, about a unit that has the settings and never runs.
 */
#pragma once

#include <stdbool.h>

#include "job.h"
#include "usec.h"

/* Return: that unit's file, newly allocated; NULL: the job has no settings. */
char *unit_check_text(const JobSpec *spec);

/* Who is asked, and for how long at most; what has not answered by then is killed. */
typedef struct UnitCheckProgram {
        const char *name; /* a path, or a name that is looked up; static */
        usec_t limit;
} UnitCheckProgram;

/* Return: systemd's own. */
UnitCheckProgram unit_check_program(void);

/* Return: what is wrong with the file, a sentence, newly allocated (g_free); NULL: nothing.
 * `*ret_certain` is false where it could not be found out, which is a reason as well. May block for
 * as long as the program has; for any thread. */
char *unit_check_run(const UnitCheckProgram *program, const char *text, bool *ret_certain);
