/* See bus-door.h. */
#include "bus-door.h"

#include <glib.h>

#include "bus-open.h"
#include "clock.h"
#include "log.h"
#include "timer.h"

#define RECONNECT_DELAY (2 * USEC_PER_SEC)

/* What RequestName answers (the D-Bus specification); otherwise it is somebody else's. */
enum { NAME_IS_OURS = 1, NAME_WAS_OURS = 4 };

struct BusDoor {
        BusDoorOptions options;
        sd_event *event;
        sd_bus *bus;
        sd_bus_slot *object, *disconnected, *name;
        sd_event_source *reconnect;
        bool complained; /* that the name was refused */
};

static void door_connect(void *userdata);

static void door_disconnect(BusDoor *door) {
        if (door->bus)
                door->options.lost(door->bus, door->options.userdata);
        door->name = sd_bus_slot_unref(door->name);
        door->object = sd_bus_slot_unref(door->object);
        door->disconnected = sd_bus_slot_unref(door->disconnected);
        door->bus = sd_bus_close_unref(door->bus);
}

static void door_reconnect_later(BusDoor *door) {
        (void)timer_in(door->event, &door->reconnect, RECONNECT_DELAY, door_connect, door);
}

static int door_on_disconnected(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        BusDoor *door = userdata;

        /* Not from inside the bus's own dispatching: the timer takes it down and up again. */
        door_reconnect_later(door);
        door->options.settled(door->options.userdata);
        return 0;
}

/* Return: why the name is not ours, or NULL. Borrowed. */
static const char *door_refusal(sd_bus_message *answer) {
        uint32_t code = 0;

        if (sd_bus_message_is_method_error(answer, NULL))
                return sd_bus_message_get_error(answer)->message;
        if (sd_bus_message_read(answer, "u", &code) >= 0 &&
            (code == NAME_IS_OURS || code == NAME_WAS_OURS))
                return NULL;
        return "another process has it";
}

/* A package's installation may start us before the bus has read our policy, and the process before
 * us may still have the name: what is refused now may be granted in a moment. */
static int door_on_name(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        BusDoor *door = userdata;
        const char *refusal = door_refusal(message);

        if (refusal) {
                if (!door->complained)
                        log_warning(NULL, "cannot acquire the bus name %s: %s, retrying",
                                    door->options.name, refusal);
                door_reconnect_later(door);
        }
        door->complained = refusal;
        door->options.settled(door->options.userdata);
        return 0;
}

static int door_serve(BusDoor *door) {
        const BusDoorOptions *options = &door->options;
        int r;

        if ((r = sd_bus_attach_event(door->bus, door->event, (int)options->priority)) < 0 ||
            (r = sd_bus_add_object_vtable(door->bus, &door->object, options->path,
                                          options->interface, options->vtable, options->object)) <
                0 ||
            (r = sd_bus_match_signal_async(door->bus, &door->disconnected, NULL,
                                           "/org/freedesktop/DBus/Local",
                                           "org.freedesktop.DBus.Local", "Disconnected",
                                           door_on_disconnected, NULL, door)) < 0)
                return r;
        return sd_bus_request_name_async(door->bus, &door->name, options->name, 0, door_on_name,
                                         door);
}

static void door_connect(void *userdata) {
        BusDoor *door = userdata;
        int r;

        door_disconnect(door);
        r = bus_open_system(&door->bus);
        if (r >= 0)
                r = door_serve(door);
        if (r >= 0)
                return;
        door_disconnect(door);
        door_reconnect_later(door);
        door->options.settled(door->options.userdata);
}

BusDoor *bus_door_new(sd_event *event, const BusDoorOptions *options) {
        BusDoor *door = g_new0(BusDoor, 1);

        door->options = *options;
        door->event = event;
        door_connect(door);
        return door;
}

BusDoor *bus_door_free(BusDoor *door) {
        if (!door)
                return NULL;
        door_disconnect(door);
        sd_event_source_disable_unref(door->reconnect);
        g_free(door);
        return NULL;
}
