/* See event.h: the loops. A loop has one turn before it, or none; each thing that may make it wait
 * less, or not at all, calls event_arm(). */
#include "event-source.h"

#include <errno.h>
#include <poll.h>

/* What a turn costs, and what a wake-up does. */
#define TURN_COST_MAX 60
#define WAKE_COST_MAX 200

/* All loops there are: who writes to a descriptor does not know who waits for it. */
static GPtrArray *loops;

static void event_on_machine(void *userdata);

/* ---- making and freeing ---- */

int sd_event_new(sd_event **e) {
        sd_event *event = g_new0(sd_event, 1);

        event->n_ref = 1;
        event->process = process_turn();
        event->pending = heap_new(source_compare_pending);
        for (unsigned i = 0; i < EVENT_CLOCKS; i++)
                event->times[i] = heap_new(source_compare_times);
        event->descriptors = g_ptr_array_new();
        event->posts = g_ptr_array_new();
        g_queue_init(&event->floating);
        event->listener = (MachineListener){event_on_machine, event};
        machine_listen(process_machine(event->process), &event->listener);
        if (!loops)
                loops = g_ptr_array_new();
        g_ptr_array_add(loops, event);
        *e = event;
        return 0;
}

sd_event *sd_event_ref(sd_event *event) {
        if (event)
                event->n_ref++;
        return event;
}

static void event_free(sd_event *event) {
        sd_event_source *source;

        while ((source = g_queue_peek_head(&event->floating)))
                sd_event_source_disable_unref(source);
        process_task_free(event->next);
        machine_unlisten(process_machine(event->process), &event->listener);
        heap_free(event->pending);
        for (unsigned i = 0; i < EVENT_CLOCKS; i++)
                heap_free(event->times[i]);
        g_ptr_array_unref(event->descriptors);
        g_ptr_array_unref(event->posts);
        (void)g_ptr_array_remove(loops, event);
        if (loops->len == 0)
                g_clear_pointer(&loops, g_ptr_array_unref);
        g_free(event);
}

sd_event *sd_event_unref(sd_event *event) {
        if (event && --event->n_ref == 0)
                event_free(event);
        return NULL;
}

void event_on_exit(sd_event *event, EventExitFunc func, void *userdata) {
        event->on_exit = func;
        event->on_exit_userdata = userdata;
}

int sd_event_exit(sd_event *event, int code) {
        if (event->finished)
                return -ESTALE;
        event->exits = true;
        event->code = code;
        event_arm(event);
        return 0;
}

int sd_event_now(sd_event *event, clockid_t clock, uint64_t *ret_usec) {
        *ret_usec = machine_clock(process_machine(event->process), clock);
        return 0;
}

/* ---- what becomes due ---- */

static void event_take_descriptors(sd_event *event) {
        if (!event->look)
                return;
        event->look = false;
        for (guint i = 0; i < event->descriptors->len; i++) {
                sd_event_source *source = event->descriptors->pdata[i];
                struct pollfd pollfd = {.fd = source->fd, .events = (short)source->events};

                if (source->enabled == SD_EVENT_OFF || poll(&pollfd, 1, 0) <= 0)
                        continue;
                event->look = true; /* until it is not ready any more */
                source->revents = (uint32_t)pollfd.revents;
                source_set_pending(source, true);
        }
}

static sd_event_source *event_first_time(const sd_event *event, unsigned clock) {
        sd_event_source *source = heap_peek(event->times[clock]);

        return source && source->enabled != SD_EVENT_OFF && !source->pending ? source : NULL;
}

static void event_take_times(sd_event *event) {
        for (unsigned i = 0; i < EVENT_CLOCKS; i++) {
                usec_t now = machine_clock(process_machine(event->process), event_clocks[i]);
                sd_event_source *source;

                while ((source = event_first_time(event, i)) && source->time <= now)
                        source_set_pending(source, true);
        }
}

static sd_event_source *event_first(const sd_event *event) {
        sd_event_source *source = heap_peek(event->pending);

        return source && source->enabled != SD_EVENT_OFF ? source : NULL;
}

/* ---- turns ---- */

static void event_finish(sd_event *event) {
        event->finished = true;
        if (event->on_exit)
                event->on_exit(event->code, event->on_exit_userdata);
}

static void event_on_turn(void *userdata) {
        sd_event *event = userdata;
        sd_event_source *source;

        event->next = NULL;
        if (event->exits) {
                event_finish(event);
                return;
        }
        event->in_turn = true;
        event->iteration++;
        event_take_descriptors(event);
        event_take_times(event);
        source = event_first(event);
        sd_event_ref(event);
        if (source)
                source_dispatch(source);
        event->in_turn = false;
        event_arm(event);
        sd_event_unref(event);
}

static usec_t event_draw(const sd_event *event, usec_t max) {
        return world_draw_between(machine_chance(process_machine(event->process)), 0, max);
}

/* Return: how long until a turn has something to do; USEC_INFINITY: nobody knows. */
static usec_t event_wait(const sd_event *event) {
        usec_t wait = USEC_INFINITY;

        if (event->exits || event->look || event_first(event))
                return 0;
        for (unsigned i = 0; i < EVENT_CLOCKS; i++) {
                const sd_event_source *source = event_first_time(event, i);

                if (source && source->time != USEC_INFINITY)
                        wait = MIN(wait, machine_until(process_machine(event->process),
                                                       event_clocks[i], source->time) +
                                             event_draw(event, source->accuracy - 1));
        }
        return wait;
}

void event_arm(sd_event *event) {
        usec_t now = world_now(machine_world(process_machine(event->process))), wait, at;

        if (event->in_turn || event->finished)
                return;
        wait = event_wait(event);
        at = usec_add(now, wait);
        if (event->next && event->next_at <= at)
                return; /* too early a turn finds nothing to do */
        event->next = process_task_free(event->next);
        if (wait == USEC_INFINITY)
                return;
        at += 1 + event_draw(event, wait == 0 ? TURN_COST_MAX : WAKE_COST_MAX);
        event->next_at = at;
        event->next = process_after(event->process, at - now, event_on_turn, event);
}

static void event_on_machine(void *userdata) {
        event_arm(userdata);
}

void event_descriptors_changed(void) {
        for (guint i = 0; loops && i < loops->len; i++) {
                sd_event *event = loops->pdata[i];

                if (event->process != process_turn() || event->descriptors->len == 0)
                        continue;
                event->look = true;
                event_arm(event);
        }
}
