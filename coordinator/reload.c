/* The jobs of the files, as the daemon begins and whenever it is asked to read them again.
 *
 * Files are read on a thread (job-loader.h), and then taken: what is new at once, what was there
 * before some at a turn of the loop. Until its turn a job is what it was; one whose definition is
 * the same goes on as if nothing had been. What left the files is withdrawn (withdrawal.h).
 */
#include <systemd/sd-daemon.h>

#include "coordinator-internal.h"
#include "digest-memory.h"
#include "fitness.h"
#include "job-loader.h"
#include "log.h"
#include "message-id.h"
#include "ranks.h"
#include "recovery.h"
#include "scheduled-job.h"
#include "sweep.h"
#include "withdrawal.h"

static void log_faults(const Coordinator *coordinator) {
        for (const char *const *error = jobset_errors(coordinator->jobset); error && *error;
             error++)
                log_error(&(LogAbout){.message_id = MESSAGE_CONFIG_ERROR}, "%s", *error);
        for (const char *const *warning = jobset_warnings(coordinator->jobset); *warning; warning++)
                log_warning(&(LogAbout){.message_id = MESSAGE_CONFIG_WARNING}, "%s", *warning);
}

/* A job that was in our files is not any more: the ledger says so, so that, added again, it begins
 * at its re-adding. What a broken file does not say is not removed. */
static void withdraw_job(Coordinator *coordinator, const char *job) {
        const char *const *errors = jobset_errors(coordinator->jobset);

        if ((errors && *errors) || !node_is_ready(coordinator->node))
                return;
        /* Whoever has it need not wait for us at each tick. */
        registration_set_absent(coordinator->registration, job, true);
        withdrawals_add(coordinator->withdrawals, job);
}

/* The jobs that were removed while there was no session, or no daemon. */
void coordinator_withdraw_removed(Coordinator *coordinator) {
        g_autoptr(GPtrArray) remembered = digest_memory_jobs(coordinator->digests);

        for (guint i = 0; i < remembered->len; i++)
                if (!g_hash_table_contains(coordinator->jobs, remembered->pdata[i]))
                        withdraw_job(coordinator, remembered->pdata[i]);
        registration_publish(coordinator->registration);
}

/* What this machine can run is said to people and to the other nodes. */
static void on_fitness(const char *const *names, void *userdata) {
        Coordinator *coordinator = userdata;

        for (const char *const *name = names; *name; name++) {
                const LogAbout about = {.message_id = MESSAGE_JOB_UNFIT, .job = *name};
                ScheduledJob *job = g_hash_table_lookup(coordinator->jobs, *name);
                const char *why = fitness_why(coordinator->fitness, *name);

                if (why)
                        log_warning(&about, "this node cannot run it: %s", why);
                if (job)
                        registration_set_unfit(coordinator->registration, *name, why);
                if (job)
                        sweep_add(coordinator->sweep, job, JOB_SWEEP_BEGIN);
        }
        registration_publish(coordinator->registration);
}

/* The others are told when it has been looked at; until then the last verdict holds. */
static void check_fitness(Coordinator *coordinator, const JobSpec *spec) {
        if (job_spec_matches_node(spec, coordinator->config->node_name,
                                  coordinator->config->labels))
                fitness_ask(coordinator->fitness, spec, coordinator->config);
        else
                fitness_forget(coordinator->fitness, spec->name);
        registration_set_unfit(coordinator->registration, spec->name,
                               fitness_why(coordinator->fitness, spec->name));
}

static void remove_job(Coordinator *coordinator, ScheduledJob *job) {
        g_autofree char *name = g_strdup(scheduled_job_name(job));

        fitness_forget(coordinator->fitness, name);
        registration_set_unfit(coordinator->registration, name, NULL);
        ranks_forget(coordinator->ranks, name);
        sweep_remove(coordinator->sweep, job);
        g_hash_table_remove(coordinator->jobs, name);
        if (digest_memory_get(coordinator->digests, name))
                withdraw_job(coordinator, name);
}

/* The machine is looked at again also where the definition is the old one. */
static void replace_job(Coordinator *coordinator, ScheduledJob *job, const JobSpec *spec) {
        bool equal = job_spec_equal(scheduled_job_spec(job), spec);

        scheduled_job_replace(job, spec);
        check_fitness(coordinator, spec);
        if (!equal)
                sweep_add(coordinator->sweep, job, JOB_SWEEP_BEGIN);
}

static void add_job(Coordinator *coordinator, const JobSpec *spec) {
        ScheduledJob *job = scheduled_job_new(coordinator, spec);

        check_fitness(coordinator, spec); /* until it has been looked at, it cannot be run */
        withdrawals_remove(coordinator->withdrawals, spec->name);
        registration_set_absent(coordinator->registration, spec->name, false);
        g_hash_table_insert(coordinator->jobs, (char *)scheduled_job_name(job), job);
        sweep_add(coordinator->sweep, job, JOB_SWEEP_BEGIN);
}

static void add_new_jobs(Coordinator *coordinator) {
        for (guint i = 0; i < jobset_size(coordinator->jobset); i++) {
                const JobSpec *spec = jobset_get(coordinator->jobset, i);
                if (!g_hash_table_contains(coordinator->jobs, spec->name))
                        add_job(coordinator, spec);
        }
}

/* ---- reading the files again ---- */

/* What is in force stays, but a restart would fail: said while there is somebody who runs. */
static void check_config(const Coordinator *coordinator) {
        _cleanup_(daemon_config_freep) DaemonConfig *config = NULL;

        if (coordinator_load_config(coordinator->config_path, &config) < 0)
                log_error(&(LogAbout){.message_id = MESSAGE_CONFIG_ERROR},
                          "%s has errors: what is in force stays, but jobkeeperd could not be "
                          "restarted now, and its runs would be stopped",
                          coordinator->config_path);
}

/* Every job is as the set says. */
static void reload_done(Coordinator *coordinator) {
        const LogAbout about = {.message_id = MESSAGE_RELOADED};
        g_autofree char *summary = jobset_summary(coordinator->jobset);

        log_write(*jobset_errors(coordinator->jobset) ? LOG_WARNING : LOG_INFO, &about,
                  "reloaded: %s", summary);
        registration_publish(coordinator->registration);
        /* Also what left the files earlier, beside a broken one that could have had it. */
        coordinator_withdraw_removed(coordinator);
        /* A claim of a job that was removed may be on its way. */
        if (node_is_ready(coordinator->node))
                recovery_check(coordinator->recovery);
        (void)sd_notifyf(0, "READY=1\nSTATUS=%s", summary);
}

/* One of the jobs that there were before: until its turn it is what it was. */
static void reload_on_turn(void *item, unsigned what, void *userdata) {
        Coordinator *coordinator = userdata;
        const JobSpec *spec = jobset_find(coordinator->jobset, scheduled_job_name(item));

        if (node_is_ending(coordinator->node))
                return;
        if (spec)
                replace_job(coordinator, item, spec);
        else
                remove_job(coordinator, item);
        if (sweep_length(coordinator->reload_sweep) == 0)
                reload_done(coordinator);
}

static void on_job_files(int r, GPtrArray *files, Diagnostics *diagnostics, void *userdata) {
        const LogAbout about = {.message_id = MESSAGE_RELOADED};
        Coordinator *coordinator = userdata;
        GHashTableIter iterator;
        gpointer job;

        if (node_is_ending(coordinator->node))
                return;
        jobset_take(coordinator->jobset, r, files, diagnostics, coordinator->config);
        log_faults(coordinator);
        if (r < 0) {
                log_error(&about,
                          "the job files could not be read (%s): the definitions in force stay",
                          g_strerror(-r));
                (void)sd_notify(0, "READY=1\nSTATUS=The job files cannot be read");
                return;
        }
        g_hash_table_iter_init(&iterator, coordinator->jobs);
        while (g_hash_table_iter_next(&iterator, NULL, &job))
                sweep_add(coordinator->reload_sweep, job, 0);
        add_new_jobs(coordinator);
        if (sweep_length(coordinator->reload_sweep) == 0)
                reload_done(coordinator);
}

void coordinator_reload(Coordinator *coordinator) {
        int r;

        if (node_is_ending(coordinator->node))
                return;
        (void)sd_notifyf(0, "RELOADING=1\nMONOTONIC_USEC=%" G_GUINT64_FORMAT, clock_monotonic());
        check_config(coordinator);
        r = job_loader_start(coordinator->job_loader,
                             (const char *const *)coordinator->directories);
        if (r < 0)
                on_job_files(r, NULL, NULL, coordinator);
}

bool coordinator_is_reloading(const Coordinator *coordinator) {
        return job_loader_is_busy(coordinator->job_loader) ||
               sweep_length(coordinator->reload_sweep) > 0;
}

int coordinator_load_jobs(Coordinator *coordinator) {
        int r;

        if ((r = sweep_new(coordinator->event, reload_on_turn, coordinator,
                           &coordinator->reload_sweep)) < 0 ||
            (r = job_loader_new(coordinator->event, on_job_files, coordinator,
                                &coordinator->job_loader)) < 0 ||
            (r = fitness_new(coordinator->event, on_fitness, coordinator, &coordinator->fitness)) <
                0)
                return r;
        coordinator->ranks =
            ranks_new(coordinator->members, coordinator->registration, coordinator->fitness);
        r = jobset_load(coordinator->jobset, (const char *const *)coordinator->directories,
                        coordinator->config);
        log_faults(coordinator);
        if (r < 0) {
                log_error(NULL, "the job files could not be read: %s", g_strerror(-r));
                return r;
        }
        add_new_jobs(coordinator);
        return 0;
}
