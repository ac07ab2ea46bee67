/* A model of jobkeeper-fence, one a machine: a process that outlives the daemon, the two timers
 * that the kernel keeps for both, and the connection. What it does when is the product's own table
 * (fence-table.h); what is bound to it is PID 1's to stop (pid1.h).
 *
 * fence-port.h of the product is implemented here for daemons of this machine. PID 1 starts the
 * fence when the machine boots, and again whenever it is gone and nothing bound to it is left to be
 * stopped; one that hangs is killed within two seconds.
 */
#pragma once

#include "pid1.h"

typedef struct FenceModel FenceModel;

/* Of a machine that is on: it guards at once. */
FenceModel *fence_model_new(Machine *machine, Pid1 *pid1);
FenceModel *fence_model_free(FenceModel *fence);
DEFINE_CLEANUP(FenceModel, fence_model_free);

/* The machine crashed: before PID 1 did. And it is there again: after PID 1 is. */
void fence_model_crash(FenceModel *fence);
void fence_model_boot(FenceModel *fence);

/* Return: whether there is one at present. */
bool fence_model_lives(const FenceModel *fence);
/* kill -9. */
void fence_model_kill(FenceModel *fence);
/* SIGSTOP, which does not last; and SIGCONT, which may come in time. */
void fence_model_hang(FenceModel *fence);
void fence_model_go_on(FenceModel *fence);
