/* See outsider.h. */
#include "outsider.h"

#include <glib.h>
#include <signal.h>

#include "pid1.h"

struct Outsider {
        Pid1 *pid1; /* weak */
        OutsiderFunc func;
        void *userdata;
        pid_t pid;
        char *scope, *slice;
        bool fenced;
        usec_t stop_timeout;
        ProcessTask *killer;
};

Outsider *outsider_new(Pid1 *pid1, OutsiderFunc func, void *userdata) {
        Outsider *outsider = g_new0(Outsider, 1);

        outsider->pid1 = pid1;
        outsider->func = func;
        outsider->userdata = userdata;
        outsider->pid = pid1_add_outsider(pid1, outsider);
        return outsider;
}

Outsider *outsider_free(Outsider *outsider) {
        if (!outsider)
                return NULL;
        process_task_free(outsider->killer);
        pid1_remove_outsider(outsider->pid1, outsider);
        g_free(outsider->scope);
        g_free(outsider->slice);
        g_free(outsider);
        return NULL;
}

pid_t outsider_pid(const Outsider *outsider) {
        return outsider->pid;
}

const char *outsider_scope(const Outsider *outsider) {
        return outsider->scope;
}

bool outsider_is_fenced(const Outsider *outsider) {
        return outsider->fenced;
}

void outsider_signal(Outsider *outsider, int signal) {
        outsider->func(signal, outsider->userdata);
}

const char *outsider_slice(const Outsider *outsider) {
        return outsider->slice;
}

void outsider_move(Outsider *outsider, const UnitSpec *scope) {
        g_free(outsider->scope);
        g_free(outsider->slice);
        outsider->scope = g_strdup(scope->name);
        outsider->slice = g_strdup(scope->slice);
        outsider->fenced = scope->fenced;
        outsider->stop_timeout = scope->stop_timeout;
}

static void outsider_on_killer(void *userdata) {
        Outsider *outsider = userdata;

        outsider->killer = NULL;
        outsider_signal(outsider, SIGKILL);
}

void outsider_stop(Outsider *outsider) {
        if (outsider->killer)
                return;
        outsider->killer = process_after(pid1_process(outsider->pid1), outsider->stop_timeout,
                                         outsider_on_killer, outsider);
        outsider_signal(outsider, SIGTERM);
}
