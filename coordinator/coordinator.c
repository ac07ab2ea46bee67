/* See coordinator.h: what follows from what. */
#include "coordinator.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>

#include "claim-gate.h"
#include "clock-watch.h"
#include "command-locks.h"
#include "digest-memory.h"
#include "ending.h"
#include "fitness.h"
#include "gate.h"
#include "housekeeping.h"
#include "inventory.h"
#include "job-table.h"
#include "left-queues.h"
#include "leftovers.h"
#include "log.h"
#include "member.h"
#include "members.h"
#include "message-id.h"
#include "orphans.h"
#include "placement.h"
#include "prune.h"
#include "ranks.h"
#include "recovery.h"
#include "reload.h"
#include "requests.h"
#include "run-places.h"
#include "runs.h"
#include "scheduled-job.h"
#include "secret.h"
#include "settle.h"
#include "tree.h"
#include "withdrawal.h"

/* ---- who may ---- */

static const char *gate_held_back(void *userdata) {
        return leftovers_busy(((const Coordinator *)userdata)->leftovers);
}

static void gate_on_open(void *userdata) {
        job_table_sweep(((Coordinator *)userdata)->jobs, JOB_SWEEP_CONSIDER);
}

static ClaimGate *new_gate(Coordinator *coordinator) {
        static const ClaimGateEvents events = {gate_held_back, gate_on_open};

        return claim_gate_new(coordinator->node, &events, coordinator);
}

/* ---- whether anything may begin ---- */

static bool has_run_without_session(const Coordinator *coordinator) {
        g_autoptr(GPtrArray) runs = runs_list(coordinator->runs);

        for (guint i = 0; i < runs->len; i++) {
                const Run *run = runs->pdata[i];
                if (run->session_lost && run->phase < RUN_PHASE_SETTLING)
                        return true;
        }
        return false;
}

/* Once told that we are full, we are so until a place is free: that nobody stands in line any more
 * is because others were told. */
static MemberBusy busy_look(MemberBusy told, void *userdata) {
        const Coordinator *coordinator = userdata;

        if (node_is_ending(coordinator->node))
                return MEMBER_STOPPING;
        if (leftovers_left(coordinator->leftovers) || has_run_without_session(coordinator))
                return MEMBER_ENDING;
        if (run_places_is_full(coordinator->places) &&
            (told == MEMBER_FULL || run_places_in_line(coordinator->places) > 0))
                return MEMBER_FULL;
        return MEMBER_FREE;
}

static void busy_tell(MemberBusy busy, void *userdata) {
        Coordinator *coordinator = userdata;

        registration_set_busy(coordinator->registration, busy);
        registration_publish(coordinator->registration);
}

/* ---- the clock ---- */

/* The other nodes rank without us while our clock is skewed. */
static void clock_on_changed(bool skewed, void *userdata) {
        Coordinator *coordinator = userdata;

        registration_set_skewed(coordinator->registration, skewed);
        registration_publish(coordinator->registration);
        job_table_sweep(coordinator->jobs, JOB_SWEEP_CONSIDER);
}

/* ---- the life of a session ---- */

static void session_phase(Coordinator *coordinator, SessionPhaseEvent event);

static void on_tree_done(void *userdata) {
        Coordinator *coordinator = userdata;

        if (node_is_ready(coordinator->node)) /* read again after a short break */
                return;
        registration_start(coordinator->registration);
        members_start(coordinator->members);
}

static void on_self_registered(void *userdata) {
        members_self_registered(((Coordinator *)userdata)->members);
}

static void on_members_registered(void *userdata) {
        Coordinator *coordinator = userdata;

        recovery_start(coordinator->recovery, coordinator->attached);
}

/* A run whose record cannot be read while its unit runs keeps all that was left. */
static void sweep_queues(Coordinator *coordinator) {
        if (node_is_ready(coordinator->node) && !leftovers_left(coordinator->leftovers) &&
            !recovery_doubts(coordinator->recovery, NULL))
                left_queues_delete(coordinator->left_queues);
}

static void session_begin(Coordinator *coordinator) {
        const LogAbout about = {.message_id = MESSAGE_SESSION_CONNECTED};
        g_autofree char *summary = NULL;
        Zk *zk = session_zk(coordinator->session);

        log_info(&about,
                 "connected to ZooKeeper at %s as node \"%s\", session 0x%" G_GINT64_MODIFIER "x",
                 zk ? zk_server(zk) : "?", coordinator->config->node_name,
                 session_id(coordinator->session));
        summary = jobset_summary(coordinator->jobset);
        (void)sd_notifyf(0, "STATUS=Connected to ZooKeeper, %s", summary);
        left_queues_begin(coordinator->left_queues, coordinator->attached);
        leftovers_end(coordinator->leftovers, LEFTOVERS_UNCLAIMED, false,
                      "ZooKeeper has no open run of this name");
        if (node_is_ending(coordinator->node)) {
                runs_for_all(coordinator->runs, run_session_ready);
                ending_stop_found_runs(coordinator->ending);
                return;
        }
        command_locks_session_ready(coordinator->command_locks);
        orphans_start(coordinator->orphans);
        housekeeping_start(coordinator->housekeeping);
        requests_start(coordinator->requests);
        runs_for_all(coordinator->runs, run_session_ready);
        job_table_sweep(coordinator->jobs, JOB_SWEEP_BEGIN);
        inventory_withdraw_removed(coordinator->inventory);
}

static void on_members_changed(GHashTable *jobs, void *userdata) {
        Coordinator *coordinator = userdata;
        GHashTableIter iterator;
        gpointer name;

        if (!node_is_ready(coordinator->node))
                return;
        if (!jobs) {
                orphans_members_changed(coordinator->orphans);
                job_table_sweep(coordinator->jobs, JOB_SWEEP_RANK);
                return;
        }
        g_hash_table_iter_init(&iterator, jobs);
        while (g_hash_table_iter_next(&iterator, &name, NULL))
                job_table_sweep_one(coordinator->jobs, name, JOB_SWEEP_BEGIN);
}

static void on_member_left(const char *node, void *userdata) {
        Coordinator *coordinator = userdata;

        if (node_is_ready(coordinator->node))
                orphans_node_left(coordinator->orphans, node);
}

static void recovery_on_undoubted(void *userdata) {
        sweep_queues(userdata);
}

static void leftovers_on_changed(void *userdata) {
        Coordinator *coordinator = userdata;

        if (!leftovers_busy(coordinator->leftovers))
                session_phase(coordinator, SESSION_PHASE_LEFTOVERS_GONE);
        sweep_queues(coordinator);
        if (node_is_ending(coordinator->node))
                ending_look(coordinator->ending);
        else if (node_is_ready(coordinator->node))
                job_table_sweep(coordinator->jobs, JOB_SWEEP_BEGIN);
}

static void session_connected(Coordinator *coordinator, bool attached) {
        coordinator->attached = attached;
        command_locks_session_begins(coordinator->command_locks, attached);
        session_phase(coordinator, leftovers_busy(coordinator->leftovers)
                                       ? SESSION_PHASE_CONNECTED_BESIDE_LEFTOVERS
                                       : SESSION_PHASE_CONNECTED);
}

static void session_forget(Coordinator *coordinator) {
        const LogAbout about = {.message_id = MESSAGE_SESSION_LOST};

        log_warning(
            &about,
            "the ZooKeeper session is lost, and all locks with it; connecting with a new session");
        (void)sd_notify(0, "STATUS=Not connected to ZooKeeper");
        coordinator->attached = false;
        claim_gate_reset(coordinator->claim_gate);
        registration_set_skewed(coordinator->registration, false);
        registration_set_busy(coordinator->registration, MEMBER_FREE);
        gate_reset(coordinator->gate);
        clock_watch_reset(coordinator->clock);
        withdrawals_reset(coordinator->withdrawals);
        left_queues_reset(coordinator->left_queues);
        job_table_for_all(coordinator->jobs, scheduled_job_reset);
        runs_for_all(coordinator->runs, run_session_lost);
        leftovers_end(coordinator->leftovers, LEFTOVERS_ALL, true,
                      "the ZooKeeper session was lost");
        command_locks_session_lost(coordinator->command_locks);
        requests_reset(coordinator->requests);
        orphans_reset(coordinator->orphans);
        pruner_reset(coordinator->pruner);
        housekeeping_reset(coordinator->housekeeping);
        recovery_reset(coordinator->recovery);
        members_reset(coordinator->members);
        registration_reset(coordinator->registration);
        tree_reset(coordinator->tree);
        ending_look(coordinator->ending);
}

/* Some answers may have been lost while nobody answered. */
static void session_ask_again(Coordinator *coordinator) {
        if (!tree_is_done(coordinator->tree)) {
                tree_start(coordinator->tree);
                return;
        }
        tree_refresh_control(coordinator->tree);
        registration_resume(coordinator->registration);
        members_resume(coordinator->members);
}

static void session_continue(Coordinator *coordinator) {
        session_ask_again(coordinator);
        command_locks_session_ready(coordinator->command_locks);
        requests_start(coordinator->requests);
        orphans_start(coordinator->orphans);
        runs_for_all(coordinator->runs, run_session_ready);
        job_table_sweep(coordinator->jobs, JOB_SWEEP_CONSIDER);
}

static void session_phase(Coordinator *coordinator, SessionPhaseEvent event) {
        SessionPhaseStep step = session_phase_step(coordinator->node->session_phase, event);

        coordinator->node->session_phase = step.phase;
        switch (step.action) {
        case SESSION_PHASE_NOTHING:
                return;
        case SESSION_PHASE_WAIT:
                (void)sd_notify(0, "STATUS=Stopping runs left by the previous daemon process");
                return;
        case SESSION_PHASE_PREPARE:
                tree_start(coordinator->tree);
                return;
        case SESSION_PHASE_ASK_AGAIN:
                session_ask_again(coordinator);
                return;
        case SESSION_PHASE_BEGIN:
                session_begin(coordinator);
                return;
        case SESSION_PHASE_CONTINUE:
                session_continue(coordinator);
                return;
        case SESSION_PHASE_FORGET:
                session_forget(coordinator);
                return;
        case SESSION_PHASE_IMPOSSIBLE:
                g_error("session phase %u, event %u: impossible", (unsigned)step.phase,
                        (unsigned)event);
        }
}

static void recovery_on_recovered(void *userdata) {
        session_phase(userdata, SESSION_PHASE_RECOVERED);
}

static void session_stop(Coordinator *coordinator) {
        const LogAbout about = {.message_id = MESSAGE_STOPPING_RUNS};
        const char *why =
            "ZooKeeper did not answer, and the locks could have expired before the run ended";

        if (runs_count(coordinator->runs) > 0)
                log_warning(
                    &about,
                    "no reply from ZooKeeper: stopping all runs (%u) before their locks can expire",
                    runs_count(coordinator->runs));
        runs_stop_all(coordinator->runs, why);
        leftovers_end(coordinator->leftovers, LEFTOVERS_ALL, false, why);
        command_locks_session_stop(coordinator->command_locks);
}

static void session_faulty(Coordinator *coordinator) {
        const LogAbout about = {.message_id = MESSAGE_ZOOKEEPER_UNREACHABLE};

        log_warning(&about, "%s; no jobs are run until this is resolved, retrying",
                    session_fault(coordinator->session));
        (void)sd_notifyf(0, "STATUS=Not connected to ZooKeeper: %s",
                         session_fault(coordinator->session));
}

static void on_session(Session *session, SessionEvent event, void *userdata) {
        Coordinator *coordinator = userdata;

        switch (event) {
        case SESSION_EVENT_CONNECTED:
                session_connected(coordinator, false);
                return;
        case SESSION_EVENT_ATTACHED:
                session_connected(coordinator, true);
                return;
        case SESSION_EVENT_SUSPENDED:
                log_warning(&(LogAbout){.message_id = MESSAGE_SESSION_SUSPENDED},
                            "the connection to ZooKeeper was lost, reconnecting");
                return;
        case SESSION_EVENT_RESUMED:
                log_info(&(LogAbout){.message_id = MESSAGE_SESSION_CONNECTED},
                         "reconnected to ZooKeeper, the session continues");
                session_phase(coordinator, SESSION_PHASE_RESUMED);
                return;
        case SESSION_EVENT_STOP:
                session_stop(coordinator);
                return;
        case SESSION_EVENT_LOST:
                session_phase(coordinator, SESSION_PHASE_LOST);
                return;
        case SESSION_EVENT_FAULT:
                session_faulty(coordinator);
                return;
        case SESSION_EVENT_CLOSED:
                ending_session_closed(coordinator->ending);
                return;
        }
}

/* ---- the end of a run ---- */

static void runs_on_settled(const char *name, void *userdata) {
        Coordinator *coordinator = userdata;
        ScheduledJob *job = job_table_find(coordinator->jobs, name);

        if (node_is_ending(coordinator->node))
                ending_look(coordinator->ending);
        else if (job)
                scheduled_job_consider(job);
        run_places_give(coordinator->places);
}

static unsigned places_on_runs(void *userdata) {
        return runs_count(((const Coordinator *)userdata)->runs);
}

static void places_on_given(const char *name, void *userdata) {
        ScheduledJob *job = job_table_find(((Coordinator *)userdata)->jobs, name);

        if (job)
                scheduled_job_hurry(job);
}

static const RunPlacesEvents places_events = {places_on_runs, places_on_given};

/* ---- the beginning ---- */

/* What the client library says of itself is for debugging; the session's own lines are for people.
 */
static void log_session(int priority, const char *message, void *userdata) {
        if (priority < LOG_DEBUG)
                log_write(priority, &(LogAbout){.message_id = MESSAGE_SESSION_WARNING}, "%s",
                          message);
        else
                log_debug(NULL, "zookeeper: %s", message);
}

static int identify(Coordinator *coordinator) {
        int r = node_identify(coordinator->node);

        if (r < 0)
                log_error(NULL, "this machine has no usable machine id or boot id: %s",
                          g_strerror(-r));
        return r;
}

/* Return: 0 with the secret for `auth: digest`, NULL where none is asked for; -EBADMSG when it
 * cannot be had, which is logged: trying again will not mend that. */
static int take_secret(const Coordinator *coordinator, char **ret_secret) {
        g_autofree char *credential = NULL, *fault = NULL;

        if (coordinator->config->auth == DAEMON_AUTH_NONE)
                return 0;
        credential = secret_credential_path();
        if (secret_read(credential ? credential : SECRET_STORED_PATH, ret_secret, &fault) >= 0)
                return 0;
        log_error(&(LogAbout){.message_id = MESSAGE_CONFIG_ERROR}, "%s", fault);
        return -EBADMSG;
}

static int open_session(Coordinator *coordinator) {
        const DaemonConfig *config = coordinator->config;
        g_autofree char *state_file =
                            g_build_filename(coordinator->node->runtime_dir, "session", NULL),
                        *identity = node_identity(coordinator->node);
        _cleanup_(secret_freep) char *secret = NULL;
        SessionOptions options = {
            .servers = config->servers,
            .session_timeout = config->session_timeout,
            .rule = deadline_rule_of(config),
            .state_file = state_file,
            .identity = identity,
            .log = log_session,
        };
        g_autofree char *sum = deadline_explain(&options.rule, config->session_timeout),
                        *fault = NULL;
        int r;

        fault = deadline_fault(&options.rule, config->session_timeout);
        if (fault) {
                log_error(&(LogAbout){.message_id = MESSAGE_CONFIG_ERROR}, "%s: %s",
                          coordinator->config_path, fault);
                return -EBADMSG;
        }
        log_info(NULL, "%s", sum);
        if (take_secret(coordinator, &secret) < 0)
                return -EBADMSG;
        options.auth = secret;
        r = session_new(coordinator->event, &options, on_session, coordinator,
                        &coordinator->session);
        coordinator->node->session = coordinator->session;
        /* Without a session to attach to, whatever runs here has locks that we cannot see to. */
        if (r >= 0 && session_held_until(coordinator->session) == 0)
                leftovers_end(coordinator->leftovers, LEFTOVERS_ALL, false,
                              "the session that holds its locks is no longer known");
        return r;
}

/* ---- what the parts below ask for ---- */

static Settler *new_settler(Coordinator *coordinator) {
        Settler *settler = g_new(Settler, 1);

        *settler = (Settler){.node = coordinator->node,
                             .jobset = coordinator->jobset,
                             .pruner = coordinator->pruner,
                             .ledgers = coordinator->ledgers};
        return settler;
}

static JobParts *new_job_parts(const Coordinator *coordinator) {
        JobParts *parts = g_new(JobParts, 1);

        *parts = (JobParts){.node = coordinator->node,
                            .tree = coordinator->tree,
                            .ledgers = coordinator->ledgers,
                            .digests = coordinator->digests,
                            .registration = coordinator->registration,
                            .members = coordinator->members,
                            .ranks = coordinator->ranks,
                            .clock = coordinator->clock,
                            .claim_gate = coordinator->claim_gate,
                            .gate = coordinator->gate,
                            .places = coordinator->places,
                            .pruner = coordinator->pruner,
                            .runs = coordinator->runs,
                            .recovery = coordinator->recovery,
                            .leftovers = coordinator->leftovers};
        return parts;
}

static void housekeeping_measure_clock(void *userdata) {
        clock_watch_measure(((Coordinator *)userdata)->clock);
}

static const RecoveryEvents recovery_events = {recovery_on_recovered, recovery_on_undoubted};

static void open_runs(Coordinator *coordinator) {
        Node *node = coordinator->node;
        LeftoversParts parts;

        coordinator->ended_units = ended_units_new(node->runtime_dir);
        coordinator->runs = runs_new(node, coordinator->units, coordinator->settler,
                                     coordinator->ended_units, runs_on_settled, coordinator);
        coordinator->recovery = recovery_new(node, coordinator->units, coordinator->runs,
                                             &recovery_events, coordinator);
        parts = (LeftoversParts){.units = coordinator->units,
                                 .jobset = coordinator->jobset,
                                 .runs = coordinator->runs,
                                 .recovery = coordinator->recovery,
                                 .ended = coordinator->ended_units,
                                 .event = coordinator->event,
                                 .changed = leftovers_on_changed,
                                 .userdata = coordinator};
        coordinator->leftovers = leftovers_new(&parts);
        coordinator->orphans = orphans_new(node, coordinator->members, coordinator->settler);
}

static void queues_on_jobs(GPtrArray *specs, void *userdata) {
        g_autoptr(GPtrArray) jobs = job_table_list(((const Coordinator *)userdata)->jobs);

        for (guint i = 0; i < jobs->len; i++)
                g_ptr_array_add(specs, (gpointer)scheduled_job_spec(jobs->pdata[i]));
}

static void queues_on_keep(GPtrArray *directories, GPtrArray *paths, void *userdata) {
        const Coordinator *coordinator = userdata;
        g_autoptr(GPtrArray) runs = runs_list(coordinator->runs);

        command_locks_keep(coordinator->command_locks, directories, paths);
        for (guint i = 0; i < runs->len; i++) {
                const Run *run = runs->pdata[i];
                for (char **path = run->record->locks; path && *path; path++)
                        g_ptr_array_add(paths, g_strdup(*path));
        }
}

static void queues_on_waited_for(const char *name, int64_t tick, void *userdata) {
        ScheduledJob *job = job_table_find(((Coordinator *)userdata)->jobs, name);

        if (job)
                scheduled_job_waited_for(job, tick);
}

static LeftQueues *new_left_queues(Coordinator *coordinator) {
        static const LeftQueuesEvents events = {
            .jobs = queues_on_jobs,
            .keep = queues_on_keep,
            .waited_for = queues_on_waited_for,
        };

        return left_queues_new(coordinator->node, &events, coordinator);
}

static uint32_t requests_on_rank(const char *name, void *userdata) {
        const Coordinator *coordinator = userdata;
        ScheduledJob *job = job_table_find(coordinator->jobs, name);

        return job ? ranks_of_key(coordinator->ranks, scheduled_job_spec(job), name)
                   : PLACEMENT_NONE;
}

static bool requests_on_undecided(const char *job, void *userdata) {
        return ranks_is_undecided(((const Coordinator *)userdata)->ranks, job);
}

static void requests_on_take(const char *name, const char *id, const char *who, usec_t not_after,
                             void *userdata) {
        ScheduledJob *job = job_table_find(((Coordinator *)userdata)->jobs, name);

        if (job)
                scheduled_job_request(job, id, who, not_after);
}

static Requests *new_requests(Coordinator *coordinator) {
        static const RequestsEvents events = {
            .rank = requests_on_rank,
            .is_undecided = requests_on_undecided,
            .take = requests_on_take,
        };
        const RequestsParts parts = {
            .node = coordinator->node,
            .members = coordinator->members,
            .clock = coordinator->clock,
            .gate = coordinator->claim_gate,
        };

        return requests_new(&parts, &events, coordinator);
}

static void open_members(Coordinator *coordinator) {
        static const MembersEvents events = {
            .registered = on_members_registered,
            .changed = on_members_changed,
            .left = on_member_left,
        };

        coordinator->registration =
            registration_new(coordinator->node, coordinator->tree, on_self_registered, coordinator);
        coordinator->members = members_new(coordinator->node, coordinator->tree,
                                           coordinator->registration, &events, coordinator);
}

/* ---- the jobs of our files ---- */

static void inventory_on_added(const JobSpec *spec, void *userdata) {
        Coordinator *coordinator = userdata;

        job_table_add(coordinator->jobs, scheduled_job_new(coordinator->job_parts, spec));
        job_table_sweep_one(coordinator->jobs, spec->name, JOB_SWEEP_BEGIN);
}

static void inventory_on_replaced(const JobSpec *spec, void *userdata) {
        Coordinator *coordinator = userdata;
        ScheduledJob *job = job_table_find(coordinator->jobs, spec->name);
        bool equal = job_spec_equal(scheduled_job_spec(job), spec);

        scheduled_job_replace(job, spec);
        if (!equal)
                job_table_sweep_one(coordinator->jobs, spec->name, JOB_SWEEP_BEGIN);
}

static void inventory_on_removed(const char *job, void *userdata) {
        job_table_remove(((Coordinator *)userdata)->jobs, job);
}

static void inventory_on_judged(const char *job, void *userdata) {
        job_table_sweep_one(((Coordinator *)userdata)->jobs, job, JOB_SWEEP_BEGIN);
}

static void fitness_on_verdicts(const char *const *jobs, void *userdata) {
        inventory_judge(jobs, ((Coordinator *)userdata)->inventory);
}

/* A claim of a job that was removed may be on its way. */
static void reload_on_done(void *userdata) {
        Coordinator *coordinator = userdata;

        if (node_is_ready(coordinator->node))
                recovery_check(coordinator->recovery);
}

static Inventory *new_inventory(Coordinator *coordinator) {
        static const InventoryEvents events = {
            .added = inventory_on_added,
            .replaced = inventory_on_replaced,
            .removed = inventory_on_removed,
            .judged = inventory_on_judged,
        };
        const InventoryParts parts = {
            .node = coordinator->node,
            .jobset = coordinator->jobset,
            .fitness = coordinator->fitness,
            .registration = coordinator->registration,
            .ranks = coordinator->ranks,
            .digests = coordinator->digests,
            .withdrawals = coordinator->withdrawals,
        };

        return inventory_new(&parts, &events, coordinator);
}

static int open_jobs(Coordinator *coordinator, const char *prefix) {
        ReloadParts parts = {.node = coordinator->node,
                             .jobset = coordinator->jobset,
                             .config_path = coordinator->config_path,
                             .prefix = prefix};
        int r;

        r = fitness_new(coordinator->event, fitness_on_verdicts, coordinator,
                        &coordinator->fitness);
        if (r < 0)
                return r;
        coordinator->ranks =
            ranks_new(coordinator->members, coordinator->registration, coordinator->fitness);
        r = job_table_new(coordinator->node, coordinator->ranks, &coordinator->jobs);
        if (r < 0)
                return r;
        coordinator->withdrawals =
            withdrawals_new(coordinator->node, coordinator->digests, coordinator->clock);
        coordinator->inventory = parts.inventory = new_inventory(coordinator);
        return reload_new(&parts, reload_on_done, coordinator, &coordinator->reload);
}

static const GateEvents gate_events = {busy_look, busy_tell};

static void locks_on_over(void *userdata) {
        ending_look(((Coordinator *)userdata)->ending);
}

static const char *locks_unreachable(const void *userdata) {
        const Coordinator *coordinator = userdata;
        const char *fault = tree_fault(coordinator->tree);

        return *fault ? fault : registration_fault(coordinator->registration);
}

static const CommandLocksEvents command_locks_events = {
    .over = locks_on_over,
    .unreachable = locks_unreachable,
};

static void ending_on_reset_jobs(void *userdata) {
        job_table_for_all(((Coordinator *)userdata)->jobs, scheduled_job_reset);
}

static bool ending_is_faulty(const void *userdata) {
        return *locks_unreachable(userdata);
}

static Ending *new_ending(Coordinator *coordinator) {
        static const EndingEvents events = {ending_on_reset_jobs, ending_is_faulty};
        const EndingParts parts = {
            .node = coordinator->node,
            .units = coordinator->units,
            .gate = coordinator->gate,
            .runs = coordinator->runs,
            .leftovers = coordinator->leftovers,
            .locks = coordinator->command_locks,
        };

        return ending_new(&parts, &events, coordinator);
}

static int open_all(Coordinator *coordinator, const char *prefix) {
        int r;

        if ((r = reload_read_config(coordinator->config_path, &coordinator->config)) < 0 ||
            (r = identify(coordinator)) < 0)
                return r;
        coordinator->node->config = coordinator->config;
        if (g_mkdir_with_parents(coordinator->node->runtime_dir, 0755) < 0 ||
            g_mkdir_with_parents(coordinator->node->state_dir, 0755) < 0)
                return -errno;
        r = unit_manager_new(coordinator->event, &coordinator->units);
        if (r < 0)
                return r;
        coordinator->places = run_places_new(coordinator->node, &places_events, coordinator);
        coordinator->gate = gate_new(coordinator->event, coordinator->config->takeover_delay,
                                     &gate_events, coordinator);
        coordinator->digests = digest_memory_new(coordinator->event, coordinator->node->state_dir);
        coordinator->tree = tree_new(coordinator->node, on_tree_done, coordinator);
        coordinator->claim_gate = new_gate(coordinator);
        coordinator->clock =
            clock_watch_new(coordinator->node, coordinator->tree, clock_on_changed, coordinator);
        open_members(coordinator);
        r = open_jobs(coordinator, prefix);
        if (r < 0)
                return r;
        coordinator->pruner = pruner_new(coordinator->node, coordinator->jobset);
        coordinator->settler = new_settler(coordinator);
        open_runs(coordinator);
        coordinator->job_parts = new_job_parts(coordinator);
        coordinator->housekeeping =
            housekeeping_new(coordinator->node, coordinator->members, coordinator->jobset,
                             housekeeping_measure_clock, coordinator);
        coordinator->requests = new_requests(coordinator);
        coordinator->left_queues = new_left_queues(coordinator);
        if ((r = reload_begin(coordinator->reload)) < 0 || (r = open_session(coordinator)) < 0)
                return r;
        coordinator->command_locks = command_locks_new(coordinator->node, coordinator->units,
                                                       &command_locks_events, coordinator);
        coordinator->ending = new_ending(coordinator);
        if (session_held_until(coordinator->session) == 0) /* as for runs, in open_session() */
                command_locks_session_begins(coordinator->command_locks, false);
        return 0;
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

int coordinator_new(sd_event *event, const CoordinatorOptions *options,
                    Coordinator **ret_coordinator) {
        _cleanup_(coordinator_freep) Coordinator *coordinator = g_new0(Coordinator, 1);
        g_autofree char *summary = NULL;
        int r;

        coordinator->event = sd_event_ref(event);
        coordinator->config_path = g_strdup(options->config_path);
        coordinator->node = node_new(event, options->runtime_dir, options->state_dir);
        coordinator->jobset = jobset_new();
        coordinator->ledgers = ledger_cache_new();
        r = open_all(coordinator, options->prefix);
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
        left_queues_free(coordinator->left_queues);
        /* What one gives back nobody else takes. */
        coordinator->node->process_phase = PROCESS_PHASE_CLOSING;
        job_table_free(coordinator->jobs);
        inventory_free(coordinator->inventory);
        withdrawals_free(coordinator->withdrawals);
        run_places_free(coordinator->places);
        gate_free(coordinator->gate);
        runs_free(coordinator->runs);
        requests_free(coordinator->requests);
        orphans_free(coordinator->orphans);
        g_free(coordinator->settler);
        g_free(coordinator->job_parts);
        ledger_cache_free(coordinator->ledgers);
        pruner_free(coordinator->pruner);
        housekeeping_free(coordinator->housekeeping);
        leftovers_free(coordinator->leftovers);
        recovery_free(coordinator->recovery);
        ended_units_free(coordinator->ended_units);
        members_free(coordinator->members);
        registration_free(coordinator->registration);
        tree_free(coordinator->tree);
        session_free(coordinator->session);
        ending_free(coordinator->ending);
        unit_manager_free(coordinator->units);
        claim_gate_free(coordinator->claim_gate);
        clock_watch_free(coordinator->clock);
        digest_memory_free(coordinator->digests);
        ranks_free(coordinator->ranks);
        fitness_free(coordinator->fitness);
        jobset_free(coordinator->jobset);
        daemon_config_free(coordinator->config);
        g_free(coordinator->config_path);
        node_free(coordinator->node);
        sd_event_unref(coordinator->event);
        g_free(coordinator);
        return NULL;
}
