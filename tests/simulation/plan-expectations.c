/* See plan-expectations.h. */
#include "plan-expectations.h"

#include "plan.h"

/* Of so many jobs something is expected of one. */
#define EXPECTED_ONCE_IN 3
/* Seconds: the shortest that there may be, and the longest that an edit makes of it. */
#define WITHIN_LEAST 60U
#define WITHIN_MOST 240U

void plan_draw_expectations(const Plan *plan, World *world) {
        static const unsigned times[] = {60, 60, 75, 90, 120, 180};
        WorldChance *chance = world_chance_new(world, "expectations");

        for (guint i = 0; i < plan->jobs->len; i++) {
                PlanJob *job = plan->jobs->pdata[i];
                unsigned within = times[world_draw_between(chance, 0, G_N_ELEMENTS(times) - 1)];

                if (world_draw_once_in(chance, EXPECTED_ONCE_IN) && !job->service.is)
                        job->within = within;
        }
        world_chance_free(chance);
}

void plan_edit_expectation(PlanJob *job) {
        if (!job->service.is)
                job->within = (job->within + WITHIN_LEAST) % WITHIN_MOST;
}

void plan_write_expectation(const PlanJob *job, GString *text) {
        if (job->within > 0)
                g_string_append_printf(text, "    expect-within: %us\n", job->within);
}
