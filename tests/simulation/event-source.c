/* The sources of event.h's loops: how they become due, and what is done with one. The rules are
 * sd-event's: a source is due since the turn in which it became so, and keeps that place when it is
 * deferred and enabled anew; what is disabled, other than a deferred one, is not due any more; one
 * that is freed in its own callback is gone once that returns. */
#include "event-source.h"

#include <errno.h>

/* sd-event's, where 0 is given. */
#define ACCURACY_DEFAULT (250 * USEC_PER_MSEC)

const clockid_t event_clocks[EVENT_CLOCKS] = {CLOCK_REALTIME, CLOCK_BOOTTIME, CLOCK_MONOTONIC};

static int order(uint64_t one, uint64_t other) {
        return (one > other) - (one < other);
}

static int enabled_first(const sd_event_source *one, const sd_event_source *other) {
        return (one->enabled == SD_EVENT_OFF) - (other->enabled == SD_EVENT_OFF);
}

int source_compare_pending(const void *one, const void *other) {
        const sd_event_source *a = one, *b = other;
        int by_enabled = enabled_first(a, b);

        if (by_enabled != 0)
                return by_enabled;
        if (a->priority != b->priority)
                return a->priority < b->priority ? -1 : 1;
        return order(a->since, b->since);
}

int source_compare_times(const void *one, const void *other) {
        const sd_event_source *a = one, *b = other;
        int by_enabled = enabled_first(a, b);

        if (by_enabled != 0)
                return by_enabled;
        if (a->pending != b->pending)
                return a->pending ? 1 : -1;
        return order(a->time, b->time);
}

static void source_reshuffle_time(sd_event_source *source) {
        if (source->type == SOURCE_TIME)
                heap_reshuffle(source->event->times[source->clock], source, &source->time_index);
}

void source_set_pending(sd_event_source *source, bool pending) {
        sd_event *event = source->event;

        if (source->pending == pending)
                return;
        source->pending = pending;
        if (pending) {
                source->since = event->iteration;
                heap_put(event->pending, source, &source->pending_index);
        } else {
                heap_remove(event->pending, source, &source->pending_index);
        }
        source_reshuffle_time(source);
}

/* ---- making and freeing ---- */

static sd_event_source *source_new(sd_event *event, SourceType type, int enabled, bool floating,
                                   void *userdata) {
        sd_event_source *source = g_new0(sd_event_source, 1);

        source->n_ref = 1;
        source->type = type;
        source->enabled = enabled;
        source->floating = floating;
        source->pending_index = source->time_index = HEAP_NONE;
        source->userdata = userdata;
        source->event = event;
        source->fd = -1;
        if (floating)
                g_queue_push_tail(&event->floating, source);
        else
                sd_event_ref(event);
        return source;
}

static int source_give(sd_event_source *source, sd_event_source **ret_source) {
        if (ret_source)
                *ret_source = source;
        event_arm(source->event);
        return 0;
}

static void source_disconnect(sd_event_source *source) {
        sd_event *event = source->event;

        if (!event)
                return;
        heap_remove(event->pending, source, &source->pending_index);
        if (source->type == SOURCE_TIME)
                heap_remove(event->times[source->clock], source, &source->time_index);
        (void)g_ptr_array_remove(event->descriptors, source);
        (void)g_ptr_array_remove(event->posts, source);
        source->event = NULL;
        if (source->floating)
                (void)g_queue_remove(&event->floating, source);
        else
                sd_event_unref(event);
}

static void source_free(sd_event_source *source) {
        source_disconnect(source);
        if (source->destroy)
                source->destroy(source->userdata);
        g_free(source);
}

sd_event_source *sd_event_source_unref(sd_event_source *source) {
        if (!source || --source->n_ref > 0)
                return NULL;
        if (source->dispatching)
                source_disconnect(source);
        else
                source_free(source);
        return NULL;
}

sd_event_source *sd_event_source_disable_unref(sd_event_source *source) {
        if (source)
                (void)sd_event_source_set_enabled(source, SD_EVENT_OFF);
        return sd_event_source_unref(source);
}

int sd_event_add_io(sd_event *event, sd_event_source **s, int fd, uint32_t events,
                    sd_event_io_handler_t callback, void *userdata) {
        sd_event_source *source = source_new(event, SOURCE_IO, SD_EVENT_ON, !s, userdata);

        source->fd = fd;
        source->events = events;
        source->func.io = callback;
        g_ptr_array_add(event->descriptors, source);
        event->look = true;
        return source_give(source, s);
}

static unsigned event_clock(clockid_t clock) {
        for (unsigned i = 0; i < EVENT_CLOCKS; i++)
                if (event_clocks[i] == clock)
                        return i;
        g_error("clock %d is none that a simulated machine has", (int)clock);
}

int sd_event_add_time(sd_event *event, sd_event_source **s, clockid_t clock, uint64_t usec,
                      uint64_t accuracy, sd_event_time_handler_t callback, void *userdata) {
        sd_event_source *source = source_new(event, SOURCE_TIME, SD_EVENT_ONESHOT, !s, userdata);

        source->clock = event_clock(clock);
        source->time = usec;
        source->accuracy = accuracy == 0 ? ACCURACY_DEFAULT : accuracy;
        source->func.time = callback;
        heap_put(event->times[source->clock], source, &source->time_index);
        return source_give(source, s);
}

int sd_event_add_time_relative(sd_event *event, sd_event_source **s, clockid_t clock, uint64_t usec,
                               uint64_t accuracy, sd_event_time_handler_t callback,
                               void *userdata) {
        usec_t now = machine_clock(process_machine(event->process), clock);

        return sd_event_add_time(event, s, clock, usec_add(now, usec), accuracy, callback,
                                 userdata);
}

int sd_event_add_defer(sd_event *event, sd_event_source **s, sd_event_handler_t callback,
                       void *userdata) {
        sd_event_source *source = source_new(event, SOURCE_DEFER, SD_EVENT_ONESHOT, !s, userdata);

        source->func.plain = callback;
        source_set_pending(source, true);
        return source_give(source, s);
}

int sd_event_add_post(sd_event *event, sd_event_source **s, sd_event_handler_t callback,
                      void *userdata) {
        sd_event_source *source = source_new(event, SOURCE_POST, SD_EVENT_ON, !s, userdata);

        source->func.plain = callback;
        g_ptr_array_add(event->posts, source);
        return source_give(source, s);
}

/* ---- what is said of one ---- */

static void source_reshuffle(sd_event_source *source) {
        heap_reshuffle(source->event->pending, source, &source->pending_index);
        source_reshuffle_time(source);
}

int sd_event_source_set_enabled(sd_event_source *source, int enabled) {
        sd_event *event = source->event;

        if (!event || event->finished)
                return enabled == SD_EVENT_OFF ? 0 : -ESTALE;
        if (source->enabled == enabled)
                return 0;
        if ((source->enabled == SD_EVENT_OFF || enabled == SD_EVENT_OFF) &&
            source->type != SOURCE_DEFER)
                source_set_pending(source, false);
        source->enabled = enabled;
        event->look |= source->type == SOURCE_IO && enabled != SD_EVENT_OFF;
        source_reshuffle(source);
        event_arm(event);
        return 0;
}

int sd_event_source_get_enabled(sd_event_source *source, int *ret_enabled) {
        if (ret_enabled)
                *ret_enabled = source->enabled;
        return source->enabled != SD_EVENT_OFF;
}

int sd_event_source_set_priority(sd_event_source *source, int64_t priority) {
        if (!source->event || source->event->finished)
                return -ESTALE;
        if (source->priority == priority)
                return 0;
        source->priority = priority;
        heap_reshuffle(source->event->pending, source, &source->pending_index);
        return 0;
}

int sd_event_source_get_time(sd_event_source *source, uint64_t *ret_usec) {
        if (source->type != SOURCE_TIME)
                return -EDOM;
        *ret_usec = source->time;
        return 0;
}

int sd_event_source_set_time(sd_event_source *source, uint64_t usec) {
        if (source->type != SOURCE_TIME)
                return -EDOM;
        if (!source->event || source->event->finished)
                return -ESTALE;
        source_set_pending(source, false);
        source->time = usec;
        source_reshuffle_time(source);
        event_arm(source->event);
        return 0;
}

int sd_event_source_set_time_relative(sd_event_source *source, uint64_t usec) {
        if (!source->event)
                return -ESTALE;
        if (source->type != SOURCE_TIME)
                return -EDOM;
        return sd_event_source_set_time(
            source, usec_add(machine_clock(process_machine(source->event->process),
                                           event_clocks[source->clock]),
                             usec));
}

int sd_event_source_set_exit_on_failure(sd_event_source *source, int b) {
        source->exit_on_failure = b;
        return 0;
}

int sd_event_source_set_destroy_callback(sd_event_source *source, sd_event_destroy_t callback) {
        source->destroy = callback;
        return 0;
}

int sd_event_source_set_description(sd_event_source *source, const char *description) {
        (void)source;
        (void)description;
        return 0;
}

/* ---- one callback ---- */

static int source_call(sd_event_source *source) {
        switch (source->type) {
        case SOURCE_IO:
                return source->func.io(source, source->fd, source->revents, source->userdata);
        case SOURCE_TIME:
                return source->func.time(source, source->time, source->userdata);
        case SOURCE_DEFER:
        case SOURCE_POST:
                break;
        }
        return source->func.plain(source, source->userdata);
}

static void source_wake_posts(const sd_event_source *source) {
        GPtrArray *posts = source->event->posts;

        for (guint i = 0; source->type != SOURCE_POST && i < posts->len; i++) {
                sd_event_source *post = posts->pdata[i];

                if (post->enabled != SD_EVENT_OFF)
                        source_set_pending(post, true);
        }
}

void source_dispatch(sd_event_source *source) {
        bool exits = source->exit_on_failure;
        sd_event *event = source->event;
        int r;

        if (source->type != SOURCE_DEFER)
                source_set_pending(source, false);
        source_wake_posts(source);
        if (source->enabled == SD_EVENT_ONESHOT)
                (void)sd_event_source_set_enabled(source, SD_EVENT_OFF);
        source->dispatching = true;
        r = source_call(source);
        source->dispatching = false;
        if (r < 0 && exits)
                (void)sd_event_exit(event, r);
        if (source->n_ref == 0)
                source_free(source);
        else if (r < 0)
                (void)sd_event_source_set_enabled(source, SD_EVENT_OFF);
}
