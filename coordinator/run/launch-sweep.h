/* What launch steps of runs leave behind where a process ended just then: drop-ins whose units were
 * never started, or whose removal was not come to. Some at a turn of the loop: there may be
 * thousands, and each is a directory with its files.
 */
#pragma once

#include "runs.h"

typedef struct LaunchSweep LaunchSweep;

LaunchSweep *launch_sweep_new(sd_event *event, const UnitManager *manager, const Runs *runs);
LaunchSweep *launch_sweep_free(LaunchSweep *sweep);
DEFINE_CLEANUP(LaunchSweep, launch_sweep_free);

/* Begins to remove what was left by processes that ended at the wrong moment, long ago, unless its
 * unit lives. */
void launch_sweep_begin(LaunchSweep *sweep);
/* Return: how many are still to be looked at. */
unsigned launch_sweep_length(const LaunchSweep *sweep);
