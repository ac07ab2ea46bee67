/* See cmd-history.h. */
#include "cmd-history.h"

#include "bus-client.h"
#include "exit-code.h"
#include "options.h"
#include "output.h"
#include "run-view.h"

#define HISTORY_DEFAULT 20
#define HISTORY_MAX 1000

static void history_print(const json_t *history, const char *job) {
        const char *was = json_string_value(json_object_get(history, "was")),
                   *renamed = json_string_value(json_object_get(history, "renamed"));
        g_autoptr(GTimeZone) zone = g_time_zone_new_local();
        double now = (double)clock_realtime() / (double)USEC_PER_SEC;
        _cleanup_(table_freep) Table *table =
            run_table(json_object_get(history, "runs"), now, zone);

        if (table->rows->len == 0)
                printf("%s has not run yet.\n", job);
        else
                (void)table_print(table, stdout);
        if (was)
                printf("Runs of before are those of %s, which it was (jobkeeper history %s).\n",
                       was, was);
        if (renamed)
                printf("It goes on as %s (jobkeeper history %s).\n", renamed, renamed);
}

int cmd_history(int argc, char **argv) {
        static const OptionsUse use = {
            "history", "JOB",
            "Shows a job's runs and skipped ticks in the whole cluster, newest first.", NULL};
        gboolean json = FALSE;
        int count = HISTORY_DEFAULT;
        const GOptionEntry entries[] = {
            {"lines", 'n', 0, G_OPTION_ARG_INT, &count, "Show at most N runs (20)", "N"},
            {"json", 'j', 0, G_OPTION_ARG_NONE, &json, "Print the daemon's JSON", NULL},
            {0},
        };
        _cleanup_answer_ BusAnswer answer = {0};
        g_auto(GStrv) rest = NULL;
        int code = EXIT_CODE_OK;

        if (!options_parse(&use, entries, argc, argv, &rest, &code))
                return code;
        if (g_strv_length(rest) != 1)
                return options_error("history", "exactly one job name is required");
        if (count < 1 || count > HISTORY_MAX)
                return options_error("history", "-n must be between 1 and %d", HISTORY_MAX);
        bus_ask(&answer, "History", BUS_TIMEOUT, "su", rest[0], (uint32_t)count);
        if (answer.outcome != BUS_ANSWERED)
                return bus_answer_report(&answer);
        if (json)
                output_json_text(answer.text, answer.json);
        else
                history_print(answer.json, rest[0]);
        return EXIT_CODE_OK;
}
