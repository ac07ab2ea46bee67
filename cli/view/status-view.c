/* See status-view.h. */
#include "status-view.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "overdue-view.h"
#include "run-view.h"
#include "time-text.h"

static void head_node(GString *text, const json_t *status, double now) {
        double started = json_number(status, "started", NAN);

        g_string_append_printf(text, "node     %s, jobkeeperd %s", json_text(status, "node"),
                               json_text(status, "version"));
        if (!isnan(started)) {
                g_autofree char *up = span_to_text(floor(fmax(now - started, 0)));

                g_string_append_printf(text, ", up %s", up);
        }
        g_string_append_c(text, '\n');
}

static void head_session(GString *text, const json_t *session) {
        double held = json_number(session, "held_for", NAN);
        const char *fault = json_text(session, "fault"), *id = json_text(session, "id");

        g_string_append_printf(text, "session  %s", json_text(session, "state"));
        if (*json_text(session, "server"))
                g_string_append_printf(text, " to %s", json_text(session, "server"));
        if (*id && strcmp(id, "0x0") != 0)
                g_string_append_printf(text, ", %s", id);
        if (held > 0)
                g_string_append_printf(text, ", locks guaranteed for %.1fs", held);
        if (*fault)
                g_string_append_printf(text, ": %s", fault);
        g_string_append_c(text, '\n');
}

static void head_clock(GString *text, const json_t *clock, bool connected) {
        double skew = json_number(clock, "skew", NAN);

        if (isnan(skew))
                g_string_append_printf(text, "clock    %s",
                                       connected ? "not measured yet"
                                                 : "not known until ZooKeeper is connected");
        else
                g_string_append_printf(text, "clock    %+.3fs against ZooKeeper's", skew);
        if (json_is_true(json_object_get(clock, "waited_for")))
                g_string_append(text, ": NOT SYNCHRONISED yet, this node starts no runs until it "
                                      "is (wait-for-clock in jobkeeper.yaml)");
        else if (json_is_true(json_object_get(clock, "impossible")))
                g_string_append(text, ": IMPOSSIBLE, it shows a time before 2000 or after 2099; "
                                      "this node starts no runs");
        else if (json_is_true(json_object_get(clock, "skewed")))
                g_string_append(text, ": SKEWED, this node starts no runs");
        else if (!isnan(skew) && json_is_false(json_object_get(clock, "known")))
                g_string_append(text, ", to be compared again before a run starts");
        g_string_append_c(text, '\n');
}

static void head_members(GString *text, const json_t *members, const json_t *away, double now) {
        size_t index = 0;
        const json_t *member = NULL;

        g_string_append(text, "members  ");
        json_array_foreach(members, index, member) {
                g_string_append_printf(text, "%s%s", index ? ", " : "", json_text(member, "node"));
                if (json_is_true(json_object_get(member, "self")))
                        g_string_append(text, " (this)");
                if (json_is_true(json_object_get(member, "skewed")))
                        g_string_append(text, " (skewed)");
        }
        if (json_array_size(members) == 0)
                g_string_append(text, "not known");
        json_array_foreach(away, index, member) {
                double since = json_number(member, "since", NAN);
                g_autofree char *span = span_to_text(floor(fmax(now - since, 0)));

                g_string_append_printf(text, ", %s (away%s%s)", json_text(member, "node"),
                                       isnan(since) ? "" : " for ", isnan(since) ? "" : span);
        }
        g_string_append_c(text, '\n');
}

/* Members or not. */
static void head_drained(GString *text, const json_t *drained, double now) {
        size_t index = 0;
        const json_t *node = NULL;

        json_array_foreach(drained, index, node) {
                double since = json_number(node, "since", NAN);
                g_autofree char *when = isnan(since) ? NULL : time_relative(since, now);
                const char *by = json_text(node, "by"), *why = json_text(node, "why");

                g_string_append_printf(text, "drained  %s%s%s%s%s%s%s\n", json_text(node, "node"),
                                       *by ? " by " : "", by, when ? ", " : "", when ? when : "",
                                       *why ? ": " : "", why);
        }
}

/* Return: newly allocated: until when, where it opens again. */
static char *outside_until(double until, double now) {
        g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
        g_autofree char *time = NULL, *when = NULL;

        if (isnan(until))
                return g_strdup(", which does not open any more");
        time = time_to_text(until, utc);
        when = time_relative(until, now);
        return g_strdup_printf(" until %s UTC (%s)", time, when);
}

/* Members that begin nothing at this hour. */
static void head_outside(GString *text, const json_t *members, double now) {
        size_t index = 0;
        const json_t *member = NULL;

        json_array_foreach(members, index, member) {
                const json_t *outside = json_object_get(member, "outside");
                g_autofree char *until = outside_until(json_number(outside, "until", NAN), now);

                if (json_is_object(outside))
                        g_string_append_printf(text, "window   %s is outside of its window%s\n",
                                               json_text(member, "node"), until);
        }
}

static void head_paused(GString *text, const json_t *paused, double now) {
        double since = json_number(paused, "since", NAN);
        g_autofree char *when = isnan(since) ? NULL : time_relative(since, now);
        const char *by = json_text(paused, "by"), *why = json_text(paused, "why");

        if (json_is_object(paused))
                g_string_append_printf(text, "paused   all jobs%s%s%s%s%s%s\n", *by ? " by " : "",
                                       by, when ? ", " : "", when ? when : "", *why ? ": " : "",
                                       why);
}

/* What keeps this node from beginning anything and stands nowhere else in the head. */
static void head_busy(GString *text, const json_t *members) {
        static const struct {
                const char *busy, *meaning;
        } meanings[] = {
            {"stopping", "jobkeeperd is stopping, and waits for what runs here: nothing begins"},
            {"ending",
             "what must not run any more is being stopped; what it might overlap with waits"},
            {"max-runs", "as many jobs run here as max-runs allows"},
        };
        size_t index = 0;
        const json_t *member = NULL;

        json_array_foreach(members, index, member) {
                if (!json_is_true(json_object_get(member, "self")))
                        continue;
                for (size_t i = 0; i < G_N_ELEMENTS(meanings); i++)
                        if (g_str_equal(json_text(member, "busy"), meanings[i].busy))
                                g_string_append_printf(text, "busy     %s\n", meanings[i].meaning);
        }
}

static void head_overdue(GString *text, const json_t *jobs) {
        size_t index = 0, count = 0;
        const json_t *job = NULL;

        json_array_foreach(jobs, index, job) count += overdue_of(job) == OVERDUE_YES;
        if (count > 0)
                g_string_append_printf(text, "overdue  %zu %s: see WHY\n", count,
                                       count == 1 ? "job" : "jobs");
}

static void head_warnings(GString *text, const json_t *warnings) {
        size_t index = 0;
        const json_t *warning = NULL;

        json_array_foreach(warnings, index, warning) g_string_append_printf(
            text, "warning  %s\n", json_is_string(warning) ? json_string_value(warning) : "?");
}

char *status_head(const json_t *status, double now) {
        const char *note = json_text(status, "note");
        g_autoptr(GString) text = g_string_new(NULL);

        head_node(text, status, now);
        head_session(text, json_object_get(status, "session"));
        head_clock(
            text, json_object_get(status, "clock"),
            g_str_equal(json_text(json_object_get(status, "session"), "state"), "connected"));
        head_members(text, json_object_get(status, "members"), json_object_get(status, "away"),
                     now);
        head_drained(text, json_object_get(status, "drained"), now);
        head_outside(text, json_object_get(status, "members"), now);
        head_paused(text, json_object_get(status, "paused"), now);
        head_busy(text, json_object_get(status, "members"));
        head_overdue(text, json_object_get(status, "jobs"));
        head_warnings(text, json_object_get(status, "warnings"));
        if (json_is_false(json_object_get(status, "complete")))
                g_string_append_printf(text, "jobs     %s\n",
                                       *note ? note
                                             : "as far as this node knows by itself, without what "
                                               "stands in ZooKeeper");
        return g_string_free(g_steal_pointer(&text), FALSE);
}

/* Where it runs; where it last ran, when it does not. */
static char *job_nodes(const json_t *job) {
        g_autoptr(GString) nodes = g_string_new(NULL);
        size_t index = 0;
        const json_t *run = NULL;

        json_array_foreach(json_object_get(job, "running"), index, run)
            g_string_append_printf(nodes, "%s%s", index ? ", " : "", json_text(run, "node"));
        if (nodes->len == 0)
                g_string_append(nodes, json_text(json_object_get(job, "last"), "node"));
        return g_string_free(g_steal_pointer(&nodes), FALSE);
}

/* The run that is under way, else the last one. */
static const json_t *job_run_shown(const json_t *job) {
        const json_t *running = json_array_get(json_object_get(job, "running"), 0);

        return running ? running : json_object_get(job, "last");
}

static bool job_is_service(const json_t *job) {
        return g_str_equal(json_text(job, "mode"), "service");
}

/* Return: newly allocated: that the tick of the last run is attempted again; NULL where it is not.
 */
static char *job_retry(const json_t *job, double now) {
        const json_t *retry = json_object_get(job, "retry");
        double time = json_number(retry, "not_before", NAN);
        g_autofree char *when = isnan(time) ? NULL : time_relative(time, now);

        if (when && job_is_service(job))
                return g_strdup_printf("started again: %s", when);
        return when ? g_strdup_printf("attempt %.0f follows: %s", json_number(retry, "attempt", 2),
                                      when)
                    : NULL;
}

/* Return: newly allocated: who paused it, why, and when. */
static char *job_pause(const json_t *job, const char *why, double now) {
        double since = json_number(json_object_get(job, "paused"), "since", NAN);
        g_autofree char *when = isnan(since) ? NULL : time_relative(since, now);

        return when ? g_strdup_printf("%s (%s)", why, when) : g_strdup(why);
}

/* Why it does not run; of the run that is shown; or, while one runs, how the one before ended. */
static char *job_why_state(const json_t *job, double now) {
        const json_t *last = json_object_get(job, "last");
        const char *why = json_text(job, "why");
        g_autofree char *result = NULL, *retry = NULL;

        if (g_str_equal(json_text(job, "state"), "paused"))
                return job_pause(job, why, now);
        if (!*why && job_run_shown(job) == last)
                retry = job_retry(job, now);
        if (retry)
                return g_steal_pointer(&retry);
        if (*why || job_run_shown(job) == last)
                return g_strdup(*why ? why : run_why(last));
        result = run_result(last);
        return *result ? g_strdup_printf("the run before: %s", result) : g_strdup("");
}

/* Return: newly allocated, that nothing more of it begins, where its state is something else, as
 * that of a run which is under way; NULL: it is not paused, or its state says so. */
static char *job_pause_beside(const json_t *job, double now) {
        const json_t *pause = json_object_get(job, "paused");
        const char *by = json_text(pause, "by"), *why = json_text(pause, "why");
        g_autofree char *text = NULL;

        if (!json_is_object(pause) || g_str_equal(json_text(job, "state"), "paused"))
                return NULL;
        text = g_strdup_printf("paused%s%s%s%s", *by ? " by " : "", by, *why ? ": " : "", why);
        return job_pause(job, text, now);
}

static char *job_why_or_pause(const json_t *job, double now) {
        g_autofree char *why = job_why_state(job, now), *pause = job_pause_beside(job, now);

        if (!pause)
                return g_steal_pointer(&why);
        return g_strdup_printf("%s%s%s", pause, *why ? "; " : "", why);
}

/* What is overdue is so whatever keeps it. */
static char *job_why(const json_t *job, double now) {
        g_autofree char *why = job_why_or_pause(job, now), *overdue = NULL;

        if (overdue_of(job) != OVERDUE_YES)
                return g_steal_pointer(&why);
        overdue = overdue_text(job, now);
        return g_strdup_printf("%s%s%s", overdue, *why ? "; " : "", why);
}

/* When the last run began; for one that never began, its tick or when it was settled. Without a
 * connection the daemon cannot know of any. */
static char *job_last(const json_t *job, bool known, double now, GTimeZone *zone) {
        static const char *const members[] = {"started", "claimed", "tick", "ended"};
        const json_t *last = job_run_shown(job);

        for (size_t i = 0; i < G_N_ELEMENTS(members); i++) {
                double time = json_number(last, members[i], NAN);

                if (!isnan(time))
                        return time_with_age(time, now, zone);
        }
        return g_strdup(json_is_object(last) || !known ? "-" : "never");
}

/* Return: newly allocated, what asks for a job that has no schedule. */
static char *job_asked_by(const json_t *job) {
        const json_t *after = json_object_get(job, "after");
        const char *first = json_string_value(json_array_get(after, 0));
        size_t n = json_array_size(after);

        if (job_is_service(job))
                return g_strdup("service");
        if (n == 0 || !first)
                return g_strdup("manual");
        return n == 1 ? g_strdup_printf("after %s", first) : g_strdup_printf("after %zu jobs", n);
}

static char *job_next_words(const json_t *job, double now, GTimeZone *zone) {
        double next = json_number(job, "next_start", json_number(job, "next", NAN));

        if (!isnan(next) && !json_is_object(json_object_get(job, "paused")))
                return time_with_age(next, now, zone);
        return *json_text(job, "schedule") ? g_strdup("-") : job_asked_by(job);
}

Table *status_table(const json_t *status, double now, GTimeZone *zone) {
        static const char *const headings[] = {"JOB",    "STATE", "NEXT", "LAST",
                                               "RESULT", "NODE",  "WHY",  NULL};
        Table *table = table_new(headings, 4);
        bool known =
            strcmp(json_text(json_object_get(status, "session"), "state"), "connected") == 0 &&
            !json_is_false(json_object_get(status, "complete"));
        size_t index = 0;
        const json_t *job = NULL;

        table_set_brief(table, 2);
        table_set_brief(table, 3);
        table_set_notes(table);
        json_array_foreach(json_object_get(status, "jobs"), index, job) {
                table_add(table, g_strdup(json_text(job, "job")), g_strdup(json_text(job, "state")),
                          job_next_words(job, now, zone), job_last(job, known, now, zone),
                          run_result(job_run_shown(job)), job_nodes(job), job_why(job, now), NULL);
        }
        return table;
}

static void errors_names(GString *text, const char *before, const json_t *names,
                         const char *after) {
        size_t index = 0;
        const json_t *name = NULL;

        json_array_foreach(names, index, name)
            g_string_append_printf(text, "%s%s", index == 0 ? before : ", ",
                                   json_is_string(name) ? json_string_value(name) : "?");
        if (index > 0)
                g_string_append(text, after);
}

/* What the daemon never read without errors cannot have stayed. */
static void errors_unloaded(GString *text, const json_t *status) {
        errors_names(text, "Not loaded on this node are the jobs of ",
                     json_object_get(status, "unloaded"),
                     ": it has had errors since jobkeeperd was started. The jobs of other files "
                     "with errors stay as they last were, unless the error says otherwise.\n");
        errors_names(text, "Not loaded on this node, since nothing of it was in force before: ",
                     json_object_get(status, "left_out"), ".\n");
}

char *status_errors(const json_t *status) {
        const json_t *errors = json_object_get(status, "errors"),
                     *unloaded = json_object_get(status, "unloaded");
        g_autoptr(GString) text = g_string_new(NULL);
        size_t index = 0;
        size_t count = json_array_size(errors);
        const json_t *error = NULL;

        if (count > 0)
                g_string_append_printf(
                    text, "%zu %s in the job files%s:\n", count, count == 1 ? "error" : "errors",
                    json_array_size(unloaded) > 0
                        ? ""
                        : "; the jobs of a file with errors stay as they last were, unless the "
                          "error says otherwise");
        json_array_foreach(errors, index, error) g_string_append_printf(
            text, "  %s\n", json_is_string(error) ? json_string_value(error) : "?");
        errors_unloaded(text, status);
        return g_string_free(g_steal_pointer(&text), FALSE);
}
