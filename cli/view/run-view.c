/* See run-view.h. */
#include "run-view.h"

#include <math.h>
#include <signal.h>
#include <string.h>

#include "exit-code.h"
#include "time-text.h"

const char *json_text(const json_t *object, const char *member) {
        const char *text = json_string_value(json_object_get(object, member));

        return text ? text : "";
}

double json_number(const json_t *object, const char *member, double otherwise) {
        const json_t *value = json_object_get(object, member);

        return json_is_number(value) ? json_number_value(value) : otherwise;
}

/* Only the owner knows whether it has begun; to the others it is claimed and not settled. */
static const char *run_state_shown(const json_t *run) {
        const char *state = json_text(run, "state");

        return strcmp(state, "claimed") == 0 ? "in progress" : state;
}

/* Return: whether it is under way: it runs here, or another node has claimed it. */
static bool run_is_open(const json_t *run) {
        const char *state = json_text(run, "state");

        return strcmp(state, "running") == 0 || strcmp(state, "claimed") == 0;
}

/* Return: when it began, epoch seconds; of one that is under way elsewhere when it was claimed.
 * NAN: not known. */
static double run_begun(const json_t *run) {
        double claimed = json_number(run, "claimed", NAN);

        return json_number(run, "started", run_is_open(run) ? claimed : NAN);
}

char *run_result(const json_t *run) {
        const char *state = run_state_shown(run);
        double signal = json_number(run, "signal", 0), status = json_number(run, "exit", 0);

        if (signal > 0) {
                const char *name = signal < NSIG ? sigabbrev_np((int)signal) : NULL;

                return name ? g_strdup_printf("%s (SIG%s)", state, name)
                            : g_strdup_printf("%s (signal %.0f)", state, signal);
        }
        if (status > 0)
                return g_strdup_printf("%s (exit status %.0f)", state, status);
        return g_strdup(state);
}

const char *run_why(const json_t *run) {
        /* systemd's words for what run_result() says already */
        static const char *const said[] = {"exit-code", "signal", "timeout"};
        const char *why = json_text(run, "why");

        for (size_t i = 0; i < G_N_ELEMENTS(said); i++)
                if (strcmp(why, said[i]) == 0)
                        return "";
        return why;
}

/* Return: of a run of no tick, who or what asked for it: another run, or somebody. */
static const char *run_by(const json_t *run) {
        return *json_text(run, "parent_job") ? json_text(run, "who") : "manual";
}

/* Return: newly allocated (g_free), the run's tick: a time, "FIRST to LAST (N ticks)", or where it
 * has none who asked for it. */
static char *run_tick(const json_t *run, GTimeZone *zone) {
        double tick = json_number(run, "tick", NAN), to = json_number(run, "to", NAN);
        g_autofree char *first = NULL;
        g_autofree char *last = NULL;

        if (isnan(tick))
                return g_strdup(run_by(run));
        first = time_to_text(tick, zone);
        if (isnan(to) || to <= tick)
                return g_steal_pointer(&first);
        last = time_to_text(to, zone);
        return g_strdup_printf("%s to %s (%.0f ticks)", first, time_without_day_of(last, first),
                               json_number(run, "count", 0));
}

/* How long it took; how long it has been running, while it does. */
static char *run_took(const json_t *run, double now) {
        double started = run_begun(run), ended = json_number(run, "ended", NAN);

        if (isnan(started))
                return g_strdup("");
        if (isnan(ended) && run_is_open(run))
                ended = now;
        return isnan(ended) ? g_strdup("") : span_to_text(fmax(ended - started, 0));
}

/* A manual run has no tick; one that never began is told by when it was settled. */
static char *run_when(const json_t *run, GTimeZone *zone) {
        double ended = json_number(run, "ended", NAN);
        g_autofree char *time = isnan(ended) ? NULL : time_to_text(ended, zone);

        if (!isnan(json_number(run, "tick", NAN)) || !isnan(run_begun(run)) || !time)
                return run_tick(run, zone);
        return g_strdup_printf("%s, settled %s", run_by(run), time);
}

Table *run_table(const json_t *runs, double now, GTimeZone *zone) {
        static const char *const headings[] = {"TICK", "RUN",    "NODE", "STARTED",
                                               "TOOK", "RESULT", "WHY",  NULL};
        Table *table = table_new(headings, 5);
        size_t index = 0;
        const json_t *run = NULL;

        table_set_brief(table, 3);
        table_set_notes(table);
        json_array_foreach(runs, index, run) {
                double started = run_begun(run);

                table_add(table, run_when(run, zone), g_strdup(json_text(run, "run")),
                          g_strdup(json_text(run, "node")),
                          isnan(started) ? g_strdup("") : time_with_age(started, now, zone),
                          run_took(run, now), run_result(run), g_strdup(run_why(run)), NULL);
        }
        return table;
}

char *run_sentence(const json_t *run) {
        g_autoptr(GString) text = g_string_new(NULL);
        g_autofree char *result = run_result(run);
        g_autofree char *took = run_took(run, NAN);

        g_string_append_printf(text, "run %s of %s", json_text(run, "run"), json_text(run, "job"));
        if (*json_text(run, "node"))
                g_string_append_printf(text, " on %s", json_text(run, "node"));
        g_string_append_printf(text, ": %s", result);
        if (*took)
                g_string_append_printf(text, " after %s", took);
        if (*run_why(run))
                g_string_append_printf(text, ": %s", run_why(run));
        return g_string_free(g_steal_pointer(&text), FALSE);
}

int run_exit(const json_t *run) {
        return strcmp(json_text(run, "state"), "succeeded") == 0 ? EXIT_CODE_OK : EXIT_CODE_FAILED;
}
