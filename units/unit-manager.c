/* The ways to PID 1, and which one is used.
 *
 * It is systemd's private socket. The system bus would do, but everybody may keep dbus-daemon busy,
 * and a stop that waits there is a run that outlives its lock. So the bus is used only while the
 * private socket cannot be had, and left as soon as it can. PID 1 closes the socket when it
 * executes itself anew, and has it again a moment later: for so long nothing is asked elsewhere.
 * Changing the way is to all who wait the same as a connection that was lost and has come back.
 *
 * One thing only the bus has: PID 1 counts references to units by the names of connections there.
 * A unit that was stopped and is clean is forgotten at once where nobody refers to it, and its
 * result with it. So the bus is connected to as well, and references are taken there. They wait for
 * dbus-daemon, and nothing waits for them.
 */
#include "unit-manager.h"

#include <glib.h>

#include "bus-open.h"
#include "cgroup.h"
#include "launch-dropin.h"
#include "silence.h"
#include "systemd-link.h"
#include "timer.h"

#define PRIVATE_ADDRESS "unix:path=/run/systemd/private"

/* How long PID 1 may be without its socket before it is asked over the bus: it executes itself anew
 * in a fraction of that. */
#define PRIVATE_PATIENCE (2 * USEC_PER_SEC)

struct UnitManager {
        sd_event *event;
        char *cgroup_root;
        BusQueue *queue;
        StartWindow *starts;
        SystemdLink *private_socket, *bus;
        SystemdLink *used;         /* weak: one of them, or NULL */
        sd_event_source *patience; /* set while the bus does not count yet */
        Silence *silence;
        BusCall *probe; /* of the silence */
        UnitManagerFunc silence_func;
        void *silence_userdata;
        GHashTable *listeners; /* unit → GPtrArray of UnitListener, weak */
        GHashTable *errands;   /* a set; owned */
};

sd_event *unit_manager_event(const UnitManager *manager) {
        return manager->event;
}

StartWindow *unit_manager_starts(const UnitManager *manager) {
        return manager->starts;
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

const char *unit_manager_dropin_root(const UnitManager *manager) {
        return LAUNCH_DROPIN_ROOT;
}

unsigned unit_manager_ref_generation(const UnitManager *manager) {
        return systemd_link_generation(manager->bus);
}

bool unit_manager_connected(const UnitManager *manager) {
        return manager->used;
}

void unit_manager_refer(UnitManager *manager, const char *member, const char *unit) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        sd_bus *bus = systemd_link_bus(manager->bus);

        if (bus && systemd_method(bus, &message, member, "s", unit) >= 0 &&
            sd_bus_message_set_expect_reply(message, false) >= 0)
                (void)sd_bus_send(bus, message, NULL);
}

static GPtrArray *manager_listeners_of(const UnitManager *manager, const char *unit) {
        return g_hash_table_lookup(manager->listeners, unit);
}

void unit_manager_listen(UnitManager *manager, UnitListener *listener) {
        GPtrArray *of_unit = manager_listeners_of(manager, listener->unit);

        if (!of_unit) {
                of_unit = g_ptr_array_new();
                g_hash_table_insert(manager->listeners, g_strdup(listener->unit), of_unit);
        }
        g_ptr_array_add(of_unit, listener);
}

void unit_manager_unlisten(UnitManager *manager, UnitListener *listener) {
        GPtrArray *of_unit = manager_listeners_of(manager, listener->unit);

        if (of_unit && g_ptr_array_remove(of_unit, listener) && of_unit->len == 0)
                g_hash_table_remove(manager->listeners, listener->unit);
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

/* ---- does PID 1 answer ---- */

void unit_manager_on_silence(UnitManager *manager, UnitManagerFunc func, void *userdata) {
        manager->silence_func = func;
        manager->silence_userdata = userdata;
}

usec_t unit_manager_silence(const UnitManager *manager) {
        return silence_lasts(manager->silence);
}

static void manager_on_silence(bool silent, void *userdata) {
        UnitManager *manager = userdata;

        if (manager->silence_func)
                manager->silence_func(silent, manager->silence_userdata);
}

static int manager_build_probe(sd_bus *bus, void *userdata, sd_bus_message **ret_message) {
        return systemd_get(bus, ret_message, SYSTEMD_PATH, SYSTEMD_MANAGER, "Version");
}

/* That there is one is all that counts (manager_on_news()). */
static void manager_on_probe(sd_bus_message *reply, const sd_bus_error *error, void *userdata) {
}

/* Without a connection the next one tells. */
static void manager_ask(void *userdata) {
        UnitManager *manager = userdata;

        if (manager->used)
                unit_manager_call(manager, &manager->probe, manager_build_probe, manager_on_probe,
                                  manager, BUS_CALL_URGENT);
}

static void manager_on_news(BusQueueNews news, void *userdata) {
        const UnitManager *manager = userdata;
        usec_t oldest = bus_queue_oldest(manager->queue);

        if (!manager->used) /* that there is no connection is what counts */
                return;
        switch (news) {
        case BUS_QUEUE_SENT:
                silence_waits(manager->silence);
                return;
        case BUS_QUEUE_ANSWERED:
                silence_answered(manager->silence, oldest);
                return;
        case BUS_QUEUE_MISSED:
                silence_missed(manager->silence, oldest);
                return;
        case BUS_QUEUE_LET_GO:
                silence_let_go(manager->silence, oldest);
                return;
        }
}

/* ---- who listens ---- */

/* What is told to all who listen. */
typedef enum ManagerNews {
        MANAGER_CONNECTED,
        MANAGER_DISCONNECTED,
        MANAGER_REFERENCES_GONE,
} ManagerNews;

static void listener_tell(const UnitListener *listener, ManagerNews news) {
        void (*const funcs[])(void *userdata) = {[MANAGER_CONNECTED] = listener->connected,
                                                 [MANAGER_DISCONNECTED] = listener->disconnected,
                                                 [MANAGER_REFERENCES_GONE] =
                                                     listener->references_gone};

        if (funcs[news])
                funcs[news](listener->userdata);
}

static void manager_tell(const UnitManager *manager, ManagerNews news) {
        GHashTableIter iter;
        gpointer value;

        g_hash_table_iter_init(&iter, manager->listeners);
        while (g_hash_table_iter_next(&iter, NULL, &value)) {
                const GPtrArray *of_unit = value;

                for (guint i = 0; i < of_unit->len; i++)
                        listener_tell(of_unit->pdata[i], news);
        }
}

static void manager_leave(UnitManager *manager) {
        manager->used = NULL;
        silence_waits(manager->silence);
        bus_queue_set_bus(manager->queue, NULL);
        manager_tell(manager, MANAGER_DISCONNECTED);
}

static void manager_use(UnitManager *manager, SystemdLink *link) {
        if (manager->used && manager->used != link)
                manager_leave(manager);
        manager->used = link;
        silence_answered(manager->silence, 0); /* it took our subscription */
        bus_queue_set_bus(manager->queue, systemd_link_bus(link));
        manager_tell(manager, MANAGER_CONNECTED);
}

static void manager_on_up(SystemdLink *link, void *userdata) {
        UnitManager *manager = userdata;

        if (link == manager->private_socket || link == manager->used ||
            (!manager->used && !manager->patience))
                manager_use(manager, link);
        if (link == manager->bus && link != manager->used)
                manager_tell(manager, MANAGER_REFERENCES_GONE);
}

static void manager_on_patience(void *userdata) {
        UnitManager *manager = userdata;

        if (!manager->used && systemd_link_is_up(manager->bus))
                manager_use(manager, manager->bus);
}

/* The private socket is given time to come (back). Return: 0 or negative errno. */
static int manager_have_patience(UnitManager *manager) {
        return timer_in(manager->event, &manager->patience, PRIVATE_PATIENCE, manager_on_patience,
                        manager);
}

static void manager_on_down(SystemdLink *link, void *userdata) {
        UnitManager *manager = userdata;
        int r;

        if (link != manager->used)
                return;
        r = link == manager->private_socket ? manager_have_patience(manager) : 0;
        manager_leave(manager);
        if (r < 0)
                manager_on_patience(manager);
}

/* PID 1 tells of the jobs of all units of the machine: of each, only who waits for that unit is
 * looked for. */
static void manager_on_job_added(SystemdLink *link, const char *unit, void *userdata) {
        const UnitManager *manager = userdata;
        const GPtrArray *of_unit =
            link == manager->used ? manager_listeners_of(manager, unit) : NULL;

        for (guint i = 0; of_unit && i < of_unit->len; i++) {
                const UnitListener *listener = of_unit->pdata[i];

                if (listener->systemd_job_added)
                        listener->systemd_job_added(listener->userdata);
        }
}

static void manager_on_job_removed(SystemdLink *link, const char *systemd_job, const char *unit,
                                   const char *word, void *userdata) {
        const UnitManager *manager = userdata;
        const GPtrArray *of_unit =
            link == manager->used ? manager_listeners_of(manager, unit) : NULL;

        for (guint i = 0; of_unit && i < of_unit->len; i++) {
                const UnitListener *listener = of_unit->pdata[i];

                if (listener->systemd_job_removed)
                        listener->systemd_job_removed(systemd_job, word, listener->userdata);
        }
}

int unit_manager_new_at(sd_event *event, const char *private_address, const char *bus_address,
                        UnitManager **ret_manager) {
        static const SystemdLinkEvents events = {.up = manager_on_up,
                                                 .down = manager_on_down,
                                                 .systemd_job_added = manager_on_job_added,
                                                 .systemd_job_removed = manager_on_job_removed};
        _cleanup_(unit_manager_freep) UnitManager *manager = g_new0(UnitManager, 1);
        const SilenceEvents silence = {manager_ask, manager_on_silence, manager};
        int r;

        manager->event = sd_event_ref(event);
        manager->listeners = g_hash_table_new_full(g_str_hash, g_str_equal, g_free,
                                                   (GDestroyNotify)g_ptr_array_unref);
        manager->errands = g_hash_table_new(NULL, NULL);
        manager->starts = start_window_new(event);
        if ((r = cgroup_root_find(&manager->cgroup_root)) < 0 ||
            (r = bus_queue_new(event, &manager->queue)) < 0 ||
            (r = silence_new(event, SILENCE_PATIENCE, &silence, &manager->silence)) < 0 ||
            (r = manager_have_patience(manager)) < 0 ||
            (r = systemd_link_new(event, private_address, true, &events, manager,
                                  &manager->private_socket)) < 0 ||
            (r = systemd_link_new(event, bus_address, false, &events, manager, &manager->bus)) < 0)
                return r;
        bus_queue_on_news(manager->queue, manager_on_news, manager);
        silence_waits(manager->silence);
        *ret_manager = g_steal_pointer(&manager);
        return 0;
}

int unit_manager_new(sd_event *event, UnitManager **ret_manager) {
        return unit_manager_new_at(event, PRIVATE_ADDRESS, bus_system_address(), ret_manager);
}

UnitManager *unit_manager_free(UnitManager *manager) {
        GHashTableIter iter;
        gpointer errand;

        if (!manager)
                return NULL;
        while (g_hash_table_size(manager->errands) > 0) {
                g_hash_table_iter_init(&iter, manager->errands);
                (void)g_hash_table_iter_next(&iter, &errand, NULL);
                ((Errand *)errand)->destroy(errand); /* takes itself out of the set */
        }
        g_assert(g_hash_table_size(manager->listeners) == 0); /* they point to us */
        if (manager->queue) {
                bus_queue_on_news(manager->queue, NULL, NULL);
                manager->probe = bus_call_free(manager->probe);
                bus_queue_set_bus(manager->queue, NULL);
        }
        systemd_link_free(manager->private_socket);
        systemd_link_free(manager->bus);
        bus_queue_free(manager->queue);
        silence_free(manager->silence);
        start_window_free(manager->starts);
        sd_event_source_disable_unref(manager->patience);
        g_hash_table_unref(manager->listeners);
        g_hash_table_unref(manager->errands);
        g_free(manager->cgroup_root);
        sd_event_unref(manager->event);
        g_free(manager);
        return NULL;
}
