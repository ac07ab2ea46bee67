/* See explain-view.h. */
#include "explain-view.h"

#include <math.h>
#include <string.h>

#include "run-view.h"
#include "time-text.h"

typedef void (*ExplainFunc)(GString *text, const json_t *explanation, GTimeZone *zone);

static bool is_begun(const json_t *explanation) {
        return json_is_true(json_object_get(explanation, "begins"));
}

static char *member_time(const json_t *explanation, const char *member, GTimeZone *zone) {
        double epoch = json_number(explanation, member, NAN);

        return isnan(epoch) ? NULL : time_to_text(epoch, zone);
}

/* Appends who begins it first. Those that begin nothing now come last, so that where the first is
 * one of them all are. */
static void say_who(GString *text, const json_t *explanation, const char *before,
                    const char *after) {
        const json_t *nodes = json_object_get(explanation, "nodes"), *node = NULL;
        size_t index = 0;

        json_array_foreach(nodes, index, node) {
                if (json_number(node, "rank", NAN) != 0)
                        continue;
                if (*json_text(node, "why"))
                        g_string_append(text, ", once a node can begin it (WHY NOT says what keeps "
                                              "them)");
                else
                        g_string_append_printf(text, "%s%s%s", before, json_text(node, "node"),
                                               after);
        }
}

/* Whether it is run after others, which have ticks. */
static bool is_follower(const json_t *explanation) {
        return json_array_size(json_object_get(explanation, "follows")) > 0;
}

static void say_no_tick(GString *text, const json_t *explanation, GTimeZone *zone) {
        g_autofree char *before = member_time(explanation, "before", zone),
                        *after = member_time(explanation, "after", zone);

        g_string_append(text, is_follower(explanation) ? "The job has no such tick of its own."
                                                       : "The job has no such tick.");
        if (before)
                g_string_append_printf(text, " The one before is %s.", before);
        if (after)
                g_string_append_printf(text, " The next one is %s.", after);
}

static void say_not_owed(GString *text, const json_t *explanation, GTimeZone *zone) {
        (void)explanation;
        (void)zone;
        g_string_append(text, "It was due before the definition in force took effect, or the job "
                              "was first seen: nobody owes it a run.");
}

static void say_settled(GString *text, const json_t *explanation, GTimeZone *zone) {
        (void)zone;
        if (json_array_size(json_object_get(explanation, "runs")) == 0)
                g_string_append(text,
                                "Nothing is kept of it: it was before the job was, or is settled "
                                "and older than what the job's \"history\" keeps.");
        else
                g_string_append(text, "It is settled, and this is what became of it:");
}

static void say_under_way(GString *text, const json_t *explanation, GTimeZone *zone) {
        (void)zone;
        g_string_append_printf(text, "It was claimed by %s, and is not settled yet: run %s.",
                               json_text(explanation, "node"), json_text(explanation, "run"));
}

static void say_retry(GString *text, const json_t *explanation, GTimeZone *zone) {
        const char *why = json_text(explanation, "why");
        g_autofree char *when = member_time(explanation, "when", zone);

        g_string_append_printf(text, "Attempt %.0f follows, not before %s%s%s.",
                               json_number(explanation, "attempt", 0), when ? when : "?",
                               *why ? ": " : "", why);
}

static void say_due(GString *text, const json_t *explanation, GTimeZone *zone) {
        const char *why = json_text(explanation, "why");
        g_autofree char *when = member_time(explanation, "when", zone);

        g_string_append(text, "It is due, and no node has decided it yet");
        if (!is_begun(explanation))
                g_string_append_printf(text, ": it is about to be skipped (%s)", why);
        else if (*why)
                g_string_append_printf(text, ": %s", why);
        else
                say_who(text, explanation, ": ", " is the first to run it");
        if (when && is_begun(explanation) && *why)
                g_string_append_printf(text, ", and is looked at again at %s", when);
        g_string_append_c(text, '.');
}

static void say_coming(GString *text, const json_t *explanation, GTimeZone *zone) {
        const char *why = json_text(explanation, "why");
        g_autofree char *start = member_time(explanation, "start", zone);

        g_string_append_printf(text, "It is to begin at %s. As things stand, it ",
                               start ? start : "?");
        if (!is_begun(explanation))
                g_string_append_printf(text, "will be skipped (%s)", why);
        else if (*why)
                g_string_append_printf(text, "will wait: %s", why);
        else {
                g_string_append(text, "will be run");
                say_who(text, explanation, ", by ", " first");
        }
        g_string_append_c(text, '.');
}

/* What keeps the job here, beside all that. */
static void say_here(GString *text, const json_t *explanation) {
        const char *here = json_text(explanation, "here");

        if (*here)
                g_string_append_printf(text, "\nOn this node: %s.", here);
        if (json_is_true(json_object_get(explanation, "drifted")))
                g_string_append(text,
                                "\nThis node's job file has another definition than the one in "
                                "force (drifted): it decides nothing of the job.");
}

/* Of one tick, for which some have come and some have not. */
static void say_wait(GString *text, const json_t *wait, GTimeZone *zone) {
        const json_t *come = json_object_get(wait, "come"),
                     *missing = json_object_get(wait, "missing");
        g_autofree char *tick = member_time(wait, "tick", zone);

        g_string_append_printf(text, "\nFor the tick %s ", tick ? tick : "?");
        for (size_t i = 0; i < json_array_size(come); i++)
                g_string_append_printf(text, "%s%s (run %s)", i > 0 ? ", " : "",
                                       json_text(json_array_get(come, i), "job"),
                                       json_text(json_array_get(come, i), "run"));
        g_string_append_printf(text, "%s come; it waits for ",
                               json_array_size(come) == 1   ? " has"
                               : json_array_size(come) == 0 ? "nobody has"
                                                            : " have");
        for (size_t i = 0; i < json_array_size(missing); i++) {
                const char *name = json_string_value(json_array_get(missing, i));

                g_string_append_printf(text, "%s%s", i > 0 ? ", " : "", name ? name : "?");
        }
        g_string_append_c(text, '.');
}

/* For which ticks some have come of those that it waits for together: who asked for one tick is
 * told of that, and how many others there are. */
static void say_waits(GString *text, const json_t *explanation, GTimeZone *zone) {
        const json_t *waits = json_object_get(explanation, "waits"), *wait = NULL;
        double tick = json_number(explanation, "tick", NAN);
        size_t index = 0, others = 0;

        json_array_foreach(waits, index, wait) {
                if (isnan(tick) || json_number(wait, "tick", NAN) == tick)
                        say_wait(text, wait, zone);
                else
                        others++;
        }
        if (others > 0)
                g_string_append_printf(text, "\nAnd %zu other tick%s.", others,
                                       others == 1 ? " waits" : "s wait");
}

/* Return: newly allocated, ": run 1763-1 on n2 succeeded, ..."; what there is for the tick. */
static char *follow_runs(const json_t *runs) {
        GString *text = g_string_new(NULL);
        const json_t *run = NULL;
        size_t index = 0;

        json_array_foreach(runs, index, run) {
                g_autofree char *result = run_result(run);
                const char *node = json_text(run, "node"), *why = run_why(run);

                g_string_append_printf(text, "%s run %s%s%s %s%s%s", index > 0 ? "," : ":",
                                       json_text(run, "run"), *node ? " on " : "", node, result,
                                       *why ? ": " : "", why);
        }
        return g_string_free(text, FALSE);
}

/* What the tick came to with the jobs that it runs after. */
static void say_follows(GString *text, const json_t *explanation, bool of_tick) {
        const json_t *follows = json_object_get(explanation, "follows"), *follow = NULL;
        size_t index = 0;

        json_array_foreach(follows, index, follow) {
                const json_t *runs = json_object_get(follow, "runs");
                g_autofree char *told = follow_runs(runs);

                g_string_append_printf(text, "\nIt runs after %s (%s)%s%s.",
                                       json_text(follow, "job"), json_text(follow, "on"), told,
                                       of_tick && !*told ? ", which has no record of that tick"
                                                         : "");
        }
}

char *explain_sentences(const json_t *explanation, double now, GTimeZone *zone) {
        static const struct {
                const char *state;
                ExplainFunc say;
        } states[] = {
            {"no-tick", say_no_tick}, {"not-owed", say_not_owed}, {"settled", say_settled},
            {"retry", say_retry},     {"due", say_due},           {"under-way", say_under_way},
            {"coming", say_coming},
        };
        GString *text = g_string_new(NULL);
        double tick = json_number(explanation, "tick", NAN);
        g_autofree char *shown = isnan(tick) ? NULL : time_to_text(tick, zone),
                        *age = isnan(tick) ? NULL : time_relative(tick, now);

        if (!shown) {
                g_string_append_printf(text, "%s has no tick that is due or to come.",
                                       json_text(explanation, "job"));
                say_follows(text, explanation, false);
                say_waits(text, explanation, zone);
                say_here(text, explanation);
                return g_string_free(text, FALSE);
        }
        g_string_append_printf(text, "%s, tick %s (%s)\n", json_text(explanation, "job"), shown,
                               age);
        for (size_t i = 0; i < G_N_ELEMENTS(states); i++)
                if (g_str_equal(states[i].state, json_text(explanation, "state")))
                        states[i].say(text, explanation, zone);
        say_follows(text, explanation, true);
        say_waits(text, explanation, zone);
        say_here(text, explanation);
        return g_string_free(text, FALSE);
}

static gint by_rank(gconstpointer a, gconstpointer b) {
        const json_t *left = *(const json_t *const *)a, *right = *(const json_t *const *)b;
        double difference =
            json_number(left, "rank", INFINITY) - json_number(right, "rank", INFINITY);

        if (difference < 0 || difference > 0)
                return difference < 0 ? -1 : 1;
        return strcmp(json_text(left, "node"), json_text(right, "node"));
}

Table *explain_nodes(const json_t *explanation) {
        static const char *const headings[] = {"NODE", "RANK", "WHY NOT", NULL};
        const json_t *nodes = json_object_get(explanation, "nodes");
        g_autoptr(GPtrArray) sorted = g_ptr_array_new();
        Table *table = table_new(headings, -1);

        table_set_notes(table);
        for (size_t i = 0; i < json_array_size(nodes); i++)
                g_ptr_array_add(sorted, json_array_get(nodes, i));
        g_ptr_array_sort(sorted, by_rank);
        for (guint i = 0; i < sorted->len; i++) {
                const json_t *node = sorted->pdata[i];
                double rank = json_number(node, "rank", NAN);

                table_add(table, g_strdup(json_text(node, "node")),
                          isnan(rank) ? g_strdup("-") : g_strdup_printf("%.0f", rank),
                          g_strdup(json_text(node, "why")), NULL);
        }
        return table;
}
