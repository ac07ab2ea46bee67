/* A command run by `jobkeeper lock`: a child in a process group of its own, which gets the terminal
 * if we have it.
 *
 * It inherits what we inherited, and nothing that we opened. Should we be killed, the kernel kills
 * it: its lock would be gone soon.
 */
#pragma once

#include <glib.h>
#include <signal.h>
#include <stdbool.h>
#include <systemd/sd-event.h>

#include "cleanup.h"

typedef struct CommandProcess CommandProcess;

/* `status` is what the caller's own exit status should be: the command's, or 128 + the signal that
 * killed it. The command is a zombie still during the call, so signals to its process group reach
 * nobody else's. */
typedef void (*CommandProcessFunc)(CommandProcess *process, int status, void *userdata);

/* What a process was started with and its children should be, too. To be taken before anything is
 * opened or blocked. */
typedef struct Inheritance {
        GArray *fds; /* int, ascending, above 2 */
        sigset_t mask;
} Inheritance;

/* Also blocks the signals that the loop is to take: SIGCHLD for the child's end, SIGTTOU so that we
 * may set the terminal's foreground, and `signals` (ends with 0). Return: 0 or negative errno. */
int inheritance_take(const int *signals, Inheritance *ret);
void inheritance_done(Inheritance *inheritance);

/* Makes the process that is to execute argv[0], looked up in PATH; until
 * command_process_execute() it waits, and has not done anything. Return: 0 or negative errno. */
int command_process_prepare(char *const *argv, char *const *environment,
                            const Inheritance *inheritance, CommandProcess **ret_process);
pid_t command_process_pid(const CommandProcess *process);

/* Lets it execute the command, and returns once that has been tried. Return: 0; -ENOENT when there
 * is no such command; other negative errno when it could not be executed. */
int command_process_execute(CommandProcess *process, sd_event *event, CommandProcessFunc func,
                            void *userdata);

/* Both in one.
 * Return: 0; -ENOENT when there is no such command; other negative errno when it could not be
 * executed. */
int command_process_start(sd_event *event, char *const *argv, char *const *environment,
                          const Inheritance *inheritance, CommandProcessFunc func, void *userdata,
                          CommandProcess **ret_process);

/* Sends a signal to the process group, and SIGCONT after it, so that a stopped one gets it. */
void command_process_signal(CommandProcess *process, int signal);

/* Takes the terminal back, and forgets about the process; kills it and its group if it has not
 * ended. */
CommandProcess *command_process_free(CommandProcess *process);
DEFINE_CLEANUP(CommandProcess, command_process_free);

/* Return: the exit status for a siginfo's code (CLD_EXITED, CLD_KILLED, CLD_DUMPED) and status.
 * Pure. */
int exit_status_from_child(int code, int status);
