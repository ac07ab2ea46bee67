/* See runs.h. */
#include "runs.h"

#include "paths.h"
#include "service-run.h"
#include "timer.h"

struct Runs {
        RunParts parts;
        GHashTable *runs;     /* key → Run */
        GHashTable *by_job;   /* name → GPtrArray of Run, borrowed from there */
        GHashTable *claiming; /* a set: keys */
        GPtrArray *settled;   /* Run: done, freed from the loop */
        sd_event_source *reaper;
        const char
            *no_services; /* why those that come end at once, constant; NULL: they may stay */
        RunsSettledFunc func;
        void *userdata;
};

static void runs_destroy_run(void *run) {
        run_free(run);
}

static void runs_destroy_list(void *list) {
        g_ptr_array_unref(list);
}

static void runs_index(Runs *runs, Run *run) {
        GPtrArray *of_job = g_hash_table_lookup(runs->by_job, run->record->job);

        if (!of_job) {
                of_job = g_ptr_array_new();
                g_hash_table_insert(runs->by_job, g_strdup(run->record->job), of_job);
        }
        g_ptr_array_add(of_job, run);
}

static void runs_unindex(Runs *runs, Run *run) {
        GPtrArray *of_job = run ? g_hash_table_lookup(runs->by_job, run->record->job) : NULL;

        if (of_job && g_ptr_array_remove(of_job, run) && of_job->len == 0)
                g_hash_table_remove(runs->by_job, run->record->job);
}

static void runs_on_reap(void *userdata) {
        g_ptr_array_set_size(((Runs *)userdata)->settled, 0);
}

/* We are inside a callback of the run's own settle: it is freed from the loop. */
static void runs_on_settled(Run *run, void *userdata) {
        Runs *runs = userdata;

        runs_unindex(runs, run);
        g_hash_table_steal(runs->runs, run->key);
        g_ptr_array_add(runs->settled, run);
        if (!runs->reaper)
                (void)timer_in(runs->parts.node->event, &runs->reaper, 0, runs_on_reap, runs);
        runs->func(run->record->job, runs->userdata);
}

Runs *runs_new(const Node *node, UnitManager *units, const Settler *settler,
               const EndedUnits *ended, RunsSettledFunc func, void *userdata) {
        Runs *runs = g_new0(Runs, 1);

        runs->parts = (RunParts){.node = node,
                                 .units = units,
                                 .settler = settler,
                                 .ended = ended,
                                 .settled = runs_on_settled,
                                 .userdata = runs};
        runs->runs = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, runs_destroy_run);
        runs->by_job = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, runs_destroy_list);
        runs->claiming = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        runs->settled = g_ptr_array_new_with_free_func(runs_destroy_run);
        runs->func = func;
        runs->userdata = userdata;
        return runs;
}

Runs *runs_free(Runs *runs) {
        if (!runs)
                return NULL;
        sd_event_source_disable_unref(runs->reaper);
        g_ptr_array_unref(runs->settled);
        g_hash_table_unref(runs->by_job);
        g_hash_table_unref(runs->runs);
        g_hash_table_unref(runs->claiming);
        g_free(runs);
        return NULL;
}

static void runs_add(Runs *runs, Run *run) {
        runs_unindex(runs, g_hash_table_lookup(runs->runs, run->key));
        runs_index(runs, run);
        g_hash_table_insert(runs->runs, run->key, run);
        service_run_judge(run, runs->parts.settler->jobset);
        if (runs->no_services)
                service_run_end(run, runs->no_services);
}

void runs_start(Runs *runs, const JobSpec *spec, RunRecord *record, LockSet *locks,
                usec_t start_by) {
        runs_add(runs, run_start(&runs->parts, spec, record, locks, start_by));
}

void runs_recover(Runs *runs, RunRecord *record, int32_t record_version, bool attached) {
        runs_add(runs, run_recover(&runs->parts, record, record_version, attached));
}

void runs_recover_result(Runs *runs, RunRecord *record) {
        runs_add(runs, run_recover_result(&runs->parts, record));
}

void runs_recover_nothing(Runs *runs, RunRecord *record, char *why) {
        runs_add(runs, run_recover_nothing(&runs->parts, record, why));
}

unsigned runs_count(const Runs *runs) {
        return g_hash_table_size(runs->runs);
}

unsigned runs_count_results(const Runs *runs) {
        GHashTableIter iterator;
        unsigned count = 0;
        gpointer run;

        g_hash_table_iter_init(&iterator, runs->runs);
        while (g_hash_table_iter_next(&iterator, NULL, &run))
                count += ((const Run *)run)->phase >= RUN_PHASE_SETTLING;
        return count;
}

Run *runs_find(const Runs *runs, const char *key) {
        return g_hash_table_lookup(runs->runs, key);
}

const GPtrArray *runs_of_job(const Runs *runs, const char *job) {
        return g_hash_table_lookup(runs->by_job, job);
}

GPtrArray *runs_jobs(const Runs *runs) {
        GPtrArray *jobs = g_ptr_array_new();
        GHashTableIter iterator;
        gpointer job;

        g_hash_table_iter_init(&iterator, runs->by_job);
        while (g_hash_table_iter_next(&iterator, &job, NULL))
                g_ptr_array_add(jobs, job);
        return jobs;
}

GPtrArray *runs_list(const Runs *runs) {
        GPtrArray *list = g_ptr_array_new();
        GHashTableIter iterator;
        gpointer run;

        g_hash_table_iter_init(&iterator, runs->runs);
        while (g_hash_table_iter_next(&iterator, NULL, &run))
                g_ptr_array_add(list, run);
        return list;
}

void runs_for_all(Runs *runs, void (*func)(Run *run)) {
        g_autoptr(GPtrArray) list = runs_list(runs);

        for (guint i = 0; i < list->len; i++)
                func(list->pdata[i]);
}

void runs_stop_all(Runs *runs, const char *why) {
        g_autoptr(GPtrArray) list = runs_list(runs);

        for (guint i = 0; i < list->len; i++)
                run_stop(list->pdata[i], true, why);
}

void runs_stop_for_shutdown(Runs *runs, const char *why) {
        g_autoptr(GPtrArray) list = runs_list(runs);

        for (guint i = 0; i < list->len; i++)
                run_stop_for_shutdown(list->pdata[i], why);
}

void runs_stop_services(Runs *runs, const char *why) {
        g_autoptr(GPtrArray) list = runs_list(runs);

        runs->no_services = why;
        for (guint i = 0; i < list->len; i++)
                service_run_end(list->pdata[i], why);
}

void runs_spare_services(Runs *runs) {
        runs->no_services = NULL;
}

void runs_judge_services(Runs *runs) {
        g_autoptr(GPtrArray) list = runs_list(runs);

        for (guint i = 0; i < list->len; i++)
                service_run_judge(list->pdata[i], runs->parts.settler->jobset);
}

void runs_stop_guarded(Runs *runs, const char *why) {
        g_autoptr(GPtrArray) list = runs_list(runs);

        for (guint i = 0; i < list->len; i++)
                if (!((const Run *)list->pdata[i])->record->continues)
                        run_stop(list->pdata[i], true, why);
}

unsigned runs_count_guarded(const Runs *runs) {
        GHashTableIter iterator;
        unsigned count = 0;
        gpointer run;

        g_hash_table_iter_init(&iterator, runs->runs);
        while (g_hash_table_iter_next(&iterator, NULL, &run))
                count += !((const Run *)run)->record->continues;
        return count;
}

bool runs_has_unit(const Runs *runs, const char *unit) {
        g_autofree char *key = open_name_of_unit(unit);
        const Run *run = key ? runs_find(runs, key) : NULL;

        return run && g_strcmp0(run->record->unit, unit) == 0;
}

bool runs_are_starting(const Runs *runs) {
        GHashTableIter iterator;
        gpointer value;

        g_hash_table_iter_init(&iterator, runs->runs);
        while (g_hash_table_iter_next(&iterator, NULL, &value)) {
                const Run *run = value;
                if (run->phase == RUN_PHASE_CLAIMED && !run->recovering)
                        return true;
        }
        return false;
}

static bool runs_is_lost(const Run *run) {
        return run->session_lost && run->phase < RUN_PHASE_SETTLING && !run->record->continues;
}

bool runs_have_lost(const Runs *runs) {
        GHashTableIter iterator;
        gpointer run;

        g_hash_table_iter_init(&iterator, runs->runs);
        while (g_hash_table_iter_next(&iterator, NULL, &run))
                if (runs_is_lost(run))
                        return true;
        return false;
}

bool runs_have_lost_fenced(const Runs *runs) {
        GHashTableIter iterator;
        gpointer run;

        g_hash_table_iter_init(&iterator, runs->runs);
        while (g_hash_table_iter_next(&iterator, NULL, &run))
                if (runs_is_lost(run) && !run_lives_unfenced(run))
                        return true;
        return false;
}

void runs_keep(const Runs *runs, GPtrArray *paths) {
        GHashTableIter iterator;
        gpointer value;

        g_hash_table_iter_init(&iterator, runs->runs);
        while (g_hash_table_iter_next(&iterator, NULL, &value))
                for (char **path = ((const Run *)value)->record->locks; path && *path; path++)
                        g_ptr_array_add(paths, g_strdup(*path));
}

void runs_claim_begins(Runs *runs, const char *key) {
        g_hash_table_add(runs->claiming, g_strdup(key));
}

void runs_claim_ends(Runs *runs, const char *key) {
        g_hash_table_remove(runs->claiming, key);
}

unsigned runs_count_claims(const Runs *runs) {
        return g_hash_table_size(runs->claiming);
}

bool runs_knows(const Runs *runs, const char *key) {
        return g_hash_table_contains(runs->runs, key) || g_hash_table_contains(runs->claiming, key);
}
