/* See pid1.h. */
#include "pid1.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "fence-protocol.h"
#include "launch-dropin.h"
#include "pid1-call.h"

#define FIRST_PID 1000
/* More than what is asked of a quick one takes. */
#define QUICK (20 * USEC_PER_MSEC)

struct Pid1 {
        Machine *machine;
        const ServiceWatcher *watcher;
        Process *process;
        char *dropin_root, *fence_file;
        GPtrArray *services, *managers, *outsiders;
        pid_t last_pid;
        usec_t slowness, last_arrival;
        unsigned daemon_job;
        bool shuts_down;
        bool hangs;
        Pid1Fence fence;
        usec_t fence_left;
        WorldFunc trip;
        void *trip_userdata;
};

/* All there are: a daemon that begins finds its machine's. */
static GPtrArray *pid1s;

Pid1 *pid1_new(Machine *machine, const ServiceWatcher *watcher) {
        Pid1 *pid1 = g_new0(Pid1, 1);

        pid1->machine = machine;
        pid1->watcher = watcher;
        pid1->process = process_new(machine);
        pid1->dropin_root = g_build_filename(machine_directory(machine), "run", "system", NULL);
        pid1->fence_file =
            g_build_filename(machine_directory(machine), "run", "fence-instance", NULL);
        pid1->services = g_ptr_array_new_with_free_func(service_free);
        pid1->managers = g_ptr_array_new();
        pid1->outsiders = g_ptr_array_new();
        pid1->last_pid = FIRST_PID - 1;
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
        g_assert_cmpuint(pid1->outsiders->len, ==, 0);
        g_ptr_array_unref(pid1->outsiders);
        process_free(pid1->process);
        g_free(pid1->dropin_root);
        g_free(pid1->fence_file);
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
        pid1->hangs = false;
        pid1_calls_drop(pid1);
        for (guint i = 0; i < pid1->services->len; i++)
                service_vanish(pid1->services->pdata[i]);
        g_ptr_array_set_size(pid1->services, 0);
        while (pid1->outsiders->len > 0)
                outsider_signal(pid1->outsiders->pdata[0], 0);
}

void pid1_boot(Pid1 *pid1) {
        g_assert_true(process_is_over(pid1->process));
        g_assert_cmpuint(pid1->managers->len, ==, 0);
        process_free(pid1->process);
        pid1->process = process_new(pid1->machine);
        pid1->daemon_job = 0;
        pid1->shuts_down = false;
        pid1->last_arrival = 0;
        pid1->fence = PID1_FENCE_ACTIVE;
        pid1->fence_left = 0;
}

void pid1_set_slowness(Pid1 *pid1, usec_t most) {
        pid1->slowness = most;
}

usec_t pid1_slowness(const Pid1 *pid1) {
        return pid1->slowness;
}

void pid1_hang(Pid1 *pid1, bool hangs) {
        pid1->hangs = hangs;
        if (!hangs)
                pid1_calls_go_on(pid1);
}

bool pid1_hangs(const Pid1 *pid1) {
        return pid1->hangs;
}

bool pid1_is_behind(const Pid1 *pid1) {
        return pid1->hangs || pid1->last_arrival > world_now(machine_world(pid1->machine)) + QUICK;
}

usec_t pid1_in_turn(Pid1 *pid1, usec_t at) {
        pid1->last_arrival = MAX(at, pid1->last_arrival + 1);
        return pid1->last_arrival;
}

void pid1_set_daemon_job(Pid1 *pid1, unsigned systemd_job) {
        pid1->daemon_job = systemd_job;
        for (guint i = 0; systemd_job != SYSTEMD_JOB_NONE && i < pid1->managers->len; i++)
                manager_tell(pid1->managers->pdata[i], DAEMON_UNIT, NULL, false);
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

void *pid1_trip(Pid1 *pid1, WorldFunc func, void *userdata) {
        void *before = pid1->trip_userdata;

        pid1->trip = func;
        pid1->trip_userdata = userdata;
        return before;
}

void pid1_start_leaves(Pid1 *pid1) {
        WorldFunc trip = pid1->trip;

        pid1->trip = NULL;
        if (trip)
                trip(pid1->trip_userdata);
}

const char *pid1_fence_file(const Pid1 *pid1) {
        return pid1->fence_file;
}

const char *pid1_dropin_root(const Pid1 *pid1) {
        return pid1->dropin_root;
}

int pid1_start(Pid1 *pid1, const UnitSpec *spec) {
        if (pid1_find(pid1, spec->name))
                return -EEXIST;
        if (pid1->shuts_down)
                return -ESHUTDOWN;
        g_ptr_array_add(pid1->services, service_new(pid1, spec));
        return 0;
}

/* What nobody refers to is kept as long as it is active, or failed. */
static void pid1_collect(Pid1 *pid1, Service *service) {
        if (service->references == 0 && service_is_inactive(service))
                (void)g_ptr_array_remove(pid1->services, service);
}

/* Those who referred to them are gone. */
static void pid1_drop_references(Pid1 *pid1) {
        for (guint i = pid1->services->len; i > 0; i--) {
                Service *service = pid1->services->pdata[i - 1];

                service->references = 0;
                pid1_collect(pid1, service);
        }
}

void pid1_disconnect(Pid1 *pid1, usec_t after) {
        for (guint i = 0; i < pid1->managers->len; i++)
                manager_break(pid1->managers->pdata[i], after);
        pid1_drop_references(pid1);
}

void pid1_reconnect(Pid1 *pid1) {
        for (guint i = 0; i < pid1->managers->len; i++)
                manager_mend(pid1->managers->pdata[i]);
}

/* ---- scopes ---- */

pid_t pid1_add_outsider(Pid1 *pid1, Outsider *outsider) {
        g_ptr_array_add(pid1->outsiders, outsider);
        return ++pid1->last_pid;
}

void pid1_remove_outsider(Pid1 *pid1, Outsider *outsider) {
        const char *scope = outsider_scope(outsider);

        (void)g_ptr_array_remove(pid1->outsiders, outsider);
        for (guint i = 0; scope && i < pid1->managers->len; i++)
                manager_tell(pid1->managers->pdata[i], scope, NULL, true);
}

Outsider *pid1_find_scope(const Pid1 *pid1, const char *scope) {
        for (guint i = 0; i < pid1->outsiders->len; i++)
                if (g_strcmp0(outsider_scope(pid1->outsiders->pdata[i]), scope) == 0)
                        return pid1->outsiders->pdata[i];
        return NULL;
}

const GPtrArray *pid1_outsiders(const Pid1 *pid1) {
        return pid1->outsiders;
}

int pid1_start_scope(Pid1 *pid1, const UnitSpec *scope, pid_t pid) {
        if (pid1_find_scope(pid1, scope->name))
                return -EEXIST;
        if (pid1->shuts_down)
                return -ESHUTDOWN;
        for (guint i = 0; i < pid1->outsiders->len; i++)
                if (outsider_pid(pid1->outsiders->pdata[i]) == pid) {
                        outsider_move(pid1->outsiders->pdata[i], scope);
                        return 0;
                }
        return -ESRCH;
}

static int pid1_end_scope(const Pid1 *pid1, const char *scope, int signal) {
        Outsider *outsider = pid1_find_scope(pid1, scope);

        if (!outsider)
                return -ENOENT;
        if (signal == SIGTERM)
                outsider_stop(outsider);
        else
                outsider_signal(outsider, signal);
        return 0;
}

/* ---- orders ---- */

/* Return: the service, and who looks on knows of the order; NULL: there is none. */
static Service *pid1_ordered(Pid1 *pid1, const char *name) {
        Service *service = pid1_find(pid1, name);

        if (service)
                pid1->watcher->ordered(service, pid1->watcher->userdata);
        return service;
}

int pid1_stop(Pid1 *pid1, const char *name) {
        Service *service = pid1_ordered(pid1, name);

        if (!service)
                return pid1_end_scope(pid1, name, SIGTERM);
        if (service->phase == SERVICE_OVER) {
                service_step_at_stop(service);
                service->stopping = true;
                pid1_collect(pid1, service);
        } else {
                service_stop(service); /* may free it */
        }
        return 0;
}

int pid1_kill(Pid1 *pid1, const char *name) {
        Service *service = pid1_ordered(pid1, name);

        if (!service)
                return pid1_end_scope(pid1, name, SIGKILL);
        service_kill(service);
        return 0;
}

int pid1_reset(Pid1 *pid1, const char *name) {
        Service *service = pid1_find(pid1, name);

        if (!service)
                return -ENOENT;
        service_forgive(service);
        pid1_collect(pid1, service);
        return 0;
}

void pid1_forget(Pid1 *pid1, const char *name) {
        Service *service = pid1_find(pid1, name);

        if (service && service->phase != SERVICE_OVER)
                return;
        launch_dropin_remove(pid1->dropin_root, name);
        if (!service)
                return;
        service->stopping = true;
        service_forgive(service);
        pid1_collect(pid1, service);
}

static void pid1_do_restart(void *service) {
        service_restart(service);
}

bool pid1_restart(Pid1 *pid1, Service *service) {
        bool begun = service->phase != SERVICE_QUEUED && !service->stopping && !service->never &&
                     !pid1->shuts_down;

        if (!begun)
                return false;
        pid1->watcher->ordered(service, pid1->watcher->userdata);
        service->references++; /* it stays loaded while it has a job */
        process_do(pid1->process, pid1_do_restart, service);
        service->references--;
        pid1_collect(pid1, service);
        return true;
}

void pid1_refer(Pid1 *pid1, const char *name) {
        Service *service = pid1_find(pid1, name);

        if (service)
                service->references++;
}

void pid1_unrefer(Pid1 *pid1, const char *name) {
        Service *service = pid1_find(pid1, name);

        if (!service || service->references == 0)
                return;
        service->references--;
        pid1_collect(pid1, service);
}

/* ---- the end of the machine ---- */

bool pid1_shuts_down(const Pid1 *pid1) {
        return pid1->shuts_down;
}

bool pid1_has_units(const Pid1 *pid1) {
        for (guint i = 0; i < pid1->services->len; i++)
                if (((const Service *)pid1->services->pdata[i])->phase != SERVICE_OVER)
                        return true;
        for (guint i = 0; i < pid1->outsiders->len; i++)
                if (outsider_scope(pid1->outsiders->pdata[i]))
                        return true;
        return false;
}

/* Return: newly allocated, of names, which what is done to one does not change. */
static GPtrArray *pid1_units(const Pid1 *pid1) {
        GPtrArray *names = g_ptr_array_new_with_free_func(g_free);

        for (guint i = 0; i < pid1->services->len; i++)
                g_ptr_array_add(names,
                                g_strdup(((const Service *)pid1->services->pdata[i])->spec->name));
        for (guint i = 0; i < pid1->outsiders->len; i++)
                if (outsider_scope(pid1->outsiders->pdata[i]))
                        g_ptr_array_add(names, g_strdup(outsider_scope(pid1->outsiders->pdata[i])));
        return names;
}

/* What has failed is not active, and stays as it is. */
void pid1_shut_down(Pid1 *pid1) {
        g_autoptr(GPtrArray) names = pid1_units(pid1);

        pid1->shuts_down = true;
        pid1_set_daemon_job(pid1, SYSTEMD_JOB_SHUTDOWN);
        for (guint i = 0; i < names->len; i++) {
                const Service *service = pid1_find(pid1, names->pdata[i]);

                if (!service || service->phase != SERVICE_OVER || !service_has_failed(service))
                        (void)pid1_stop(pid1, names->pdata[i]);
        }
}

/* ---- the fence ---- */

Pid1Fence pid1_fence(const Pid1 *pid1) {
        return pid1->fence;
}

usec_t pid1_fence_left(const Pid1 *pid1) {
        return pid1->fence_left;
}

/* Return: newly allocated, of names, which what is done to one does not change. */
static GPtrArray *pid1_fenced(const Pid1 *pid1) {
        GPtrArray *names = g_ptr_array_new_with_free_func(g_free);

        for (guint i = 0; i < pid1->services->len; i++) {
                const Service *service = pid1->services->pdata[i];

                if (service->spec->fenced)
                        g_ptr_array_add(names, g_strdup(service->spec->name));
        }
        for (guint i = 0; i < pid1->outsiders->len; i++)
                if (outsider_is_fenced(pid1->outsiders->pdata[i]))
                        g_ptr_array_add(names, g_strdup(outsider_scope(pid1->outsiders->pdata[i])));
        return names;
}

/* What has failed, or waits for the fence, is not active, and stays as it is. */
static void pid1_stop_fenced(Pid1 *pid1) {
        g_autoptr(GPtrArray) names = pid1_fenced(pid1);

        for (guint i = 0; i < names->len; i++) {
                const Service *service = pid1_find(pid1, names->pdata[i]);

                if (!service || (!service_waits(service) &&
                                 !(service->phase == SERVICE_OVER && service_has_failed(service))))
                        (void)pid1_stop(pid1, names->pdata[i]);
        }
}

static void pid1_begin_fenced(Pid1 *pid1) {
        for (guint i = 0; i < pid1->services->len; i++)
                service_is_let(pid1->services->pdata[i]);
}

void pid1_set_fence(Pid1 *pid1, Pid1Fence fence) {
        Pid1Fence before = pid1->fence;

        pid1->fence = fence;
        if (before == PID1_FENCE_ACTIVE && fence != PID1_FENCE_ACTIVE) {
                pid1->fence_left = machine_clock(pid1->machine, CLOCK_MONOTONIC);
                pid1_stop_fenced(pid1);
        } else if (before != PID1_FENCE_ACTIVE && fence == PID1_FENCE_ACTIVE) {
                pid1_begin_fenced(pid1);
        }
}

bool pid1_fence_may_begin(const Pid1 *pid1) {
        for (guint i = 0; i < pid1->services->len; i++) {
                const Service *service = pid1->services->pdata[i];

                if (service->spec->fenced && service->stopping && service->phase != SERVICE_OVER)
                        return false;
        }
        for (guint i = 0; i < pid1->outsiders->len; i++)
                if (outsider_is_fenced(pid1->outsiders->pdata[i]))
                        return false;
        return true;
}

static bool pid1_is_in_slice(const Pid1 *pid1, const char *name) {
        const Service *service = pid1_find(pid1, name);
        const Outsider *outsider = pid1_find_scope(pid1, name);

        if (service)
                return service_is_alive(service) && strcmp(service->spec->slice, FENCE_SLICE) == 0;
        return outsider && strcmp(outsider_slice(outsider), FENCE_SLICE) == 0;
}

bool pid1_has_fenced(const Pid1 *pid1) {
        g_autoptr(GPtrArray) names = pid1_fenced(pid1);

        for (guint i = 0; i < names->len; i++)
                if (pid1_is_in_slice(pid1, names->pdata[i]))
                        return true;
        return false;
}

void pid1_kill_fenced(Pid1 *pid1) {
        g_autoptr(GPtrArray) names = pid1_fenced(pid1);

        for (guint i = 0; i < names->len; i++)
                if (pid1_is_in_slice(pid1, names->pdata[i]))
                        (void)pid1_kill(pid1, names->pdata[i]);
}

void pid1_service_changed(Pid1 *pid1, Service *service, const char *word) {
        for (guint i = 0; i < pid1->managers->len; i++)
                manager_tell(pid1->managers->pdata[i], service->spec->name, word,
                             service->phase == SERVICE_OVER);
        pid1_collect(pid1, service);
}

void pid1_listen(Pid1 *pid1, UnitManager *manager) {
        g_ptr_array_add(pid1->managers, manager);
}

void pid1_unlisten(Pid1 *pid1, UnitManager *manager) {
        (void)g_ptr_array_remove(pid1->managers, manager);
        if (pid1->managers->len == 0)
                pid1_drop_references(pid1);
}
