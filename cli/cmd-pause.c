/* See cmd-pause.h.
 *
 * Several jobs are several questions: each is answered for itself, and the exit status is that of
 * the last that failed. */
#include "cmd-pause.h"

#include "bus-client.h"
#include "exit-code.h"
#include "options.h"
#include "output.h"
#include "person.h"
#include "run-view.h"

/* Return: newly allocated, " by ..., why" of a pause; "" of none. */
static char *pause_words(const json_t *pause) {
        g_autofree char *by = printable(json_text(pause, "by")),
                        *why = printable(json_text(pause, "why"));

        return g_strdup_printf("%s%s%s%s", *by ? " by " : "", by, *why ? ": " : "", why);
}

/* Return: the entry that was asked about: of the job, or of all. */
static const json_t *pause_asked(const json_t *state) {
        return json_object_get(state, *json_text(state, "job") ? "paused" : "all");
}

/* Return: newly allocated: the job, or "all jobs". */
static char *pause_subject(const json_t *state) {
        const char *job = json_text(state, "job");

        return *job ? printable(job) : g_strdup("all jobs");
}

static int pause_show_begun(const json_t *state) {
        const json_t *pause = pause_asked(state);
        bool all = !*json_text(state, "job");
        g_autofree char *subject = pause_subject(state), *words = pause_words(pause);

        if (!json_is_object(pause)) {
                complain("%s: resumed again by somebody else", subject);
                return EXIT_CODE_FAILED;
        }
        if (!json_is_true(json_object_get(state, "changed")))
                complain("%s: paused already%s", subject, words);
        if (!all && json_is_object(json_object_get(state, "all")))
                complain("%s: all jobs are paused, too: it begins again when both are resumed",
                         subject);
        printf("%s: nothing begins until \"jobkeeper resume %s\"\n", subject,
               all ? "--all" : subject);
        return EXIT_CODE_OK;
}

static int pause_show_ended(const json_t *state) {
        const json_t *all = json_object_get(state, "all");
        g_autofree char *subject = pause_subject(state), *words = pause_words(all);
        bool changed = json_is_true(json_object_get(state, "changed"));

        if (json_is_object(pause_asked(state))) {
                complain("%s: paused again by somebody else", subject);
                return EXIT_CODE_FAILED;
        }
        printf(changed ? "%s: not paused any more\n" : "%s: not paused\n", subject);
        if (!*json_text(state, "job") && json_number(state, "by_name", 0) > 0)
                complain("%.0f jobs stay paused by name (jobkeeper status)",
                         json_number(state, "by_name", 0));
        if (!json_is_object(all))
                return EXIT_CODE_OK;
        complain("%s: begins nothing all the same, since all jobs are paused%s (jobkeeper resume "
                 "--all)",
                 subject, words);
        return changed ? EXIT_CODE_OK : EXIT_CODE_FAILED;
}

/* `job`: "" for all. */
static int pause_one(const char *job, const char *why, bool resume, bool json) {
        _cleanup_answer_ BusAnswer answer = {0};

        if (resume)
                bus_ask(&answer, "Resume", BUS_TIMEOUT, "s", job);
        else
                bus_ask(&answer, "Pause", BUS_TIMEOUT, "sss", job, why, person_typing());
        if (answer.outcome != BUS_ANSWERED)
                return bus_answer_report(&answer);
        if (json) {
                output_json_text(answer.text, answer.json);
                return EXIT_CODE_OK;
        }
        return resume ? pause_show_ended(answer.json) : pause_show_begun(answer.json);
}

static int pause_each(const GStrv jobs, const char *why, bool resume, bool json) {
        int code = EXIT_CODE_OK;

        for (char **job = jobs; *job; job++) {
                int one = pause_one(*job, why, resume, json);

                code = one == EXIT_CODE_OK ? code : one;
        }
        return code;
}

/* Return: whether it is clear which are meant. */
static bool pause_names_jobs(const char *command, const GStrv rest, bool all, int *ret_code) {
        if (all && *rest)
                *ret_code = options_error(command, "either --all or the names of jobs");
        else if (!all && !*rest)
                *ret_code = options_error(command, "the names of jobs are required, or --all");
        else if (g_strv_contains((const char *const *)rest, ""))
                *ret_code = options_error(command, "the name of a job is empty");
        else
                return true;
        return false;
}

int cmd_pause(int argc, char **argv) {
        static const OptionsUse use = {
            "pause",
            "JOB...",
            "Has nothing of a job begin any more, on any node, until it is resumed. What runs goes "
            "on.",
            "What comes due meanwhile is skipped, and not caught up with.",
        };
        gboolean json = FALSE, all = FALSE;
        g_autofree char *reason = NULL;
        const GOptionEntry entries[] = {
            {"all", 0, 0, G_OPTION_ARG_NONE, &all, "All jobs of the cluster", NULL},
            {"reason", 'r', 0, G_OPTION_ARG_STRING, &reason, "Why, for all to see", "TEXT"},
            {"json", 'j', 0, G_OPTION_ARG_NONE, &json, "Print the daemon's JSON", NULL},
            {0},
        };
        g_auto(GStrv) rest = NULL;
        int code = EXIT_CODE_OK;

        if (!options_parse(&use, entries, argc, argv, &rest, &code) ||
            !pause_names_jobs("pause", rest, all, &code))
                return code;
        return all ? pause_one("", reason ? reason : "", false, json)
                   : pause_each(rest, reason ? reason : "", false, json);
}

int cmd_resume(int argc, char **argv) {
        static const OptionsUse use = {
            "resume",
            "JOB...",
            "Lets jobs that were paused begin again, from their next tick on.",
            "Jobs that were paused by name stay so over \"resume --all\", and all jobs over "
            "\"resume "
            "JOB\".",
        };
        gboolean json = FALSE, all = FALSE;
        const GOptionEntry entries[] = {
            {"all", 0, 0, G_OPTION_ARG_NONE, &all, "All jobs of the cluster", NULL},
            {"json", 'j', 0, G_OPTION_ARG_NONE, &json, "Print the daemon's JSON", NULL},
            {0},
        };
        g_auto(GStrv) rest = NULL;
        int code = EXIT_CODE_OK;

        if (!options_parse(&use, entries, argc, argv, &rest, &code) ||
            !pause_names_jobs("resume", rest, all, &code))
                return code;
        return all ? pause_one("", "", true, json) : pause_each(rest, "", true, json);
}
