/* See plan.h. */
#include "plan.h"

#include <string.h>

#include "name.h"
#include "spread.h"

/* Jobs share a few resources, so that some of them meet. */
#define RESOURCES 5
#define KAZOO_RESOURCE "res-2"
#define MUTEX_RESOURCE "res-4"
#define SLOTS 2 /* of every second resource */

static void plan_lock_free(void *data) {
        PlanLock *lock = data;

        g_free(lock->resource);
        g_free(lock);
}

void plan_job_free(void *data) {
        PlanJob *job = data;

        g_ptr_array_unref(job->locks);
        g_free(job->roll.node);
        g_free(job->name);
        g_free(job);
}

static void plan_add_lock(PlanJob *job, char *resource, PlanMode mode, unsigned slots) {
        PlanLock *lock = g_new0(PlanLock, 1);

        *lock = (PlanLock){resource, mode, slots};
        g_ptr_array_add(job->locks, lock);
}

unsigned plan_slots(const char *resource) {
        return g_str_equal(resource, "res-1") || g_str_equal(resource, "res-3") ? SLOTS : 1;
}

/* Every second resource has slots, and is held exclusively alone, as is what only a mutex guards.
 */
static void plan_fill_in_lock(WorldChance *chance, unsigned number, PlanLock *ret_lock) {
        ret_lock->resource = g_strdup_printf("res-%u", number);
        ret_lock->slots = plan_slots(ret_lock->resource);
        ret_lock->mode = ret_lock->slots > 1 || strcmp(ret_lock->resource, MUTEX_RESOURCE) == 0 ||
                                 world_draw_once_in(chance, 2)
                             ? PLAN_EXCLUSIVE
                             : PLAN_SHARED;
}

void plan_draw_lock(WorldChance *chance, PlanLock *ret_lock) {
        plan_fill_in_lock(chance, (unsigned)world_draw_between(chance, 0, RESOURCES - 1), ret_lock);
}

bool plan_is_of_kazoo(const PlanLock *lock) {
        return strcmp(lock->resource, KAZOO_RESOURCE) == 0;
}

bool plan_is_mutex(const PlanLock *lock) {
        return strcmp(lock->resource, MUTEX_RESOURCE) == 0;
}

static void plan_draw_locks(PlanJob *job, WorldChance *chance) {
        uint64_t own = world_draw_between(chance, 0, 9);
        PlanLock lock;

        if (own < 7)
                plan_add_lock(job, g_strconcat("job:", job->name, NULL), PLAN_EXCLUSIVE, 1);
        else if (own < 9)
                plan_add_lock(job, g_strconcat("job:", job->name, NULL), PLAN_SHARED, 1);
        for (unsigned i = 0; i < RESOURCES; i++) {
                if (!world_draw_once_in(chance, 8))
                        continue;
                plan_fill_in_lock(chance, i, &lock);
                plan_add_lock(job, lock.resource, lock.mode, lock.slots);
        }
}

static void plan_copy_lock(void *data, void *userdata) {
        const PlanLock *lock = data;

        plan_add_lock(userdata, g_strdup(lock->resource), lock->mode, lock->slots);
}

PlanJob *plan_job_copy(const PlanJob *job) {
        PlanJob *copy = g_memdup2(job, sizeof(*job));

        copy->name = g_strdup(job->name);
        copy->roll.node = g_strdup(job->roll.node);
        copy->locks = g_ptr_array_new_with_free_func(plan_lock_free);
        g_ptr_array_foreach(job->locks, plan_copy_lock, copy);
        return copy;
}

void plan_note_edit(const Plan *plan, const PlanJob *job) {
        for (unsigned i = 0; job->roll.each && i < plan->machines; i++)
                g_ptr_array_add(plan->edits, plan_roll_instance(job, i));
        if (!job->roll.each)
                g_ptr_array_add(plan->edits, plan_job_copy(job));
}

static PlanJob *plan_draw_job(WorldChance *chance, unsigned number) {
        static const unsigned periods[] = {5, 10, 15, 20, 30, 30, 60, 60, 120};
        PlanJob *job = g_new0(PlanJob, 1);

        job->name = g_strdup_printf("j%02u", number);
        job->every = periods[world_draw_between(chance, 0, G_N_ELEMENTS(periods) - 1)];
        job->catches_up = !world_draw_once_in(chance, 3);
        job->deadline = (unsigned)world_draw_between(chance, 5, 2ULL * job->every + 30);
        job->timeout =
            world_draw_once_in(chance, 4) ? (unsigned)world_draw_between(chance, 2, 20) : 0;
        job->stop_timeout = (unsigned)world_draw_between(chance, 1, 5);
        job->locks = g_ptr_array_new_with_free_func(plan_lock_free);
        plan_draw_locks(job, chance);
        job->duration = world_draw_between(chance, 10 * USEC_PER_MSEC, job->every * USEC_PER_SEC);
        job->continues = world_draw_once_in(chance, 2);
        job->takeover_after =
            world_draw_once_in(chance, 2) ? (unsigned)world_draw_between(chance, 1, 60) : 0;
        return job;
}

/* By a chance of its own: what else is drawn stays as it is. */
static void plan_draw_retries(const Plan *plan, World *world) {
        WorldChance *chance = world_chance_new(world, "retries");

        for (guint i = 0; i < plan->jobs->len; i++) {
                PlanJob *job = plan->jobs->pdata[i];

                job->attempts =
                    world_draw_once_in(chance, 2) ? (unsigned)world_draw_between(chance, 2, 4) : 1;
                job->retry_delay = (unsigned)world_draw_between(chance, 0, 8);
                job->reruns = world_draw_once_in(chance, 2);
                job->gives_in = world_draw_once_in(chance, 4);
                job->forgets = world_draw_once_in(chance, 12);
                if (job->forgets) {
                        job->attempts = 12;
                        job->retry_delay = 1;
                        job->gives_in = false;
                }
        }
        world_chance_free(chance);
}

/* By a chance of its own, as well. */
static void plan_draw_delays(const Plan *plan, World *world) {
        WorldChance *chance = world_chance_new(world, "delays");

        for (guint i = 0; i < plan->jobs->len; i++) {
                PlanJob *job = plan->jobs->pdata[i];
                unsigned most = (unsigned)world_draw_between(chance, 1, job->every - 1);

                job->delay = world_draw_once_in(chance, 3) ? most : 0;
        }
        world_chance_free(chance);
}

/* By a chance of its own, as well. */
static void plan_draw_windows(const Plan *plan, World *world) {
        WorldChance *chance = world_chance_new(world, "windows");

        for (guint i = 0; i < plan->jobs->len; i++) {
                unsigned most = (unsigned)world_draw_between(chance, 8, 50);

                ((PlanJob *)plan->jobs->pdata[i])->window =
                    world_draw_once_in(chance, 5) ? most : 0;
        }
        world_chance_free(chance);
}

static bool plan_is_alone(const PlanJob *job) {
        const PlanLock *own = job->locks->len > 0 ? job->locks->pdata[0] : NULL;

        return own && own->mode == PLAN_EXCLUSIVE && g_str_has_prefix(own->resource, "job:");
}

/* What becomes of a tick beside the run before it. Where that changes something, runs last. */
static void plan_draw_overlap(const Plan *plan, World *world) {
        WorldChance *chance = world_chance_new(world, "overlap");

        for (guint i = 0; i < plan->jobs->len; i++) {
                PlanJob *job = plan->jobs->pdata[i];

                job->allows = world_draw_once_in(chance, 2) && !plan_is_alone(job) && !job->forgets;
                job->queues = world_draw_once_in(chance, 3) && !job->allows;
                job->catches_all = world_draw_once_in(chance, 4);
                job->catches_up |= job->catches_all;
                if (job->allows || job->queues)
                        job->duration *= world_draw_between(chance, 1, job->allows ? 6 : 3);
        }
        world_chance_free(chance);
}

/* By a chance of its own, of those of which nothing else is said: a tick takes the place of the run
 * before it, or there is room for more than one. */
static void plan_draw_places(const Plan *plan, World *world) {
        WorldChance *chance = world_chance_new(world, "places");

        for (guint i = 0; i < plan->jobs->len; i++) {
                PlanJob *job = plan->jobs->pdata[i];
                bool is_free = !job->allows && !job->queues, can = plan_is_alone(job);
                unsigned slots = (unsigned)world_draw_between(chance, 2, 4);

                job->replaces = world_draw_once_in(chance, 4) && is_free && !job->catches_all;
                job->beside = job->allows ? PLAN_BESIDE : 1;
                if (world_draw_once_in(chance, 3) && is_free && can && !job->replaces &&
                    !job->forgets) {
                        job->beside = slots;
                        ((PlanLock *)job->locks->pdata[0])->slots = slots;
                }
                if (is_free && (job->replaces || job->beside > 1))
                        job->duration *= world_draw_between(chance, 1, 4);
        }
        world_chance_free(chance);
}

static unsigned plan_draw_one(WorldChance *chance, const unsigned *values, size_t n) {
        return values[world_draw_between(chance, 0, n - 1)];
}

static void plan_draw_config(Plan *plan, World *world) {
        static const unsigned timeouts[] = {25, 30, 30, 40}, takeovers[] = {100, 1000, 2000, 5000},
                              runs[] = {0, 0, 0, 4}, drains[] = {0, 3, 20, 60};
        WorldChance *chance = world_chance_new(world, "config");

        plan->session_timeout = plan_draw_one(chance, timeouts, G_N_ELEMENTS(timeouts));
        plan->takeover_ms = plan_draw_one(chance, takeovers, G_N_ELEMENTS(takeovers));
        plan->max_runs = plan_draw_one(chance, runs, G_N_ELEMENTS(runs));
        plan->drain_timeout = plan_draw_one(chance, drains, G_N_ELEMENTS(drains));
        world_chance_free(chance);
}

/* As ledgers are kept. */
static void plan_keep(Plan *plan) {
        for (guint i = 0; i < plan->jobs->len; i++) {
                PlanJob *job = plan->jobs->pdata[i];

                for (unsigned j = 0; job->roll.each && j < plan->machines; j++) {
                        PlanJob *instance = plan_roll_instance(job, j);

                        g_ptr_array_add(plan->instances, instance);
                        g_ptr_array_add(plan->kept, instance);
                }
                if (!job->roll.each)
                        g_ptr_array_add(plan->kept, job);
        }
        for (guint i = 0; i < plan->kept->len; i++) {
                PlanJob *job = plan->kept->pdata[i];

                g_hash_table_insert(plan->by_name, job->name, job);
                if (plan_next_name(plan, job))
                        g_hash_table_insert(plan->by_name, (gpointer)plan_next_name(plan, job),
                                            job);
        }
}

Plan *plan_new(World *world, unsigned jobs, unsigned machines) {
        WorldChance *chance = world_chance_new(world, "plan");
        Plan *plan = g_new0(Plan, 1);

        plan->jobs = g_ptr_array_new_with_free_func(plan_job_free);
        plan->edits = g_ptr_array_new_with_free_func(plan_job_free);
        plan->instances = g_ptr_array_new_with_free_func(plan_job_free);
        plan->kept = g_ptr_array_new();
        plan->by_name = g_hash_table_new(g_str_hash, g_str_equal);
        plan->machines = machines;
        for (unsigned i = 0; i < jobs; i++)
                g_ptr_array_add(plan->jobs, plan_draw_job(chance, i));
        world_chance_free(chance);
        plan_draw_retries(plan, world);
        plan_draw_delays(plan, world);
        plan_draw_overlap(plan, world);
        plan_draw_places(plan, world);
        plan_draw_windows(plan, world);
        plan_draw_rolls(plan, world);
        plan_draw_reboots(plan, world);
        plan_draw_services(plan, world);
        plan_draw_readiness(plan, world);
        plan_draw_links(plan, world);
        plan_draw_unscheduled(plan, world);
        plan_draw_expectations(plan, world);
        plan_draw_exceptions(plan, world);
        plan_draw_config(plan, world);
        plan->names = plan_names_new(plan);
        plan_keep(plan);
        return plan;
}

Plan *plan_free(Plan *plan) {
        if (!plan)
                return NULL;
        g_hash_table_unref(plan->by_name);
        plan_names_free(plan->names);
        g_ptr_array_unref(plan->kept);
        g_ptr_array_unref(plan->instances);
        g_ptr_array_unref(plan->jobs);
        g_ptr_array_unref(plan->edits);
        g_free(plan);
        return NULL;
}

static void plan_write_locks(const PlanJob *job, GString *text) {
        static const char *const modes[] = {"none", "shared", "exclusive"};
        PlanMode own = PLAN_NONE;
        unsigned slots = 1;
        bool any = false;

        for (guint i = 0; i < job->locks->len; i++) {
                const PlanLock *lock = job->locks->pdata[i];

                if (g_str_has_prefix(lock->resource, "job:")) {
                        own = lock->mode;
                        slots = lock->slots;
                        continue;
                }
                g_string_append_printf(text, "%s      %s: {mode: %s, slots: %u}\n",
                                       any ? "" : "    locks:\n", lock->resource, modes[lock->mode],
                                       lock->slots);
                any = true;
        }
        g_string_append_printf(text, "    lock: %s\n", modes[own]);
        if (!job->service.is)
                g_string_append_printf(text, "    slots: %u\n", slots);
}

char *plan_config(const Plan *plan, const char *servers) {
        GString *text = g_string_new(NULL);

        g_string_append_printf(text,
                               "zookeeper: {servers: \"%s\", session-timeout: %us}\n"
                               "takeover-delay: %ums\ndrain-timeout: %us\n"
                               "resources: {" KAZOO_RESOURCE ": {naming: kazoo}, " MUTEX_RESOURCE
                               ": {naming: curator-mutex}}\n",
                               servers, plan->session_timeout, plan->takeover_ms,
                               plan->drain_timeout);
        if (plan->max_runs > 0)
                g_string_append_printf(text, "max-runs: %u\n", plan->max_runs);
        return g_string_free(text, FALSE);
}

bool plan_job_continues(const PlanJob *job) {
        bool more = false;

        for (guint i = 0; i < job->locks->len; i++)
                more |=
                    !g_str_has_prefix(((const PlanLock *)job->locks->pdata[i])->resource, "job:");
        return job->continues && !more;
}

static void plan_write_loss(const PlanJob *job, GString *text) {
        if (!plan_job_continues(job))
                return;
        g_string_append(text, "    on-lock-loss: continue\n");
        if (job->takeover_after > 0)
                g_string_append_printf(text, "    takeover-after: %us\n", job->takeover_after);
}

static void plan_write_retries(const PlanJob *job, GString *text) {
        if (job->attempts > 1)
                g_string_append_printf(text,
                                       "    retries: {attempts: %u, delay: %us, max-delay: %us}\n",
                                       job->attempts, job->retry_delay, PLAN_MAX_DELAY);
        if (job->gives_in)
                g_string_append_printf(text, "    no-retry: [%u]\n", PLAN_NO_RETRY);
        if (job->reruns)
                g_string_append(text, "    on-owner-lost: rerun\n");
}

/* What is said of a job that comes due by itself. */
static void plan_write_times(const PlanJob *job, GString *text) {
        g_string_append_printf(text, "    every: %us\n    catch-up: %s\n", job->every,
                               job->catches_all  ? "all"
                               : job->catches_up ? "latest"
                                                 : "none");
        plan_write_exceptions(job, text);
        if (job->delay > 0)
                g_string_append_printf(text, "    random-delay: %us\n", job->delay);
        if (job->window > 0)
                g_string_append_printf(text, "    window: {from: \"*:*\", for: %us}\n",
                                       job->window);
        plan_write_retries(job, text);
}

/* What is said of one that is run time after time. */
static void plan_write_runs(const Plan *plan, const PlanJob *job, unsigned machine, GString *text) {
        if (job->every != PLAN_NEVER)
                plan_write_times(job, text);
        g_string_append_printf(text, "    start-deadline: %us\n", job->deadline);
        if (job->timeout > 0)
                g_string_append_printf(text, "    timeout: %us\n", job->timeout);
        if (job->allows || job->queues || job->replaces)
                g_string_append_printf(text, "    overlap: %s\n",
                                       job->allows   ? "allow"
                                       : job->queues ? "queue"
                                                     : "replace");
        plan_write_expectation(job, text);
        plan_write_links(plan, &job->links, machine, text);
        plan_write_roll(&job->roll, text);
}

/* `name`: as the file of that machine has it. */
static void plan_write_job(const Plan *plan, const PlanJob *job, const char *name, unsigned machine,
                           GString *text) {
        g_string_append_printf(text,
                               "  %s:\n    exec: [/bin/true]\n    history: %u\n"
                               "    stop-timeout: %us\n",
                               name, job->forgets ? 4 : 1000, job->stop_timeout);
        if (strcmp(name, job->name) != 0)
                g_string_append_printf(text, "    was: %s\n", job->name);
        if (job->service.is)
                plan_write_service(&job->service, text);
        else
                plan_write_runs(plan, job, machine, text);
        plan_write_loss(job, text);
        plan_write_locks(job, text);
}

/* `edited` and `left_out` may be NULL. */
static char *plan_write(const Plan *plan, unsigned machine, const PlanJob *edited,
                        const PlanJob *left_out) {
        GString *text = g_string_new("jobs:\n");

        for (guint i = 0; i < plan->jobs->len; i++) {
                const PlanJob *job = plan->jobs->pdata[i];
                bool is_edited = edited && strcmp(edited->name, job->name) == 0;

                if (job != left_out)
                        plan_write_job(plan, is_edited ? edited : job,
                                       plan_name_on(plan, job, machine), machine, text);
        }
        return g_string_free(text, FALSE);
}

char *plan_text(const Plan *plan, unsigned machine) {
        return plan_write(plan, machine, NULL, NULL);
}

char *plan_text_with(const Plan *plan, unsigned machine, const PlanJob *edited) {
        return plan_write(plan, machine, edited, NULL);
}

char *plan_text_without(const Plan *plan, unsigned machine, const PlanJob *left_out) {
        return plan_write(plan, machine, NULL, left_out);
}

const PlanJob *plan_find(const Plan *plan, const char *name) {
        return g_hash_table_lookup(plan->by_name, name);
}

const PlanJob *plan_find_on(const Plan *plan, const PlanJob *job, const char *machine) {
        g_autofree char *name =
            job->roll.each ? job_name_of_instance(job->name, machine) : g_strdup(job->name);

        return plan_find(plan, name);
}

/* Return: when the first tick after that second starts, by whichever of its names it does first. */
static int64_t plan_next_start(const Plan *plan, const PlanJob *job, int64_t second) {
        int64_t tick = plan_tick_after(job, second), start = INT64_MAX;
        g_autofree const char **names = plan_both_names(plan, job);

        for (const char **name = names; *name; name++)
                start = MIN(start, tick + spread_of(*name, tick, job->delay));
        return start;
}

bool plan_is_replaced(const Plan *plan, const char *name, int64_t after, int64_t now) {
        const PlanJob *job = plan_find(plan, name);
        bool is = job && job->replaces && plan_next_start(plan, job, after) <= now;

        for (guint i = 0; job && job->replaces && i < plan->edits->len; i++) {
                const PlanJob *edit = plan->edits->pdata[i];

                is |=
                    strcmp(edit->name, job->name) == 0 && plan_next_start(plan, edit, after) <= now;
        }
        return is;
}
