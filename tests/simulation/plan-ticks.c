/* See plan-ticks.h. */
#include "plan-ticks.h"

#include <string.h>

#include "plan.h"

/* Of so many jobs one has exceptions. None whose starts are delayed: whoever reads that in its file
 * looks at thousands of its ticks, and half of the time would go there. */
#define EXCEPT_ONCE_IN 8
/* Every third minute is excepted, or every fourth: of any period that there is some ticks stay. */
#define EXCEPT_LEAST 3
#define EXCEPT_MOST 4

#define MINUTE 60

void plan_draw_exceptions(const Plan *plan, World *world) {
        WorldChance *chance = world_chance_new(world, "exceptions");

        for (guint i = 0; i < plan->jobs->len; i++) {
                PlanJob *job = plan->jobs->pdata[i];
                unsigned every = (unsigned)world_draw_between(chance, EXCEPT_LEAST, EXCEPT_MOST);

                if (world_draw_once_in(chance, EXCEPT_ONCE_IN) && job->every != PLAN_NEVER &&
                    job->delay == 0 && !job->service.is)
                        job->except = every;
        }
        world_chance_free(chance);
}

/* They go, or others come in their place. */
void plan_edit_exceptions(PlanJob *job) {
        if (job->except > 0)
                job->except = job->except == EXCEPT_MOST ? 0 : job->except + 1;
}

void plan_write_exceptions(const PlanJob *job, GString *text) {
        if (job->except > 0)
                g_string_append_printf(text, "    except: \"*-*-* *:0/%u:*\"\n", job->except);
}

bool plan_is_tick(const PlanJob *job, int64_t second) {
        return second % job->every == 0 && (job->except == 0 || second / MINUTE % job->except != 0);
}

bool plan_was_tick(const Plan *plan, const PlanJob *job, int64_t second) {
        bool was = plan_is_tick(job, second);

        for (guint i = 0; i < plan->edits->len && !was; i++) {
                const PlanJob *edit = plan->edits->pdata[i];

                was = strcmp(edit->name, job->name) == 0 && plan_is_tick(edit, second);
        }
        return was;
}

int64_t plan_tick_after(const PlanJob *job, int64_t second) {
        int64_t tick = (second / job->every + 1) * job->every;

        while (!plan_is_tick(job, tick))
                tick += job->every;
        return tick;
}

int64_t plan_tick_before(const PlanJob *job, int64_t second) {
        int64_t tick = (second - 1) / job->every * job->every;

        while (!plan_is_tick(job, tick))
                tick -= job->every;
        return tick;
}

int64_t plan_longest_gap(const PlanJob *job) {
        return job->except > 0 ? (int64_t)MAX(job->every, MINUTE) + job->every : job->every;
}
