/* See plan-names.h. */
#include "plan-names.h"

#include "plan.h"

typedef struct PlanName {
        char *next;
        unsigned machines; /* whose files have that, a bit each */
} PlanName;

struct PlanNames {
        GHashTable *by_first; /* the name that a job has first → PlanName */
};

static void plan_name_free(void *data) {
        PlanName *name = data;

        g_free(name->next);
        g_free(name);
}

PlanNames *plan_names_new(const Plan *plan) {
        PlanNames *names = g_new0(PlanNames, 1);

        names->by_first = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, plan_name_free);
        for (guint i = 0; i < plan->jobs->len; i++) {
                const PlanJob *job = plan->jobs->pdata[i];
                PlanName *name;

                if (job->roll.each)
                        continue;
                name = g_new0(PlanName, 1);
                name->next = g_strconcat("new-", job->name, NULL);
                g_hash_table_insert(names->by_first, job->name, name);
        }
        return names;
}

PlanNames *plan_names_free(PlanNames *names) {
        if (!names)
                return NULL;
        g_hash_table_unref(names->by_first);
        g_free(names);
        return NULL;
}

static PlanName *plan_name_of(const Plan *plan, const PlanJob *job) {
        return g_hash_table_lookup(plan->names->by_first, job->name);
}

const char *plan_next_name(const Plan *plan, const PlanJob *job) {
        const PlanName *name = plan_name_of(plan, job);

        return name ? name->next : NULL;
}

const char *plan_first_name(const Plan *plan, const char *name) {
        const PlanJob *job = plan_find(plan, name);

        return job ? job->name : name;
}

const char **plan_both_names(const Plan *plan, const PlanJob *job) {
        const char **both = g_new0(const char *, 3);

        both[0] = job->name;
        both[1] = plan_next_name(plan, job);
        return both;
}

const char *plan_name_on(const Plan *plan, const PlanJob *job, unsigned machine) {
        const PlanName *name = plan_name_of(plan, job);

        return name && (name->machines & 1U << machine) ? name->next : job->name;
}

void plan_rename_on(const Plan *plan, const PlanJob *job, unsigned machine, bool renamed) {
        PlanName *name = plan_name_of(plan, job);

        g_assert_nonnull(name);
        name->machines &= ~(1U << machine);
        if (renamed)
                name->machines |= 1U << machine;
}

unsigned plan_renamed_count(const Plan *plan, const PlanJob *job) {
        const PlanName *name = plan_name_of(plan, job);
        unsigned count = 0;

        for (unsigned i = 0; name && i < plan->machines; i++)
                count += (name->machines >> i) & 1;
        return count;
}
