/* See coordinator.h: what it is made of, and who knows whom. What follows from what is in life.c.
 */
#include "coordinator.h"

#include <errno.h>

#include "clock-watch.h"
#include "command-locks.h"
#include "connect.h"
#include "digest-memory.h"
#include "ending.h"
#include "ensemble-memory.h"
#include "fence-link.h"
#include "fitness.h"
#include "gate.h"
#include "housekeeping.h"
#include "inventory.h"
#include "job-table.h"
#include "launch-sweep.h"
#include "left-queues.h"
#include "leftovers.h"
#include "life.h"
#include "log.h"
#include "member.h"
#include "members.h"
#include "message-id.h"
#include "orphans.h"
#include "prune.h"
#include "ranks.h"
#include "recovery.h"
#include "reload.h"
#include "remains.h"
#include "requests.h"
#include "runs.h"
#include "scheduled-job.h"
#include "settle.h"
#include "tree.h"
#include "withdrawal.h"

/* ---- this node among the others ---- */

static const char *coordinator_held_back(void *userdata) {
        const Coordinator *coordinator = userdata;
        const char *why = tree_held_back(coordinator->tree);

        why = why ? why : leftovers_busy(coordinator->left.leftovers);
        return why ? why : left_queues_busy(coordinator->left.queues);
}

static const char *coordinator_drained(void *userdata) {
        return drain_view_closed(tree_drain_view(((const Coordinator *)userdata)->tree));
}

static bool coordinator_is_cleaning(void *userdata) {
        const Coordinator *coordinator = userdata;

        return leftovers_left(coordinator->left.leftovers) || runs_have_lost(coordinator->runs);
}

static unsigned coordinator_count_runs(void *userdata) {
        return runs_count(((const Coordinator *)userdata)->runs);
}

static void coordinator_on_gate_open(void *userdata) {
        job_table_sweep(((Coordinator *)userdata)->jobs, JOB_SWEEP_CONSIDER);
}

static void coordinator_on_place_given(const char *name, void *userdata) {
        job_table_hurry(((Coordinator *)userdata)->jobs, name);
}

static void coordinator_on_busy(MemberBusy busy, void *userdata) {
        Coordinator *coordinator = userdata;

        registration_set_busy(coordinator->registration, busy);
        registration_publish(coordinator->registration);
}

static Gate *new_gate(Coordinator *coordinator) {
        static const GateEvents events = {
            .drained = coordinator_drained,
            .held_back = coordinator_held_back,
            .is_cleaning = coordinator_is_cleaning,
            .runs = coordinator_count_runs,
            .open = coordinator_on_gate_open,
            .given = coordinator_on_place_given,
            .tell = coordinator_on_busy,
            .window = life_on_window,
        };

        return gate_new(coordinator->node, &events, coordinator);
}

static void coordinator_on_verdicts(const char *const *jobs, void *userdata) {
        inventory_judge(jobs, ((Coordinator *)userdata)->inventory);
}

static int open_cluster(Coordinator *coordinator) {
        Node *node = coordinator->node;
        int r;

        r = fitness_new(node->event, coordinator_on_verdicts, coordinator, &coordinator->fitness);
        if (r < 0)
                return r;
        coordinator->tree = tree_new(node, &life_tree_events, coordinator);
        coordinator->clock = clock_watch_new(node, coordinator->tree, life_on_skew, coordinator);
        coordinator->registration =
            registration_new(node, coordinator->tree, life_on_self_registered, coordinator);
        coordinator->members = members_new(node, coordinator->tree, coordinator->registration,
                                           &life_members_events, coordinator);
        coordinator->ranks =
            ranks_new(coordinator->members, coordinator->registration, coordinator->fitness);
        coordinator->gate = new_gate(coordinator);
        registration_set_outside(coordinator->registration, gate_outside_until(coordinator->gate));
        return 0;
}

/* ---- runs, and what others left ---- */

static void coordinator_measure_clock(void *userdata) {
        (void)clock_watch_measure(((Coordinator *)userdata)->clock);
}

static void open_store(Coordinator *coordinator) {
        CoordinatorStore *store = &coordinator->store;

        store->ledgers = ledger_cache_new();
        store->pruner = pruner_new(coordinator->node, coordinator->jobset);
        store->settles = settle_window_new(coordinator->node->event);
        store->settler = (Settler){.node = coordinator->node,
                                   .jobset = coordinator->jobset,
                                   .pruner = store->pruner,
                                   .ledgers = store->ledgers,
                                   .clock = coordinator->clock,
                                   .window = store->settles};
        store->housekeeping =
            housekeeping_new(coordinator->node, coordinator->members, coordinator->jobset,
                             coordinator_measure_clock, coordinator);
}

static void queues_on_jobs(GPtrArray *specs, void *userdata) {
        g_autoptr(GPtrArray) jobs = job_table_list(((const Coordinator *)userdata)->jobs);

        for (guint i = 0; i < jobs->len; i++)
                g_ptr_array_add(specs, (gpointer)scheduled_job_spec(jobs->pdata[i]));
}

static void queues_on_keep(GPtrArray *directories, GPtrArray *paths, void *userdata) {
        const Coordinator *coordinator = userdata;

        command_locks_keep(coordinator->command_locks, directories, paths);
        runs_keep(coordinator->runs, paths);
}

static bool queues_on_waited_for(const char *name, int64_t tick, usec_t span, void *userdata) {
        return job_table_waited_for(((Coordinator *)userdata)->jobs, name, tick, span);
}

static bool queues_on_stands_anew(const char *name, int64_t tick, void *userdata) {
        return job_table_stands_for_tick(((Coordinator *)userdata)->jobs, name, tick);
}

static LeftQueues *new_left_queues(Coordinator *coordinator) {
        static const LeftQueuesEvents events = {
            .jobs = queues_on_jobs,
            .keep = queues_on_keep,
            .waited_for = queues_on_waited_for,
            .stands_anew = queues_on_stands_anew,
            .looked = life_on_queues_looked,
        };

        return left_queues_new(coordinator->node, &events, coordinator);
}

static const char *coordinator_who_stops(const char *job, const char *run, void *userdata) {
        return requests_who_stops(((const Coordinator *)userdata)->requests, job, run);
}

static void open_runs(Coordinator *coordinator) {
        Node *node = coordinator->node;
        LeftoversParts parts;

        coordinator->left.ended_units = ended_units_new(node->runtime_dir);
        coordinator->runs = runs_new(node, coordinator->units, &coordinator->store.settler,
                                     coordinator->left.ended_units, life_on_settled, coordinator);
        coordinator->left.recovery = recovery_new(node, coordinator->units, coordinator->runs,
                                                  &life_recovery_events, coordinator);
        parts = (LeftoversParts){.units = coordinator->units,
                                 .jobset = coordinator->jobset,
                                 .runs = coordinator->runs,
                                 .recovery = coordinator->left.recovery,
                                 .ended = coordinator->left.ended_units,
                                 .event = coordinator->node->event,
                                 .changed = life_on_leftovers_changed,
                                 .spared = life_on_leftover_spared,
                                 .userdata = coordinator};
        coordinator->left.leftovers = leftovers_new(&parts);
        coordinator->left.remains =
            remains_new(node, coordinator->runs, coordinator->left.ended_units);
        coordinator->left.launches =
            launch_sweep_new(node->event, coordinator->units, coordinator->runs);
        coordinator->left.queues = new_left_queues(coordinator);
        coordinator->left.orphans =
            orphans_new(node, coordinator->members, &coordinator->store.settler,
                        coordinator_who_stops, coordinator);
}

/* ---- the jobs of our files ---- */

/* A claim of a job that was removed may be on its way. */
static void coordinator_on_reloaded(void *userdata) {
        Coordinator *coordinator = userdata;

        runs_judge_services(coordinator->runs);
        if (node_is_ready(coordinator->node))
                recovery_check(coordinator->left.recovery);
}

static Inventory *new_inventory(Coordinator *coordinator) {
        const InventoryParts parts = {
            .node = coordinator->node,
            .jobset = coordinator->jobset,
            .fitness = coordinator->fitness,
            .registration = coordinator->registration,
            .ranks = coordinator->ranks,
            .digests = coordinator->digests,
            .withdrawals = coordinator->withdrawals,
        };

        return inventory_new(&parts, &job_table_inventory_events, coordinator->jobs);
}

static Withdrawals *new_withdrawals(const Coordinator *coordinator) {
        const WithdrawalsParts parts = {
            .node = coordinator->node,
            .digests = coordinator->digests,
            .clock = coordinator->clock,
            .tree = coordinator->tree,
            .pruner = coordinator->store.pruner,
            .jobset = coordinator->jobset,
        };

        return withdrawals_new(&parts);
}

static JobTable *new_jobs(const Coordinator *coordinator) {
        const JobParts parts = {
            .node = coordinator->node,
            .tree = coordinator->tree,
            .ledgers = coordinator->store.ledgers,
            .digests = coordinator->digests,
            .registration = coordinator->registration,
            .members = coordinator->members,
            .ranks = coordinator->ranks,
            .clock = coordinator->clock,
            .gate = coordinator->gate,
            .pruner = coordinator->store.pruner,
            .jobset = coordinator->jobset,
            .runs = coordinator->runs,
            .recovery = coordinator->left.recovery,
            .leftovers = coordinator->left.leftovers,
        };

        return job_table_new(&parts);
}

static int open_jobs(Coordinator *coordinator, const CoordinatorOptions *options) {
        Node *node = coordinator->node;
        ReloadParts parts = {.node = node,
                             .jobset = coordinator->jobset,
                             .config_path = options->config_path,
                             .prefix = options->prefix};

        coordinator->digests = digest_memory_new(node->event, node->state_dir);
        coordinator->withdrawals = new_withdrawals(coordinator);
        coordinator->jobs = new_jobs(coordinator);
        coordinator->inventory = parts.inventory = new_inventory(coordinator);
        return reload_new(&parts, coordinator_on_reloaded, coordinator, &coordinator->reload);
}

/* ---- what people ask for ---- */

static Requests *new_requests(Coordinator *coordinator) {
        const RequestsParts parts = {
            .node = coordinator->node,
            .members = coordinator->members,
            .clock = coordinator->clock,
            .gate = coordinator->gate,
            .jobset = coordinator->jobset,
        };

        return requests_new(&parts, &job_table_requests_events, coordinator->jobs);
}

static void coordinator_on_lock_over(void *userdata) {
        ending_look(((Coordinator *)userdata)->ending);
}

static const char *coordinator_unreachable(const void *userdata) {
        const Coordinator *coordinator = userdata;
        const char *fault = tree_fault(coordinator->tree);

        return *fault ? fault : registration_fault(coordinator->registration);
}

static const CommandLocksEvents command_locks_events = {
    .over = coordinator_on_lock_over,
    .unreachable = coordinator_unreachable,
};

static void coordinator_reset_jobs(void *userdata) {
        job_table_for_all(((Coordinator *)userdata)->jobs, scheduled_job_reset);
}

static bool coordinator_is_faulty(const void *userdata) {
        return *coordinator_unreachable(userdata);
}

static bool coordinator_is_doubted(const void *userdata) {
        return trust_is_doubted(tree_trust(((const Coordinator *)userdata)->tree));
}

static Ending *new_ending(Coordinator *coordinator) {
        static const EndingEvents events = {coordinator_reset_jobs, coordinator_is_faulty,
                                            coordinator_is_doubted};
        const EndingParts parts = {
            .node = coordinator->node,
            .units = coordinator->units,
            .gate = coordinator->gate,
            .runs = coordinator->runs,
            .leftovers = coordinator->left.leftovers,
            .locks = coordinator->command_locks,
        };

        return ending_new(&parts, &events, coordinator);
}

/* ---- the fence ---- */

/* Nothing of ours, and nothing that may become so by an answer that is on its way. */
static bool coordinator_is_idle(const void *userdata) {
        const Coordinator *coordinator = userdata;

        return node_is_ready(coordinator->node) && runs_count(coordinator->runs) == 0 &&
               runs_count_claims(coordinator->runs) == 0 &&
               command_locks_idle(coordinator->command_locks);
}

/* What is known not to end soon is stuck, and begins nothing: see leftovers.h. Nor does what lives
 * elsewhere begin behind the fence. */
static bool coordinator_has_past(const void *userdata) {
        const Coordinator *coordinator = userdata;

        return runs_have_lost_fenced(coordinator->runs) ||
               leftovers_busy(coordinator->left.leftovers);
}

static const FenceLinkEvents fence_link_events = {
    .open = life_on_fence_open,
    .replaced = life_on_fence_replaced,
    .is_idle = coordinator_is_idle,
    .has_past = coordinator_has_past,
};

/* ---- the whole ---- */

static int open_node(Coordinator *coordinator, const CoordinatorOptions *options) {
        Node *node = coordinator->node;
        int r;

        r = reload_read_config(options->config_path, &coordinator->config);
        if (r < 0)
                return r;
        node->config = coordinator->config;
        r = node_identify(node);
        if (r < 0) {
                log_error(NULL, "this machine has no usable machine id or boot id: %s",
                          g_strerror(-r));
                return r;
        }
        if (g_mkdir_with_parents(node->runtime_dir, 0755) < 0 ||
            g_mkdir_with_parents(node->state_dir, 0755) < 0)
                return -errno;
        coordinator->store.ensemble =
            ensemble_memory_new(node->event, node->state_dir, coordinator->config);
        node->ensemble = coordinator->store.ensemble;
        coordinator->fence = fence_link_new(node, &fence_link_events, coordinator);
        r = unit_manager_new(node->event, &coordinator->units);
        if (r >= 0)
                systemd_fault_follow(node->systemd_fault, coordinator->units, life_on_systemd,
                                     coordinator);
        return r;
}

/* Without a session to attach to, whatever runs here has locks that we cannot see to. */
static int open_session(Coordinator *coordinator, const char *config_path) {
        int r = connect_session(coordinator->node, config_path, life_on_session, coordinator,
                                &coordinator->session);

        if (r < 0)
                return r;
        if (session_held_until(coordinator->session) == 0)
                leftovers_end(coordinator->left.leftovers, LEFTOVERS_GUARDED, false,
                              "the session that holds its locks is no longer known");
        coordinator->command_locks = command_locks_new(coordinator->node, coordinator->units,
                                                       &command_locks_events, coordinator);
        coordinator->ending = new_ending(coordinator);
        if (session_held_until(coordinator->session) == 0)
                command_locks_session_begins(coordinator->command_locks, false);
        return 0;
}

static int open_all(Coordinator *coordinator, const CoordinatorOptions *options) {
        int r;

        if ((r = open_node(coordinator, options)) < 0 || (r = open_cluster(coordinator)) < 0)
                return r;
        open_store(coordinator);
        open_runs(coordinator);
        r = open_jobs(coordinator, options);
        if (r < 0)
                return r;
        coordinator->requests = new_requests(coordinator);
        r = reload_begin(coordinator->reload);
        return r < 0 ? r : open_session(coordinator, options->config_path);
}

int coordinator_new(sd_event *event, const CoordinatorOptions *options,
                    Coordinator **ret_coordinator) {
        _cleanup_(coordinator_freep) Coordinator *coordinator = g_new0(Coordinator, 1);
        g_autofree char *summary = NULL;
        int r;

        coordinator->node = node_new(event, options->runtime_dir, options->state_dir);
        coordinator->jobset = jobset_new();
        r = open_all(coordinator, options);
        if (r < 0)
                return r;
        summary = jobset_summary(coordinator->jobset);
        log_info(&(LogAbout){.message_id = MESSAGE_STARTED},
                 "jobkeeperd " JOBKEEPER_VERSION " on node \"%s\": %s",
                 coordinator->config->node_name, summary);
        *ret_coordinator = g_steal_pointer(&coordinator);
        return 0;
}

Coordinator *coordinator_free(Coordinator *coordinator) {
        if (!coordinator)
                return NULL;
        command_locks_free(coordinator->command_locks);
        reload_free(coordinator->reload);
        left_queues_free(coordinator->left.queues);
        /* What one gives back nobody else takes. */
        coordinator->node->process_phase = PROCESS_PHASE_CLOSING;
        job_table_free(coordinator->jobs);
        inventory_free(coordinator->inventory);
        withdrawals_free(coordinator->withdrawals);
        gate_free(coordinator->gate);
        launch_sweep_free(coordinator->left.launches);
        runs_free(coordinator->runs);
        requests_free(coordinator->requests);
        orphans_free(coordinator->left.orphans);
        settle_window_free(coordinator->store.settles);
        ledger_cache_free(coordinator->store.ledgers);
        pruner_free(coordinator->store.pruner);
        housekeeping_free(coordinator->store.housekeeping);
        leftovers_free(coordinator->left.leftovers);
        remains_free(coordinator->left.remains);
        recovery_free(coordinator->left.recovery);
        ended_units_free(coordinator->left.ended_units);
        members_free(coordinator->members);
        registration_free(coordinator->registration);
        tree_free(coordinator->tree);
        session_free(coordinator->session);
        ending_free(coordinator->ending);
        fence_link_free(coordinator->fence);
        unit_manager_free(coordinator->units);
        clock_watch_free(coordinator->clock);
        digest_memory_free(coordinator->digests);
        ensemble_memory_free(coordinator->store.ensemble);
        ranks_free(coordinator->ranks);
        fitness_free(coordinator->fitness);
        jobset_free(coordinator->jobset);
        daemon_config_free(coordinator->config);
        node_free(coordinator->node);
        g_free(coordinator);
        return NULL;
}

void coordinator_reload(Coordinator *coordinator) {
        reload_again(coordinator->reload);
}

void coordinator_terminate(Coordinator *coordinator) {
        ending_terminate(coordinator->ending);
}

void coordinator_stop(Coordinator *coordinator) {
        ending_stop(coordinator->ending);
}

bool coordinator_is_reloading(const Coordinator *coordinator) {
        return reload_is_busy(coordinator->reload);
}
