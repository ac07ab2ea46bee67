/* What befalls the job files: somebody takes a job out on a node, breaks the file, or copies half
 * of it; or edits a job on some of the nodes, or all of them. The daemons read it, and it is mended
 * later. And a disk that is full. */
#include <string.h>

#include "fault.h"

static const PlanJob *fault_draw_job(const FaultSite *site, WorldChance *chance) {
        return site->plan->jobs->pdata[world_draw_between(chance, 0, site->plan->jobs->len - 1)];
}

/* Writes it there: it lasts until it is mended. What is named is not in it, and nothing else is
 * wrong with it. */
static usec_t fault_spoil_file(const FaultSite *site, WorldChance *chance, const FaultCase *fault,
                               FleetNode *node, const char *text) {
        fleet_node_write(node, FAULT_JOB_FILE, text);
        history_note_edit(site->history, fleet_node_name(node), fault->job);
        history_note_without(site->history, fleet_node_name(node), fault->job);
        fleet_node_reload(node);
        return world_draw_between(chance, USEC_PER_SEC, USEC_PER_MINUTE);
}

static usec_t fault_remove_job(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        FleetNode *node = fault_draw_node(site, chance, fault);
        const PlanJob *job = fault_draw_job(site, chance);
        g_autofree char *text = plan_text_without(site->plan, fault->target, job);

        fault->job = job->name;
        return fault_spoil_file(site, chance, fault, node, text);
}

static usec_t fault_break_file(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        FleetNode *node = fault_draw_node(site, chance, fault);

        return fault_spoil_file(site, chance, fault, node, "jobs:\n  j00: {every: never}\n");
}

/* It is cut off where that leaves no definition of anything, but a file that is wrong: before all
 * that it says, or within a job. */
static usec_t fault_tear_file(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        FleetNode *node = fault_draw_node(site, chance, fault);
        g_autofree char *text = plan_text(site->plan, fault->target);
        uint64_t job = world_draw_between(chance, 0, site->plan->jobs->len);
        char *at = text;

        for (uint64_t i = 0; i < job; i++)
                at = strstr(at, "exec: [") + strlen("exec: [");
        *at = '\0';
        return fault_spoil_file(site, chance, fault, node, text);
}

static void fault_mend_file(const FaultSite *site, const FaultCase *fault) {
        FleetNode *node = fleet_node(site->fleet, fault->target);
        g_autofree char *text = plan_text(site->plan, fault->target);

        fleet_node_write(node, FAULT_JOB_FILE, text);
        history_note_mended(site->history, fleet_node_name(node), fault->job);
        history_note_without(site->history, fleet_node_name(node), NULL);
        fleet_node_reload(node);
}

/* ---- edits ---- */

/* On those nodes, each of which is a bit. `edited`: NULL: as the plan has it. `note`: that it is
 * so, or is not any more. */
static void fault_write_some(const FaultSite *site, const FaultCase *fault, const PlanJob *edited,
                             void (*note)(History *history, const char *node, const char *job)) {
        for (unsigned i = 0; i < fleet_size(site->fleet); i++) {
                FleetNode *node = fleet_node(site->fleet, i);
                g_autofree char *text = NULL;

                if (!(fault->way & 1U << i))
                        continue;
                text = edited ? plan_text_with(site->plan, i, edited) : plan_text(site->plan, i);
                fleet_node_write(node, FAULT_JOB_FILE, text);
                note(site->history, fleet_node_name(node), fault->job);
                history_note_without(site->history, fleet_node_name(node), NULL);
                fleet_node_reload(node);
        }
}

static usec_t fault_write_edited(const FaultSite *site, WorldChance *chance, FaultCase *fault,
                                 const PlanJob *job) {
        plan_note_edit(site->plan, job);
        fault->job = job->name; /* a name is the plan's, also of a copy */
        fault->way = 1U << fault->target |
                     (unsigned)world_draw_between(chance, 0, (1U << fleet_size(site->fleet)) - 1);
        fault_write_some(site, fault, job, history_note_edit);
        return world_draw_between(chance, USEC_PER_SEC, USEC_PER_MINUTE);
}

/* Another period or pause, other exceptions, or one more lock, which nobody else takes; and other
 * links, and another time within which a success is expected. */
static usec_t fault_edit_job(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        static const unsigned periods[] = {5, 10, 15, 20, 30, 60};
        PlanLock more = {(char *)"edited", PLAN_EXCLUSIVE, 1};
        g_autoptr(GPtrArray) locks = g_ptr_array_new();
        PlanJob job;

        (void)fault_draw_node(site, chance, fault);
        job = *fault_draw_job(site, chance);
        g_ptr_array_extend(locks, job.locks, NULL, NULL);
        if (world_draw_once_in(chance, 2))
                g_ptr_array_add(locks, &more);
        else
                job.every = periods[world_draw_between(chance, 0, G_N_ELEMENTS(periods) - 1)];
        job.delay = MIN(job.delay, job.every - 1);
        job.locks = locks;
        if (job.service.is)
                plan_edit_service(&job.service);
        plan_edit_links(&job.links);
        plan_edit_expectation(&job);
        plan_edit_exceptions(&job);
        return fault_write_edited(site, chance, fault, &job);
}

/* It takes one of the resources that jobs share in another way, no more, or as well, while its runs
 * wait for them or hold them. */
static usec_t fault_edit_locks(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        g_autoptr(GPtrArray) locks = g_ptr_array_new();
        bool goes = world_draw_once_in(chance, 2), had = false;
        PlanLock other = {0};
        PlanJob job;
        usec_t lasts;

        (void)fault_draw_node(site, chance, fault);
        job = *fault_draw_job(site, chance);
        plan_draw_lock(chance, &other);
        for (guint i = 0; i < job.locks->len; i++)
                if (strcmp(((const PlanLock *)job.locks->pdata[i])->resource, other.resource) == 0)
                        had = true;
                else
                        g_ptr_array_add(locks, job.locks->pdata[i]);
        if (!had || !goes)
                g_ptr_array_add(locks, &other);
        job.locks = locks;
        lasts = fault_write_edited(site, chance, fault, &job);
        g_free(other.resource);
        return lasts;
}

static void fault_take_back_edit(const FaultSite *site, const FaultCase *fault) {
        fault_write_some(site, fault, NULL, history_note_mended);
}

/* ---- the disk ---- */

static usec_t fault_fill_disk(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        const FleetNode *node = fault_draw_node(site, chance, fault);

        machine_set_full(fleet_node_machine(node), true);
        history_note_begin(site->history, fleet_node_name(node), HISTORY_DISK);
        return world_draw_between(chance, USEC_PER_SEC, USEC_PER_MINUTE);
}

static void fault_make_room(const FaultSite *site, const FaultCase *fault) {
        const FleetNode *node = fleet_node(site->fleet, fault->target);

        machine_set_full(fleet_node_machine(node), false);
        history_note_end(site->history, fleet_node_name(node), HISTORY_DISK);
}

const FaultKind file_faults[] = {
    {"job-removed", 60 * USEC_PER_SEC, fault_remove_job, fault_mend_file},
    {"file-broken", 60 * USEC_PER_SEC, fault_break_file, fault_mend_file},
    {"file-torn", 90 * USEC_PER_SEC, fault_tear_file, fault_mend_file},
    {"job-edited", 60 * USEC_PER_SEC, fault_edit_job, fault_take_back_edit},
    {"locks-edited", 60 * USEC_PER_SEC, fault_edit_locks, fault_take_back_edit},
    {"disk-full", 90 * USEC_PER_SEC, fault_fill_disk, fault_make_room},
    {NULL},
};
