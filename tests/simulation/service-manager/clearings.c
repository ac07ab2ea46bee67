/* units/clearing.h for a simulation: looks at PID 1's list, and stops what is to end, until there
 * is none. */
#include "clearing.h"

#include <errno.h>
#include <string.h>

#include "pid1-call.h"
#include "timer.h"

/* units/clearing.c's */
#define LOOK_PERIOD (50 * USEC_PER_MSEC)
#define LATE_LOOK_PERIOD USEC_PER_SEC
#define RETRY_DELAY (500 * USEC_PER_MSEC)

struct Clearing {
        UnitManager *manager; /* weak */
        char **patterns;
        ClearingOptions options;
        bool kills;
        GTree *victims; /* name → since when it is being ended, CLOCK_MONOTONIC */
        unsigned asked; /* patterns, in this look */
        GPtrArray *left;
        Pid1Call *list;
        sd_event_source *timer;
};

static void clearing_look(void *userdata);

bool unit_is_populated(const UnitManager *manager, const char *const *slices, const char *unit) {
        const Service *service = pid1_find(manager_pid1(manager), unit);
        const Outsider *outsider = pid1_find_scope(manager_pid1(manager), unit);

        if (outsider)
                return g_strv_contains(slices, outsider_slice(outsider));
        return service && service_is_alive(service) &&
               g_strv_contains(slices, service->spec->slice);
}

static void clearing_look_in(Clearing *clearing, usec_t delay) {
        (void)timer_in(manager_event(clearing->manager), &clearing->timer, delay, clearing_look,
                       clearing);
}

/* What PID 1 refused it is asked again at each look, as it may be about to start. */
static void clearing_pursue(const Clearing *clearing, const char *name) {
        if (clearing->kills)
                pid1_call_send(clearing->manager, PID1_CALL_KILL, name, NULL, NULL, NULL, NULL);
        pid1_call_send(clearing->manager, PID1_CALL_STOP, name, NULL, NULL, NULL, NULL);
}

static void clearing_end(Clearing *clearing, const char *name, bool exited) {
        if (!g_tree_lookup(clearing->victims, name)) {
                usec_t *since = g_memdup2(&(usec_t){clock_monotonic()}, sizeof(usec_t));

                g_tree_insert(clearing->victims, g_strdup(name), since);
                clearing->options.found(name, exited, clearing->options.userdata);
        }
        clearing_pursue(clearing, name);
        g_ptr_array_add(clearing->left, g_strdup(name));
}

static void clearing_take(Clearing *clearing, const ShownUnit *unit) {
        const ClearingOptions *options = &clearing->options;
        bool alive = unit->phase == SERVICE_QUEUED ||
                     unit_is_populated(clearing->manager, options->slices, unit->name);

        if (!g_strv_contains(options->slices, unit->slice) ||
            options->spare(unit->name, options->userdata))
                return;
        if (alive)
                clearing_end(clearing, unit->name, unit->active);
        else if (options->over)
                options->over(unit->name, options->userdata);
}

/* Return: whether none of them will end soon. */
static bool clearing_is_stuck(const Clearing *clearing) {
        usec_t patience =
            clearing->options.patience ? clearing->options.patience : CLEARING_PATIENCE;

        for (guint i = 0; i < clearing->left->len; i++) {
                const usec_t *since = g_tree_lookup(clearing->victims, clearing->left->pdata[i]);

                if (*since + patience > clock_monotonic())
                        return false;
        }
        return true;
}

static void clearing_is_listed(Clearing *clearing) {
        bool stuck;

        if (clearing->left->len == 0) {
                clearing->options.gone(clearing->options.userdata);
                return;
        }
        stuck = clearing_is_stuck(clearing);
        clearing_look_in(clearing, stuck ? LATE_LOOK_PERIOD : LOOK_PERIOD);
        g_ptr_array_add(clearing->left, NULL);
        if (stuck && clearing->options.stuck)
                clearing->options.stuck((const char *const *)clearing->left->pdata,
                                        clearing->options.userdata);
}

static void clearing_on_list(const Pid1Answer *answer, void *userdata) {
        Clearing *clearing = userdata;

        if (answer->r < 0) {
                clearing_look_in(clearing, RETRY_DELAY);
                return;
        }
        for (guint i = 0; i < answer->units->len; i++)
                clearing_take(clearing, answer->units->pdata[i]);
        if (clearing->patterns[++clearing->asked])
                pid1_call_send(clearing->manager, PID1_CALL_LIST,
                               clearing->patterns[clearing->asked], NULL, clearing_on_list,
                               clearing, &clearing->list);
        else
                clearing_is_listed(clearing);
}

static void clearing_look(void *userdata) {
        Clearing *clearing = userdata;

        clearing->timer = sd_event_source_disable_unref(clearing->timer);
        clearing->asked = 0;
        g_ptr_array_set_size(clearing->left, 0);
        pid1_call_send(clearing->manager, PID1_CALL_LIST, clearing->patterns[0], NULL,
                       clearing_on_list, clearing, &clearing->list);
}

static int clearing_compare(const void *one, const void *other, void *userdata) {
        (void)userdata;
        return strcmp(one, other);
}

int clearing_new(UnitManager *manager, const ClearingOptions *options, Clearing **ret_clearing) {
        Clearing *clearing = g_new0(Clearing, 1);

        clearing->manager = manager;
        clearing->options = *options;
        clearing->patterns = g_strdupv((char **)options->patterns);
        clearing->victims = g_tree_new_full(clearing_compare, NULL, g_free, g_free);
        clearing->left = g_ptr_array_new_with_free_func(g_free);
        clearing_look(clearing);
        *ret_clearing = clearing;
        return 0;
}

void clearing_look_anew(Clearing *clearing) {
        clearing_look(clearing);
}

static gboolean clearing_kill_one(gpointer name, gpointer since, gpointer userdata) {
        (void)since;
        clearing_pursue(userdata, name);
        return FALSE;
}

void clearing_kill(Clearing *clearing) {
        clearing->kills = true;
        g_tree_foreach(clearing->victims, clearing_kill_one, clearing);
}

Clearing *clearing_free(Clearing *clearing) {
        if (!clearing)
                return NULL;
        pid1_call_let_go(&clearing->list);
        sd_event_source_disable_unref(clearing->timer);
        g_tree_unref(clearing->victims);
        g_ptr_array_unref(clearing->left);
        g_strfreev(clearing->patterns);
        g_free(clearing);
        return NULL;
}
