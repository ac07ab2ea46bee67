/* See state-writer.h. */
#include "state-writer.h"

#include <glib.h>
#include <stdbool.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "timer.h"

/* When it could not be written. */
#define RETRY_DELAY (30 * USEC_PER_SEC)

/* One write: the thread's until the descriptor wakes the loop. */
typedef struct StateWrite {
        GThread *thread; /* NULL: none is under way */
        char *path, *text;
        GError *error;
        int wakeup;
} StateWrite;

struct StateWriter {
        sd_event *event;
        StateTextFunc text;
        const void *userdata;
        StateWrite write;
        bool behind; /* something changed that no write has taken up */
        char *fault;
        sd_event_source *timer, *written;
};

static void state_write(StateWrite *write) {
        (void)g_file_set_contents_full(write->path, write->text, -1, G_FILE_SET_CONTENTS_CONSISTENT,
                                       0600, &write->error);
}

static gpointer state_write_on_thread(gpointer data) {
        StateWrite *write = data;

        state_write(write);
        (void)eventfd_write(write->wakeup, 1);
        return NULL;
}

static void state_writer_take_up(StateWriter *writer) {
        writer->behind = false;
        writer->write.text = writer->text(writer->userdata);
}

static void state_writer_on_timer(void *userdata) {
        StateWriter *writer = userdata;
        StateWrite *write = &writer->write;

        if (write->text) /* its end goes on with this */
                return;
        state_writer_take_up(writer);
        write->thread = g_thread_try_new("state", state_write_on_thread, write, &write->error);
        if (!write->thread)
                (void)eventfd_write(write->wakeup, 1); /* as one that failed */
}

/* The write is over, or the thread is waited for. */
static void state_writer_finish(StateWriter *writer) {
        StateWrite *write = &writer->write;

        if (write->thread)
                (void)g_thread_join(g_steal_pointer(&write->thread));
        g_clear_pointer(&write->text, g_free);
        g_clear_pointer(&writer->fault, g_free);
        if (write->error) {
                writer->behind = true;
                writer->fault = g_strdup(write->error->message);
        }
        g_clear_error(&write->error);
}

static int state_writer_on_written(sd_event_source *source, int fd, uint32_t revents,
                                   void *userdata) {
        StateWriter *writer = userdata;
        eventfd_t count;

        (void)eventfd_read(fd, &count);
        state_writer_finish(writer);
        if (writer->behind)
                state_writer_changed(writer, writer->fault ? RETRY_DELAY : 0);
        return 0;
}

void state_writer_changed(StateWriter *writer, usec_t delay) {
        usec_t before;

        writer->behind = true;
        if (!writer->timer || sd_event_source_get_time(writer->timer, &before) < 0 ||
            before > usec_add(clock_monotonic(), delay))
                (void)timer_in(writer->event, &writer->timer, delay, state_writer_on_timer, writer);
}

const char *state_writer_fault(const StateWriter *writer) {
        return writer->fault ? writer->fault : "";
}

StateWriter *state_writer_new(sd_event *event, const char *path, StateTextFunc text,
                              const void *userdata) {
        StateWriter *writer = g_new0(StateWriter, 1);

        writer->event = sd_event_ref(event);
        writer->text = text;
        writer->userdata = userdata;
        writer->write.path = g_strdup(path);
        writer->write.wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        (void)sd_event_add_io(event, &writer->written, writer->write.wakeup, EPOLLIN,
                              state_writer_on_written, writer);
        return writer;
}

StateWriter *state_writer_free(StateWriter *writer) {
        if (!writer)
                return NULL;
        state_writer_finish(writer);
        if (writer->behind) {
                state_writer_take_up(writer);
                state_write(&writer->write);
                state_writer_finish(writer);
        }
        sd_event_source_disable_unref(writer->timer);
        sd_event_source_disable_unref(writer->written);
        (void)close(writer->write.wakeup);
        g_free(writer->write.path);
        g_free(writer->fault);
        sd_event_unref(writer->event);
        g_free(writer);
        return NULL;
}
