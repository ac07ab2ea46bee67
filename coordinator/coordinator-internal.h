/* What coordinator.c (what follows from what) and ending.c (how it all ends) share. */
#pragma once

#include "coordinator.h"

/* The daemon is stopping and one of its reasons to wait may be gone: closes the session when
 * nothing of ours runs any more. */
void coordinator_close_when_idle(Coordinator *coordinator);
/* The runs of the process before us are found only now that we are stopping. */
void coordinator_stop_found_runs(Coordinator *coordinator);
/* The session is closed: ends the loop once PID 1 has heard our last words. */
void coordinator_exit_when_told(Coordinator *coordinator);
