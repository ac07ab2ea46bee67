/* That no run can be let start on this machine at present, whosever job it is: what systemd has to
 * execute before each is missing, or what it has to read cannot be written. It is found out by a
 * run that came to nothing; while it is known nothing is claimed, since the next would come to
 * nothing as well, and sooner than anybody else could begin it.
 *
 * After a while it is tried again: what can be written is written, and what only systemd can find
 * out another run will. */
#pragma once

#include <systemd/sd-event.h>

#include "cleanup.h"
#include "clock.h"

#define LAUNCH_FAULT_PERIOD (10 * USEC_PER_SEC)

typedef struct LaunchFault LaunchFault;

/* What can be written is tried so often; a run is the trial after three times as long. */
LaunchFault *launch_fault_new(sd_event *event, usec_t period);
LaunchFault *launch_fault_free(LaunchFault *fault);
DEFINE_CLEANUP(LaunchFault, launch_fault_free);

/* A run could not be let start. `root`: it could not be written below that directory (see
 * launch-dropin.h); NULL: what is executed before it is missing. */
void launch_fault_note(LaunchFault *fault, const char *root);
/* Return: why none would be at present, a sentence; NULL: nothing is known that speaks against it.
 */
const char *launch_fault_why(const LaunchFault *fault);
