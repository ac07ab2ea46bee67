/* See plan-rolls.h. */
#include "plan-rolls.h"

#include "name.h"
#include "plan.h"

/* Of so many jobs one is such a one: each of its ticks costs as many runs as there are machines. */
#define EACH_ONE_OF 10
#define SLOTS_MOST 3
#define FAILURES_MOST 2
#define DELAY_MOST 8 /* seconds */
/* Seconds. The least is the product's; with the most a machine is back in time, mostly. */
#define REJOIN_LEAST 15
#define REJOIN_MOST 60
/* Each machine takes a while before the next one has its turn. */
#define REJOIN_EVERY 120

void plan_take_own_lock(PlanJob *job, PlanMode mode, unsigned slots) {
        PlanLock *own = job->locks->len > 0 ? job->locks->pdata[0] : NULL;

        if (own && name_is_of_job_lock(own->resource))
                g_ptr_array_remove_index(job->locks, 0);
        if (mode == PLAN_NONE)
                return;
        own = g_new0(PlanLock, 1);
        *own = (PlanLock){g_strconcat(NAME_OF_JOB_LOCK_PREFIX, job->name, NULL), mode, slots};
        g_ptr_array_insert(job->locks, 0, own);
}

static void plan_roll_draw_turns(PlanJob *job, WorldChance *chance) {
        uint64_t own = world_draw_between(chance, 0, 9);
        unsigned slots = (unsigned)world_draw_between(chance, 1, SLOTS_MOST);
        PlanMode mode = own < 7 ? PLAN_EXCLUSIVE : own < 9 ? PLAN_SHARED : PLAN_NONE;

        plan_take_own_lock(job, mode, mode == PLAN_EXCLUSIVE ? slots : 1);
        job->continues &= mode == PLAN_NONE;
}

/* All machines have had their turn before the next tick, as a rule: the last waits for the others.
 * Where they begin together they end together as well, some of the jobs: then one is to see what
 * has just become of another one. */
static void plan_roll_draw_times(PlanJob *job, WorldChance *chance) {
        static const unsigned periods[] = {60, 60, 120};
        unsigned delay = (unsigned)world_draw_between(chance, 1, DELAY_MOST);
        uint64_t most = job->every = periods[world_draw_between(chance, 0, 2)];

        job->deadline = (unsigned)world_draw_between(chance, 10, 2ULL * job->every);
        job->delay = world_draw_once_in(chance, 4) ? delay : 0;
        job->duration =
            world_draw_once_in(chance, 2)
                ? world_draw_between(chance, 5, 100) * USEC_PER_MSEC
                : world_draw_between(chance, 10 * USEC_PER_MSEC, most * USEC_PER_SEC / EACH_ONE_OF);
}

/* What goes on beside itself, or on another machine, cannot be said of it. */
static void plan_draw_roll(PlanJob *job, WorldChance *chance) {
        bool stops = !world_draw_once_in(chance, 4);
        unsigned failures = (unsigned)world_draw_between(chance, 1, FAILURES_MOST);

        job->roll = (PlanRoll){.each = true, .max_failures = stops ? failures : 0};
        job->forgets = job->reruns = job->allows = false;
        job->beside = 1;
        job->attempts = (unsigned)world_draw_between(chance, 1, 2);
        job->retry_delay = (unsigned)world_draw_between(chance, 0, 4);
        plan_roll_draw_turns(job, chance);
        plan_roll_draw_times(job, chance);
}

void plan_draw_rolls(const Plan *plan, World *world) {
        WorldChance *chance = world_chance_new(world, "rolls");
        guint first = (guint)world_draw_between(chance, 0, EACH_ONE_OF - 1);

        for (guint i = first; i < plan->jobs->len; i += EACH_ONE_OF)
                plan_draw_roll(plan->jobs->pdata[i], chance);
        world_chance_free(chance);
}

static void plan_draw_reboot(PlanJob *job, WorldChance *chance) {
        static const PlanReboot ways[] = {PLAN_REBOOT_INTERRUPTS, PLAN_REBOOT_SUCCESS,
                                          PLAN_REBOOT_SUCCESS, PLAN_REBOOT_FAIL, PLAN_REBOOT_FAIL};
        unsigned timeout = (unsigned)world_draw_between(chance, REJOIN_LEAST, REJOIN_MOST);
        PlanReboot way = ways[world_draw_between(chance, 0, G_N_ELEMENTS(ways) - 1)];

        if (!world_draw_once_in(chance, 2) || plan_roll_turns(job) == 0)
                return;
        job->roll.rejoin_timeout = timeout;
        job->roll.reboot = way;
        job->every = REJOIN_EVERY;
}

void plan_draw_reboots(const Plan *plan, World *world) {
        WorldChance *chance = world_chance_new(world, "reboots");

        for (guint i = 0; i < plan->jobs->len; i++)
                if (((const PlanJob *)plan->jobs->pdata[i])->roll.each)
                        plan_draw_reboot(plan->jobs->pdata[i], chance);
        world_chance_free(chance);
}

void plan_write_roll(const PlanRoll *roll, GString *text) {
        if (roll->each)
                g_string_append(text, "    mode: each-node\n");
        if (roll->max_failures > 0)
                g_string_append_printf(text, "    max-failures: %u\n", roll->max_failures);
        if (roll->rejoin_timeout > 0)
                g_string_append_printf(text, "    rejoin-timeout: %us\n", roll->rejoin_timeout);
        if (roll->reboot != PLAN_REBOOT_INTERRUPTS)
                g_string_append_printf(text, "    reboot: %s\n",
                                       roll->reboot == PLAN_REBOOT_SUCCESS ? "success" : "fail");
}

PlanJob *plan_roll_instance(const PlanJob *job, unsigned machine) {
        PlanJob *instance = plan_job_copy(job);

        instance->roll.node = g_strdup_printf(PLAN_MACHINE, machine + 1);
        g_free(instance->name);
        instance->name = job_name_of_instance(job->name, instance->roll.node);
        return instance;
}

unsigned plan_roll_turns(const PlanJob *job) {
        const PlanLock *own = job->locks->len > 0 ? job->locks->pdata[0] : NULL;

        return own && own->mode == PLAN_EXCLUSIVE && name_is_of_job_lock(own->resource) ? own->slots
                                                                                        : 0;
}
