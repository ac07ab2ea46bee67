/* See pid1-call.h. A call belongs to its manager until it is answered or let go, and to its way to
 * PID 1 as long as it is on it. */
#include "pid1-call.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

/* What waits for the fence is looked at so often. */
#define AGAIN (10 * USEC_PER_MSEC)
/* What waits until PID 1 goes on (pid1_calls_go_on()). */
#define NEVER (365 * USEC_PER_DAY)

struct Pid1Call {
        UnitManager *manager; /* NULL: nobody waits */
        Pid1 *pid1;
        Pid1CallKind kind;
        char *name;
        UnitSpec *spec;
        pid_t pid;
        Pid1CallFunc func;
        void *userdata;
        Pid1Call **slot;
        Pid1Answer answer;
        ProcessTask *there, *back;
        bool sent, answered, lost;
        usec_t left;         /* when it was sent, the daemon's CLOCK_MONOTONIC */
        unsigned connection; /* in which it was sent */
        GList link, way;     /* in the manager's list; in `on_the_way` */
};

/* To some PID 1. */
static GQueue on_the_way = G_QUEUE_INIT;

static void shown_unit_free(void *data) {
        ShownUnit *unit = data;

        g_free(unit->name);
        g_free(unit->nonce);
        g_free(unit->slice);
        g_free(unit);
}

static void pid1_call_free(Pid1Call *call) {
        process_task_free(call->there);
        process_task_free(call->back);
        if (call->way.data)
                g_queue_unlink(&on_the_way, &call->way);
        if (call->manager)
                g_queue_unlink(manager_calls(call->manager), &call->link);
        g_clear_pointer(&call->answer.units, g_ptr_array_unref);
        unit_spec_free(call->spec);
        g_free(call->name);
        g_free(call);
}

/* ---- at PID 1 ---- */

static void pid1_call_show(Pid1Call *call, Service *service) {
        ShownUnit *unit = g_new0(ShownUnit, 1);

        unit->name = g_strdup(service->spec->name);
        unit->nonce = g_strdup(service->spec->nonce);
        unit->slice = g_strdup(service->spec->slice);
        unit->phase = service->phase;
        unit->active = service->was_active && !service->stopping;
        unit->overdue = service->overdue;
        unit->was_active = service->was_active;
        unit->timed_out = service->timed_out;
        unit->limitless = service->spec->timeout == USEC_INFINITY || service->outlives_start;
        unit->starts_early = service_starts_early(service);
        unit->outlives_start = service->outlives_start;
        unit->notifies = service->spec->ready == UNIT_READY_NOTIFIED;
        unit->well = !service_has_failed(service);
        unit->fenced = service->spec->fenced;
        unit->shutdown = pid1_shuts_down(call->pid1);
        unit->began = service->began;
        unit->gone = service->gone;
        unit->result = service->result;
        g_ptr_array_add(call->answer.units, unit);
}

static int pid1_call_read(Pid1Call *call) {
        Service *service = pid1_find(call->pid1, call->name);

        if (!service)
                return -ENOENT;
        pid1_call_show(call, service);
        return 0;
}

static void pid1_call_show_scope(const Pid1Call *call, const Outsider *outsider) {
        ShownUnit *unit = g_new0(ShownUnit, 1);

        unit->name = g_strdup(outsider_scope(outsider));
        unit->slice = g_strdup(outsider_slice(outsider));
        unit->phase = SERVICE_RUNNING;
        g_ptr_array_add(call->answer.units, unit);
}

static void pid1_call_list_scopes(const Pid1Call *call) {
        const GPtrArray *outsiders = pid1_outsiders(call->pid1);

        for (guint i = 0; i < outsiders->len; i++) {
                const char *scope = outsider_scope(outsiders->pdata[i]);

                if (scope && fnmatch(call->name, scope, 0) == 0)
                        pid1_call_show_scope(call, outsiders->pdata[i]);
        }
}

static void pid1_call_list(Pid1Call *call) {
        const GPtrArray *services = pid1_services(call->pid1);

        for (guint i = 0; i < services->len; i++) {
                Service *service = services->pdata[i];

                if (fnmatch(call->name, service->spec->name, 0) == 0)
                        pid1_call_show(call, service);
        }
        pid1_call_list_scopes(call);
}

/* Return: whether who sent it is there yet. References are a connection's, and end with it. */
static bool pid1_call_has_sender(const Pid1Call *call) {
        return call->manager && manager_connection(call->manager) == call->connection;
}

/* A start over the bus refers to its unit. */
static int pid1_call_start(const Pid1Call *call) {
        int r = pid1_start(call->pid1, call->spec);

        if (r >= 0 && pid1_call_has_sender(call))
                pid1_refer(call->pid1, call->spec->name);
        return r;
}

static int pid1_call_do(Pid1Call *call) {
        switch (call->kind) {
        case PID1_CALL_START:
                return pid1_call_start(call);
        case PID1_CALL_STOP:
                return pid1_stop(call->pid1, call->name);
        case PID1_CALL_KILL:
                return pid1_kill(call->pid1, call->name);
        case PID1_CALL_FORGET:
                pid1_forget(call->pid1, call->name);
                return 0;
        case PID1_CALL_REFER:
                if (pid1_call_has_sender(call))
                        pid1_refer(call->pid1, call->name);
                return 0;
        case PID1_CALL_UNREFER:
                if (pid1_call_has_sender(call))
                        pid1_unrefer(call->pid1, call->name);
                return 0;
        case PID1_CALL_READ:
                return pid1_call_read(call);
        case PID1_CALL_LIST:
                pid1_call_list(call);
                return 0;
        case PID1_CALL_SCOPE:
                return pid1_start_scope(call->pid1, call->spec, call->pid);
        case PID1_CALL_QUERY:
                call->answer.systemd_job = (SystemdJob)pid1_daemon_job(call->pid1);
                return 0;
        case PID1_CALL_PROBE:
                return 0;
        }
        return -EINVAL;
}

/* A start that waits is answered; what a scope is told of is that the process has moved, though. */
static bool pid1_call_waits(const Pid1Call *call) {
        return call->kind == PID1_CALL_SCOPE && call->spec->fenced &&
               pid1_fence(call->pid1) != PID1_FENCE_ACTIVE;
}

/* ---- back ---- */

static void pid1_call_is_answered(void *userdata) {
        Pid1Call *call = userdata;

        call->back = NULL;
        call->answered = true;
        manager_arrived(call->manager);
}

static void pid1_call_arrives(void *userdata) {
        Pid1Call *call = userdata;

        call->there = NULL;
        if (pid1_hangs(call->pid1)) {
                call->there =
                    process_after(pid1_process(call->pid1), NEVER, pid1_call_arrives, call);
                return;
        }
        if (pid1_call_waits(call)) {
                call->there =
                    process_after(pid1_process(call->pid1), AGAIN, pid1_call_arrives, call);
                return;
        }
        g_queue_unlink(&on_the_way, &call->way);
        call->way.data = NULL;
        call->answer.r = pid1_call_do(call);
        call->answer.fence_left = pid1_fence_left(call->pid1);
        if (!call->manager)
                pid1_call_free(call);
        else if (call->answered) /* as lost, which is not told yet */
                call->answer.r = -ENOTCONN;
        else
                call->back = process_after(manager_process(call->manager),
                                           manager_travel(call->manager, false),
                                           pid1_call_is_answered, call);
}

bool pid1_call_deliver(UnitManager *manager) {
        GQueue *calls = manager_calls(manager);

        for (GList *link = calls->head; link; link = link->next) {
                Pid1Call *call = link->data;
                Pid1CallFunc func = call->func;

                if (!call->answered)
                        continue;
                if (call->slot)
                        *call->slot = NULL;
                call->slot = NULL;
                call->func = NULL;
                g_queue_unlink(calls, &call->link);
                call->manager = NULL;
                manager_heard(manager, call->lost ? PID1_CALL_MISSED : PID1_CALL_ANSWERED);
                if (func && call->there)
                        func(&(Pid1Answer){.r = -ENOTCONN}, call->userdata);
                else if (func)
                        func(&call->answer, call->userdata);
                if (!call->there) /* else it was lost, and may still arrive */
                        pid1_call_free(call);
                return true;
        }
        return false;
}

/* ---- sending ---- */

static void pid1_call_asks(const Pid1Call *call) {
        Service *service = pid1_find(call->pid1, call->name);

        if (service)
                service->asked |= call->kind == PID1_CALL_STOP || call->kind == PID1_CALL_KILL;
}

void pid1_call_go(Pid1Call *call) {
        if (call->sent || !unit_manager_connected(call->manager))
                return;
        call->sent = true;
        call->left =
            machine_clock(process_machine(manager_process(call->manager)), CLOCK_MONOTONIC);
        call->connection = manager_connection(call->manager);
        pid1_call_asks(call);
        call->way.data = call;
        g_queue_push_tail_link(&on_the_way, &call->way);
        call->there = process_after(pid1_process(call->pid1), manager_travel(call->manager, true),
                                    pid1_call_arrives, call);
        manager_heard(call->manager, PID1_CALL_LEFT);
}

usec_t pid1_call_oldest(UnitManager *manager) {
        for (const GList *link = manager_calls(manager)->head; link; link = link->next) {
                const Pid1Call *call = link->data;

                if (call->sent && !call->lost)
                        return call->left;
        }
        return 0;
}

/* Return: the call, which has not left; NULL: nobody is there to send it. */
static Pid1Call *pid1_call_new(UnitManager *manager, Pid1CallKind kind, const char *name,
                               const UnitSpec *spec, Pid1CallFunc func, void *userdata,
                               Pid1Call **slot) {
        Pid1Call *call;

        if (slot)
                pid1_call_let_go(slot);
        if (process_is_over(manager_process(manager)))
                return NULL;
        call = g_new0(Pid1Call, 1);
        call->manager = manager;
        call->pid1 = manager_pid1(manager);
        call->kind = kind;
        call->name = g_strdup(name);
        call->spec = spec ? unit_spec_copy(spec) : NULL;
        call->func = func;
        call->userdata = userdata;
        call->slot = slot;
        call->answer.units = g_ptr_array_new_with_free_func(shown_unit_free);
        call->link.data = call;
        g_queue_push_tail_link(manager_calls(manager), &call->link);
        if (slot)
                *slot = call;
        return call;
}

void pid1_call_send(UnitManager *manager, Pid1CallKind kind, const char *name, const UnitSpec *spec,
                    Pid1CallFunc func, void *userdata, Pid1Call **slot) {
        Pid1Call *call = pid1_call_new(manager, kind, name, spec, func, userdata, slot);

        if (call)
                pid1_call_go(call);
}

void pid1_call_send_scope(UnitManager *manager, const UnitSpec *spec, pid_t pid, Pid1CallFunc func,
                          void *userdata, Pid1Call **slot) {
        Pid1Call *call =
            pid1_call_new(manager, PID1_CALL_SCOPE, spec->name, spec, func, userdata, slot);

        if (!call)
                return;
        call->pid = pid;
        pid1_call_go(call);
}

void pid1_call_let_go(Pid1Call **slot) {
        Pid1Call *call = *slot;
        UnitManager *manager;
        bool waited;

        if (!call)
                return;
        manager = call->manager;
        waited = call->sent && !call->lost;
        *slot = NULL;
        call->slot = NULL;
        call->func = NULL;
        if (!call->there) {
                pid1_call_free(call);
        } else {
                g_queue_unlink(manager_calls(call->manager), &call->link);
                call->manager = NULL;
        }
        if (waited)
                manager_heard(manager, PID1_CALL_LET_GO);
}

bool pid1_call_was_sent(const Pid1Call *call) {
        return call->sent;
}

/* It is not on its way any more, if it was. */
static void pid1_call_never_arrives(Pid1Call *call) {
        if (!call->there)
                return;
        call->there = process_task_free(call->there);
        g_queue_unlink(&on_the_way, &call->way);
        call->way.data = NULL;
}

/* The connection is gone: what was to be done may be done, and the answer does not come. What is to
 * be forgotten is asked for until PID 1 has forgotten it, as units/unit-ending.c does. */
void pid1_call_is_lost(Pid1Call *call, bool undone) {
        if (!call->sent || call->answered)
                return;
        call->back = process_task_free(call->back);
        if (undone || call->kind == PID1_CALL_FORGET)
                pid1_call_never_arrives(call);
        if (call->kind == PID1_CALL_FORGET) {
                call->sent = false;
                return;
        }
        call->answer.r = -ENOTCONN;
        call->answered = call->lost = true;
}

bool pid1_awaits_start(const Pid1 *pid1) {
        for (const GList *link = on_the_way.head; link; link = link->next) {
                const Pid1Call *call = link->data;

                if (call->pid1 == pid1 && call->kind == PID1_CALL_START)
                        return true;
        }
        return false;
}

void pid1_calls_go_on(Pid1 *pid1) {
        Process *process = pid1_process(pid1);
        usec_t now = world_now(machine_world(process_machine(process)));

        for (const GList *link = on_the_way.head; link; link = link->next) {
                Pid1Call *call = link->data;

                if (call->pid1 != pid1)
                        continue;
                process_task_free(call->there);
                call->there =
                    process_after(process, pid1_in_turn(pid1, now) - now, pid1_call_arrives, call);
        }
}

void pid1_calls_drop(const Pid1 *pid1) {
        for (GList *link = on_the_way.head, *next = NULL; link; link = next) {
                Pid1Call *call = link->data;

                next = link->next;
                if (call->pid1 != pid1)
                        continue;
                g_assert_null(call->manager); /* no daemon outlives its machine */
                pid1_call_free(call);
        }
}
