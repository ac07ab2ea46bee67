/* See cmd-next.h.
 *
 * What is typed is a job when it is the name of one, and a calendar expression otherwise ("daily"
 * may be either). The daemon knows the jobs in force; where it does not run, the job files are read
 * instead; and an expression needs neither. */
#include "cmd-next.h"

#include <string.h>

#include "bus-client.h"
#include "duration.h"
#include "exit-code.h"
#include "job-files.h"
#include "name.h"
#include "nearest.h"
#include "next-view.h"
#include "options.h"
#include "output.h"
#include "run-view.h"
#include "timezone.h"

#define NEXT_DEFAULT 5
#define NEXT_MAX 1000

typedef struct NextOptions {
        char *timezone; /* NULL: the terminal user's for showing, UTC for reading an expression */
        int count;
        gboolean json;
} NextOptions;

static GTimeZone *zone_for_showing(const NextOptions *options) {
        GTimeZone *zone = options->timezone ? g_time_zone_new_identifier(options->timezone) : NULL;

        return zone ? zone : g_time_zone_new_local();
}

static void next_print_pause(const json_t *pause) {
        g_autofree char *by = printable(json_text(pause, "by")),
                        *why = printable(json_text(pause, "why"));

        printf("\n%s paused%s%s%s%s: what comes due before \"jobkeeper resume\" is skipped.\n",
               json_is_true(json_object_get(pause, "all")) ? "All jobs are" : "The job is",
               *by ? " by " : "", by, *why ? ", " : "", why);
}

static void next_print(const NextOptions *options, const json_t *next) {
        g_autoptr(GTimeZone) zone = zone_for_showing(options);
        const char *const headings[] = {options->timezone ? options->timezone : "LOCAL", "UTC",
                                        "IN", NULL};
        double now = (double)clock_realtime() / (double)USEC_PER_SEC;
        _cleanup_(table_freep) Table *table = next_table(next, now, zone, headings);
        g_autofree char *schedule = printable(json_text(next, "schedule")),
                        *lines = next_links(next), *links = printable(lines);

        if (*schedule)
                printf("%s\n\n", schedule);
        if (table->rows->len > 0)
                (void)table_print(table, stdout);
        else if (g_str_equal(json_text(next, "mode"), "service"))
                (void)puts("The job is a service: it is kept running, and has no ticks.");
        else
                (void)puts(*schedule ? "There are no further ticks."
                                     : "The job has no schedule: it runs when requested, or after "
                                       "a job that it follows.");
        if (*links)
                printf("\n%s", links);
        if (json_is_object(json_object_get(next, "paused")))
                next_print_pause(json_object_get(next, "paused"));
        if (json_is_true(json_object_get(next, "drifted")))
                (void)puts(
                    "\nThis is by this node's job file, which is not what the cluster runs the "
                    "job by (drifted): another node has these ticks otherwise.");
}

/* Shows what we computed ourselves. Takes the reference. */
static int next_show(const NextOptions *options, json_t *next) {
        if (options->json) {
                output_json(next);
                return EXIT_CODE_OK;
        }
        next_print(options, next);
        json_decref(next);
        return EXIT_CODE_OK;
}

static int64_t now_seconds(void) {
        return (int64_t)(clock_realtime() / USEC_PER_SEC);
}

/* Return: whether the job files define the job; it is then shown. */
static bool next_of_job_files(const NextOptions *options, const char *name) {
        g_auto(GStrv) directories = job_directories("");
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        g_autoptr(GPtrArray) files = NULL;
        json_t *next = NULL;

        if (job_files_load((const char *const *)directories, diagnostics, &files) < 0)
                return false;
        next = next_compute_of_files(files, name, now_seconds(), (unsigned)options->count);
        if (next)
                (void)next_show(options, next);
        return next;
}

/* Reads what was typed as an expression, or as an interval where it begins with "every ". */
static int expression_read(const NextOptions *options, const char *text, Schedule **ret_schedule,
                           char **ret_message) {
        _cleanup_(schedule_freep) Schedule *schedule = NULL;
        usec_t interval = 0;
        int r = schedule_new(options->timezone, &schedule, ret_message);

        if (r < 0)
                return r;
        if (!g_str_has_prefix(text, "every "))
                r = schedule_add_calendar(schedule, text, ret_message);
        else if (duration_parse(text + strlen("every "), &interval) >= 0)
                r = schedule_add_every(schedule, interval, ret_message);
        else {
                *ret_message = g_strdup("not a duration");
                r = -EINVAL;
        }
        if (r >= 0)
                *ret_schedule = g_steal_pointer(&schedule);
        return r;
}

/* Return: newly allocated, " (did you mean ...?)" of the jobs in the job files; that it stands
 * there, and is not in force; "" where none is called nearly so. */
static char *next_nearest_job(const char *text) {
        g_auto(GStrv) directories = job_directories("");
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        g_autoptr(GPtrArray) names = g_ptr_array_new_null_terminated(0, NULL, TRUE), files = NULL;
        const char *nearest;

        if (job_files_load((const char *const *)directories, diagnostics, &files) < 0)
                return g_strdup("");
        for (guint i = 0; i < files->len; i++) {
                const JobFile *file = files->pdata[i];

                for (guint j = 0; j < file->jobs->len; j++)
                        g_ptr_array_add(names, ((JobSpec *)file->jobs->pdata[j])->name);
        }
        if (g_ptr_array_find_with_equal_func(names, text, g_str_equal, NULL))
                return g_strdup(" in force, though it is in a job file (jobkeeper status and "
                                "jobkeeper verify say why)");
        nearest = nearest_name(text, (const char *const *)names->pdata);
        return nearest ? g_strdup_printf(" (did you mean \"%s\"?)", nearest) : g_strdup("");
}

/* Says what is wrong with the expression, whose text the message may have before it. */
static void next_complain(const char *text, const char *message) {
        g_autofree char *prefix = g_strdup_printf("calendar expression \"%.80s\": ", text);
        const char *why = message ? message : "not a calendar expression";

        if (g_str_has_prefix(why, prefix))
                why += strlen(prefix);
        if (job_name_is_valid(text)) {
                g_autofree char *nearest = next_nearest_job(text);

                complain("there is no job \"%s\"%s, nor is it a calendar expression: %s", text,
                         nearest, why);
        } else
                complain("\"%s\": %s", text, why);
}

/* `answer`: what the daemon said of a job of that name; NULL: it was not asked. */
static int next_of_expression(const NextOptions *options, const char *text,
                              const BusAnswer *answer) {
        _cleanup_(schedule_freep) Schedule *schedule = NULL;
        g_autofree char *message = NULL;

        if (expression_read(options, text, &schedule, &message) >= 0)
                return next_show(
                    options, next_compute(schedule, NULL, now_seconds(), (unsigned)options->count));
        if (answer && answer->outcome == BUS_JOB_ELSEWHERE)
                return bus_answer_report(answer);
        next_complain(text, message);
        return EXIT_CODE_FAILED;
}

static int next_of(const NextOptions *options, const char *text) {
        _cleanup_answer_ BusAnswer answer = {0};

        if (!job_name_is_valid(text))
                return next_of_expression(options, text, NULL);
        bus_ask(&answer, "Next", BUS_TIMEOUT, "su", text, (uint32_t)options->count);
        if (answer.outcome == BUS_ANSWERED) {
                if (options->json)
                        output_json_text(answer.text, answer.json);
                else
                        next_print(options, answer.json);
                return EXIT_CODE_OK;
        }
        if (answer.outcome != BUS_NO_SUCH_JOB && answer.outcome != BUS_JOB_ELSEWHERE &&
            next_of_job_files(options, text))
                return EXIT_CODE_OK;
        return next_of_expression(options, text, &answer);
}

int cmd_next(int argc, char **argv) {
        static const OptionsUse use = {
            "next",
            "JOB|EXPRESSION",
            "Shows the coming ticks of a job, of a calendar expression, or of an interval (\"every "
            "15min\").",
            "Example:\n  jobkeeper next --timezone Europe/Berlin -n 3 'Mon..Fri 02:30'",
        };
        g_autofree char *zone = NULL;
        NextOptions options = {.count = NEXT_DEFAULT};
        const GOptionEntry entries[] = {
            {"lines", 'n', 0, G_OPTION_ARG_INT, &options.count, "Show N ticks (5)", "N"},
            {"timezone", 'z', 0, G_OPTION_ARG_FILENAME, &zone,
             "Read an expression (UTC) and show the ticks (local) in this time zone", "ZONE"},
            {"json", 'j', 0, G_OPTION_ARG_NONE, &options.json, "Print JSON", NULL},
            {0},
        };
        g_auto(GStrv) rest = NULL;
        int code = EXIT_CODE_OK;

        if (!options_parse(&use, entries, argc, argv, &rest, &code))
                return code;
        options.timezone = zone;
        if (g_strv_length(rest) != 1)
                return options_error(
                    "next", "exactly one job or calendar expression (in quotes) is required");
        if (options.count < 1 || options.count > NEXT_MAX)
                return options_error("next", "-n must be between 1 and %d", NEXT_MAX);
        if (zone && !timezone_is_valid(zone))
                return options_error("next", "there is no time zone \"%s\"", zone);
        return next_of(&options, rest[0]);
}
