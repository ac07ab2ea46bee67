/* That no run can be let start on this machine at present, whosever job it is: what systemd has to
 * execute before each is missing, or what it has to read cannot be written. It is found out by a
 * run that came to nothing; while it is known nothing is claimed, since the next would come to
 * nothing as well, and sooner than anybody else could begin it.
 *
 * After a while it is tried again: what is to be written is written, and what is to be executable
 * is looked at. What only systemd can find out beyond that another run will. */
#pragma once

#include <systemd/sd-event.h>

#include "cleanup.h"
#include "clock.h"

#define LAUNCH_FAULT_PERIOD (10 * USEC_PER_SEC)

typedef struct LaunchFault LaunchFault;

/* It is tried again so often, what is executed for the first time after three times as long. */
LaunchFault *launch_fault_new(sd_event *event, usec_t period);
LaunchFault *launch_fault_free(LaunchFault *fault);
DEFINE_CLEANUP(LaunchFault, launch_fault_free);

/* A run could not be let start: it could not be written below that directory (launch-dropin.h). */
void launch_fault_note_root(LaunchFault *fault, const char *root);
/* Or that, which is executed before it, is missing, or of another version. */
void launch_fault_note_program(LaunchFault *fault, const char *program);
/* Return: why none would be at present, a sentence; NULL: nothing is known that speaks against it.
 */
const char *launch_fault_why(const LaunchFault *fault);
