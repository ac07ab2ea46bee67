/* See cmd-stop.h. */
#include "cmd-stop.h"

#include <stdbool.h>

#include "bus-client.h"
#include "exit-code.h"
#include "options.h"
#include "output.h"
#include "person.h"
#include "run-view.h"
#include "run-wait.h"

/* Return: the exit status. */
static int stop_wait(const char *job, const char *run, bool json) {
        _cleanup_answer_ BusAnswer answer = {0};

        return run_wait_and_show(&answer, job, run, json);
}

static void stop_complain(const char *job, const char *run) {
        if (*run)
                complain("run %s of %s is not under way", run, job);
        else
                complain("nothing of %s runs", job);
}

/* `run`: "" for what runs of the job. */
static int stop_ask(const char *job, const char *run, bool wait, bool json) {
        _cleanup_answer_ BusAnswer answer = {0};
        g_autofree char *found = NULL, *node = NULL;

        bus_ask(&answer, "Stop", BUS_TIMEOUT, "sss", job, run, person_typing());
        if (answer.outcome != BUS_ANSWERED)
                return bus_answer_report(&answer);
        found = printable(json_text(answer.json, "run"));
        node = printable(json_text(answer.json, "node"));
        if (!*found) {
                stop_complain(job, run);
                if (json)
                        output_json_text(answer.text, answer.json);
                return EXIT_CODE_FAILED;
        }
        if (!json_is_true(json_object_get(answer.json, "member")))
                complain("%s is out of touch: it stops the run if it is back within a minute",
                         node);
        if (wait)
                return stop_wait(job, found, json);
        if (json)
                output_json_text(answer.text, answer.json);
        else
                printf("run %s of %s on %s is to be stopped (jobkeeper history %s)%s\n", found, job,
                       node, job,
                       json_is_true(json_object_get(answer.json, "service"))
                           ? "; the next one begins after its delay, unless the job is paused "
                             "(jobkeeper pause)"
                           : "");
        return EXIT_CODE_OK;
}

int cmd_stop(int argc, char **argv) {
        static const OptionsUse use = {
            "stop",
            "JOB [RUN]",
            "Stops what runs of a job, or that run of it, on the node where it runs.",
            "It is recorded as stopped, and not attempted again. Nothing running: exit status 1.",
        };
        gboolean json = FALSE, wait = FALSE;
        const GOptionEntry entries[] = {
            {"wait", 'w', 0, G_OPTION_ARG_NONE, &wait, "Wait until it has ended, and print how",
             NULL},
            {"json", 'j', 0, G_OPTION_ARG_NONE, &json, "Print the daemon's JSON", NULL},
            {0},
        };
        g_auto(GStrv) rest = NULL;
        int code = EXIT_CODE_OK;
        guint n;

        if (!options_parse(&use, entries, argc, argv, &rest, &code))
                return code;
        n = g_strv_length(rest);
        if (n < 1 || n > 2)
                return options_error("stop", "the name of a job is required, and at most one run");
        if (n == 2 && !*rest[1])
                return options_error("stop", "the run's id is empty");
        return stop_ask(rest[0], n == 2 ? rest[1] : "", wait, json);
}
