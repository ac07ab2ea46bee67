/* One jobkeeperd a machine. Two of them would take one session for theirs, tear the connection out
 * of each other's hands, and stop each other's runs; so whoever begins takes the lock on a file in
 * the runtime directory first, before anything is read or changed there, and keeps it until the
 * process ends, however it ends.
 */
#pragma once

#include <sys/types.h>
#include <systemd/sd-event.h>

#include "clock.h"

#define PROCESS_LOCK_FILE "jobkeeperd.lock"

/* Takes the lock, and makes the directory where there is none. A process that is just ending is
 * waited for, at most for `patience`, in the loop. The descriptor is the lock, and no program that
 * this process executes inherits it. Return: the descriptor; -EBUSY when another process has the
 * lock, with its id in `*ret_holder`, 0 where it is not known; negative errno. */
int process_lock_take(sd_event *event, const char *runtime_dir, usec_t patience, pid_t *ret_holder);
