/* `jobkeeper lock` through the daemon: jobkeeperd holds the lock in its session, and the command
 * runs in a scope, a cgroup of its own, so that at a loss everything it has started is stopped and
 * not only its process group; also when we are killed. See lock-client.c. */
#pragma once

#include "lock-task.h"

/* Return: false when there is no daemon to ask, or it does not let us, which people were told:
 * nothing has happened, and what is left of the time limit stands in the task. True otherwise, with
 * the exit status. */
bool lock_client_run(LockTask *task, int *ret_status);
