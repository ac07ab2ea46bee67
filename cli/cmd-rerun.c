/* See cmd-rerun.h. */
#include "cmd-rerun.h"

#include <stdbool.h>

#include "exit-code.h"
#include "options.h"
#include "run-request.h"

int cmd_rerun(int argc, char **argv) {
        static const OptionsUse use = {
            "rerun",
            "JOB RUN",
            "Asks the cluster for a further attempt of the tick of a run that has ended.",
            "RUN is the run's id, as \"jobkeeper history\" shows it.\n"
            "With --wait the exit status is 0 when the attempt succeeded, else 1.",
        };
        gboolean json = FALSE, wait = FALSE;
        g_autofree char *node = NULL;
        const GOptionEntry entries[] = {
            {"on", 0, 0, G_OPTION_ARG_FILENAME, &node, "Run it on this node, and on no other",
             "NODE"},
            {"wait", 'w', 0, G_OPTION_ARG_NONE, &wait,
             "Wait until the attempt has ended and print its result", NULL},
            {"json", 'j', 0, G_OPTION_ARG_NONE, &json, "Print the daemon's JSON", NULL},
            {0},
        };
        g_auto(GStrv) rest = NULL;
        int code = EXIT_CODE_OK;

        if (!options_parse(&use, entries, argc, argv, &rest, &code) ||
            !run_node_is_given("rerun", node, &code))
                return code;
        if (g_strv_length(rest) != 2 || !*rest[1])
                return options_error("rerun", "the name of a job and the id of a run are required, "
                                              "as \"jobkeeper history JOB\" shows it");
        return run_request(&(RunRequest){
            .job = rest[0], .run = rest[1], .node = node, .wait = wait, .json = json});
}
