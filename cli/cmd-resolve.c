/* See cmd-resolve.h. Whether there is anything to say of the run the daemon decides, by its record.
 */
#include "cmd-resolve.h"

#include <stdbool.h>
#include <string.h>

#include "bus-client.h"
#include "exit-code.h"
#include "options.h"
#include "output.h"
#include "person.h"
#include "run-view.h"

static int resolve_ask(const GStrv rest, const char *reason, bool json) {
        _cleanup_answer_ BusAnswer answer = {0};
        g_autofree char *sentence = NULL, *shown = NULL;

        bus_ask(&answer, "Resolve", BUS_TIMEOUT, "sssss", rest[0], rest[1], rest[2], reason,
                person_typing());
        if (answer.outcome != BUS_ANSWERED)
                return bus_answer_report(&answer);
        if (json) {
                output_json_text(answer.text, answer.json);
                return EXIT_CODE_OK;
        }
        sentence = run_sentence(answer.json);
        shown = printable(sentence);
        (void)puts(shown);
        if (json_is_true(json_object_get(answer.json, "service")))
                (void)puts("Nothing of the service waits for its end any more: it is run again "
                           "where its definition is in force and not paused.");
        return EXIT_CODE_OK;
}

/* Return: whether all is given that is to be said; else it is said what is missing, with
 * *ret_exit. */
static bool resolve_is_given(const GStrv rest, const char *reason, int *ret_exit) {
        if (g_strv_length(rest) != 3 || !*rest[0] || !*rest[1])
                *ret_exit = options_error(
                    "resolve", "the name of a job, the id of a run (as \"jobkeeper history JOB\" "
                               "shows it) and \"succeeded\" or \"failed\" are required");
        else if (strcmp(rest[2], "succeeded") != 0 && strcmp(rest[2], "failed") != 0)
                *ret_exit = options_error("resolve",
                                          "a run is resolved as \"succeeded\" or "
                                          "\"failed\", not as \"%s\"",
                                          rest[2]);
        else if (!reason || !*reason)
                *ret_exit = options_error("resolve", "--reason is required: how its end is known, "
                                                     "for all to see");
        else
                return true;
        return false;
}

int cmd_resolve(int argc, char **argv) {
        static const OptionsUse use = {
            "resolve",
            "JOB RUN succeeded|failed",
            "Records how a run ended whose result is unknown, as a person knows it.",
            "RUN is the run's id, as \"jobkeeper history\" shows it. What its node tells later\n"
            "changes nothing of it.",
        };
        gboolean json = FALSE;
        g_autofree char *reason = NULL;
        const GOptionEntry entries[] = {
            {"reason", 'r', 0, G_OPTION_ARG_STRING, &reason,
             "How its end is known, for all to see (required)", "TEXT"},
            {"json", 'j', 0, G_OPTION_ARG_NONE, &json, "Print the daemon's JSON", NULL},
            {0},
        };
        g_auto(GStrv) rest = NULL;
        int code = EXIT_CODE_OK;

        if (!options_parse(&use, entries, argc, argv, &rest, &code) ||
            !resolve_is_given(rest, reason, &code))
                return code;
        return resolve_ask(rest, reason, json);
}
