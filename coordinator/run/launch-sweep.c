/* See launch-sweep.h. */
#include "launch-sweep.h"

#include <sys/stat.h>

#include "launch-dropin.h"

/* Nobody asks what became of a run that is so old. */
#define LAUNCH_AGE_MAX (4 * USEC_PER_DAY)

/* Return: whether that was not touched for so long, or is removed but for its remains. */
static bool launch_is_old(const char *directory) {
        struct stat st;

        return lstat(directory, &st) < 0 ||
               usec_sub(clock_realtime(), (usec_t)st.st_mtim.tv_sec * USEC_PER_SEC) >
                   LAUNCH_AGE_MAX;
}

void launch_sweep(const char *root, const Runs *runs) {
        g_auto(GStrv) units = launch_dropin_list(root);

        for (char **unit = units; *unit; unit++) {
                g_autofree char *directory = launch_dropin_directory(root, *unit);

                if (!runs_has_unit(runs, *unit) && launch_is_old(directory))
                        launch_dropin_remove(root, *unit);
        }
}
