/* See cluster.h. A cluster starts, works among faults, is then left in peace until every tick is
 * decided, and stopped in the end; the checker looks on, and at what is left. */
#include "cluster.h"

#include <glib.h>
#include <glib/gstdio.h>
#include <inttypes.h>

#include "aftermath.h"
#include "checker.h"
#include "commands.h"
#include "deadline-checker.h"
#include "ensemble.h"
#include "fault.h"
#include "fleet.h"
#include "history.h"
#include "loss-checker.h"
#include "message-id.h"
#include "plan.h"
#include "request-checker.h"
#include "session-file.h"
#include "surroundings.h"
#include "trace.h"
#include "write-checker.h"

/* All faults are over, and within this the cluster works as if there had been none: sessions end,
 * deadlines of ticks pass, and whoever waits has looked again. The longest is a definition that
 * nobody has any more: the last node sees at its next tick that it differs, and then the first has
 * patience (in-force.h). */
#define PEACE (7 * USEC_PER_MINUTE)
/* At its end the cluster asks of the servers what its work needs, and no more. */
#define QUIET USEC_PER_MINUTE
/* Within this after the last fault, or the beginning, nodes agree who is there. */
#define CALM_AFTER USEC_PER_MINUTE
/* What nodes and jobs take of the world's steps in a second of peace, at most: three times what
 * most plans take. What a job writes goes through each server. A job takes half of its share
 * whatever it is, and half as often as it is due: as much as this one in so many seconds. */
#define STEPS_NODE 30
#define STEPS_JOB 13
#define STEPS_JOB_SERVER 4
#define STEPS_JOB_EVERY 17
/* A stop of all daemons takes so long at most. */
#define STOP_TIME (2 * USEC_PER_MINUTE)

/* Everybody has found out by then that the servers were emptied or restored: sessions have ended,
 * and libraries have tried all servers. */
#define DOUBTING (3 * USEC_PER_MINUTE)

#define FOREIGNERS 2
#define NO_SUCH_COMMAND 203 /* systemd.exec(5) */
/* A run that has its machine reboot waits for that, at most. */
#define REBOOT_PATIENCE (20 * USEC_PER_SEC)

/* A node that nothing has befallen for so long has stopped its runs in time. */
#define WELL_FOR (20 * USEC_PER_SEC)
/* A daemon that is stopped ends runs for so long at most, and PID 1 may be slow. */
#define STOPPED_FOR (3 * USEC_PER_MINUTE)

typedef struct Cluster {
        const ClusterOptions *options;
        char *directory;
        World *world;
        Network *network;
        Ensemble *ensemble;
        Plan *plan;
        Fleet *fleet;
        History *history;
        Checker *checker;
        Commands *commands;
        ForeignSetting abroad;
        GPtrArray *foreigners; /* of Foreigner */
        DeadlineChecker *deadlines;
        RequestChecker *requests;
        Faults *faults;
        WorldChance *conduct, *readiness, *reboots;
        Aftermath *aftermath;
        bool is_judged; /* what follows is judged in its own way */
} Cluster;

/* ---- services ---- */

static Cluster *cluster_of(const FleetNode *node) {
        return fleet_userdata(node);
}

/* Return: of so many of its runs one fails. */
static uint64_t cluster_failing(const PlanJob *job) {
        return job->roll.max_failures > 0 || job->service.is ? 3 : 10;
}

/* Some never say that they are ready, or too late, and some end before. What ends well then leaves
 * nothing that could say it. */
static void cluster_draw_readiness(const Cluster *cluster, const PlanJob *job,
                                   ServiceConduct *conduct) {
        WorldChance *chance = cluster->readiness;
        usec_t most = MAX(job->service.timeout, 2) * USEC_PER_SEC,
               soon = world_draw_between(chance, 1, most / 2);
        uint64_t way = world_draw_between(chance, 0, 9);

        conduct->word = soon;
        if (way == 0) { /* it would */
                conduct->duration = MIN(conduct->duration, world_draw_between(chance, 1, soon));
        } else if (way <= 2) {
                conduct->word = way == 1 ? USEC_INFINITY : most + soon;
                conduct->duration += most;
        }
        if (conduct->word >= conduct->duration && conduct->status == 0)
                conduct->remains = 0;
}

/* Some ask for a reboot and wait for it, for a while, and some just end then. */
static void cluster_draw_reboot(const Cluster *cluster, ServiceConduct *conduct) {
        WorldChance *chance = cluster->reboots;
        usec_t wait = world_draw_once_in(chance, 3) ? USEC_PER_SEC : REBOOT_PATIENCE;

        conduct->reboots = true;
        conduct->word = world_draw_between(chance, 1, 2 * USEC_PER_SEC);
        conduct->duration = conduct->word + world_draw_between(chance, 1, wait);
}

static void cluster_draw_conduct(const Service *service, ServiceConduct *conduct, void *userdata) {
        const Cluster *cluster = cluster_of(userdata);
        const PlanJob *job = plan_find(cluster->plan, service_variable(service, "JOBKEEPER_JOB"));
        WorldChance *chance = cluster->conduct;

        conduct->start = world_draw_between(chance, 500, 30 * USEC_PER_MSEC);
        conduct->cannot = world_draw_once_in(chance, 100) ? NO_SUCH_COMMAND : 0;
        conduct->duration = world_draw_between(chance, USEC_PER_MSEC, job->duration);
        if (world_draw_once_in(chance, plan_job_continues(job) ? 5 : 20)) /* very long */
                conduct->duration *= world_draw_between(chance, 2, 10);
        conduct->status = world_draw_once_in(chance, cluster_failing(job)) ? 1 : 0;
        if (job->forgets)
                conduct->status = 2;
        conduct->remains =
            world_draw_once_in(chance, 10) ? world_draw_between(chance, 1, 20 * USEC_PER_SEC) : 0;
        conduct->manners =
            (ServiceManners)world_draw_between(chance, SERVICE_DIES, SERVICE_IGNORES);
        conduct->last_words = world_draw_between(chance, 100, 200 * USEC_PER_MSEC);
        if (job->service.notifies)
                cluster_draw_readiness(cluster, job, conduct);
        if (job->roll.rejoin_timeout > 0 && cluster->faults && faults_draw_reboot(cluster->faults))
                cluster_draw_reboot(cluster, conduct);
}

/* A daemon that hangs, or is gone, stops nothing: what begins then has to be kept from it. */
static void cluster_judge_time(const Cluster *cluster, const FleetNode *node,
                               const HistoryRun *run) {
        const Machine *machine = fleet_node_machine(node);
        g_autofree char *path =
            g_build_filename(machine_directory(machine), "run", "session", NULL);
        SessionFile file = {0};

        (void)session_file_load_any(path, &file);
        checker_run_is_late(cluster->checker, run, file.stop_at,
                            machine_clock(machine, CLOCK_BOOTTIME));
}

static void cluster_on_begun(const Service *service, void *userdata) {
        const Cluster *cluster = cluster_of(userdata);
        HistoryRun *run;

        if (cluster->is_judged)
                return;
        run = history_begun(cluster->history, fleet_node_name(userdata), service);
        run->excused |= !run->continues && checker_has_cleared(cluster->checker, run);
        if (!machine_is_synchronised(fleet_node_machine(userdata)))
                checker_complain(cluster->checker,
                                 "run %s of %s begins on %s, whose clock is not synchronised",
                                 run->run, run->job, run->node);
        run->session = deadline_checker_begins(cluster->deadlines, run->node);
        cluster_judge_time(cluster, userdata, run);
        checker_run_begins(cluster->checker, run);
}

static void cluster_on_ready(const Service *service, void *userdata) {
        const Cluster *cluster = cluster_of(userdata);

        if (!cluster->is_judged)
                history_ready(cluster->history, service, fleet_node_name(userdata));
}

static void cluster_on_reboot(const Service *service, void *userdata) {
        const Cluster *cluster = cluster_of(userdata);

        (void)service;
        if (cluster->faults && !cluster->is_judged)
                faults_reboot(cluster->faults, fleet_node_name(userdata));
}

static void cluster_on_over(const Service *service, void *userdata) {
        const Cluster *cluster = cluster_of(userdata);

        if (!cluster->is_judged)
                history_over(cluster->history, service, fleet_node_name(userdata));
}

/* Return: whether its fence ends something there because its time has come, beside a daemon that
 * should have done so. */
static bool cluster_is_attended(const FleetNode *node) {
        const Daemon *daemon = fleet_node_daemon(node);
        const Pid1 *pid1 = fleet_node_pid1(node);

        return daemon && !process_is_stopped(daemon_process(daemon)) &&
               pid1_fence(pid1) == PID1_FENCE_STOPPING && pid1_slowness(pid1) == 0 &&
               !pid1_is_behind(pid1);
}

static void cluster_on_order(const Service *service, void *userdata) {
        const Cluster *cluster = cluster_of(userdata);
        const HistoryRun *run;

        if (cluster->is_judged)
                return;
        run = history_ordered(cluster->history, service, fleet_node_name(userdata));
        if (service->asked && !fleet_node_was_stopped(userdata, STOPPED_FOR))
                checker_is_asked_to_end(cluster->checker, fleet_node_name(userdata),
                                        service->spec->name);
        if (run && cluster_is_attended(userdata) &&
            !history_befell(cluster->history, run->node, HISTORY_ANY | HISTORY_BUS,
                            usec_sub(world_now(cluster->world), WELL_FOR),
                            world_now(cluster->world)))
                checker_fence_ends(cluster->checker, run);
}

static void cluster_on_empty(const Service *service, void *userdata) {
        const Cluster *cluster = cluster_of(userdata);
        const HistoryRun *run;

        if (cluster->is_judged)
                return;
        run = history_empty(cluster->history, service, fleet_node_name(userdata));
        if (!run)
                return;
        if (cluster->deadlines) /* not as the cluster is taken down */
                deadline_checker_run_ends(cluster->deadlines, run);
        checker_run_ends(cluster->checker, run, ensemble_tree(cluster->ensemble));
}

static const ServiceWatcher cluster_watcher = {
    .conduct = cluster_draw_conduct,
    .begun = cluster_on_begun,
    .ready = cluster_on_ready,
    .reboots = cluster_on_reboot,
    .over = cluster_on_over,
    .ordered = cluster_on_order,
    .empty = cluster_on_empty,
};

/* A session that is lost explains what its node leaves undone, as a fault does. */
static void cluster_on_session_lost(const Cluster *cluster, const char *machine) {
        loss_note_session(cluster->checker, machine,
                          deadline_checker_is_over(cluster->deadlines, machine) &&
                              !history_befell(cluster->history, machine, HISTORY_ANY,
                                              usec_sub(world_now(cluster->world), WELL_FOR),
                                              world_now(cluster->world)));
        history_note(cluster->history, machine, HISTORY_SESSION);
}

/* A daemon may be replaced long after it was told to go: its machine stood still. */
static void cluster_on_log(const char *machine, const char *message_id, const char *job,
                           void *userdata) {
        const Cluster *cluster = userdata;

        if (cluster->is_judged)
                return;
        if (g_strcmp0(message_id, MESSAGE_ENSEMBLE_DOUBTED) == 0 && !cluster->options->forgetful)
                checker_complain(cluster->checker, "%s does not trust what stands in ZooKeeper",
                                 machine);
        if (g_strcmp0(message_id, MESSAGE_SESSION_LOST) == 0)
                cluster_on_session_lost(cluster, machine);
        else if (g_strcmp0(message_id, MESSAGE_STARTED) == 0)
                history_note(cluster->history, machine, HISTORY_DAEMON);
        else if (g_strcmp0(message_id, MESSAGE_JOB_OVERDUE) == 0)
                checker_says_overdue(cluster->checker, machine, job);
}

static void cluster_on_failed_start(FleetNode *node, void *userdata) {
        checker_start_failed(((const Cluster *)userdata)->checker, fleet_node_name(node));
}

/* ---- making and freeing ---- */

/* In memory, unless whoever cleans up has said where. */
static char *cluster_make_directory(void) {
        bool in_memory = !g_getenv("TMPDIR") && g_file_test("/dev/shm", G_FILE_TEST_IS_DIR);
        char *path = g_build_filename(in_memory ? "/dev/shm" : g_get_tmp_dir(),
                                      "jobkeeper-simulation-XXXXXX", NULL);

        g_assert_nonnull(g_mkdtemp(path));
        return path;
}

static void cluster_open_fleet(Cluster *cluster) {
        g_autofree char *config = plan_config(cluster->plan, ensemble_addresses(cluster->ensemble));
        const FleetOptions options = {cluster->directory, cluster->options->nodes, config,
                                      &cluster_watcher};
        WorldChance *drift = world_chance_new(cluster->world, "drift");

        cluster->fleet = fleet_new(cluster->world, &options);
        fleet_set_userdata(cluster->fleet, cluster);
        fleet_listen_failed(cluster->fleet, cluster_on_failed_start, cluster);
        for (unsigned i = 0; i < cluster->options->nodes; i++) {
                FleetNode *node = fleet_node(cluster->fleet, i);
                g_autofree char *jobs = plan_text(cluster->plan, i);

                machine_set_drift(fleet_node_machine(node),
                                  (int32_t)world_draw_between(drift, 0, 200) - 100);
                fleet_node_write(node, FAULT_JOB_FILE, jobs);
                fleet_node_start(node);
        }
        world_chance_free(drift);
}

static void cluster_free_foreigner(void *foreigner) {
        foreigner_free(foreigner);
}

static void cluster_open_foreigners(Cluster *cluster) {
        cluster->abroad =
            (ForeignSetting){cluster->world, cluster->ensemble, cluster->history, cluster->checker};
        cluster->foreigners = g_ptr_array_new_with_free_func(cluster_free_foreigner);
        for (unsigned i = 1; i <= FOREIGNERS; i++) {
                g_autofree char *name = g_strdup_printf("f%u", i),
                                *directory = g_build_filename(cluster->directory, name, NULL);

                g_ptr_array_add(cluster->foreigners,
                                foreigner_new(&cluster->abroad, name, directory));
        }
}

static void cluster_note_session(const Cluster *cluster, int64_t session) {
        const char *host = write_book_host(checker_book(cluster->checker), session);

        if (host)
                history_note(cluster->history, host, HISTORY_SESSION);
}

static void cluster_on_commit(const Transaction *txn, const DataTree *tree, void *userdata) {
        const Cluster *cluster = userdata;

        if (txn->of == REQUEST_CLOSE) /* perhaps before its node hears of it */
                cluster_note_session(cluster, txn->session);
        deadline_checker_committed(cluster->deadlines, txn);
        checker_write(cluster->checker, txn, tree);
        checker_on_commit(cluster->checker, txn);
        aftermath_note(cluster->aftermath, txn);
}

static void cluster_on_answered(const char *host, int64_t session, bool write, usec_t asked,
                                void *userdata) {
        const Cluster *cluster = userdata;

        deadline_checker_answered(cluster->deadlines, host, session, write, asked);
        checker_answered(cluster->checker, session, asked);
}

static void cluster_on_asked(const char *host, const Request *request, void *userdata) {
        const Cluster *cluster = userdata;

        request_checker_asked(cluster->requests, host, request);
        if (cluster->faults)
                faults_asked(cluster->faults, host, request);
}

static void cluster_on_connected(const char *host, int64_t session, void *userdata) {
        const Cluster *cluster = userdata;

        deadline_checker_session(cluster->deadlines, host, session);
        checker_session(cluster->checker, host, session);
}

static void cluster_watch_servers(Cluster *cluster) {
        const EnsembleWatcher watcher = {
            .committed = cluster_on_commit,
            .asked = cluster_on_asked,
            .answered = cluster_on_answered,
            .connected = cluster_on_connected,
            .userdata = cluster,
        };

        ensemble_watch(cluster->ensemble, &watcher);
}

static void cluster_open(Cluster *cluster) {
        const ClusterOptions *options = cluster->options;
        EnsembleOptions servers = ENSEMBLE_DEFAULTS;

        servers.n_servers = options->servers;
        servers.forgetful = options->forgetful;
        cluster->directory = cluster_make_directory();
        cluster->world = world_new(options->seed);
        trace_begin(cluster->world, options->trace);
        cluster->conduct = world_chance_new(cluster->world, "conduct");
        cluster->readiness = world_chance_new(cluster->world, "readiness of runs");
        cluster->reboots = world_chance_new(cluster->world, "reboots by runs");
        cluster->network = network_new(cluster->world);
        cluster->ensemble = ensemble_new(cluster->network, &servers);
        cluster->plan = plan_new(cluster->world, options->jobs, options->nodes);
        cluster->history = history_new(cluster->world, cluster->plan);
        cluster->checker = checker_new(cluster->world, cluster->plan, cluster->history);
        surroundings_listen(cluster_on_log, cluster);
        cluster_open_fleet(cluster);
        cluster->commands = commands_new(cluster->fleet, cluster->history, cluster->checker);
        cluster_open_foreigners(cluster);
        cluster->deadlines = deadline_checker_new(cluster->checker, cluster->world, cluster->fleet,
                                                  ensemble_options(cluster->ensemble));
        cluster->requests = request_checker_new(cluster->checker, cluster->fleet);
        cluster_watch_servers(cluster);
        cluster->aftermath =
            aftermath_new(cluster->world, cluster->ensemble, cluster->fleet, options->duration);
}

static void cluster_close(Cluster *cluster) {
        ensemble_watch(cluster->ensemble, NULL);
        faults_free(cluster->faults);
        aftermath_free(cluster->aftermath);
        g_ptr_array_unref(cluster->foreigners);
        commands_free(cluster->commands);
        cluster->deadlines = deadline_checker_free(cluster->deadlines);
        request_checker_free(cluster->requests);
        fleet_free(cluster->fleet);
        checker_free(cluster->checker);
        history_free(cluster->history);
        plan_free(cluster->plan);
        ensemble_free(cluster->ensemble);
        network_free(cluster->network);
        world_chance_free(cluster->conduct);
        world_chance_free(cluster->readiness);
        world_chance_free(cluster->reboots);
        surroundings_listen(NULL, NULL);
        trace_end();
        world_free(cluster->world);
        machine_remove_tree(cluster->directory);
        g_free(cluster->directory);
}

/* ---- its life ---- */

static bool cluster_is_over(const Cluster *cluster) {
        return (cluster->is_judged ? aftermath_fault(cluster->aftermath)
                                   : checker_fault(cluster->checker)) ||
               (cluster->options->is_over && cluster->options->is_over());
}

/* Return: whether all promises were kept until then, and it goes on. */
static bool cluster_live(Cluster *cluster, usec_t span) {
        usec_t until = world_now(cluster->world) + span;

        while (!cluster_is_over(cluster) && world_step(cluster->world, until))
                ;
        return !cluster_is_over(cluster);
}

static void cluster_stop_all(const Cluster *cluster) {
        for (unsigned i = 0; i < fleet_size(cluster->fleet); i++)
                fleet_node_stop(fleet_node(cluster->fleet, i));
        for (guint i = 0; i < cluster->foreigners->len; i++)
                foreigner_stop(cluster->foreigners->pdata[i]);
}

/* Return: how many steps in an hour the runs take that follow others, as if they were ticks. */
static uint64_t cluster_follow_steps(const Cluster *cluster, const PlanJob *job, uint64_t share) {
        const uint64_t hour = 60 * USEC_PER_MINUTE / USEC_PER_SEC;

        return (plan_runs_due(cluster->plan, job, hour) - hour / job->every - 1) * share *
               STEPS_JOB_EVERY / 2;
}

/* Return: how many steps a second there may be in peace. */
static uint64_t cluster_steps_at_most(const Cluster *cluster) {
        const GPtrArray *jobs = cluster->plan->kept;
        uint64_t share = STEPS_JOB + (uint64_t)ensemble_size(cluster->ensemble) * STEPS_JOB_SERVER,
                 most = (uint64_t)cluster->options->nodes * STEPS_NODE, following = 0;

        for (guint i = 0; i < jobs->len; i++) {
                const PlanJob *job = jobs->pdata[i];

                most += share * (job->every + STEPS_JOB_EVERY) / (2ULL * job->every);
                following += cluster_follow_steps(cluster, job, share);
        }
        return most + following / (60 * USEC_PER_MINUTE / USEC_PER_SEC);
}

/* Nobody is busy with nothing. */
static bool cluster_live_in_peace(Cluster *cluster) {
        uint64_t before = world_steps(cluster->world), each, most = cluster_steps_at_most(cluster);

        if (!cluster_live(cluster, PEACE - QUIET))
                return false;
        request_checker_begin(cluster->requests);
        if (!cluster_live(cluster, QUIET))
                return false;
        request_checker_judge(cluster->requests);
        each = (world_steps(cluster->world) - before) / (PEACE / USEC_PER_SEC);
        trace_write("cluster", "%" PRIu64 " of %" PRIu64 " steps a second in peace", each, most);
        if (each > most)
                checker_complain(cluster->checker,
                                 "%" PRIu64 " steps a second in peace, at most %" PRIu64
                                 " were expected",
                                 each, most);
        return each <= most;
}

static int64_t cluster_second(usec_t time) {
        return MACHINE_EPOCH + (int64_t)(time / USEC_PER_SEC);
}

/* What the checker knows counts for nothing any more. */
static void cluster_live_restored(Cluster *cluster) {
        cluster->is_judged = true;
        aftermath_begin(cluster->aftermath);
        if (!cluster_live(cluster, DOUBTING))
                return;
        aftermath_accept(cluster->aftermath);
        if (cluster_live(cluster, PEACE))
                aftermath_judge(cluster->aftermath);
}

static void cluster_live_and_end(Cluster *cluster) {
        usec_t calm_from = CALM_AFTER;

        if (!cluster_live(cluster, cluster->options->duration))
                return;
        if (faults_count(cluster->faults) > 0)
                calm_from += world_now(cluster->world);
        faults_stop(cluster->faults);
        aftermath_is_calm(cluster->aftermath);
        trace_write("cluster", "peace");
        if (!cluster_live_in_peace(cluster))
                return;
        checker_judge_ledgers(cluster->checker, ensemble_tree(cluster->ensemble),
                              cluster_second(calm_from), cluster_second(world_now(cluster->world)));
        checker_judge_queues(cluster->checker, ensemble_tree(cluster->ensemble),
                             cluster_second(world_now(cluster->world)));
        checker_judge_follows(cluster->checker, ensemble_tree(cluster->ensemble));
        checker_judge_services(cluster->checker, ensemble_tree(cluster->ensemble),
                               cluster_second(calm_from));
        checker_judge_alarms(cluster->checker, ensemble_tree(cluster->ensemble),
                             cluster_second(calm_from), cluster_second(world_now(cluster->world)));
        if (checker_fault(cluster->checker))
                return;
        if (cluster->aftermath) {
                cluster_live_restored(cluster);
                return;
        }
        cluster_stop_all(cluster);
        if (cluster_live(cluster, STOP_TIME))
                checker_judge_rest(cluster->checker, ensemble_tree(cluster->ensemble),
                                   cluster->fleet);
}

static const char *cluster_fault(const Cluster *cluster) {
        return checker_fault(cluster->checker) && !cluster->is_judged
                   ? checker_fault(cluster->checker)
                   : aftermath_fault(cluster->aftermath);
}

static const char *cluster_rule(const Cluster *cluster) {
        return cluster->is_judged ? "after the servers were emptied or restored"
                                  : checker_rule(cluster->checker);
}

bool cluster_simulate(const ClusterOptions *options, ClusterOutcome *ret_outcome) {
        Cluster cluster = {.options = options};
        FaultSite site;

        cluster_open(&cluster);
        site = (FaultSite){cluster.world, cluster.fleet,    cluster.ensemble,  cluster.history,
                           cluster.plan,  cluster.commands, cluster.foreigners};
        cluster.faults = faults_new(&site, options->faults, options->pace);
        if (cluster.faults) {
                cluster_live_and_end(&cluster);
                *ret_outcome = (ClusterOutcome){
                    .fault = g_strdup(cluster_fault(&cluster)),
                    .rule = cluster_rule(&cluster),
                    .runs = history_runs(cluster.history)->len,
                    .faults = faults_count(cluster.faults),
                    .steps = world_steps(cluster.world),
                    .time = world_now(cluster.world),
                };
        }
        cluster_close(&cluster);
        return cluster.faults;
}
