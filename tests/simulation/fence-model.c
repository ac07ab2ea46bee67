/* See fence-model.h. */
#include "fence-model.h"

#include <glib.h>
#include <string.h>

#include "fence-port.h"
#include "fence-table.h"
#include "trace.h"

/* How long a word takes on a socket, and PID 1 to see that a process of its is gone. */
#define TRAVEL_MIN 100
#define TRAVEL_MAX (3 * USEC_PER_MSEC)
/* RestartSec and WatchdogSec of packaging/jobkeeper-fence.service, which says that it lives three
 * times in a period. PID 1's timers are a quarter of a second late at most. */
#define RESTART_DELAY (100 * USEC_PER_MSEC)
#define WATCHDOG_MIN (1190 * USEC_PER_MSEC)
#define WATCHDOG_MAX (2050 * USEC_PER_MSEC)
/* While it waits for something that begins or ends; the real one is told by the kernel. */
#define LOOK_PERIOD (20 * USEC_PER_MSEC)

/* Two timerfds: they live as long as anybody has them. */
typedef struct TimerPair {
        unsigned refs;
        usec_t at[FENCE_TIMERS]; /* 0: not set */
        FenceModel *fence;       /* weak: that looks at them; NULL once it is gone */
} TimerPair;

struct FenceModel {
        Machine *machine;
        Pid1 *pid1;
        WorldChance *chance;
        Process *process; /* NULL: there is none */
        FenceState state;
        char instance[FENCE_INSTANCE_DIGITS + 1];
        TimerPair *timers;
        FencePort *peer;
        GPtrArray *waiting; /* of FencePort: in the socket's queue */
        ProcessTask *next, *door;
        ProcessTask *begin, *notice, *watchdog; /* PID 1's */
};

struct FencePort {
        FenceModel *fence; /* weak */
        Process *process;
        TimerPair *timers;
        FenceHello hello;
        ProcessTask *news;
        FencePortFunc func;
        void *userdata;
};

/* All there are: a daemon that connects finds its machine's. */
static GPtrArray *fences;

static void fence_model_decide(void *userdata);
static void fence_model_begin(void *userdata);

static usec_t fence_model_travel(const FenceModel *fence) {
        return world_draw_between(fence->chance, TRAVEL_MIN, TRAVEL_MAX);
}

/* A word to PID 1, which may be slow. */
static usec_t fence_model_to_pid1(const FenceModel *fence) {
        usec_t slow = pid1_slowness(fence->pid1), travel = fence_model_travel(fence);

        return slow > 0 ? travel + world_draw_between(fence->chance, 0, slow) : travel;
}

bool fence_model_lives(const FenceModel *fence) {
        return fence->process && !process_is_over(fence->process);
}

/* ---- the timers ---- */

static TimerPair *timer_pair_unref(TimerPair *timers) {
        if (timers && --timers->refs == 0)
                g_free(timers);
        return NULL;
}

static bool timer_pair_has_passed(const TimerPair *timers, unsigned timer, const Machine *machine) {
        return timers->at[timer] != 0 &&
               machine_clock(machine, CLOCK_BOOTTIME) >= timers->at[timer];
}

/* ---- the connection ---- */

static void port_on_greeted(void *userdata) {
        FencePort *port = userdata;

        port->news = NULL;
        port->func(FENCE_PORT_GREETED, port->userdata);
}

static void port_on_ended(void *userdata) {
        FencePort *port = userdata;

        port->news = NULL;
        port->func(FENCE_PORT_ENDED, port->userdata);
}

static void port_tell(FencePort *port, usec_t travel, WorldFunc func) {
        process_task_free(port->news);
        port->news = process_after(port->process, travel, func, port);
}

static void fence_model_hang_up(FenceModel *fence) {
        FencePort *port = g_steal_pointer(&fence->peer);

        if (port)
                port_tell(port, fence_model_travel(fence), port_on_ended);
}

static void fence_model_greet(FenceModel *fence, FencePort *port) {
        fence_model_hang_up(fence);
        fence->peer = port;
        memcpy(port->hello.magic, FENCE_MAGIC, sizeof port->hello.magic);
        (void)g_strlcpy(port->hello.version, JOBKEEPER_VERSION, sizeof port->hello.version);
        (void)g_strlcpy(port->hello.instance, fence->instance, sizeof port->hello.instance);
        port->hello.flags = FENCE_CAN_KILL;
        port->timers = fence->timers;
        port->timers->refs++;
        port_tell(port, fence_model_travel(fence), port_on_greeted);
}

static void fence_model_on_door(void *userdata) {
        FenceModel *fence = userdata;

        fence->door = NULL;
        while (fence->state != FENCE_STOPPING && fence->waiting->len > 0)
                fence_model_greet(fence, g_ptr_array_steal_index(fence->waiting, 0));
}

static void fence_model_knock(FenceModel *fence) {
        if (fence_model_lives(fence) && !fence->door)
                fence->door = process_after(fence->process, fence_model_travel(fence),
                                            fence_model_on_door, fence);
}

/* ---- its end ---- */

/* The kernel closes what it had. */
static void fence_model_vanish(FenceModel *fence) {
        fence->next = process_task_free(fence->next);
        fence->door = process_task_free(fence->door);
        fence->watchdog = process_task_free(fence->watchdog);
        fence_model_hang_up(fence);
        if (fence->timers)
                fence->timers->fence = NULL;
        fence->timers = timer_pair_unref(fence->timers);
        if (fence->process)
                process_end(fence->process);
}

/* Where the process is at work itself it is not to be freed yet. */
static void fence_model_bury(FenceModel *fence) {
        if (fence->process)
                fence->process = process_free(fence->process);
}

static void fence_model_begin_in(FenceModel *fence, usec_t delay) {
        process_task_free(fence->begin);
        fence->begin = process_after(pid1_process(fence->pid1), delay, fence_model_begin, fence);
}

/* PID 1 sees that it is gone. */
static void fence_model_on_notice(void *userdata) {
        FenceModel *fence = userdata;

        fence->notice = NULL;
        fence_model_bury(fence);
        pid1_set_fence(fence->pid1, PID1_FENCE_GONE);
        fence_model_begin_in(fence, RESTART_DELAY);
}

static void fence_model_exit(FenceModel *fence, const char *why) {
        trace_write(machine_name(fence->machine), "the fence %s", why);
        fence_model_vanish(fence);
        process_task_free(fence->notice);
        fence->notice = process_after(pid1_process(fence->pid1), fence_model_to_pid1(fence),
                                      fence_model_on_notice, fence);
}

/* ---- what it does ---- */

static void fence_model_on_stopping(void *userdata) {
        FenceModel *fence = userdata;

        fence->notice = NULL;
        pid1_set_fence(fence->pid1, PID1_FENCE_STOPPING);
}

static void fence_model_begin_stop(FenceModel *fence) {
        trace_write(machine_name(fence->machine), "the fence has what it guards stopped");
        fence->state = FENCE_STOPPING;
        fence_model_hang_up(fence);
        fence->notice = process_after(pid1_process(fence->pid1), fence_model_to_pid1(fence),
                                      fence_model_on_stopping, fence);
}

static FenceInstant fence_model_passed(const FenceModel *fence) {
        if (timer_pair_has_passed(fence->timers, FENCE_TIMER_KILL, fence->machine))
                return FENCE_KILL_PASSED;
        return timer_pair_has_passed(fence->timers, FENCE_TIMER_STOP, fence->machine)
                   ? FENCE_STOP_PASSED
                   : FENCE_NEITHER;
}

/* Return: how long it may rest. */
static usec_t fence_model_rest(const FenceModel *fence, bool watches) {
        usec_t rest = watches ? LOOK_PERIOD : USEC_INFINITY;

        for (unsigned i = 0; i < FENCE_TIMERS; i++)
                if (fence->timers->at[i] != 0 &&
                    !timer_pair_has_passed(fence->timers, i, fence->machine))
                        rest = MIN(rest, machine_until(fence->machine, CLOCK_BOOTTIME,
                                                       fence->timers->at[i]));
        return rest;
}

static void fence_model_wait(FenceModel *fence, bool watches) {
        usec_t rest = fence_model_rest(fence, watches);

        process_task_free(fence->next);
        fence->next = rest == USEC_INFINITY
                          ? NULL
                          : process_after(fence->process, rest, fence_model_decide, fence);
}

static void fence_model_decide(void *userdata) {
        FenceModel *fence = userdata;
        FenceInstant passed = fence_model_passed(fence);

        fence->next = NULL;
        switch (fence_next_step(fence->state, passed, pid1_has_fenced(fence->pid1))) {
        case FENCE_REST:
        case FENCE_WATCH:
                fence_model_wait(fence, fence->state != FENCE_GUARDING || passed != FENCE_NEITHER);
                return;
        case FENCE_STOP:
                fence_model_begin_stop(fence);
                fence_model_wait(fence, true);
                return;
        case FENCE_KILL:
                /* It says so first, and PID 1 hears that before it sees who dies. */
                pid1_set_fence(fence->pid1, PID1_FENCE_STOPPING);
                pid1_kill_fenced(fence->pid1);
                fence_model_exit(fence, "has killed what it guards");
                return;
        case FENCE_FAIL:
        case FENCE_RETIRE:
                fence_model_exit(fence, "ends");
                return;
        }
}

static void fence_model_look(FenceModel *fence) {
        process_task_free(fence->next);
        fence->next = process_after(fence->process, 0, fence_model_decide, fence);
}

/* ---- its beginning ---- */

/* Return: whether it could say which it is. */
static bool fence_model_draw_instance(FenceModel *fence) {
        uint64_t high = world_draw(fence->chance), low = world_draw(fence->chance);
        g_autofree char *line = NULL;

        (void)g_snprintf(fence->instance, sizeof fence->instance,
                         "%016" G_GINT64_MODIFIER "x%016" G_GINT64_MODIFIER "x", high, low);
        line = g_strconcat(fence->instance, "\n", NULL);
        return g_file_set_contents(pid1_fence_file(fence->pid1), line, -1, NULL);
}

static void fence_model_start(FenceModel *fence) {
        fence->process = process_new(fence->machine);
        fence->state = FENCE_GUARDING;
        fence->timers = g_new0(TimerPair, 1);
        fence->timers->refs = 1;
        fence->timers->fence = fence;
        pid1_kill_fenced(fence->pid1); /* what was not gone in time */
        pid1_set_fence(fence->pid1, PID1_FENCE_ACTIVE);
        if (fence->waiting->len > 0)
                fence_model_knock(fence);
}

static void fence_model_begin(void *userdata) {
        FenceModel *fence = userdata;

        fence->begin = NULL;
        if (!pid1_fence_may_begin(fence->pid1) || !fence_model_draw_instance(fence)) {
                fence_model_begin_in(fence, RESTART_DELAY);
                return;
        }
        trace_write(machine_name(fence->machine), "the fence starts");
        fence_model_start(fence);
}

FenceModel *fence_model_new(Machine *machine, Pid1 *pid1) {
        FenceModel *fence = g_new0(FenceModel, 1);
        g_autofree char *stream = g_strconcat("fence ", machine_name(machine), NULL);

        fence->machine = machine;
        fence->pid1 = pid1;
        fence->chance = world_chance_new(machine_world(machine), stream);
        fence->waiting = g_ptr_array_new();
        if (!fences)
                fences = g_ptr_array_new();
        g_ptr_array_add(fences, fence);
        fence_model_boot(fence);
        return fence;
}

void fence_model_crash(FenceModel *fence) {
        fence_model_vanish(fence);
        fence_model_bury(fence);
        fence->begin = process_task_free(fence->begin);
        fence->notice = process_task_free(fence->notice);
        g_assert_cmpuint(fence->waiting->len, ==, 0);
}

FenceModel *fence_model_free(FenceModel *fence) {
        if (!fence)
                return NULL;
        fence_model_crash(fence);
        world_chance_free(fence->chance);
        g_ptr_array_unref(fence->waiting);
        (void)g_ptr_array_remove(fences, fence);
        if (fences->len == 0)
                g_clear_pointer(&fences, g_ptr_array_unref);
        g_free(fence);
        return NULL;
}

void fence_model_boot(FenceModel *fence) {
        g_assert_true(fence_model_draw_instance(fence));
        fence_model_start(fence);
}

/* ---- what befalls it ---- */

void fence_model_kill(FenceModel *fence) {
        if (fence_model_lives(fence))
                fence_model_exit(fence, "is killed");
}

static void fence_model_on_watchdog(void *userdata) {
        FenceModel *fence = userdata;

        fence->watchdog = NULL;
        fence_model_exit(fence, "is killed by its watchdog");
}

void fence_model_hang(FenceModel *fence) {
        if (!fence_model_lives(fence) || fence->watchdog)
                return;
        trace_write(machine_name(fence->machine), "the fence hangs");
        process_stop(fence->process);
        fence->watchdog =
            process_after(pid1_process(fence->pid1),
                          world_draw_between(fence->chance, WATCHDOG_MIN, WATCHDOG_MAX),
                          fence_model_on_watchdog, fence);
}

void fence_model_go_on(FenceModel *fence) {
        if (!fence->watchdog)
                return;
        fence->watchdog = process_task_free(fence->watchdog);
        process_continue(fence->process);
}

/* ---- fence-port.h, on a daemon's turn ---- */

int fence_port_new(sd_event *event, const char *socket_path, FencePortFunc func, void *userdata,
                   FencePort **ret_port) {
        FencePort *port = g_new0(FencePort, 1);

        (void)event;
        (void)socket_path;
        port->process = process_turn();
        port->func = func;
        port->userdata = userdata;
        for (guint i = 0; i < fences->len; i++)
                if (((FenceModel *)fences->pdata[i])->machine == process_machine(port->process))
                        port->fence = fences->pdata[i];
        g_assert_nonnull(port->fence);
        g_ptr_array_add(port->fence->waiting, port);
        fence_model_knock(port->fence);
        *ret_port = port;
        return 0;
}

FencePort *fence_port_free(FencePort *port) {
        if (!port)
                return NULL;
        if (port->fence->peer == port)
                port->fence->peer = NULL;
        (void)g_ptr_array_remove(port->fence->waiting, port);
        process_task_free(port->news);
        timer_pair_unref(port->timers);
        g_free(port);
        return NULL;
}

const FenceHello *fence_port_hello(const FencePort *port) {
        return &port->hello;
}

FenceTimers fence_port_timers(const FencePort *port) {
        FenceTimers state = FENCE_TIMERS_UNSET;

        for (unsigned i = 0; i < FENCE_TIMERS; i++)
                if (timer_pair_has_passed(port->timers, i, process_machine(port->process)))
                        state = FENCE_TIMERS_PASSED;
                else if (port->timers->at[i] != 0)
                        state = MAX(state, FENCE_TIMERS_SET);
        return state;
}

void fence_port_set(FencePort *port, unsigned timer, usec_t at) {
        FenceModel *fence = port->timers->fence;

        port->timers->at[timer] = MAX(at, 1);
        if (fence)
                fence_model_look(fence);
}

void fence_port_leave(FencePort *port) {
        FenceModel *fence = port->timers->fence;

        if (!fence || fence->state != FENCE_GUARDING)
                return;
        fence->state = FENCE_LEAVING;
        fence_model_look(fence);
}

bool fence_port_is_populated(const FencePort *port) {
        return pid1_has_fenced(port->fence->pid1);
}
