/* See cmd-run.h. */
#include "cmd-run.h"

#include <stdbool.h>

#include "exit-code.h"
#include "options.h"
#include "run-request.h"
#include "tick-text.h"

/* Return: whether it can be a tick (NULL: there is none); else it is said, with *ret_exit. */
static bool run_tick_is_given(const char *text, const char *zone, int64_t *ret_tick,
                              int *ret_exit) {
        g_autoptr(GTimeZone) read_in = NULL;

        if (!tick_zone_is_given("run", zone, &read_in, ret_exit))
                return false;
        if (!text || tick_from_text(text, read_in, ret_tick))
                return true;
        *ret_exit = options_error("run", "--tick \"%s\" is no tick: write " TICK_TEXT_ADVICE, text);
        return false;
}

int cmd_run(int argc, char **argv) {
        static const OptionsUse use = {
            "run",
            "JOB",
            "Asks the cluster to run a job now, on one of the nodes that may run it and under its "
            "locks.",
            "With --wait and --follow the exit status is 0 when the run succeeded, else 1.\n"
            "TICK is " TICK_TEXT_ADVICE ".",
        };
        gboolean json = FALSE, wait = FALSE, follow = FALSE;
        g_autofree char *node = NULL, *tick = NULL, *zone = NULL;
        const GOptionEntry entries[] = {
            {"on", 0, 0, G_OPTION_ARG_FILENAME, &node, "Run it on this node, and on no other",
             "NODE"},
            {"tick", 't', 0, G_OPTION_ARG_FILENAME, &tick,
             "Attempt this tick (again), which is settled", "TICK"},
            {"timezone", 'z', 0, G_OPTION_ARG_FILENAME, &zone,
             "Read TICK in this time zone (local)", "ZONE"},
            {"wait", 'w', 0, G_OPTION_ARG_NONE, &wait,
             "Wait until the run has ended and print its result", NULL},
            {"follow", 'f', 0, G_OPTION_ARG_NONE, &follow,
             "Wait, and print what the run writes while it runs here", NULL},
            {"json", 'j', 0, G_OPTION_ARG_NONE, &json, "Print the daemon's JSON", NULL},
            {0},
        };
        RunRequest request = {0};
        g_auto(GStrv) rest = NULL;
        int code = EXIT_CODE_OK;

        if (!options_parse(&use, entries, argc, argv, &rest, &code) ||
            !run_node_is_given("run", node, &code) ||
            !run_tick_is_given(tick, zone, &request.tick, &code))
                return code;
        if (g_strv_length(rest) != 1)
                return options_error("run", "exactly one job name is required");
        if (zone && !tick)
                return options_error("run", "--timezone \"%s\" is for --tick, which is not given",
                                     zone);
        if (follow && json)
                return options_error("run", "either --follow or --json: what the run writes would "
                                            "stand between the daemon's JSON");
        request.job = rest[0];
        request.node = node;
        request.wait = wait || follow;
        request.follow = follow;
        request.json = json;
        return run_request(&request);
}
