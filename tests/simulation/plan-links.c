/* See plan-links.h. */
#include "plan-links.h"

#include "plan.h"

/* Of so many jobs one follows another one, or is run when one has failed, or is well again. What
 * follows each run costs as much as its own ticks do: there are few. */
#define AFTER_ONCE_IN 8
#define ALSO_ONCE_IN 2 /* of these */
#define FAILURE_ONCE_IN 8
#define RECOVERY_ONCE_IN 10

/* Of so many that are called one has no schedule of its own, and of so many others. */
#define CALLED_ONLY_ONCE_IN 2
#define BY_HAND_ONCE_IN 12

static PlanJob *plan_draw_earlier(const Plan *plan, WorldChance *chance, guint number) {
        return plan->jobs->pdata[world_draw_between(chance, 0, number - 1)];
}

static void plan_draw_also(PlanJob *job, const PlanJob *other, WorldChance *chance) {
        if (world_draw_once_in(chance, ALSO_ONCE_IN) && job->links.after && !other->roll.each &&
            g_strcmp0(job->links.after, other->name) != 0)
                job->links.also = other->name;
}

/* Whose turn comes more often than its own it follows where that has failed alone: else it would do
 * nothing but refuse. */
static void plan_draw_after(PlanJob *job, const PlanJob *parent, WorldChance *chance) {
        PlanOn on = (PlanOn)world_draw_between(chance, 0, PLAN_ONS - 1);

        if (!world_draw_once_in(chance, AFTER_ONCE_IN) || parent->roll.each || job->roll.each)
                return;
        job->links.after = parent->name;
        job->links.on = parent->every < job->every ? PLAN_ON_FAILURE : on;
}

static bool plan_is_service(const Plan *plan, const char *name) {
        for (guint i = 0; name && i < plan->jobs->len; i++) {
                const PlanJob *job = plan->jobs->pdata[i];

                if (g_str_equal(job->name, name))
                        return job->service.is;
        }
        return false;
}

/* A service neither follows others, nor does anything follow it. */
static void plan_unlink_services(const Plan *plan, PlanJob *job) {
        PlanLinks *links = &job->links;

        if (job->service.is)
                *links = (PlanLinks){0};
        if (plan_is_service(plan, links->after))
                links->after = links->also = NULL;
        if (plan_is_service(plan, links->also))
                links->also = NULL;
        if (plan_is_service(plan, links->on_failure))
                links->on_failure = NULL;
        if (plan_is_service(plan, links->on_recovery))
                links->on_recovery = NULL;
}

void plan_draw_links(const Plan *plan, World *world) {
        WorldChance *chance = world_chance_new(world, "links");

        for (guint i = 1; i < plan->jobs->len; i++) {
                PlanJob *job = plan->jobs->pdata[i];

                plan_draw_after(job, plan_draw_earlier(plan, chance, i), chance);
                plan_draw_also(job, plan_draw_earlier(plan, chance, i), chance);
                if (world_draw_once_in(chance, FAILURE_ONCE_IN) && !job->roll.each)
                        plan_draw_earlier(plan, chance, i)->links.on_failure = job->name;
                if (world_draw_once_in(chance, RECOVERY_ONCE_IN) && !job->roll.each)
                        plan_draw_earlier(plan, chance, i)->links.on_recovery = job->name;
        }
        for (guint i = 0; i < plan->jobs->len; i++)
                plan_unlink_services(plan, plan->jobs->pdata[i]);
        world_chance_free(chance);
}

static bool plan_is_hook(const PlanJob *job, const PlanJob *hook) {
        return g_strcmp0(job->links.on_failure, hook->name) == 0 ||
               g_strcmp0(job->links.on_recovery, hook->name) == 0;
}

static bool plan_is_called(const Plan *plan, const PlanJob *job) {
        bool is = job->links.after;

        for (guint i = 0; i < plan->jobs->len; i++)
                is |= plan_is_hook(plan->jobs->pdata[i], job);
        return is;
}

/* What is said of ticks is not said of it; nor that it fails again and again, which attempts do. */
static void plan_take_schedule(PlanJob *job) {
        job->every = PLAN_NEVER;
        job->delay = job->window = 0;
        job->attempts = 1;
        job->catches_up = job->catches_all = job->reruns = job->gives_in = job->forgets = false;
}

void plan_draw_unscheduled(const Plan *plan, World *world) {
        WorldChance *chance = world_chance_new(world, "unscheduled");

        for (guint i = 0; i < plan->jobs->len; i++) {
                PlanJob *job = plan->jobs->pdata[i];
                uint64_t one_in = plan_is_called(plan, job) ? CALLED_ONLY_ONCE_IN : BY_HAND_ONCE_IN;

                if (world_draw_once_in(chance, one_in) && !job->roll.each && !job->service.is)
                        plan_take_schedule(job);
        }
        world_chance_free(chance);
}

void plan_edit_links(PlanLinks *links) {
        const char *on_failure = links->on_failure;

        links->on = (links->on + 1) % PLAN_ONS;
        links->on_failure = links->on_recovery;
        links->on_recovery = on_failure;
}

/* Return: as the file of that machine names it; borrowed. NULL for none. */
static const char *plan_link_name(const Plan *plan, const char *job, unsigned machine) {
        const PlanJob *one = job ? plan_find(plan, job) : NULL;

        return one ? plan_name_on(plan, one, machine) : job;
}

void plan_write_links(const Plan *plan, const PlanLinks *links, unsigned machine, GString *text) {
        static const char *const ons[] = {"success", "failure", "any"};
        const char *after = plan_link_name(plan, links->after, machine),
                   *also = plan_link_name(plan, links->also, machine),
                   *on_failure = plan_link_name(plan, links->on_failure, machine),
                   *on_recovery = plan_link_name(plan, links->on_recovery, machine);

        if (also)
                g_string_append_printf(
                    text, "    after: {all: [{job: %s, on: %s}, {job: %s, on: any}]}\n", after,
                    ons[links->on], also);
        else if (after)
                g_string_append_printf(text, "    after: {job: %s, on: %s}\n", after,
                                       ons[links->on]);
        if (on_failure)
                g_string_append_printf(text, "    on-failure: %s\n", on_failure);
        if (on_recovery)
                g_string_append_printf(text, "    on-recovery: %s\n", on_recovery);
}

uint64_t plan_runs_due(const Plan *plan, const PlanJob *job, uint64_t seconds) {
        uint64_t due = seconds / job->every + 1;

        for (guint i = 0; i < plan->jobs->len; i++) {
                const PlanJob *other = plan->jobs->pdata[i];

                if (g_strcmp0(job->links.after, other->name) == 0 ||
                    g_strcmp0(job->links.also, other->name) == 0 || plan_is_hook(other, job))
                        due += plan_runs_due(plan, other, seconds) *
                               (other->roll.each ? plan->machines : 1);
        }
        return due;
}
