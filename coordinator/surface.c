/* See surface.h. */
#include "surface.h"

#include <errno.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>

#include "answer.h"
#include "bus-interface.h"
#include "command-lock.h"
#include "log.h"

#define ANSWERS_MAX 256
#define RECONNECT_DELAY (2 * USEC_PER_SEC)
/* So long does a start wait for a bus that says nothing. */
#define READY_PATIENCE (5 * USEC_PER_SEC)

struct Surface {
        Coordinator *coordinator; /* weak: owns us */
        sd_bus *bus;
        sd_bus_slot *object, *disconnected, *name;
        sd_event_source *reconnect, *patience;
        bool ready;          /* said */
        bool name_refused;   /* logged */
        GHashTable *answers; /* set of Answer */
};

typedef int (*AnswerFunc)(Coordinator *coordinator, GHashTable *owner, sd_bus_message *message,
                          sd_bus_error *error);

/* Every answer costs reads; whoever asks for more than this at once is not a person. What may be
 * asked by everybody is answered, or has failed, within the session's timeout. */
static int ask(Surface *surface, AnswerFunc answer, sd_bus_message *message, sd_bus_error *error) {
        if (g_hash_table_size(surface->answers) >= ANSWERS_MAX)
                return sd_bus_error_set(error, SD_BUS_ERROR_LIMITS_EXCEEDED,
                                        "too many questions are waiting for their answers");
        return answer(surface->coordinator, surface->answers, message, error);
}

static int on_status(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return ask(userdata, answer_status, message, error);
}

static int on_history(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return ask(userdata, answer_history, message, error);
}

static int on_next(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Surface *surface = userdata;

        return answer_next(surface->coordinator, message, error);
}

static int on_run(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return ask(userdata, answer_run, message, error);
}

static int on_wait_run(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return ask(userdata, answer_wait_run, message, error);
}

static int on_locks(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return ask(userdata, answer_locks, message, error);
}

static CommandLocks *command_locks(void *userdata) {
        return ((Surface *)userdata)->coordinator->command_locks;
}

static int on_acquire_lock(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return command_locks_acquire(command_locks(userdata), message, error);
}

static int on_attach_lock(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return command_locks_attach(command_locks(userdata), message, error);
}

static int on_lock_lease(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return command_locks_lease(command_locks(userdata), message, error);
}

static int on_release_lock(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return command_locks_release(command_locks(userdata), message, error);
}

static int on_adopt_lock(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        return command_locks_adopt(command_locks(userdata), message, error);
}

/* Who may call what is the bus policy's business (packaging/org.jobkeeper.Manager1.conf), so every
 * method is unprivileged here. */
static const sd_bus_vtable vtable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD_WITH_ARGS("Status", SD_BUS_NO_ARGS, SD_BUS_RESULT("s", status), on_status,
                            SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("History", SD_BUS_ARGS("s", job, "u", limit), SD_BUS_RESULT("s", runs),
                            on_history, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("Next", SD_BUS_ARGS("s", job, "u", count), SD_BUS_RESULT("s", ticks),
                            on_next, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("Run", SD_BUS_ARGS("s", job), SD_BUS_RESULT("s", request), on_run,
                            SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("WaitRun", SD_BUS_ARGS("s", job, "s", run), SD_BUS_RESULT("s", run),
                            on_wait_run, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("Locks", SD_BUS_ARGS("s", resource), SD_BUS_RESULT("s", locks),
                            on_locks, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("AcquireLock", SD_BUS_ARGS("s", request), SD_BUS_RESULT("s", lock),
                            on_acquire_lock, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("AttachLock", SD_BUS_ARGS("s", id, "u", pid), SD_BUS_RESULT("s", scope),
                            on_attach_lock, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("LockLease", SD_BUS_ARGS("s", id), SD_BUS_RESULT("s", lease),
                            on_lock_lease, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("ReleaseLock", SD_BUS_ARGS("s", id), SD_BUS_RESULT("s", nothing),
                            on_release_lock, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_METHOD_WITH_ARGS("AdoptLock", SD_BUS_ARGS("s", id), SD_BUS_RESULT("s", lease),
                            on_adopt_lock, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_SIGNAL_WITH_ARGS("LockLost", SD_BUS_ARGS("s", id, "s", why, "b", at_once), 0),
    SD_BUS_SIGNAL_WITH_ARGS("LockRevoked", SD_BUS_ARGS("s", id, "s", why, "b", at_once), 0),
    SD_BUS_VTABLE_END,
};

static void say_ready(Surface *surface) {
        surface->patience = sd_event_source_disable_unref(surface->patience);
        if (!surface->ready)
                (void)sd_notify(0, "READY=1");
        surface->ready = true;
}

static int on_patience(sd_event_source *source, uint64_t usec, void *userdata) {
        say_ready(userdata);
        return 0;
}

static int connect_bus(Surface *surface);

static void disconnect(Surface *surface) {
        g_hash_table_remove_all(surface->answers);
        command_locks_bus_lost(surface->coordinator->command_locks);
        surface->name = sd_bus_slot_unref(surface->name);
        surface->object = sd_bus_slot_unref(surface->object);
        surface->disconnected = sd_bus_slot_unref(surface->disconnected);
        surface->bus = sd_bus_close_unref(surface->bus);
}

static int on_reconnect(sd_event_source *source, uint64_t usec, void *userdata) {
        Surface *surface = userdata;

        surface->reconnect = sd_event_source_disable_unref(surface->reconnect);
        (void)connect_bus(surface);
        return 0;
}

static void reconnect_later(Surface *surface) {
        surface->reconnect = sd_event_source_disable_unref(surface->reconnect);
        (void)sd_event_add_time_relative(surface->coordinator->event, &surface->reconnect,
                                         CLOCK_MONOTONIC, RECONNECT_DELAY, USEC_PER_MSEC,
                                         on_reconnect, surface);
}

static int on_disconnected(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Surface *surface = userdata;

        /* Not from inside the bus's own dispatching: the timer takes it down and up again. */
        reconnect_later(surface);
        say_ready(surface);
        return 0;
}

/* A package's installation may start us before the bus has read our policy: what is refused now may
 * be granted in a moment. */
static int on_name(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Surface *surface = userdata;

        say_ready(surface);
        if (!sd_bus_message_is_method_error(message, NULL)) {
                surface->name_refused = false;
                return 0;
        }
        if (!surface->name_refused)
                log_warning(NULL,
                            "the bus does not give us the name " BUS_NAME
                            ": %s; tried again until it does",
                            sd_bus_message_get_error(message)->message);
        surface->name_refused = true;
        reconnect_later(surface);
        return 0;
}

static int setup_bus(Surface *surface) {
        int r;

        if ((r = sd_bus_attach_event(surface->bus, surface->coordinator->event,
                                     SD_EVENT_PRIORITY_NORMAL)) < 0 ||
            (r = sd_bus_add_object_vtable(surface->bus, &surface->object, BUS_PATH, BUS_INTERFACE,
                                          vtable, surface)) < 0 ||
            (r = sd_bus_match_signal_async(
                 surface->bus, &surface->disconnected, NULL, "/org/freedesktop/DBus/Local",
                 "org.freedesktop.DBus.Local", "Disconnected", on_disconnected, NULL, surface)) < 0)
                return r;
        return sd_bus_request_name_async(surface->bus, &surface->name, BUS_NAME, 0, on_name,
                                         surface);
}

static int connect_bus(Surface *surface) {
        int r;

        disconnect(surface);
        r = sd_bus_open_system(&surface->bus);
        if (r >= 0)
                r = setup_bus(surface);
        if (r < 0) {
                disconnect(surface);
                reconnect_later(surface);
        }
        return r;
}

int surface_new(Coordinator *coordinator, Surface **ret_surface) {
        Surface *surface = g_new0(Surface, 1);

        surface->coordinator = coordinator;
        surface->answers = g_hash_table_new_full(g_direct_hash, g_direct_equal, answer_free, NULL);
        if (connect_bus(surface) < 0)
                log_warning(NULL, "the system bus is not there yet; tried again until it is");
        if (!surface->name ||
            sd_event_add_time_relative(coordinator->event, &surface->patience, CLOCK_MONOTONIC,
                                       READY_PATIENCE, USEC_PER_MSEC, on_patience, surface) < 0)
                say_ready(surface);
        *ret_surface = surface;
        return 0;
}

Surface *surface_free(Surface *surface) {
        if (!surface)
                return NULL;
        disconnect(surface);
        g_hash_table_unref(surface->answers);
        sd_event_source_disable_unref(surface->reconnect);
        sd_event_source_disable_unref(surface->patience);
        g_free(surface);
        return NULL;
}
