/* See systemd-link.h.
 *
 * One match for JobRemoved serves all units (dbus-daemon allows 512 match rules a connection, and a
 * rule a unit would cost two more calls a run), and one for JobNew, of which our own unit's alone
 * matter: sd-bus knows no match by the name, which follows a number there. Of the rest of PID 1's
 * chatter the bus brings nothing, and what others send there in PID 1's name is not listened to.
 * The private socket stands where only root may make one, and its other end is PID 1 itself: there
 * is nobody else on it, messages have no senders, and PID 1 tells everything to everybody.
 *
 * When PID 1 executes itself anew the private socket is closed, whereas on the bus its name changes
 * hands while our connection stays: then we subscribe again.
 */
#include "systemd-link.h"

#include <glib.h>

#include "bus-call.h"
#include "bus-open.h"
#include "bus-owner.h"
#include "clock.h"

#define CONNECT_TIMEOUT (5 * USEC_PER_SEC)
#define BACKOFF_MIN (100 * USEC_PER_MSEC)
#define BACKOFF_MAX (5 * USEC_PER_SEC)

#define LOCAL_PATH "/org/freedesktop/DBus/Local"
#define LOCAL_INTERFACE "org.freedesktop.DBus.Local"

struct SystemdLink {
        sd_event *event;
        char *address;
        bool is_private;
        SystemdLinkEvents events;
        void *userdata;
        sd_bus *bus;
        bool up;
        unsigned generation;
        usec_t backoff;
        /* The next attempt, or the end of the current one's patience. Made with the link, so that
         * setting it cannot fail: a link without it would never try again. */
        sd_event_source *timer;
        sd_bus_slot *slots[5]; /* the matches of the current connection, and Subscribe */
        size_t n_slots;
        BusOwner *pid1; /* NULL on the private socket, where nobody else is */
};

bool systemd_link_is_up(const SystemdLink *link) {
        return link->up;
}

sd_bus *systemd_link_bus(const SystemdLink *link) {
        return link->up ? link->bus : NULL;
}

unsigned systemd_link_generation(const SystemdLink *link) {
        return link->up ? link->generation : 0;
}

static void link_arm(SystemdLink *link, usec_t delay) {
        (void)sd_event_source_set_time_relative(link->timer, delay);
        (void)sd_event_source_set_enabled(link->timer, SD_EVENT_ONESHOT);
}

static void link_close(SystemdLink *link) {
        while (link->n_slots > 0)
                sd_bus_slot_unref(link->slots[--link->n_slots]);
        link->pid1 = bus_owner_free(link->pid1);
        if (link->bus)
                (void)sd_bus_detach_event(link->bus);
        link->bus = sd_bus_close_unref(link->bus);
}

/* The connection, or the attempt at one, has come to nothing: try again later. */
static void link_lost(SystemdLink *link) {
        bool was_up = link->up;

        if (was_up)
                link->backoff = BACKOFF_MIN;
        link->up = false;
        link_arm(link, link->backoff);
        link->backoff = MIN(2 * link->backoff, BACKOFF_MAX);
        if (was_up)
                link->events.down(link, link->userdata);
        link_close(link);
}

static int link_on_subscribed(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        SystemdLink *link = userdata;

        if (sd_bus_message_is_method_error(message, NULL) &&
            !sd_bus_message_is_method_error(message, SYSTEMD_SERVICE ".AlreadySubscribed")) {
                link_lost(link);
                return 0;
        }
        (void)sd_event_source_set_enabled(link->timer, SD_EVENT_OFF);
        link->backoff = BACKOFF_MIN;
        link->up = true;
        link->events.up(link, link->userdata);
        return 0;
}

static int link_on_disconnected(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        link_lost(userdata);
        return 0;
}

static int link_on_job_new(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        const char *path, *name;
        SystemdLink *link = userdata;
        uint32_t id;

        if ((!link->pid1 || bus_owner_sent(link->pid1, message)) &&
            sd_bus_message_read(message, "uos", &id, &path, &name) >= 0)
                link->events.systemd_job_added(link, name, link->userdata);
        return 0;
}

static int link_on_job_removed(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        const char *path, *name, *word;
        SystemdLink *link = userdata;
        uint32_t id;

        if ((!link->pid1 || bus_owner_sent(link->pid1, message)) &&
            sd_bus_message_read(message, "uoss", &id, &path, &name, &word) >= 0)
                link->events.systemd_job_removed(link, path, name, word, link->userdata);
        return 0;
}

static int link_subscribe(SystemdLink *link) {
        g_assert(link->n_slots < G_N_ELEMENTS(link->slots));
        return sd_bus_call_method_async(link->bus, &link->slots[link->n_slots++], SYSTEMD_SERVICE,
                                        SYSTEMD_PATH, SYSTEMD_MANAGER, "Subscribe",
                                        link_on_subscribed, link, NULL);
}

/* PID 1 left the bus or came back to it (daemon-reexec, or its own connection was lost). */
static void link_on_pid1(BusOwner *owner, const char *before, const char *now, void *userdata) {
        SystemdLink *link = userdata;

        if (*now == '\0' || !link->up)
                return;
        link->generation++; /* references to units were counted by the owner before */
        link->n_slots--;    /* the answered Subscribe */
        link->slots[link->n_slots] = sd_bus_slot_unref(link->slots[link->n_slots]);
        if (link_subscribe(link) < 0)
                link_lost(link);
}

static int link_match(SystemdLink *link, const char *sender, const char *path,
                      const char *interface, const char *member, sd_bus_message_handler_t handler) {
        g_assert(link->n_slots < G_N_ELEMENTS(link->slots));
        return sd_bus_match_signal_async(link->bus, &link->slots[link->n_slots++], sender, path,
                                         interface, member, handler, NULL, link);
}

/* The greeting is over: ask for what we want to hear. PID 1 handles our calls in order, so that
 * nothing read later can have missed a signal. */
static int link_on_connected(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        SystemdLink *link = userdata;
        const char *sender = link->is_private ? NULL : SYSTEMD_SERVICE;
        int r;

        r = link_match(link, sender, SYSTEMD_PATH, SYSTEMD_MANAGER, "JobRemoved",
                       link_on_job_removed);
        if (r >= 0)
                r = link_match(link, sender, SYSTEMD_PATH, SYSTEMD_MANAGER, "JobNew",
                               link_on_job_new);
        if (r >= 0 && !link->is_private)
                r = bus_owner_new(link->bus, SYSTEMD_SERVICE, link_on_pid1, link, &link->pid1);
        if (r >= 0)
                r = link_subscribe(link);
        if (r < 0)
                link_lost(link);
        return 0;
}

static int link_connect(SystemdLink *link) {
        _cleanup_(sd_bus_unrefp) sd_bus *bus = NULL;
        int r;

        if ((r = bus_new(&bus)) < 0 || (r = sd_bus_set_address(bus, link->address)) < 0 ||
            (r = sd_bus_set_bus_client(bus, !link->is_private)) < 0 ||
            (r = sd_bus_set_connected_signal(bus, true)) < 0 || (r = sd_bus_start(bus)) < 0 ||
            (r = sd_bus_attach_event(bus, link->event, SD_EVENT_PRIORITY_NORMAL)) < 0)
                return r;
        link->bus = g_steal_pointer(&bus);
        link->generation++;
        r = link_match(link, NULL, LOCAL_PATH, LOCAL_INTERFACE, "Connected", link_on_connected);
        return r < 0 ? r
                     : link_match(link, NULL, LOCAL_PATH, LOCAL_INTERFACE, "Disconnected",
                                  link_on_disconnected);
}

/* The next attempt is due, or the one under way has taken too long. */
static int link_on_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        SystemdLink *link = userdata;

        if (link->bus || link_connect(link) < 0)
                link_lost(link);
        else
                link_arm(link, CONNECT_TIMEOUT);
        return 0;
}

int systemd_link_new(sd_event *event, const char *address, bool is_private,
                     const SystemdLinkEvents *events, void *userdata, SystemdLink **ret_link) {
        _cleanup_(systemd_link_freep) SystemdLink *link = g_new0(SystemdLink, 1);
        int r;

        link->event = sd_event_ref(event);
        link->address = g_strdup(address);
        link->is_private = is_private;
        link->events = *events;
        link->userdata = userdata;
        link->backoff = BACKOFF_MIN;
        if ((r = sd_event_add_time_relative(event, &link->timer, CLOCK_MONOTONIC, 0, USEC_PER_MSEC,
                                            link_on_timer, link)) < 0 ||
            (r = sd_event_source_set_exit_on_failure(link->timer, true)) < 0)
                return r;
        *ret_link = g_steal_pointer(&link);
        return 0;
}

SystemdLink *systemd_link_free(SystemdLink *link) {
        if (!link)
                return NULL;
        link_close(link);
        sd_event_source_disable_unref(link->timer);
        g_free(link->address);
        sd_event_unref(link->event);
        g_free(link);
        return NULL;
}
