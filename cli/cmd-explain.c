/* See cmd-explain.h. Which tick is meant may be said as times are shown, or by the id of one of its
 * runs. */
#include "cmd-explain.h"

#include <stdbool.h>

#include "bus-client.h"
#include "exit-code.h"
#include "explain-view.h"
#include "options.h"
#include "output.h"
#include "run-view.h"
#include "tick-text.h"

static void explain_print(const json_t *explanation, GTimeZone *zone) {
        double now = (double)clock_realtime() / (double)USEC_PER_SEC;
        g_autofree char *text = explain_sentences(explanation, now, zone), *shown = printable(text);
        _cleanup_(table_freep) Table *runs =
            run_table(json_object_get(explanation, "runs"), now, zone);
        _cleanup_(table_freep) Table *nodes = explain_nodes(explanation);

        printf("%s\n\n", shown);
        if (runs->rows->len > 0) {
                (void)table_print(runs, stdout);
                (void)putchar('\n');
        }
        (void)table_print(nodes, stdout);
}

int cmd_explain(int argc, char **argv) {
        static const OptionsUse use = {
            "explain",
            "JOB [TICK]",
            "Says why a tick of a job is run, was run, or is not, and on which node.",
            "TICK is a time as it is shown (\"2026-11-21 02:30\"), \"@SECONDS\", or the id of a "
            "run. Without it: the oldest tick that is due, else the next one.",
        };
        g_autofree char *name = NULL;
        gboolean json = FALSE;
        const GOptionEntry entries[] = {
            {"timezone", 'z', 0, G_OPTION_ARG_FILENAME, &name,
             "Read TICK and show times in this time zone (local)", "ZONE"},
            {"json", 'j', 0, G_OPTION_ARG_NONE, &json, "Print the daemon's JSON", NULL},
            {0},
        };
        _cleanup_answer_ BusAnswer answer = {0};
        g_autoptr(GTimeZone) zone = NULL;
        g_auto(GStrv) rest = NULL;
        int code = EXIT_CODE_OK;
        int64_t tick = 0;
        guint n;

        if (!options_parse(&use, entries, argc, argv, &rest, &code))
                return code;
        n = g_strv_length(rest);
        if (n < 1 || n > 2)
                return options_error("explain", "the name of a job is required, and at most one "
                                                "tick (in quotes)");
        if (!tick_zone_is_given("explain", name, &zone, &code))
                return code;
        if (n == 2 && !tick_from_text(rest[1], zone, &tick))
                return options_error("explain", "\"%s\" is no tick: write " TICK_TEXT_ADVICE,
                                     rest[1]);
        bus_ask(&answer, "Explain", BUS_TIMEOUT, "sx", rest[0], tick);
        if (answer.outcome != BUS_ANSWERED)
                return bus_answer_report(&answer);
        if (json)
                output_json_text(answer.text, answer.json);
        else
                explain_print(answer.json, zone);
        return EXIT_CODE_OK;
}
