/* See pid1.h. */
#include "pid1.h"

#include <errno.h>
#include <string.h>

#include "pid1-call.h"

struct Pid1 {
        Machine *machine;
        const ServiceWatcher *watcher;
        Process *process;
        GPtrArray *services, *managers;
        usec_t slowness;
        unsigned daemon_job;
};

/* All there are: a daemon that begins finds its machine's. */
static GPtrArray *pid1s;

Pid1 *pid1_new(Machine *machine, const ServiceWatcher *watcher) {
        Pid1 *pid1 = g_new0(Pid1, 1);

        pid1->machine = machine;
        pid1->watcher = watcher;
        pid1->process = process_new(machine);
        pid1->services = g_ptr_array_new_with_free_func(service_free);
        pid1->managers = g_ptr_array_new();
        if (!pid1s)
                pid1s = g_ptr_array_new();
        g_ptr_array_add(pid1s, pid1);
        return pid1;
}

Pid1 *pid1_free(Pid1 *pid1) {
        if (!pid1)
                return NULL;
        pid1_crash(pid1);
        g_ptr_array_unref(pid1->services);
        g_assert_cmpuint(pid1->managers->len, ==, 0);
        g_ptr_array_unref(pid1->managers);
        process_free(pid1->process);
        (void)g_ptr_array_remove(pid1s, pid1);
        if (pid1s->len == 0)
                g_clear_pointer(&pid1s, g_ptr_array_unref);
        g_free(pid1);
        return NULL;
}

Pid1 *pid1_of(const Machine *machine) {
        for (guint i = 0; pid1s && i < pid1s->len; i++)
                if (((Pid1 *)pid1s->pdata[i])->machine == machine)
                        return pid1s->pdata[i];
        g_error("machine %s has no PID 1", machine_name(machine));
}

Process *pid1_process(const Pid1 *pid1) {
        return pid1->process;
}

const ServiceWatcher *pid1_watcher(const Pid1 *pid1) {
        return pid1->watcher;
}

/* ---- the machine ---- */

void pid1_crash(Pid1 *pid1) {
        if (process_is_over(pid1->process))
                return;
        process_end(pid1->process);
        pid1_calls_drop(pid1);
        for (guint i = 0; i < pid1->services->len; i++)
                service_vanish(pid1->services->pdata[i]);
        g_ptr_array_set_size(pid1->services, 0);
}

void pid1_boot(Pid1 *pid1) {
        g_assert_true(process_is_over(pid1->process));
        g_assert_cmpuint(pid1->managers->len, ==, 0);
        process_free(pid1->process);
        pid1->process = process_new(pid1->machine);
        pid1->daemon_job = 0;
}

void pid1_set_slowness(Pid1 *pid1, usec_t most) {
        pid1->slowness = most;
}

usec_t pid1_slowness(const Pid1 *pid1) {
        return pid1->slowness;
}

void pid1_disconnect(Pid1 *pid1, usec_t after) {
        for (guint i = 0; i < pid1->managers->len; i++)
                manager_break(pid1->managers->pdata[i], after);
        for (guint i = 0; i < pid1->services->len; i++)
                ((Service *)pid1->services->pdata[i])->kept = false;
}

void pid1_set_daemon_job(Pid1 *pid1, unsigned systemd_job) {
        pid1->daemon_job = systemd_job;
}

unsigned pid1_daemon_job(const Pid1 *pid1) {
        return pid1->daemon_job;
}

/* ---- services ---- */

const GPtrArray *pid1_services(const Pid1 *pid1) {
        return pid1->services;
}

Service *pid1_find(const Pid1 *pid1, const char *name) {
        for (guint i = 0; i < pid1->services->len; i++) {
                Service *service = pid1->services->pdata[i];

                if (strcmp(service->spec->name, name) == 0)
                        return service;
        }
        return NULL;
}

int pid1_start(Pid1 *pid1, const UnitSpec *spec) {
        if (pid1_find(pid1, spec->name))
                return -EEXIST;
        g_ptr_array_add(pid1->services, service_new(pid1, spec));
        return 0;
}

void pid1_forget(Pid1 *pid1, const char *name) {
        Service *service = pid1_find(pid1, name);

        if (service && service->phase == SERVICE_OVER)
                (void)g_ptr_array_remove(pid1->services, service);
}

void pid1_service_changed(Pid1 *pid1, Service *service) {
        bool over = service->phase == SERVICE_OVER;

        for (guint i = 0; i < pid1->managers->len; i++)
                manager_tell(pid1->managers->pdata[i], service->spec->name, over);
        if (over && service->stopping && !service->kept && !service_has_failed(service))
                pid1_forget(pid1, service->spec->name);
}

void pid1_listen(Pid1 *pid1, UnitManager *manager) {
        g_ptr_array_add(pid1->managers, manager);
}

void pid1_unlisten(Pid1 *pid1, UnitManager *manager) {
        (void)g_ptr_array_remove(pid1->managers, manager);
        /* What it referred to is kept for nobody. */
        for (guint i = 0; pid1->managers->len == 0 && i < pid1->services->len; i++)
                ((Service *)pid1->services->pdata[i])->kept = false;
}
