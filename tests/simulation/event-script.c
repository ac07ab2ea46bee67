/* See event-script.h. All times are long past or never come, so that true time decides nothing:
 * what is compared is who comes first of what is due. There is one descriptor at a time, because
 * the kernel's order of several is nobody's promise; and it is not made one-shot, which sd-event
 * leaves to the kernel and does not take back. */
#include "event-script.h"

#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define SOURCES_MAX 24
#define CALLS_MAX 400
#define NEVER (UINT64_MAX / 2)
/* Who may be a descriptor. */
#define SOURCE_OF_DESCRIPTOR 2

typedef struct ScriptSource {
        sd_event_source *source;
        unsigned number; /* in the order of making */
        int fd;
} ScriptSource;

static struct {
        sd_event *event;
        uint64_t state;
        ScriptSource sources[SOURCES_MAX];
        unsigned made, calls;
        bool over;
} script;

static uint64_t draw(uint64_t limit) {
        script.state = script.state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (script.state >> 33) % limit;
}

static uint64_t draw_time(void) {
        return draw(6) == 0 ? NEVER : 1 + draw(8);
}

static int script_called(ScriptSource *called);

static int script_on_plain(sd_event_source *source, void *userdata) {
        (void)source;
        return script_called(userdata);
}

static int script_on_time(sd_event_source *source, uint64_t usec, void *userdata) {
        (void)source;
        (void)usec;
        return script_called(userdata);
}

static int script_on_io(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        eventfd_t count;

        (void)source;
        printf("  events %" PRIu32 "\n", events);
        if (draw(2) == 0)
                (void)eventfd_read(fd, &count);
        return script_called(userdata);
}

static void script_on_destroy(void *userdata) {
        printf("  destroyed %u\n", ((ScriptSource *)userdata)->number);
}

static ScriptSource *script_draw_source(void) {
        return &script.sources[2 + draw(SOURCES_MAX - 2)];
}

static void script_drop(ScriptSource *source) {
        source->source = sd_event_source_disable_unref(source->source);
        if (source->fd >= 0)
                (void)close(source->fd);
        source->fd = -1;
}

static int script_make_io(ScriptSource *source) {
        source->fd = eventfd((unsigned)draw(2), EFD_CLOEXEC | EFD_NONBLOCK);
        return sd_event_add_io(script.event, &source->source, source->fd, EPOLLIN, script_on_io,
                               source);
}

static int script_make_time(ScriptSource *source) {
        static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_BOOTTIME, CLOCK_MONOTONIC};
        clockid_t clock = clocks[draw(3)];
        uint64_t usec = draw_time();

        printf("  time %" PRIu64 " of clock %d\n", usec, (int)clock);
        return sd_event_add_time(script.event, &source->source, clock, usec, 1, script_on_time,
                                 source);
}

static void script_make(void) {
        ScriptSource *source = script_draw_source();
        int r;

        if (source->source)
                return;
        source->number = script.made++;
        switch (source == &script.sources[SOURCE_OF_DESCRIPTOR] ? 0 : 1 + draw(5)) {
        case 0:
                r = script_make_io(source);
                break;
        case 1:
        case 2:
                r = sd_event_add_defer(script.event, &source->source, script_on_plain, source);
                break;
        default:
                r = script_make_time(source);
        }
        printf("  made %u at %d: %d\n", source->number, (int)(source - script.sources), r);
        if (draw(3) == 0)
                (void)sd_event_source_set_destroy_callback(source->source, script_on_destroy);
}

static void script_change(ScriptSource *source) {
        static const int ways[] = {SD_EVENT_OFF, SD_EVENT_ON, SD_EVENT_ONESHOT};
        uint64_t usec, way = draw(8);

        switch (way) {
        case 0:
                script_drop(source);
                return;
        case 1:
        case 2:
                (void)sd_event_source_set_enabled(source->source,
                                                  ways[draw(source->fd < 0 ? 3 : 2)]);
                return;
        case 3:
                (void)sd_event_source_set_priority(source->source, (int64_t)draw(3) - 1);
                return;
        case 4:
                if (source->fd >= 0)
                        (void)eventfd_write(source->fd, 1);
                return;
        case 5:
                (void)sd_event_source_set_exit_on_failure(source->source, 0);
                return;
        default:
                if (sd_event_source_get_time(source->source, &usec) < 0)
                        return;
                (void)sd_event_source_set_time(source->source, draw_time());
                (void)sd_event_source_set_enabled(source->source, ways[draw(3)]);
        }
}

static int script_called(ScriptSource *called) {
        ScriptSource *source;

        printf("called %u\n", called->number);
        if (script.calls++ > CALLS_MAX && !script.over) {
                script.over = true;
                printf("exit: %d\n", sd_event_exit(script.event, 7));
        }
        for (unsigned i = 0; i < 3; i++) {
                script_make();
                source = script_draw_source();
                if (source->source)
                        script_change(source);
        }
        if (draw(12) == 0) {
                script_drop(called);
                return 0;
        }
        return draw(12) == 0 ? -EIO : 0;
}

/* Behind all others: there is always something to do. */
static int script_on_idle(sd_event_source *source, void *userdata) {
        (void)source;
        (void)userdata;
        printf("idle\n");
        if (script.calls++ > CALLS_MAX)
                return sd_event_exit(script.event, 7);
        for (unsigned i = 2; i < SOURCES_MAX; i++) {
                if (script.sources[i].source && draw(3) == 0)
                        script_drop(&script.sources[i]);
                script_make();
        }
        return 0;
}

/* After each of the others. */
static int script_on_post(sd_event_source *source, void *userdata) {
        (void)source;
        (void)userdata;
        printf("post\n");
        return 0;
}

void event_script_begin(sd_event *event, uint64_t seed) {
        sd_event_source *idle, *post;

        script.event = event;
        script.state = seed * UINT64_C(0x9e3779b97f4a7c15);
        for (unsigned i = 0; i < SOURCES_MAX; i++)
                script.sources[i].fd = -1;
        g_assert_cmpint(sd_event_add_defer(event, &idle, script_on_idle, NULL), >=, 0);
        (void)sd_event_source_set_priority(idle, 1000);
        (void)sd_event_source_set_enabled(idle, SD_EVENT_ON);
        script.sources[0].source = idle;
        g_assert_cmpint(sd_event_add_post(event, &post, script_on_post, NULL), >=, 0);
        (void)sd_event_source_set_priority(post, 1);
        script.sources[1].source = post;
        for (unsigned i = 0; i < SOURCES_MAX; i++)
                script_make();
}

void event_script_end(void) {
        for (unsigned i = 0; i < SOURCES_MAX; i++)
                script_drop(&script.sources[i]);
}
