/* See overdue-view.h. */
#include "overdue-view.h"

#include <glib.h>
#include <math.h>
#include <stdbool.h>

#include "exit-code.h"
#include "run-view.h"
#include "time-text.h"

Overdue overdue_of(const json_t *job) {
        const json_t *expected = json_object_get(job, "expected"),
                     *overdue = json_object_get(expected, "overdue");

        if (!json_is_object(expected) || json_is_false(overdue))
                return OVERDUE_NO;
        return json_is_true(overdue) ? OVERDUE_YES : OVERDUE_NOT_KNOWN;
}

char *overdue_text(const json_t *job, double now) {
        const json_t *expected = json_object_get(job, "expected");
        double since = json_number(expected, "since", NAN);
        g_autofree char *when = isnan(since) ? g_strdup("long ago") : time_relative(since, now),
                        *within = span_to_text(json_number(expected, "within", NAN));

        return g_strdup_printf("overdue: %s %s, and one is expected within %s",
                               json_is_true(json_object_get(expected, "succeeded"))
                                   ? "the last success was"
                                   : "no success since the job came,",
                               when, within);
}

static void check_job(GString *text, const json_t *job, double now) {
        bool paused = json_is_object(json_object_get(job, "paused"));
        g_autofree char *overdue = NULL;

        switch (overdue_of(job)) {
        case OVERDUE_NO:
                return;
        case OVERDUE_YES:
                overdue = overdue_text(job, now);
                g_string_append_printf(text, "%s: %s%s\n", json_text(job, "job"), overdue,
                                       paused ? "; it is paused" : "");
                return;
        case OVERDUE_NOT_KNOWN:
                g_string_append_printf(text, "%s: not known\n", json_text(job, "job"));
        }
}

/* What is overdue counts before what is not known. */
static int check_code(const json_t *status) {
        int code = json_is_false(json_object_get(status, "complete")) ? EXIT_CODE_UNAVAILABLE
                                                                      : EXIT_CODE_OK;
        size_t index = 0;
        const json_t *job = NULL;

        json_array_foreach(json_object_get(status, "jobs"), index, job) {
                Overdue overdue = overdue_of(job);

                if (overdue == OVERDUE_YES)
                        return EXIT_CODE_FAILED;
                if (overdue == OVERDUE_NOT_KNOWN)
                        code = EXIT_CODE_UNAVAILABLE;
        }
        return code;
}

int overdue_check(const json_t *status, double now, char **ret_text) {
        GString *text = g_string_new(NULL);
        int code = check_code(status);
        size_t index = 0;
        const json_t *job = NULL;

        json_array_foreach(json_object_get(status, "jobs"), index, job) check_job(text, job, now);
        if (code == EXIT_CODE_UNAVAILABLE)
                g_string_append(text, "not all is known: jobkeeper status says why\n");
        else if (code == EXIT_CODE_OK)
                g_string_append(text, "no job is overdue\n");
        *ret_text = g_string_free(text, FALSE);
        return code;
}
