/* By how much starts are delayed: what every version says, evenly, within the bounds. */
#include "spread.h"

#include <criterion/criterion.h>
#include <glib.h>
#include <inttypes.h>

/* Nodes of two versions start a tick at one moment. */
Test(spread, is_that_of_other_versions) {
        static const struct {
                const char *job;
                int64_t tick, most, expected;
        } cells[] = {
            {"orders-backup", 0, 3600, 3391},
            {"orders-backup", 1764126000, 3600, 393},
            {"orders-backup", 1764212400, 3600, 115},
            {"a", 7200, 600, 213},
            {"b", 7200, 600, 224},
            {"a", 7200, 0, 0},
            {"a", 7200, -1, 0},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cells); i++)
                cr_expect_eq(spread_of(cells[i].job, cells[i].tick, cells[i].most),
                             cells[i].expected, "%s %" PRId64, cells[i].job, cells[i].tick);
}

/* Of one job over its ticks, and of many jobs at one tick. Each value is had 100 times of 1,000 on
 * average, and not by less than 60 or more than 140: four times the spread of dice. */
Test(spread, is_even_and_has_both_ends) {
        unsigned ticks[10] = {0}, jobs[10] = {0};

        for (int i = 0; i < 1000; i++) {
                g_autofree char *job = g_strdup_printf("job-%d", i);
                int64_t of_tick = spread_of("a", 86400 * (int64_t)i, 9),
                        of_job = spread_of(job, 1764126000, 9);

                cr_assert(of_tick >= 0 && of_tick <= 9 && of_job >= 0 && of_job <= 9);
                ticks[of_tick]++;
                jobs[of_job]++;
        }
        for (unsigned i = 0; i < 10; i++) {
                cr_expect(ticks[i] >= 60 && ticks[i] <= 140, "%u: %u", i, ticks[i]);
                cr_expect(jobs[i] >= 60 && jobs[i] <= 140, "%u: %u", i, jobs[i]);
        }
}
