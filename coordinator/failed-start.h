/* A start that cannot go on: jobkeeper.yaml has errors, a secret is missing, a directory cannot be
 * read. Whatever the process before this one left running has its locks in a session that nobody
 * keeps alive now. It is not disturbed as long as those locks are certain, because a start that
 * goes well before then finds all of it again; when the time to stop comes (D - K, as the process
 * before kept it under the runtime directory), it is stopped, and killed at D. Only then does the
 * process end with its failure: nobody else would see to it.
 *
 * Where another process has the lock of the machine (-EBUSY), all is its business, until it has
 * missed the time to stop: then it hangs.
 *
 * Where the deadline is not known, all is stopped at once. Commands of `jobkeeper lock` that go on
 * without their lock are left alone.
 */
#pragma once

#include <systemd/sd-event.h>

#include "notify.h"

/* Runs the loop until nothing is left that has to be ended, or SIGTERM or SIGINT, which must be
 * blocked, says that the next process is coming. `fault`: why the start cannot go on, negative
 * errno; -EBADMSG and -ENOKEY are those after which the service manager does not try again. After
 * any other it does, a moment later, and this returns at once where the next attempt is in time,
 * too. So it does in a process that no service manager started: that is somebody's trial, and what
 * runs is not its business. Return: `fault`, or 0 when asked to end. */
int failed_start(sd_event *event, Notify *notify, const char *runtime_dir, int fault);
