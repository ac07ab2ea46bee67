/* A process on a simulated machine: what has turns.
 *
 * Product code runs on somebody's turn, and always on exactly one: it reads that one's clocks,
 * draws from that one's chance, makes event loops and threads that are that one's. Whose turn it is
 * is one pointer, set around each call into product code.
 *
 * What the process does later is a ProcessTask: a task of the world that is done on the process's
 * turn, that waits while the process is stopped or its machine frozen, and is dropped once the
 * process is over.
 */
#pragma once

#include "machine.h"

typedef struct Process Process;
typedef struct ProcessTask ProcessTask;

Process *process_new(Machine *machine);
/* It must be over. */
Process *process_free(Process *process);
DEFINE_CLEANUP(Process, process_free);

Machine *process_machine(const Process *process);

/* ---- turns ---- */

/* Does it on the process's turn. */
void process_do(Process *process, WorldFunc func, void *userdata);
/* Return: whose turn it is. It is somebody's. */
Process *process_turn(void);
/* Return: the same, NULL where it is nobody's. */
Process *process_turn_if_any(void);

/* Does it once on the process's turn, in `delay` of true time from now. Return: the task, its
 * caller's until it was done or is freed; also when the process is over and it never will be. */
ProcessTask *process_after(Process *process, usec_t delay, WorldFunc func, void *userdata);
ProcessTask *process_task_free(ProcessTask *task);

/* ---- its state ---- */

/* SIGSTOP and SIGCONT. */
void process_stop(Process *process);
void process_continue(Process *process);
bool process_is_stopped(const Process *process);
/* From now on nothing that it does has an effect outside: what frees the objects of a process that
 * was killed may do on its turn what it likes. Nothing is done on its turn later. */
void process_end(Process *process);
bool process_is_over(const Process *process);
