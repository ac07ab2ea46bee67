/* A job gets another name: somebody gives machine after machine the file that has it under that,
 * from the first to the last or the other way round. Now and then he leaves it half done for a
 * while, and a machine gets the file of before again. In the end all have the new one. */
#include "fault.h"

/* Of so many times that he comes he does nothing, takes one back, and, where nothing is under way,
 * begins. */
#define IDLE_ONCE_IN 4
#define BACK_ONCE_IN 8
#define BEGINS_ONCE_IN 4
#define LASTS_MOST (2 * USEC_PER_MINUTE)

/* Return: the job that is under its other name on some machines alone; NULL: there is none. */
static const PlanJob *fault_half_renamed(const FaultSite *site) {
        for (guint i = 0; i < site->plan->jobs->len; i++) {
                const PlanJob *job = site->plan->jobs->pdata[i];
                unsigned count = plan_renamed_count(site->plan, job);

                if (count > 0 && count < site->plan->machines)
                        return job;
        }
        return NULL;
}

static const PlanJob *fault_draw_first_named(const FaultSite *site, WorldChance *chance) {
        g_autoptr(GPtrArray) jobs = g_ptr_array_new();

        for (guint i = 0; i < site->plan->jobs->len; i++) {
                PlanJob *job = site->plan->jobs->pdata[i];

                if (plan_next_name(site->plan, job) && plan_renamed_count(site->plan, job) == 0)
                        g_ptr_array_add(jobs, job);
        }
        return jobs->len > 0 ? jobs->pdata[world_draw_between(chance, 0, jobs->len - 1)] : NULL;
}

static void fault_write_named(const FaultSite *site, const PlanJob *job, unsigned machine,
                              bool renamed) {
        FleetNode *node = fleet_node(site->fleet, machine);
        g_autofree char *text = NULL;

        plan_rename_on(site->plan, job, machine, renamed);
        text = plan_text(site->plan, machine);
        fleet_node_write(node, FAULT_JOB_FILE, text);
        history_note_without(site->history, fleet_node_name(node), NULL);
        if (job->service.is) { /* its run ends there */
                history_note_edit(site->history, fleet_node_name(node), job->name);
                history_note_mended(site->history, fleet_node_name(node), job->name);
        }
        fleet_node_reload(node);
}

/* Return: the next machine whose file is not as `renamed` says; as many as there are: none is. */
static unsigned fault_next_machine(const FaultSite *site, const PlanJob *job, bool renamed,
                                   bool from_the_last) {
        unsigned machines = site->plan->machines;

        for (unsigned i = 0; i < machines; i++) {
                unsigned machine = from_the_last ? machines - 1 - i : i;

                if ((plan_name_on(site->plan, job, machine) != job->name) != renamed)
                        return machine;
        }
        return machines;
}

/* Whether it goes from the last to the first one is the job's own. */
static bool fault_goes_backwards(const FaultSite *site, const PlanJob *job) {
        return g_str_hash(job->name) % 2;
}

static usec_t fault_go_on_renaming(const FaultSite *site, WorldChance *chance, FaultCase *fault,
                                   const PlanJob *job) {
        bool backwards = fault_goes_backwards(site, job),
             idle = world_draw_once_in(chance, IDLE_ONCE_IN),
             back = world_draw_once_in(chance, BACK_ONCE_IN) &&
                    plan_renamed_count(site->plan, job) > 1;

        if (idle)
                return fault_miss(fault);
        fault->target = fault_next_machine(site, job, !back, back ? !backwards : backwards);
        fault_write_named(site, job, fault->target, !back);
        return 0;
}

static usec_t fault_rename_job(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        const PlanJob *job = fault_half_renamed(site);
        bool begins = world_draw_once_in(chance, BEGINS_ONCE_IN);
        usec_t lasts = world_draw_between(chance, USEC_PER_SEC, LASTS_MOST);

        if (job)
                return fault_go_on_renaming(site, chance, fault, job);
        job = begins && site->plan->machines > 1 ? fault_draw_first_named(site, chance) : NULL;
        if (!job)
                return fault_miss(fault);
        fault->job = job->name;
        fault->target = fault_next_machine(site, job, true, fault_goes_backwards(site, job));
        fault_write_named(site, job, fault->target, true);
        return lasts;
}

/* The rest of the machines, at once. */
static void fault_end_renaming(const FaultSite *site, const FaultCase *fault) {
        const PlanJob *job = plan_find(site->plan, fault->job);

        for (unsigned i = 0; i < site->plan->machines; i++)
                if (plan_name_on(site->plan, job, i) == job->name)
                        fault_write_named(site, job, i, true);
}

const FaultKind rename_faults[] = {
    {"job-renamed", 4 * USEC_PER_SEC, fault_rename_job, fault_end_renaming},
    {NULL},
};
