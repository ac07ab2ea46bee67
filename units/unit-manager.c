/* The connection to PID 1, which comes back by itself.
 *
 * It is the system bus; every other attempt, and at once where the bus has no socket, is systemd's
 * private socket, so that a run can still be stopped while dbus-daemon is down. A connection counts
 * once PID 1 has answered Subscribe on it: a bus without PID 1 is as good as none. Everything is
 * asynchronous, the connecting too; attempts back off from 100 ms to 5 s.
 *
 * One match for JobRemoved serves all units (dbus-daemon allows 512 match rules a connection, and a
 * rule a unit would cost two more calls a run); nothing else of PID 1's chatter is asked for, and
 * what others send in its name is not listened to. When PID 1 executes itself anew its bus name
 * changes hands while our connection stays: then we subscribe again, and units are read again as
 * after a lost connection.
 */
#include "unit-manager.h"

#include <errno.h>
#include <glib.h>
#include <stdlib.h>

#include "bus-owner.h"
#include "cgroup.h"

#define SYSTEM_BUS_ADDRESS "unix:path=/run/dbus/system_bus_socket"
#define PRIVATE_ADDRESS "unix:path=/run/systemd/private"

#define CONNECT_TIMEOUT (5 * USEC_PER_SEC)
#define BACKOFF_MIN (100 * USEC_PER_MSEC)
#define BACKOFF_MAX (5 * USEC_PER_SEC)

struct UnitManager {
        sd_event *event;
        char *cgroup_root;
        BusQueue *queue;
        sd_bus *bus;
        bool is_private;
        bool connected;
        bool private_next; /* which way the next attempt goes */
        unsigned generation;
        usec_t backoff;
        sd_event_source *timer; /* the next attempt, or the end of the current one's patience */
        sd_bus_slot *slots[4];  /* the matches of the current connection, and Subscribe */
        size_t n_slots;
        BusOwner *pid1;        /* NULL on the private socket, where nobody else is */
        GHashTable *listeners; /* a set; weak */
        GHashTable *errands;   /* a set; owned */
};

sd_event *unit_manager_event(const UnitManager *manager) {
        return manager->event;
}

BusQueue *unit_manager_queue(const UnitManager *manager) {
        return manager->queue;
}

void unit_manager_call(const UnitManager *manager, BusCall **call, BusCallBuild build,
                       BusCallFunc func, void *userdata, BusCallFlags flags) {
        bus_call_free(*call);
        *call = bus_call_new(manager->queue, build, func, userdata, SYSTEMD_CALL_TIMEOUT, flags);
}

const char *unit_manager_cgroup_root(const UnitManager *manager) {
        return manager->cgroup_root;
}

unsigned unit_manager_ref_generation(const UnitManager *manager) {
        return manager->bus && !manager->is_private ? manager->generation : 0;
}

bool unit_manager_connected(const UnitManager *manager) {
        return manager->connected;
}

void unit_manager_tell(UnitManager *manager, const char *member, const char *unit) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;

        if (manager->connected && systemd_method(manager->bus, &message, member, "s", unit) >= 0 &&
            sd_bus_message_set_expect_reply(message, false) >= 0)
                (void)sd_bus_send(manager->bus, message, NULL);
}

void unit_manager_listen(UnitManager *manager, UnitListener *listener) {
        g_hash_table_add(manager->listeners, listener);
}

void unit_manager_unlisten(UnitManager *manager, UnitListener *listener) {
        g_hash_table_remove(manager->listeners, listener);
}

void unit_manager_own(UnitManager *manager, Errand *errand) {
        g_hash_table_add(manager->errands, errand);
}

void unit_manager_disown(UnitManager *manager, Errand *errand) {
        g_hash_table_remove(manager->errands, errand);
}

bool unit_manager_busy(const UnitManager *manager) {
        return g_hash_table_size(manager->errands) > 0;
}

static void manager_arm(UnitManager *manager, usec_t delay) {
        (void)sd_event_source_set_time_relative(manager->timer, delay);
        (void)sd_event_source_set_enabled(manager->timer, SD_EVENT_ONESHOT);
}

static void manager_drop_bus(UnitManager *manager) {
        bus_queue_set_bus(manager->queue, NULL);
        while (manager->n_slots > 0)
                sd_bus_slot_unref(manager->slots[--manager->n_slots]);
        manager->pid1 = bus_owner_free(manager->pid1);
        if (manager->bus)
                (void)sd_bus_detach_event(manager->bus);
        manager->bus = sd_bus_close_unref(manager->bus);
        manager->connected = false;
}

static void manager_announce(const UnitManager *manager) {
        GHashTableIter iter;
        gpointer item;

        g_hash_table_iter_init(&iter, manager->listeners);
        while (g_hash_table_iter_next(&iter, &item, NULL)) {
                const UnitListener *listener = item;

                if (manager->connected && listener->connected)
                        listener->connected(listener->userdata);
                else if (!manager->connected && listener->disconnected)
                        listener->disconnected(listener->userdata);
        }
}

/* The connection, or the attempt at one, has come to nothing: try again later. */
static void manager_lost(UnitManager *manager) {
        bool was_connected = manager->connected;

        manager_drop_bus(manager);
        if (was_connected)
                manager->backoff = BACKOFF_MIN;
        manager_arm(manager, manager->backoff);
        manager->backoff = MIN(2 * manager->backoff, BACKOFF_MAX);
        if (was_connected)
                manager_announce(manager);
}

static void manager_won(UnitManager *manager) {
        (void)sd_event_source_set_enabled(manager->timer, SD_EVENT_OFF);
        manager->backoff = BACKOFF_MIN;
        manager->connected = true;
        manager->private_next = false;
        bus_queue_set_bus(manager->queue, manager->bus);
        manager_announce(manager);
}

static int manager_on_subscribed(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        if (sd_bus_message_is_method_error(message, NULL) &&
            !sd_bus_message_is_method_error(message, SYSTEMD_SERVICE ".AlreadySubscribed"))
                manager_lost(userdata);
        else
                manager_won(userdata);
        return 0;
}

static int manager_on_disconnected(sd_bus_message *message, void *userdata,
                                   sd_bus_error *ret_error) {
        manager_lost(userdata);
        return 0;
}

static int manager_on_job_removed(sd_bus_message *message, void *userdata,
                                  sd_bus_error *ret_error) {
        UnitManager *manager = userdata;
        const char *path, *name, *word;
        gpointer item;
        GHashTableIter iter;
        uint32_t id;

        if ((manager->pid1 && !bus_owner_sent(manager->pid1, message)) ||
            sd_bus_message_read(message, "uoss", &id, &path, &name, &word) < 0)
                return 0;
        g_hash_table_iter_init(&iter, manager->listeners);
        while (g_hash_table_iter_next(&iter, &item, NULL)) {
                const UnitListener *listener = item;

                if (listener->systemd_job_removed && g_str_equal(listener->unit, name))
                        listener->systemd_job_removed(path, word, listener->userdata);
        }
        return 0;
}

static int manager_subscribe(UnitManager *manager) {
        g_assert(manager->n_slots < G_N_ELEMENTS(manager->slots));
        return sd_bus_call_method_async(manager->bus, &manager->slots[manager->n_slots++],
                                        SYSTEMD_SERVICE, SYSTEMD_PATH, SYSTEMD_MANAGER, "Subscribe",
                                        manager_on_subscribed, manager, NULL);
}

/* PID 1 left the bus or came back to it (daemon-reexec, or its own connection was lost). */
static void manager_on_pid1(BusOwner *owner, const char *before, const char *now, void *userdata) {
        UnitManager *manager = userdata;

        if (*now == '\0' || !manager->connected)
                return;
        manager->generation++; /* references to units were counted by the owner before */
        manager->n_slots--;    /* the answered Subscribe */
        manager->slots[manager->n_slots] = sd_bus_slot_unref(manager->slots[manager->n_slots]);
        if (manager_subscribe(manager) < 0)
                manager_lost(manager);
}

static int manager_match(UnitManager *manager, const char *sender, const char *path,
                         const char *interface, const char *member,
                         sd_bus_message_handler_t handler) {
        g_assert(manager->n_slots < G_N_ELEMENTS(manager->slots));
        return sd_bus_match_signal_async(manager->bus, &manager->slots[manager->n_slots++], sender,
                                         path, interface, member, handler, NULL, manager);
}

/* The greeting is over: ask for what we want to hear. PID 1 handles our calls in order, so that
 * nothing read later can have missed a signal. */
static int manager_on_connected(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        UnitManager *manager = userdata;
        int r;

        r = manager_match(manager, manager->is_private ? NULL : SYSTEMD_SERVICE, SYSTEMD_PATH,
                          SYSTEMD_MANAGER, "JobRemoved", manager_on_job_removed);
        if (r >= 0 && !manager->is_private)
                r = bus_owner_new(manager->bus, SYSTEMD_SERVICE, manager_on_pid1, manager,
                                  &manager->pid1);
        if (r >= 0)
                r = manager_subscribe(manager);
        if (r < 0)
                manager_lost(manager);
        return 0;
}

static int manager_open(UnitManager *manager, const char *address) {
        _cleanup_(sd_bus_unrefp) sd_bus *bus = NULL;
        int r;

        if ((r = sd_bus_new(&bus)) < 0 || (r = sd_bus_set_address(bus, address)) < 0 ||
            (r = sd_bus_set_bus_client(bus, !manager->is_private)) < 0 ||
            (r = sd_bus_set_connected_signal(bus, true)) < 0 || (r = sd_bus_start(bus)) < 0 ||
            (r = sd_bus_attach_event(bus, manager->event, SD_EVENT_PRIORITY_NORMAL)) < 0)
                return r;
        manager->bus = g_steal_pointer(&bus);
        manager->generation++;
        r = manager_match(manager, NULL, "/org/freedesktop/DBus/Local",
                          "org.freedesktop.DBus.Local", "Connected", manager_on_connected);
        if (r >= 0)
                r = manager_match(manager, NULL, "/org/freedesktop/DBus/Local",
                                  "org.freedesktop.DBus.Local", "Disconnected",
                                  manager_on_disconnected);
        return r;
}

static void manager_connect(UnitManager *manager) {
        const char *address = secure_getenv("DBUS_SYSTEM_BUS_ADDRESS");
        int r = -ENOTCONN;

        manager->is_private = manager->private_next;
        if (!manager->is_private) {
                r = manager_open(manager, address ? address : SYSTEM_BUS_ADDRESS);
                if (r < 0) /* there is no bus at all */
                        manager_drop_bus(manager);
                manager->is_private = r < 0;
        }
        if (manager->is_private)
                r = manager_open(manager, PRIVATE_ADDRESS);
        manager->private_next = !manager->is_private;
        if (r < 0)
                manager_lost(manager);
        else
                manager_arm(manager, CONNECT_TIMEOUT);
}

static int manager_on_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        UnitManager *manager = userdata;

        if (manager->bus)
                manager_lost(manager);
        else
                manager_connect(manager);
        return 0;
}

int unit_manager_new(sd_event *event, UnitManager **ret_manager) {
        _cleanup_(unit_manager_freep) UnitManager *manager = g_new0(UnitManager, 1);
        int r;

        manager->event = sd_event_ref(event);
        manager->backoff = BACKOFF_MIN;
        manager->listeners = g_hash_table_new(NULL, NULL);
        manager->errands = g_hash_table_new(NULL, NULL);
        if ((r = cgroup_root_find(&manager->cgroup_root)) < 0 ||
            (r = bus_queue_new(event, &manager->queue)) < 0 ||
            (r = sd_event_add_time_relative(event, &manager->timer, CLOCK_MONOTONIC, 0,
                                            USEC_PER_MSEC, manager_on_timer, manager)) < 0 ||
            (r = sd_event_source_set_exit_on_failure(manager->timer, true)) < 0)
                return r;
        *ret_manager = g_steal_pointer(&manager);
        return 0;
}

UnitManager *unit_manager_free(UnitManager *manager) {
        GHashTableIter iter;
        gpointer errand;

        if (!manager)
                return NULL;
        g_assert(g_hash_table_size(manager->listeners) == 0); /* they point to us */
        while (g_hash_table_size(manager->errands) > 0) {
                g_hash_table_iter_init(&iter, manager->errands);
                (void)g_hash_table_iter_next(&iter, &errand, NULL);
                ((Errand *)errand)->destroy(errand); /* takes itself out of the set */
        }
        if (manager->queue)
                manager_drop_bus(manager);
        bus_queue_free(manager->queue);
        sd_event_source_disable_unref(manager->timer);
        g_hash_table_unref(manager->listeners);
        g_hash_table_unref(manager->errands);
        g_free(manager->cgroup_root);
        sd_event_unref(manager->event);
        g_free(manager);
        return NULL;
}
