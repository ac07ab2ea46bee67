/* `jobkeeper lock` by itself, with a ZooKeeper session of its own: connect, acquire, run the
 * command, release. What the daemon can do and this cannot is told in lock-client.h. */
#pragma once

#include "lock-task.h"
#include "lock.h"

/* `requests`: one for each wish, as the configuration declares them. Return: the exit status. */
int lock_wrapper_run(const LockTask *task, const DaemonConfig *config, const LockRequest *requests);
