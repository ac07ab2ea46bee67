/* See clearing.h.
 *
 * One look is one ListUnitsByPatterns. Whoever has a job queued other than a stop, and so is
 * started or about to be, or has somebody in its cgroup, is not gone. Each of them is asked to stop
 * once, and again where PID 1 did not hear of it; then the next look follows, soon: how long it
 * takes is what the owner's locks have to last for.
 */
#include "clearing.h"

#include <errno.h>
#include <glib.h>

#include "cgroup.h"
#include "timer.h"
#include "unit-ending.h"

#define LOOK_PERIOD (50 * USEC_PER_MSEC)
#define LATE_LOOK_PERIOD (1 * USEC_PER_SEC) /* of what cannot be ended soon */
/* With thousands of units a look takes a while: it has a fifth of the loop's time at most. */
#define LOOK_PAUSE_FACTOR 4
#define RETRY_DELAY (500 * USEC_PER_MSEC)

typedef struct Victim {
        char *name;
        usec_t since; /* CLOCK_MONOTONIC */
        UnitEnding *ending;
} Victim;

struct Clearing {
        UnitManager *manager; /* weak */
        char **patterns, **slices;
        ClearingOptions options; /* the functions */
        bool want_kill;
        GHashTable *victims; /* name → Victim */
        BusCall *list;
        sd_event_source *timer;
};

static void clearing_look(void *userdata);

static void victim_free(void *data) {
        Victim *victim = data;

        unit_ending_free(victim->ending);
        g_free(victim->name);
        g_free(victim);
}

bool unit_is_populated(const UnitManager *manager, const char *const *slices, const char *unit) {
        for (; *slices; slices++) {
                g_autofree char *path = cgroup_path_of_unit(*slices, unit);

                if (cgroup_is_populated(unit_manager_cgroup_root(manager), path))
                        return true;
        }
        return false;
}

/* ---- ending one ---- */

/* What PID 1 refused it is asked again at each look, as it may be about to start. */
static void victim_pursue(const Clearing *clearing, Victim *victim) {
        if (clearing->want_kill)
                unit_ending_order(victim->ending, UNIT_ORDER_KILL);
        unit_ending_order(victim->ending, UNIT_ORDER_STOP);
}

/* Return: the victim that it is, or has become. */
static const Victim *clearing_end_unit(Clearing *clearing, const char *name, bool exited) {
        Victim *victim = g_hash_table_lookup(clearing->victims, name);

        if (!victim) {
                victim = g_new0(Victim, 1);
                victim->name = g_strdup(name);
                victim->since = clock_monotonic();
                victim->ending =
                    unit_ending_new(clearing->manager, name, BUS_CALL_URGENT, NULL, NULL);
                g_hash_table_insert(clearing->victims, victim->name, victim);
                clearing->options.found(name, exited, clearing->options.userdata);
        }
        victim_pursue(clearing, victim);
        return victim;
}

/* ---- looking ---- */

static void clearing_look_in(Clearing *clearing, usec_t delay) {
        (void)timer_in(unit_manager_event(clearing->manager), &clearing->timer, delay,
                       clearing_look, clearing);
}

/* A unit that is over may be being stopped, so that PID 1 forgets it. */
static bool clearing_is_alive(const Clearing *clearing, const char *name, uint32_t systemd_job,
                              const char *type) {
        return (systemd_job != 0 && !g_str_equal(type, "stop")) ||
               unit_is_populated(clearing->manager, (const char *const *)clearing->slices, name);
}

/* What is spared is not looked at: there may be thousands, and each costs files of the kernel's. */
static void clearing_take(Clearing *clearing, const char *name, uint32_t systemd_job,
                          const char *type, bool exited, GPtrArray *left) {
        if (clearing->options.spare(name, clearing->options.userdata))
                return;
        if (clearing_is_alive(clearing, name, systemd_job, type))
                g_ptr_array_add(left, (void *)clearing_end_unit(clearing, name, exited));
        else if (clearing->options.over)
                clearing->options.over(name, clearing->options.userdata);
}

/* Reads the list and ends what must not be. Return: 0, and those that are left (Victim), or
 * negative errno. */
static int clearing_end_listed(Clearing *clearing, sd_bus_message *reply, GPtrArray *left) {
        const char *name = NULL, *sub_state = NULL, *type = NULL;
        uint32_t systemd_job = 0;
        int r = sd_bus_message_enter_container(reply, 'a', "(ssssssouso)");

        while (r >= 0 &&
               (r = sd_bus_message_read(reply, "(ssssssouso)", &name, NULL, NULL, NULL, &sub_state,
                                        NULL, NULL, &systemd_job, &type, NULL)) > 0)
                clearing_take(clearing, name, systemd_job, type, g_str_equal(sub_state, "exited"),
                              left);
        return r;
}

/* Return: whether none of them will end soon. */
static bool clearing_is_stuck(const Clearing *clearing, const GPtrArray *left) {
        usec_t patience =
                   clearing->options.patience ? clearing->options.patience : CLEARING_PATIENCE,
               edge = usec_sub(clock_monotonic(), patience);

        for (guint i = 0; i < left->len; i++)
                if (((const Victim *)left->pdata[i])->since > edge)
                        return false;
        return true;
}

static void clearing_tell_stuck(const Clearing *clearing, const GPtrArray *left) {
        g_autofree const char **names = g_new0(const char *, left->len + 1);

        for (guint i = 0; i < left->len; i++)
                names[i] = ((const Victim *)left->pdata[i])->name;
        clearing->options.stuck(names, clearing->options.userdata);
}

static void clearing_on_listed(sd_bus_message *reply, const sd_bus_error *error, void *userdata) {
        g_autoptr(GPtrArray) left = g_ptr_array_new();
        usec_t begun = clock_monotonic(), pause;
        Clearing *clearing = userdata;
        bool stuck;

        if (!reply || clearing_end_listed(clearing, reply, left) < 0) {
                clearing_look_in(clearing, RETRY_DELAY);
                return;
        }
        if (left->len == 0) {
                clearing->options.gone(clearing->options.userdata);
                return;
        }
        stuck = clearing_is_stuck(clearing, left);
        pause = LOOK_PAUSE_FACTOR * usec_sub(clock_monotonic(), begun);
        clearing_look_in(clearing, MAX(pause, stuck ? LATE_LOOK_PERIOD : LOOK_PERIOD));
        if (stuck && clearing->options.stuck)
                clearing_tell_stuck(clearing, left);
}

static int clearing_build_list(sd_bus *bus, void *userdata, sd_bus_message **ret_message) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *message = NULL;
        const Clearing *clearing = userdata;
        int r = systemd_method(bus, &message, "ListUnitsByPatterns", "as", 0);

        if (r >= 0)
                r = sd_bus_message_append_strv(message, clearing->patterns);
        if (r >= 0)
                *ret_message = g_steal_pointer(&message);
        return r;
}

static void clearing_look(void *userdata) {
        Clearing *clearing = userdata;

        clearing->timer = sd_event_source_disable_unref(clearing->timer);
        unit_manager_call(clearing->manager, &clearing->list, clearing_build_list,
                          clearing_on_listed, clearing, BUS_CALL_URGENT);
}

/* ---- from outside ---- */

int clearing_new(UnitManager *manager, const ClearingOptions *options, Clearing **ret_clearing) {
        Clearing *clearing;

        if (!options->patterns || !options->slices || !options->spare || !options->found ||
            !options->gone)
                return -EINVAL;
        clearing = g_new0(Clearing, 1);
        clearing->manager = manager;
        clearing->patterns = g_strdupv((char **)options->patterns);
        clearing->slices = g_strdupv((char **)options->slices);
        clearing->options = *options;
        clearing->victims = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, victim_free);
        clearing_look(clearing);
        *ret_clearing = clearing;
        return 0;
}

void clearing_look_anew(Clearing *clearing) {
        clearing_look(clearing);
}

void clearing_kill(Clearing *clearing) {
        GHashTableIter iterator;
        gpointer victim;

        clearing->want_kill = true;
        g_hash_table_iter_init(&iterator, clearing->victims);
        while (g_hash_table_iter_next(&iterator, NULL, &victim))
                victim_pursue(clearing, victim);
}

Clearing *clearing_free(Clearing *clearing) {
        if (!clearing)
                return NULL;
        bus_call_free(clearing->list);
        g_hash_table_unref(clearing->victims);
        sd_event_source_disable_unref(clearing->timer);
        g_strfreev(clearing->patterns);
        g_strfreev(clearing->slices);
        g_free(clearing);
        return NULL;
}
