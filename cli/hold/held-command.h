/* A command under a lock that the daemon holds for it: made and kept at its gate, moved by the
 * daemon into the lock's scope, executed, and stopped in time when the lock cannot be kept.
 *
 * From the first answer on the daemon is asked every second until when the lock is certain, and
 * more often where that is soon. Everything that must happen in time hangs on the last answer, on
 * two timers of our own: a little after D - K the cgroup gets SIGTERM if the daemon has not seen to
 * it by then, and at D SIGKILL, whatever anybody says.
 *
 * A daemon that goes away takes nothing with it: lock and command go on, and when a daemon is there
 * again it is asked to adopt the lock. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <systemd/sd-bus.h>

#include "cleanup.h"
#include "lock-task.h"

typedef struct HeldCommand HeldCommand;

/* All is over: the command, and then the lock, which was given back as far as that could be done.
 * `status` is the exit status. Called once, not from within a call. */
typedef void (*HeldCommandFunc)(int status, void *userdata);

/* `answer`: what the daemon says of the lock. Return: 0 or negative errno. */
int held_command_new(sd_event *event, sd_bus *bus, const LockTask *task, const json_t *answer,
                     HeldCommandFunc func, void *userdata, HeldCommand **ret_command);
HeldCommand *held_command_free(HeldCommand *command);
DEFINE_CLEANUP(HeldCommand, held_command_free);

/* Begins; may end it at once. */
void held_command_begin(HeldCommand *command);

/* The daemon came or went. */
void held_command_daemon(HeldCommand *command, bool there);

/* LockLost or LockRevoked, which came from the daemon. */
void held_command_take_signal(HeldCommand *command, sd_bus_message *message);

/* A signal that is for the command: forwarded to it, or the end where it does not run yet. */
void held_command_signal(HeldCommand *command, int signal);
