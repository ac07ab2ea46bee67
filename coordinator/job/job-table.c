/* See job-table.h. */
#include "job-table.h"

#include <errno.h>
#include <glib.h>

#include "paths.h"
#include "placement.h"

struct JobTable {
        JobParts parts;   /* what each job uses; weak */
        GHashTable *jobs; /* name → ScheduledJob */
        Sweep *sweep;
};

static void job_table_drop(void *job) {
        scheduled_job_free(job);
}

JobTable *job_table_free(JobTable *table) {
        if (!table)
                return NULL;
        sweep_free(table->sweep);
        g_hash_table_unref(table->jobs);
        waiter_looks_free(table->parts.looks);
        g_free(table);
        return NULL;
}

static void job_table_on_turn(void *item, unsigned what, void *userdata) {
        const JobTable *table = userdata;
        ScheduledJob *job = item;

        if (!node_is_ready(table->parts.node))
                return;
        if ((what & JOB_SWEEP_BEGIN) ||
            ((what & JOB_SWEEP_RANK) &&
             ranks_have_changed(table->parts.ranks, scheduled_job_spec(job))))
                scheduled_job_begin(job);
        else if (what & JOB_SWEEP_CONSIDER)
                scheduled_job_consider(job);
}

JobTable *job_table_new(const JobParts *parts) {
        JobTable *table = g_new0(JobTable, 1);

        table->parts = *parts;
        table->parts.looks = waiter_looks_new(parts->node);
        table->jobs = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, job_table_drop);
        table->sweep = sweep_new(parts->node->event, job_table_on_turn, table);
        return table;
}

/* A job of a new name: it begins at one of the next turns. */
static void job_table_add(JobTable *table, const JobSpec *spec) {
        ScheduledJob *job = scheduled_job_new(&table->parts, spec);

        g_hash_table_insert(table->jobs, (char *)scheduled_job_name(job), job);
        sweep_add(table->sweep, job, JOB_SWEEP_BEGIN);
}

/* Another definition of it took effect, or the same one, in other memory: then nothing is asked of
 * the server, unless the job is kept from being run, and whoever had the files read again may have
 * seen to that. */
static void job_table_replace(JobTable *table, const JobSpec *spec) {
        ScheduledJob *job = job_table_find(table, spec->name);
        bool equal = job_spec_equal(scheduled_job_spec(job), spec), was_kept;

        scheduled_job_replace(job, spec);
        was_kept = scheduled_job_try_anew(job);
        if (!equal)
                sweep_add(table->sweep, job, JOB_SWEEP_BEGIN);
        else if (was_kept)
                sweep_add(table->sweep, job, JOB_SWEEP_CONSIDER);
}

static void job_table_remove(JobTable *table, const char *name) {
        sweep_remove(table->sweep, job_table_find(table, name));
        g_hash_table_remove(table->jobs, name);
}

ScheduledJob *job_table_find(const JobTable *table, const char *name) {
        return g_hash_table_lookup(table->jobs, name);
}

void job_table_hurry(const JobTable *table, const char *name) {
        ScheduledJob *job = job_table_find(table, name);

        if (job)
                scheduled_job_hurry(job);
}

bool job_table_waited_for(const JobTable *table, const char *name, int64_t tick, usec_t span) {
        ScheduledJob *job = job_table_find(table, name);

        return job && scheduled_job_waited_for(job, tick, span);
}

bool job_table_stands_for_tick(const JobTable *table, const char *name, int64_t tick) {
        const ScheduledJob *job = job_table_find(table, name);

        return job && scheduled_job_stands_for_tick(job, tick);
}

GPtrArray *job_table_list(const JobTable *table) {
        GPtrArray *jobs = g_ptr_array_new();
        GHashTableIter iterator;
        gpointer job;

        g_hash_table_iter_init(&iterator, table->jobs);
        while (g_hash_table_iter_next(&iterator, NULL, &job))
                g_ptr_array_add(jobs, job);
        return jobs;
}

unsigned job_table_size(const JobTable *table) {
        return g_hash_table_size(table->jobs);
}

void job_table_for_all(const JobTable *table, void (*func)(ScheduledJob *)) {
        g_autoptr(GPtrArray) jobs = job_table_list(table);

        for (guint i = 0; i < jobs->len; i++)
                func(jobs->pdata[i]);
}

void job_table_sweep(JobTable *table, JobSweep what) {
        GHashTableIter iterator;
        gpointer job;

        g_hash_table_iter_init(&iterator, table->jobs);
        while (g_hash_table_iter_next(&iterator, NULL, &job))
                sweep_add(table->sweep, job, what);
}

void job_table_sweep_one(JobTable *table, const char *name, JobSweep what) {
        ScheduledJob *job = job_table_find(table, name);

        if (job)
                sweep_add(table->sweep, job, what);
}

const Sweep *job_table_sweeping(const JobTable *table) {
        return table->sweep;
}

/* ---- for the inventory ---- */

static void job_table_on_added(const JobSpec *spec, void *userdata) {
        job_table_add(userdata, spec);
}

static void job_table_on_replaced(const JobSpec *spec, void *userdata) {
        job_table_replace(userdata, spec);
}

static void job_table_on_removed(const char *job, void *userdata) {
        job_table_remove(userdata, job);
}

static void job_table_on_judged(const char *job, void *userdata) {
        job_table_sweep_one(userdata, job, JOB_SWEEP_BEGIN);
}

const InventoryEvents job_table_inventory_events = {
    .added = job_table_on_added,
    .replaced = job_table_on_replaced,
    .removed = job_table_on_removed,
    .judged = job_table_on_judged,
};

/* ---- for the manual runs ---- */

static uint32_t job_table_rank(const char *name, void *userdata) {
        const JobTable *table = userdata;
        ScheduledJob *job = job_table_find(table, name);

        return job ? ranks_of_key(table->parts.ranks, scheduled_job_spec(job), name)
                   : PLACEMENT_NONE;
}

static bool job_table_is_undecided(const char *job, void *userdata) {
        return ranks_is_undecided(((const JobTable *)userdata)->parts.ranks, job);
}

static bool job_table_stands_for(const char *name, const char *id, void *userdata) {
        const ScheduledJob *job = job_table_find(userdata, name);

        return job && scheduled_job_stands_for(job, id);
}

static void job_table_take(const char *name, const ManualRun *run, void *userdata) {
        ScheduledJob *job = job_table_find(userdata, name);

        if (job)
                scheduled_job_request(job, run);
}

static void job_table_request_gone(const char *name, const char *id, void *userdata) {
        ScheduledJob *job = job_table_find(userdata, name);

        if (job)
                scheduled_job_request_gone(job, id);
}

static bool job_table_stop(const char *job, const char *run, const char *who, void *userdata) {
        g_autofree char *key = run_key(job, run);
        Run *found = runs_find(((const JobTable *)userdata)->parts.runs, key);

        if (found)
                run_stop_for(found, *who ? who : "somebody");
        return found;
}

static int job_table_may_record(const char *job, const char *run, void *userdata) {
        const Ledger *ledger =
            ledger_cache_get(((const JobTable *)userdata)->parts.ledgers, job, NULL);

        return ledger ? ledger_is_settled(ledger, run_id_tick(run)) : -ENODATA;
}

const RequestsEvents job_table_requests_events = {
    .rank = job_table_rank,
    .is_undecided = job_table_is_undecided,
    .stands_for = job_table_stands_for,
    .take = job_table_take,
    .gone = job_table_request_gone,
    .may_record = job_table_may_record,
    .stop = job_table_stop,
};
