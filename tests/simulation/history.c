/* See history.h. */
#include "history.h"

#include <string.h>

#include "paths.h"
#include "pid1.h"
#include "trace.h"
#include "unit-spec.h"

typedef struct Disturbance {
        const char *node; /* interned */
        usec_t time, until;
        HistoryMatter matter;
} Disturbance;

/* A job that the file of a node has no more. */
typedef struct Want {
        const char *job; /* interned */
        usec_t since;
} Want;

/* A daemon that can act again has ended by then what it must not start. */
#define EXCUSED_FOR (5 * USEC_PER_SEC)

struct History {
        World *world;
        const Plan *plan;                              /* weak */
        GPtrArray *runs, *alive;                       /* of HistoryRun */
        GPtrArray *holds;                              /* of HistoryHold */
        unsigned n_holds;                              /* that there ever were */
        GHashTable *unwanted;                          /* "JOB:RUN" */
        GHashTable *wants;                             /* node → Want */
        GArray *disturbances, *excuses, *hold_excuses; /* of Disturbance */
};

static void history_run_free(void *data) {
        HistoryRun *run = data;

        g_free(run->node);
        g_free(run->job);
        g_free(run->run);
        g_free(run->unit);
        g_free(run);
}

static void history_hold_free(void *data) {
        HistoryHold *hold = data;

        g_free(hold->node);
        g_free(hold->who);
        g_free(hold->resource);
        g_free(hold);
}

History *history_new(World *world, const Plan *plan) {
        History *history = g_new0(History, 1);

        history->world = world;
        history->plan = plan;
        history->runs = g_ptr_array_new_with_free_func(history_run_free);
        history->alive = g_ptr_array_new();
        history->unwanted = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        history->wants = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        history->holds = g_ptr_array_new_with_free_func(history_hold_free);
        history->hold_excuses = g_array_new(FALSE, FALSE, sizeof(Disturbance));
        history->disturbances = g_array_new(FALSE, FALSE, sizeof(Disturbance));
        history->excuses = g_array_new(FALSE, FALSE, sizeof(Disturbance));
        return history;
}

History *history_free(History *history) {
        if (!history)
                return NULL;
        g_ptr_array_unref(history->runs);
        g_ptr_array_unref(history->alive);
        g_ptr_array_unref(history->holds);
        g_hash_table_unref(history->unwanted);
        g_hash_table_unref(history->wants);
        g_array_unref(history->hold_excuses);
        g_array_unref(history->disturbances);
        g_array_unref(history->excuses);
        g_free(history);
        return NULL;
}

void history_unwanted(const History *history, const char *job, const char *run) {
        g_hash_table_add(history->unwanted,
                         g_strconcat(plan_first_name(history->plan, job), ":", run, NULL));
}

bool history_is_unwanted(const History *history, const char *job, const char *run) {
        g_autofree char *key = g_strconcat(plan_first_name(history->plan, job), ":", run, NULL);

        return g_hash_table_contains(history->unwanted, key);
}

static bool disturbed_between(const GArray *disturbances, const char *node, unsigned matters,
                              usec_t from, usec_t to) {
        for (guint i = 0; i < disturbances->len; i++) {
                const Disturbance *one = &g_array_index(disturbances, Disturbance, i);

                if ((one->matter & matters) && one->until >= from && one->time <= to &&
                    strcmp(one->node, node) == 0)
                        return true;
        }
        return false;
}

/* What PID 1 was about to start then is no better off. */
static bool history_is_excused(const History *history, const GArray *excuses, const char *node) {
        usec_t now = world_now(history->world);

        return disturbed_between(excuses, node, HISTORY_ANY, usec_sub(now, EXCUSED_FOR), now);
}

static int64_t history_number(const Service *service, const char *variable) {
        const char *text = service_variable(service, variable);

        return text ? g_ascii_strtoll(text, NULL, 10) : 0;
}

HistoryRun *history_begun(History *history, const char *node, const Service *service) {
        HistoryRun *run = g_new0(HistoryRun, 1);

        run->number = history->runs->len;
        run->node = g_strdup(node);
        run->job =
            g_strdup(plan_first_name(history->plan, service_variable(service, "JOBKEEPER_JOB")));
        run->run = g_strdup(service_variable(service, "JOBKEEPER_RUN_ID"));
        run->unit = g_strdup(service->spec->name);
        run->tick = run_id_tick(run->run); /* the variable has that of a run before as well */
        run->attempt = (unsigned)history_number(service, "JOBKEEPER_ATTEMPT");
        run->token = history_number(service, "JOBKEEPER_FENCING_TOKEN");
        run->begun = world_now(history->world);
        run->continues = strcmp(service->spec->slice, UNIT_SLICE_CONTINUE) == 0;
        run->excused = !run->continues && history_is_excused(history, history->excuses, node);
        g_ptr_array_add(history->runs, run);
        g_ptr_array_add(history->alive, run);
        trace_write(node, "run %s of %s begins", run->run, run->job);
        return run;
}

/* Return: the run of that service which lives; NULL: it never ran. */
static HistoryRun *history_find(const History *history, const Service *service, const char *node) {
        for (guint i = 0; i < history->alive->len; i++) {
                HistoryRun *run = history->alive->pdata[i];

                if (strcmp(run->unit, service->spec->name) == 0 && strcmp(run->node, node) == 0)
                        return run;
        }
        return NULL;
}

void history_ready(const History *history, const Service *service, const char *node) {
        HistoryRun *run = history_find(history, service, node);

        run->ready = world_now(history->world);
        trace_write(node, "run %s of %s is ready", run->run, run->job);
}

void history_over(History *history, const Service *service, const char *node) {
        HistoryRun *run = history_find(history, service, node);

        run->over = world_now(history->world);
        run->result = service->result;
        run->asked = service->asked;
        run->by_itself = run->ordered == 0;
        run->stopped |= service->stopping || service->killed;
        trace_write(node, "run %s of %s is over: %s %d%s", run->run, run->job,
                    unit_outcome_to_string(run->result.outcome), run->result.exit_status,
                    run->stopped ? ", stopped" : "");
}

/* The daemon may not have known yet that it had ended. */
const HistoryRun *history_ordered(History *history, const Service *service, const char *node) {
        for (guint i = history->runs->len; i > 0; i--) {
                HistoryRun *run = history->runs->pdata[i - 1];

                if (strcmp(run->unit, service->spec->name) == 0 && strcmp(run->node, node) == 0) {
                        run->stopped = true;
                        run->by_shutdown |= pid1_shuts_down(service->pid1);
                        if (run->ordered != 0)
                                return NULL;
                        run->ordered = world_now(history->world);
                        run->by_fence = service->spec->fenced && !pid1_shuts_down(service->pid1) &&
                                        pid1_fence(service->pid1) != PID1_FENCE_ACTIVE;
                        return run->by_fence ? run : NULL;
                }
        }
        return NULL;
}

const HistoryRun *history_empty(History *history, const Service *service, const char *node) {
        HistoryRun *run = history_find(history, service, node);

        if (!run)
                return NULL;
        run->empty = world_now(history->world);
        (void)g_ptr_array_remove(history->alive, run);
        if (run->empty != run->over)
                trace_write(node, "what run %s of %s left is gone", run->run, run->job);
        return run;
}

void history_give_up(const History *history, const char *job, const char *name) {
        for (guint i = 0; i < history->alive->len; i++) {
                HistoryRun *run = history->alive->pdata[i];

                run->excused |= strcmp(run->job, job) == 0 && strcmp(run->run, name) == 0;
        }
}

void history_note(History *history, const char *node, HistoryMatter matter) {
        usec_t now = world_now(history->world);
        const Disturbance disturbance = {g_intern_string(node), now, now, matter};

        g_array_append_val(history->disturbances, disturbance);
}

void history_note_begin(History *history, const char *node, HistoryMatter matter) {
        const Disturbance disturbance = {g_intern_string(node), world_now(history->world),
                                         USEC_INFINITY, matter};

        g_array_append_val(history->disturbances, disturbance);
}

void history_note_end(History *history, const char *node, HistoryMatter matter) {
        for (guint i = 0; i < history->disturbances->len; i++) {
                Disturbance *one = &g_array_index(history->disturbances, Disturbance, i);

                if (one->matter == matter && one->until == USEC_INFINITY &&
                    strcmp(one->node, node) == 0)
                        one->until = world_now(history->world);
        }
}

bool history_befell(const History *history, const char *node, unsigned matters, usec_t from,
                    usec_t to) {
        return disturbed_between(history->disturbances, node, matters, from, to);
}

static char *history_label(const char *node, const char *job) {
        return g_strconcat(node, job ? ":" : NULL, job, NULL);
}

void history_note_edit(History *history, const char *node, const char *job) {
        g_autofree char *label = history_label(node, job);

        history_note_begin(history, label, HISTORY_FILES);
}

void history_note_mended(History *history, const char *node, const char *job) {
        g_autofree char *label = history_label(node, job);

        history_note_end(history, label, HISTORY_FILES);
}

bool history_was_edited(const History *history, const char *node, const char *job, usec_t from,
                        usec_t to) {
        g_autofree char *label = history_label(node, job);

        return history_befell(history, label, HISTORY_FILES, from, to);
}

void history_note_without(History *history, const char *node, const char *job) {
        const Want want = {g_intern_string(job), world_now(history->world)};

        if (job)
                g_hash_table_replace(history->wants, g_strdup(node),
                                     g_memdup2(&want, sizeof(want)));
        else
                g_hash_table_remove(history->wants, node);
}

usec_t history_without_since(const History *history, const char *node, const char *job) {
        const Want *want = g_hash_table_lookup(history->wants, node);

        return want && g_str_equal(want->job, job) ? want->since : USEC_INFINITY;
}

HistoryHold *history_hold_begins(History *history, const char *node, const char *who,
                                 const PlanLock *lock) {
        HistoryHold *hold = g_new0(HistoryHold, 1);

        hold->number = history->n_holds++;
        hold->node = g_strdup(node);
        hold->who = g_strdup(who);
        hold->resource = g_strdup(lock->resource);
        hold->mode = lock->mode;
        hold->slots = lock->slots;
        hold->excused = history_is_excused(history, history->hold_excuses, node);
        g_ptr_array_add(history->holds, hold);
        return hold;
}

void history_hold_ends(History *history, HistoryHold *hold) {
        (void)g_ptr_array_remove(history->holds, hold);
}

static void history_excuse_runs(History *history, const char *node) {
        usec_t now = world_now(history->world);
        const Disturbance excuse = {g_intern_string(node), now, now, HISTORY_STANDSTILL};

        g_array_append_val(history->excuses, excuse);
        for (guint i = 0; i < history->holds->len; i++) {
                HistoryHold *hold = history->holds->pdata[i];

                hold->excused |= hold->unattended && strcmp(hold->node, node) == 0;
        }
        for (guint i = 0; i < history->alive->len; i++) {
                HistoryRun *run = history->alive->pdata[i];

                run->excused |= !run->continues && strcmp(run->node, node) == 0;
        }
}

void history_excuse(History *history, const char *node) {
        usec_t now = world_now(history->world);
        const Disturbance excuse = {g_intern_string(node), now, now, HISTORY_STANDSTILL};

        g_array_append_val(history->hold_excuses, excuse);
        for (guint i = 0; i < history->holds->len; i++) {
                HistoryHold *hold = history->holds->pdata[i];

                hold->excused |= strcmp(hold->node, node) == 0;
        }
        history_excuse_runs(history, node);
}

/* Where nothing has stood still or gone on since it was over, the daemon hung by then. */
void history_lose(History *history, const char *node) {
        for (guint i = 0; i < history->runs->len; i++) {
                HistoryRun *run = history->runs->pdata[i];

                if (run->over && strcmp(run->node, node) == 0)
                        run->lost |= !history_befell(history, node, HISTORY_STANDSTILL, run->over,
                                                     world_now(history->world));
        }
}

const GPtrArray *history_runs(const History *history) {
        return history->runs;
}

const GPtrArray *history_alive(const History *history) {
        return history->alive;
}

const GPtrArray *history_holds(const History *history) {
        return history->holds;
}
