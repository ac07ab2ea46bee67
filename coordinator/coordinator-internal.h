/* What coordinator.c (what follows from what), reload.c (the jobs of the files) and ending.c (how
 * it all ends) share. */
#pragma once

#include "coordinator.h"

void coordinator_for_all_jobs(Coordinator *coordinator, void (*func)(ScheduledJob *));

/* The daemon is stopping and one of its reasons to wait may be gone: closes the session when
 * nothing of ours runs any more. */
void coordinator_close_when_idle(Coordinator *coordinator);
/* The runs of the process before us are found only now that we are stopping. */
void coordinator_stop_found_runs(Coordinator *coordinator);
/* The session is closed: ends the loop once PID 1 has heard our last words. */
void coordinator_exit_when_told(Coordinator *coordinator);

/* Reads the daemon's configuration and logs what is wrong with it. Return: 0, -EBADMSG or another
 * negative errno. */
int coordinator_load_config(const char *path, DaemonConfig **ret_config);

/* reload.c */
/* Reads the job files as the daemon begins. Return: 0, or negative errno (logged). */
int coordinator_load_jobs(Coordinator *coordinator);
/* There is a session: withdraws the jobs that were removed while there was none, or no daemon. */
void coordinator_withdraw_removed(Coordinator *coordinator);
