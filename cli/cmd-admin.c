/* See cmd-admin.h. */
#include "cmd-admin.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bus-client.h"
#include "exit-code.h"
#include "options.h"
#include "output.h"
#include "person.h"
#include "run-view.h"

#define ACCEPT "accept-ensemble"

static void accept_explain(const json_t *doubt) {
        g_autofree char *by = printable(json_text(doubt, "by")),
                        *why = printable(json_text(doubt, "why"));

        printf(
            "What stands in ZooKeeper is not trusted: %s (found by %s).\n"
            "\n"
            "To accept it means, for all nodes:\n"
            "  - what ran since the backup, or ever where all is gone, is not known any more: "
            "ticks "
            "that\n    are not too late by their jobs' start-deadline may run once more;\n"
            "  - the history since then is lost, and so are manual runs that were asked for, "
            "and\n    which definitions were put in force; drains and pauses may be older ones, or "
            "none;\n"
            "  - fencing tokens may begin lower than what resources have seen: reset there what "
            "compares\n    them;\n"
            "  - nodes that run jobs and see other servers than these are not known here.\n"
            "Where zookeeper.servers or zookeeper.root was changed by mistake, change it back "
            "instead.\n",
            why, by);
}

/* Return: whether somebody at the terminal says yes. */
static bool accept_confirm(void) {
        char line[16] = "";

        printf("Accept it? Type \"yes\": ");
        (void)fflush(stdout);
        if (!fgets(line, sizeof line, stdin))
                line[0] = '\0';
        g_strchomp(line);
        return strcmp(line, "yes") == 0;
}

/* Return: what is doubted, borrowed from the status; NULL: nothing. */
static const json_t *admin_find_doubt(const json_t *status) {
        const json_t *doubt = json_object_get(json_object_get(status, "ensemble"), "doubt");

        return json_is_object(doubt) ? doubt : NULL;
}

/* Return: EXIT_CODE_OK where it may go on; *ret_shown is why it is doubted then, newly allocated;
 * NULL: there is nothing to accept. */
static int accept_ask(bool yes, bool json, char **ret_shown) {
        _cleanup_answer_ BusAnswer answer = {0};
        const json_t *doubt;

        bus_ask(&answer, "Status", BUS_TIMEOUT, "");
        if (answer.outcome != BUS_ANSWERED)
                return bus_answer_report(&answer);
        doubt = admin_find_doubt(answer.json);
        *ret_shown = doubt ? g_strdup(json_text(doubt, "why")) : NULL;
        if (!doubt &&
            !json_is_true(json_object_get(json_object_get(answer.json, "ensemble"), "trusted"))) {
                complain("this node has not looked yet at what stands in ZooKeeper, or cannot "
                         "(jobkeeper status): there is nothing to accept so far");
                return EXIT_CODE_UNAVAILABLE;
        }
        if (!doubt || yes)
                return EXIT_CODE_OK;
        if (json || !isatty(STDIN_FILENO)) {
                complain(
                    "without a terminal, or with --json, this needs --yes (jobkeeper admin " ACCEPT
                    " --help says what it means)");
                return EXIT_CODE_USAGE;
        }
        accept_explain(doubt);
        if (accept_confirm())
                return EXIT_CODE_OK;
        complain("nothing was accepted");
        return EXIT_CODE_FAILED;
}

static void accept_print(const BusAnswer *answer, bool json) {
        if (json)
                output_json_text(answer->text, answer->json);
        else if (json_is_true(json_object_get(answer->json, "changed")))
                (void)puts("What stands in ZooKeeper is accepted: all nodes take part again.");
        else
                (void)puts("Nothing to accept: what stands in ZooKeeper is trusted.");
}

static int accept_ensemble(const char *why, bool yes, bool json) {
        _cleanup_answer_ BusAnswer answer = {0};
        g_autofree char *shown = NULL;
        int code = accept_ask(yes, json, &shown);

        if (code != EXIT_CODE_OK)
                return code;
        if (!shown && !json) {
                (void)puts("Nothing to accept: what stands in ZooKeeper is trusted.");
                return EXIT_CODE_OK;
        }
        bus_ask(&answer, "AcceptEnsemble", BUS_TIMEOUT, "sss", why, person_typing(),
                shown ? shown : "");
        if (answer.outcome != BUS_ANSWERED)
                return bus_answer_report(&answer);
        accept_print(&answer, json);
        return EXIT_CODE_OK;
}

int cmd_admin(int argc, char **argv) {
        static const OptionsUse use = {
            "admin",
            ACCEPT,
            "Accepts what stands in ZooKeeper after it was wiped or restored from a backup: until "
            "then nothing\nis run on any node. jobkeeper status says what is the matter.",
            "What ran since the backup may run once more, the history since then is lost, and "
            "fencing tokens\nmay begin lower than what resources have seen. It counts for all "
            "nodes, and may be asked for on any.",
        };
        gboolean json = FALSE, yes = FALSE;
        g_autofree char *reason = NULL;
        const GOptionEntry entries[] = {
            {"reason", 'r', 0, G_OPTION_ARG_STRING, &reason, "Why, for all to see", "TEXT"},
            {"yes", 'y', 0, G_OPTION_ARG_NONE, &yes, "Do not ask for confirmation", NULL},
            {"json", 'j', 0, G_OPTION_ARG_NONE, &json, "Print the daemon's JSON", NULL},
            {0},
        };
        g_auto(GStrv) rest = NULL;
        int code = EXIT_CODE_OK;

        if (!options_parse(&use, entries, argc, argv, &rest, &code))
                return code;
        if (!rest[0] || rest[1] || strcmp(rest[0], ACCEPT) != 0)
                return options_error("admin", "what is to be done is \"" ACCEPT "\"");
        return accept_ensemble(reason ? reason : "", yes, json);
}
