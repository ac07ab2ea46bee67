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

typedef struct FailedStart FailedStart;

/* `fault`: why the start cannot go on, negative errno; -EBADMSG and -ENOKEY are those after which
 * the service manager does not try again. After any other it does, a moment later, and nothing is
 * waited for where the next attempt is in time, too. So it is in a process that no service manager
 * started: that is somebody's trial, and what runs is not its business. Return: 0, and the loop
 * ends with `fault` when nothing is left that has to be ended, or as failed_start_terminate() says;
 * `fault` where nothing is waited for. */
int failed_start_new(sd_event *event, Notify *notify, const char *runtime_dir, int fault,
                     FailedStart **ret_start);
FailedStart *failed_start_free(FailedStart *start);
DEFINE_CLEANUP(FailedStart, failed_start_free);

/* SIGTERM and SIGINT: either the next process is coming, and the loop ends with 0 at once; or it is
 * a real stop, and it does when all has been ended. */
void failed_start_terminate(FailedStart *start);

/* All of that: runs the loop, and takes the signals, which must be blocked. Return: what the loop
 * ended with, or `fault`. */
int failed_start(sd_event *event, Notify *notify, const char *runtime_dir, int fault);
