/* See process.h. A task that was due while nothing could run stays in the list, without a task of
 * the world, until the process goes on; then they are done in the order in which they were due. */
#include "process.h"

#include <glib.h>

struct Process {
        Machine *machine;
        GQueue tasks; /* of ProcessTask, in the order of their making, those that wait in that of
                         their time */
        bool stopped, over;
        MachineListener listener;
};

struct ProcessTask {
        Process *process;
        WorldTask *task; /* NULL: it was due, and waits */
        WorldFunc func;
        void *userdata;
        GList link; /* in `tasks` */
};

/* Whose turn it is. One thread, one world at a time. */
static Process *turn;

static void process_resume(void *userdata);

Process *process_new(Machine *machine) {
        Process *process = g_new0(Process, 1);

        process->machine = machine;
        g_queue_init(&process->tasks);
        process->listener = (MachineListener){process_resume, process};
        machine_listen(machine, &process->listener);
        return process;
}

Process *process_free(Process *process) {
        if (!process)
                return NULL;
        g_assert_true(process->over);
        g_assert_true(turn != process);
        g_assert_cmpuint(process->tasks.length, ==, 0);
        machine_unlisten(process->machine, &process->listener);
        g_free(process);
        return NULL;
}

Machine *process_machine(const Process *process) {
        return process->machine;
}

/* ---- turns ---- */

void process_do(Process *process, WorldFunc func, void *userdata) {
        Process *before = turn;

        turn = process;
        func(userdata);
        turn = before;
}

Process *process_turn(void) {
        g_assert_nonnull(turn);
        return turn;
}

Process *process_turn_if_any(void) {
        return turn;
}

static bool process_can_run(const Process *process) {
        return !process->stopped && !process->over && !machine_is_frozen(process->machine);
}

static void process_on_task(void *userdata) {
        ProcessTask *task = userdata;
        Process *process = task->process;
        WorldFunc func = task->func;
        void *func_userdata = task->userdata;

        task->task = NULL;
        if (!process_can_run(process)) { /* after what was due before it */
                g_queue_unlink(&process->tasks, &task->link);
                g_queue_push_tail_link(&process->tasks, &task->link);
                return;
        }
        process_task_free(task);
        process_do(process, func, func_userdata);
}

ProcessTask *process_after(Process *process, usec_t delay, WorldFunc func, void *userdata) {
        ProcessTask *task = g_new0(ProcessTask, 1);

        *task = (ProcessTask){.process = process, .func = func, .userdata = userdata};
        task->link.data = task;
        g_queue_push_tail_link(&process->tasks, &task->link);
        if (!process->over)
                task->task =
                    world_after(machine_world(process->machine), delay, process_on_task, task);
        return task;
}

ProcessTask *process_task_free(ProcessTask *task) {
        if (!task)
                return NULL;
        world_task_free(task->task);
        g_queue_unlink(&task->process->tasks, &task->link);
        g_free(task);
        return NULL;
}

/* ---- its state ---- */

static void process_resume(void *userdata) {
        Process *process = userdata;
        usec_t delay = 0;

        if (!process_can_run(process))
                return;
        for (GList *link = process->tasks.head; link; link = link->next) {
                ProcessTask *task = link->data;

                if (!task->task)
                        task->task = world_after(machine_world(process->machine), delay++,
                                                 process_on_task, task);
        }
}

void process_stop(Process *process) {
        process->stopped = true;
}

void process_continue(Process *process) {
        process->stopped = false;
        process_resume(process);
}

bool process_is_stopped(const Process *process) {
        return process->stopped;
}

void process_end(Process *process) {
        process->over = true;
        for (GList *link = process->tasks.head; link; link = link->next) {
                ProcessTask *task = link->data;

                task->task = world_task_free(task->task);
        }
}

bool process_is_over(const Process *process) {
        return process->over;
}
