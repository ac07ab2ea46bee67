/* See cmd-run.h.
 *
 * The run itself is not ours: ending this command does not end it. */
#include "cmd-run.h"

#include "bus-client.h"
#include "exit-code.h"
#include "options.h"
#include "output.h"
#include "run-view.h"
#include "run-wait.h"

static int run_wait(const char *job, const char *run, gboolean json) {
        _cleanup_answer_ BusAnswer answer = {0};

        int code = run_wait_and_show(&answer, job, run, json);

        return code == EXIT_CODE_OK ? run_exit(answer.json) : code;
}

static int run_request(const char *job, gboolean wait, gboolean json) {
        _cleanup_answer_ BusAnswer answer = {0};
        const char *run = NULL;

        bus_ask(&answer, "Run", BUS_TIMEOUT, "s", job);
        if (answer.outcome != BUS_ANSWERED)
                return bus_answer_report(&answer);
        run = json_text(answer.json, "run");
        if (*json_text(answer.json, "note")) {
                g_autofree char *note = printable(json_text(answer.json, "note"));

                complain("%s", note);
        }
        if (wait && !json)
                complain("run %s of %s was requested; waiting until it has ended (Ctrl-C ends the "
                         "waiting, not the run)",
                         run, job);
        if (wait)
                return run_wait(job, run, json);
        if (json)
                output_json_text(answer.text, answer.json);
        else
                printf("run %s of %s was requested (jobkeeper history %s)\n", run, job, job);
        return EXIT_CODE_OK;
}

int cmd_run(int argc, char **argv) {
        static const OptionsUse use = {
            "run",
            "JOB",
            "Asks the cluster to run a job now, on one of the nodes that may run it and under its "
            "locks.",
            "With --wait the exit status is 0 when the run succeeded, else 1.",
        };
        gboolean json = FALSE, wait = FALSE;
        const GOptionEntry entries[] = {
            {"wait", 'w', 0, G_OPTION_ARG_NONE, &wait,
             "Wait until the run has ended and print its result", NULL},
            {"json", 'j', 0, G_OPTION_ARG_NONE, &json, "Print the daemon's JSON", NULL},
            {0},
        };
        g_auto(GStrv) rest = NULL;
        int code = EXIT_CODE_OK;

        if (!options_parse(&use, entries, argc, argv, &rest, &code))
                return code;
        if (g_strv_length(rest) != 1)
                return options_error("run", "exactly one job name is required");
        return run_request(rest[0], wait, json);
}
