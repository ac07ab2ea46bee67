/* See launch-sweep.h. */
#include "launch-sweep.h"

#include <sys/stat.h>

#include "clearing.h"
#include "launch-dropin.h"
#include "sweep.h"
#include "unit-spec.h"

/* Nobody asks what became of a run that is so old. */
#define LAUNCH_AGE_MAX (4 * USEC_PER_DAY)

struct LaunchSweep {
        const UnitManager *manager; /* weak */
        const Runs *runs;           /* weak */
        GHashTable *units;          /* a set: names that are still to be looked at */
        Sweep *sweep;
};

/* Return: whether it is nobody's: what lives may be made to start again, and is then to find its
 * marker, and its result is noted there. */
static bool launch_is_nobodys(const LaunchSweep *sweep, const char *unit) {
        return !runs_has_unit(sweep->runs, unit) &&
               !unit_is_populated(sweep->manager, unit_slices, unit);
}

/* Return: whether that was not touched for so long, or is removed but for its remains. */
static bool launch_is_old(const char *directory) {
        struct stat st;

        return lstat(directory, &st) < 0 ||
               usec_sub(clock_realtime(), (usec_t)st.st_mtim.tv_sec * USEC_PER_SEC) >
                   LAUNCH_AGE_MAX;
}

static void launch_sweep_on_turn(void *item, unsigned what, void *userdata) {
        LaunchSweep *sweep = userdata;
        const char *unit = item, *root = unit_manager_dropin_root(sweep->manager);
        g_autofree char *directory = launch_dropin_directory(root, unit);

        (void)what;
        if (launch_is_nobodys(sweep, unit) && launch_is_old(directory))
                launch_dropin_remove(root, unit);
        g_hash_table_remove(sweep->units, unit);
}

LaunchSweep *launch_sweep_new(sd_event *event, const UnitManager *manager, const Runs *runs) {
        LaunchSweep *sweep = g_new0(LaunchSweep, 1);

        sweep->manager = manager;
        sweep->runs = runs;
        sweep->units = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        sweep->sweep = sweep_new(event, launch_sweep_on_turn, sweep);
        return sweep;
}

LaunchSweep *launch_sweep_free(LaunchSweep *sweep) {
        if (!sweep)
                return NULL;
        sweep_free(sweep->sweep);
        g_hash_table_unref(sweep->units);
        g_free(sweep);
        return NULL;
}

void launch_sweep_begin(LaunchSweep *sweep) {
        g_auto(GStrv) units = launch_dropin_list(unit_manager_dropin_root(sweep->manager));

        if (!clock_is_plausible(clock_realtime())) /* it does not tell what is old */
                return;
        for (char **unit = units; *unit; unit++) {
                char *name = NULL;

                if (g_hash_table_contains(sweep->units, *unit))
                        continue;
                name = g_strdup(*unit);
                g_hash_table_add(sweep->units, name);
                sweep_add(sweep->sweep, name, 1);
        }
}

unsigned launch_sweep_length(const LaunchSweep *sweep) {
        return sweep_length(sweep->sweep);
}
