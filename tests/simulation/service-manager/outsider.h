/* A process that PID 1 has not started, and the scope into which PID 1 moves it where it is asked
 * to: with it goes all that it has started. */
#pragma once

#include <sys/types.h>

#include "process.h"
#include "unit.h"

typedef struct Pid1 Pid1;
typedef struct Outsider Outsider;

/* A signal reaches it and all that it has started: SIGTERM or SIGKILL. Or the machine is gone: 0.
 * It may be freed in it. */
typedef void (*OutsiderFunc)(int signal, void *userdata);

Outsider *outsider_new(Pid1 *pid1, OutsiderFunc func, void *userdata);
/* Nothing of it lives any more. */
Outsider *outsider_free(Outsider *outsider);

pid_t outsider_pid(const Outsider *outsider);
/* Return: NULL while it is in none. */
const char *outsider_scope(const Outsider *outsider);
/* Return: whether it is in one that is bound to the fence. */
bool outsider_is_fenced(const Outsider *outsider);
/* Return: where that scope is. */
const char *outsider_slice(const Outsider *outsider);
void outsider_signal(Outsider *outsider, int signal);

/* ---- for PID 1 ---- */

void outsider_move(Outsider *outsider, const UnitSpec *scope);
/* SIGTERM, and SIGKILL when its time is over. */
void outsider_stop(Outsider *outsider);
