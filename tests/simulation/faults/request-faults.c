/* People: they ask for runs, drain nodes and pause jobs, and one who reaches the servers ends
 * sessions. */
#include <string.h>

#include "control-pause.h"
#include "control.h"
#include "fault.h"
#include "ledger.h"
#include "paths.h"
#include "trace.h"

#define CONTROL "/jobkeeper/control"
/* So often somebody looks whether what he took back is so no more, and so many times it is: what
 * was asked of the servers before may still come. */
#define WISH_LOOK (2 * USEC_PER_SEC)
#define WISH_LOOKS 60

/* Return: the name under which the job of that first name stands at the servers just now. */
static const char *fault_name(const FaultSite *site, const char *name) {
        const PlanJob *job = plan_find(site->plan, name);
        const char *next = job ? plan_next_name(site->plan, job) : NULL;
        g_autofree char *path = next ? path_job("/jobkeeper", next) : NULL;

        return path && data_tree_find(ensemble_tree(site->ensemble), path) ? next : name;
}

/* Return: of a job that is drawn, what it is on that node. */
static const PlanJob *fault_draw_job(const FaultSite *site, WorldChance *chance,
                                     const FleetNode *node) {
        guint job = (guint)world_draw_between(chance, 0, site->plan->jobs->len - 1);

        return plan_find_on(site->plan, site->plan->jobs->pdata[job], fleet_node_name(node));
}

/* One that has no schedule as often as any other: what nobody calls would not run at all. */
static const PlanJob *fault_draw_wanted(const FaultSite *site, WorldChance *chance,
                                        const FleetNode *node) {
        const PlanJob *job = fault_draw_job(site, chance, node);
        bool by_hand = world_draw_once_in(chance, 2);
        g_autoptr(GPtrArray) unscheduled = g_ptr_array_new();

        for (guint i = 0; i < site->plan->jobs->len; i++) {
                PlanJob *other = site->plan->jobs->pdata[i];

                if (other->every == PLAN_NEVER)
                        g_ptr_array_add(unscheduled, other);
        }
        return by_hand && unscheduled->len > 0
                   ? unscheduled->pdata[world_draw_between(chance, 0, unscheduled->len - 1)]
                   : job;
}

static usec_t fault_manual_run(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        const FleetNode *node = fault_draw_node(site, chance, fault);
        const PlanJob *job = fault_draw_wanted(site, chance, node);

        /* Whoever asks for a run of a service is refused before it comes to anything. */
        if (!fleet_node_daemon(node) || !fault_node_works(node) || job->service.is)
                return fault_miss(fault);
        daemon_request(fleet_node_daemon(node), plan_name_on(site->plan, job, fault->target));
        return 0;
}

/* Return: the run of the job that is claimed; NULL: none. */
static const LedgerEntry *fault_claimed(const Ledger *ledger) {
        const LedgerEntry *entry = ledger ? ledger_first_claimed(ledger) : NULL;

        return entry && entry->node ? entry : NULL;
}

/* Somebody has what runs of a job ended, from any node. */
static usec_t fault_stop_run(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        const FleetNode *node = fault_draw_node(site, chance, fault);
        const char *name = fault_name(site, fault_draw_job(site, chance, node)->name);
        g_autofree char *path = path_job("/jobkeeper", name);
        const TreeNode *at = data_tree_find(ensemble_tree(site->ensemble), path);
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        const LedgerEntry *entry;

        if (at && at->data)
                (void)ledger_decode(at->data, strlen(at->data), &ledger);
        entry = fault_claimed(ledger);
        if (!entry || !fleet_node_daemon(node) || !fault_node_works(node))
                return fault_miss(fault);
        history_unwanted(site->history, name, entry->run);
        daemon_request_stop(fleet_node_daemon(node), name, entry->run, entry->node);
        return 0;
}

/* Its locks are gone before it hears of it: for its runs no promise holds. */
static usec_t fault_end_session(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        const FleetNode *node = fault_draw_node(site, chance, fault);
        const Coordinator *coordinator =
            fleet_node_daemon(node) ? daemon_coordinator(fleet_node_daemon(node)) : NULL;

        if (!coordinator || session_id(coordinator->session) == 0)
                return fault_miss(fault);
        history_excuse(site->history, fleet_node_name(node));
        (void)ensemble_end_session(site->ensemble, session_id(coordinator->session));
        return 0;
}

/* Somebody clears a queue by hand. What runs there holds its lock no more. */
static usec_t fault_delete_contender(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        const FleetNode *node = fault_draw_node(site, chance, fault);
        const Coordinator *coordinator =
            fleet_node_daemon(node) ? daemon_coordinator(fleet_node_daemon(node)) : NULL;
        g_autoptr(GPtrArray) owned = NULL;

        if (!coordinator || session_id(coordinator->session) == 0)
                return fault_miss(fault);
        owned = data_tree_owned(ensemble_tree(site->ensemble), session_id(coordinator->session));
        for (guint i = owned->len; i > 0; i--)
                if (!g_str_has_prefix(owned->pdata[i - 1], "/jobkeeper/locks/"))
                        g_ptr_array_remove_index(owned, i - 1);
        if (owned->len == 0)
                return fault_miss(fault);
        history_excuse(site->history, fleet_node_name(node));
        (void)ensemble_delete(site->ensemble,
                              owned->pdata[world_draw_between(chance, 0, owned->len - 1)]);
        return 0;
}

/* ---- what stands in the control node ---- */

/* Changes it. Return: whether there was anything to be changed. */
typedef bool (*WishFunc)(const FaultSite *site, json_t *control, const char *name, bool wanted);

/* Who has taken a wish back, and looks whether that is so. */
typedef struct WishEnd {
        const FaultSite *site;
        WishFunc change;
        char *name;
        unsigned looks;
        WorldTask *task;
} WishEnd;

/* Those that still look. */
static GPtrArray *wish_ends;

static void wish_end_free(void *data) {
        WishEnd *end = data;

        world_task_free(end->task);
        g_free(end->name);
        g_free(end);
}

void fault_forget_wishes(void) {
        g_clear_pointer(&wish_ends, g_ptr_array_unref);
}

/* Return: whether it is as wished; it is asked for where it is not. */
static bool fault_wish(const FaultSite *site, WishFunc change, const char *name, bool wanted) {
        const TreeNode *at = data_tree_find(ensemble_tree(site->ensemble), CONTROL);
        json_t *control = at && at->data ? control_parse(at->data, strlen(at->data)) : NULL;
        g_autofree char *text = NULL;
        bool changes = control && change(site, control, name, wanted);

        if (changes) {
                text = control_encode(control);
                trace_write(name, wanted ? "is to be drained, or paused"
                                         : "is to be drained, or paused, no more");
                (void)ensemble_write(site->ensemble, CONTROL, text, at->version);
        }
        json_decref(control);
        return control && !changes;
}

static void fault_look_again(void *userdata) {
        WishEnd *end = userdata;

        end->task = NULL;
        if (fault_wish(end->site, end->change, end->name, false))
                end->looks--;
        if (end->looks > 0)
                end->task = world_after(end->site->world, WISH_LOOK, fault_look_again, end);
        else
                (void)g_ptr_array_remove(wish_ends, end);
}

static void fault_take_back(const FaultSite *site, WishFunc change, const char *name) {
        WishEnd *end = g_new0(WishEnd, 1);

        end->site = site;
        end->change = change;
        end->name = g_strdup(name);
        end->looks = WISH_LOOKS;
        if (!wish_ends)
                wish_ends = g_ptr_array_new_with_free_func(wish_end_free);
        g_ptr_array_add(wish_ends, end);
        fault_look_again(end);
}

/* ---- drained ---- */

static bool fault_change_drain(const FaultSite *site, json_t *control, const char *node,
                               bool wanted) {
        const ControlDrain drain = {(char *)"somebody", (char *)"a new disk", USEC_PER_SEC};

        (void)site;
        if (control_is_drained(control, node, NULL) == wanted)
                return false;
        if (wanted)
                (void)control_drain(control, node, &drain);
        else
                (void)control_undrain(control, node);
        return true;
}

static usec_t fault_drain(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        const FleetNode *node = fault_draw_node(site, chance, fault);

        if (fault_wish(site, fault_change_drain, fleet_node_name(node), true))
                return fault_miss(fault);
        return world_draw_between(chance, USEC_PER_SEC, USEC_PER_MINUTE);
}

static void fault_undrain(const FaultSite *site, const FaultCase *fault) {
        fault_take_back(site, fault_change_drain,
                        fleet_node_name(fleet_node(site->fleet, fault->target)));
}

/* ---- paused ---- */

/* By the servers' clock, which is right. */
static usec_t fault_server_time(const FaultSite *site) {
        return (usec_t)MACHINE_EPOCH * USEC_PER_SEC + world_now(site->world);
}

/* `job`: "" for all. Whoever pauses one that has another name now does so by that, and whoever
 * takes it back by the name by which it is paused. */
static bool fault_change_pause(const FaultSite *site, json_t *control, const char *job,
                               bool wanted) {
        const ControlPause pause = {
            .said = {(char *)"somebody", (char *)"the database moves", fault_server_time(site)}};
        const char *one = *job ? fault_name(site, job) : NULL;
        usec_t now = fault_server_time(site);

        if (control_is_paused(control, one, now, NULL) == wanted)
                return false;
        if (!wanted)
                return control_resume(control, one, now);
        return control_pause(control, one, now, &pause) == 0;
}

/* Return: the job that is paused, or "" for all. */
static const char *fault_paused(const FaultSite *site, const FaultCase *fault) {
        return fault->way < site->plan->jobs->len
                   ? ((const PlanJob *)site->plan->jobs->pdata[fault->way])->name
                   : "";
}

static usec_t fault_pause(const FaultSite *site, WorldChance *chance, FaultCase *fault) {
        (void)fault_draw_node(site, chance, fault);
        fault->way = (unsigned)world_draw_between(chance, 0, site->plan->jobs->len);
        if (fault_wish(site, fault_change_pause, fault_paused(site, fault), true))
                return fault_miss(fault);
        return world_draw_between(chance, USEC_PER_SEC / 2, USEC_PER_MINUTE);
}

static void fault_resume(const FaultSite *site, const FaultCase *fault) {
        fault_take_back(site, fault_change_pause, fault_paused(site, fault));
}

const FaultKind request_faults[] = {
    {"session-end", 120 * USEC_PER_SEC, fault_end_session, NULL, .aim = 1,
     .explains = HISTORY_SESSION},
    {"contender-deleted", 120 * USEC_PER_SEC, fault_delete_contender, NULL, .aim = 2,
     .explains = HISTORY_SESSION},
    {"node-drain", 60 * USEC_PER_SEC, fault_drain, fault_undrain, .aim = 1},
    {"job-pause", 60 * USEC_PER_SEC, fault_pause, fault_resume, .aim = 1},
    {"run-stop", 10 * USEC_PER_SEC, fault_stop_run, NULL},
    {"manual-run", 10 * USEC_PER_SEC, fault_manual_run, NULL},
    {NULL},
};
