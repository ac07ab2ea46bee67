/* See cmd-drain.h.
 *
 * Whether a node is drained stands in ZooKeeper once Drain() has answered, and what runs there
 * stands there as well: so the daemon of this machine is asked again and again, and may be
 * restarted meanwhile. */
#include "cmd-drain.h"

#include <unistd.h>

#include "bus-client.h"
#include "exit-code.h"
#include "options.h"
#include "output.h"
#include "person.h"
#include "run-view.h"

/* A second apart: longer than a daemon's restart and its reconnecting take. */
#define DRAIN_PATIENCE 60

static char *drain_node_shown(const json_t *state) {
        return printable(json_text(state, "node"));
}

/* Return: whether the daemon knows a node of that name, be it away. */
static bool drain_is_known(const json_t *state) {
        return json_is_true(json_object_get(state, "member")) ||
               json_is_true(json_object_get(state, "away")) || json_number(state, "runs", 0) > 0;
}

/* Says that nobody has heard of it, and what may have been meant. */
static void drain_complain_unknown(const json_t *state, const char *consequence) {
        g_autofree char *node = drain_node_shown(state),
                        *nearest = printable(json_text(state, "nearest"));

        complain("there is no node %s at present%s%s%s%s", node, *nearest ? ", but " : "", nearest,
                 *nearest ? " is one" : "", consequence);
}

static void drain_note_absence(const json_t *state) {
        g_autofree char *node = drain_node_shown(state);

        if (!drain_is_known(state))
                drain_complain_unknown(state, ": this counts as soon as there is");
        else if (!json_is_true(json_object_get(state, "member")))
                complain("%s is away at present: this counts as soon as it is back", node);
}

/* In whose name it was drained before, which it stays. */
static void drain_note_earlier(const json_t *state) {
        const json_t *drained = json_object_get(state, "drained");
        g_autofree char *node = drain_node_shown(state), *by = printable(json_text(drained, "by")),
                        *why = printable(json_text(drained, "why"));

        if (!json_is_true(json_object_get(state, "changed")))
                complain("%s was drained already, by %s%s%s", node, by, *why ? ": " : "", why);
}

/* Return: whether it is as somebody wished, and nobody else has changed it at once. */
static bool drain_is_as_wished(const json_t *state, const char *node, bool drained) {
        if (json_is_null(json_object_get(state, "drained")) != drained)
                return true;
        complain(drained ? "%s is not drained any more" : "%s was drained again by somebody else",
                 node);
        return false;
}

static bool drain_may_pass(BusOutcome outcome) {
        return outcome == BUS_NO_ANSWER || outcome == BUS_NO_DAEMON ||
               outcome == BUS_NOT_CONNECTED || outcome == BUS_STOPPING;
}

/* Return: the exit status. */
static int drain_wait(BusAnswer *answer, const char *node) {
        unsigned silent = 0;

        while (answer->outcome != BUS_ANSWERED || json_number(answer->json, "runs", 0) > 0) {
                (void)sleep(1);
                bus_ask(answer, "Drained", BUS_TIMEOUT, "s", node);
                silent = answer->outcome == BUS_ANSWERED ? 0 : silent + 1;
                if (silent > 0 && (!drain_may_pass(answer->outcome) || silent > DRAIN_PATIENCE))
                        return bus_answer_report(answer);
                if (silent == 0 && !drain_is_as_wished(answer->json, node, true))
                        return EXIT_CODE_FAILED;
        }
        return EXIT_CODE_OK;
}

static int drain_begin(const char *name, const char *why, gboolean wait, gboolean json) {
        _cleanup_answer_ BusAnswer answer = {0};
        g_autofree char *node = NULL;
        bool known;
        int code;

        bus_ask(&answer, "Drain", BUS_TIMEOUT, "sss", name, why, person_typing());
        if (answer.outcome != BUS_ANSWERED)
                return bus_answer_report(&answer);
        node = drain_node_shown(answer.json);
        if (!drain_is_as_wished(answer.json, node, true))
                return EXIT_CODE_FAILED;
        drain_note_absence(answer.json);
        drain_note_earlier(answer.json);
        known = drain_is_known(answer.json);
        if (wait && json_number(answer.json, "runs", 0) > 0 && !json)
                complain("%s is drained; waiting until its runs have ended (Ctrl-C ends the "
                         "waiting alone)",
                         node);
        code = wait ? drain_wait(&answer, node) : EXIT_CODE_OK;
        if (code != EXIT_CODE_OK)
                return code;
        if (json)
                output_json_text(answer.text, answer.json);
        else if (!wait)
                printf("%s is drained: nothing begins there until \"jobkeeper undrain %s\"\n", node,
                       node);
        else if (known)
                printf("%s is drained, and nothing runs there\n", node);
        /* Who waits goes on to work on that machine, whose name may be another. */
        return wait && !known ? EXIT_CODE_FAILED : EXIT_CODE_OK;
}

static int drain_end(const char *name, gboolean json) {
        _cleanup_answer_ BusAnswer answer = {0};
        g_autofree char *node = NULL;
        bool changed, known;

        bus_ask(&answer, "Undrain", BUS_TIMEOUT, "s", name);
        if (answer.outcome != BUS_ANSWERED)
                return bus_answer_report(&answer);
        node = drain_node_shown(answer.json);
        if (!drain_is_as_wished(answer.json, node, false))
                return EXIT_CODE_FAILED;
        changed = json_is_true(json_object_get(answer.json, "changed"));
        known = changed || drain_is_known(answer.json);
        if (!known)
                drain_complain_unknown(answer.json, ", and none of that name was drained");
        if (json)
                output_json_text(answer.text, answer.json);
        else if (changed)
                printf("%s is not drained any more\n", node);
        else if (known)
                printf("%s was not drained\n", node);
        return known ? EXIT_CODE_OK : EXIT_CODE_FAILED;
}

/* Return: whether at most one node is named, and by a name. */
static bool drain_names_one(const char *command, const GStrv rest, int *ret_code) {
        if (g_strv_length(rest) > 1)
                *ret_code = options_error(command, "one node at a time");
        else if (*rest && !**rest)
                *ret_code = options_error(command, "the name of the node is empty");
        else
                return true;
        return false;
}

int cmd_drain(int argc, char **argv) {
        static const OptionsUse use = {
            "drain",
            "[NODE]",
            "Has a node, this one where none is named, begin no job any more, until it is "
            "undrained, "
            "over\nrestarts and reboots. Services end there; what else runs goes on.",
            "What jobkeeper lock holds there is not waited for, and it works there as before.",
        };
        gboolean json = FALSE, wait = FALSE;
        g_autofree char *reason = NULL;
        const GOptionEntry entries[] = {
            {"reason", 'r', 0, G_OPTION_ARG_STRING, &reason, "Why, for all to see", "TEXT"},
            {"wait", 'w', 0, G_OPTION_ARG_NONE, &wait, "Wait until no job runs there", NULL},
            {"json", 'j', 0, G_OPTION_ARG_NONE, &json, "Print the daemon's JSON", NULL},
            {0},
        };
        g_auto(GStrv) rest = NULL;
        int code = EXIT_CODE_OK;

        if (!options_parse(&use, entries, argc, argv, &rest, &code))
                return code;
        if (!drain_names_one("drain", rest, &code))
                return code;
        return drain_begin(*rest ? *rest : "", reason ? reason : "", wait, json);
}

int cmd_undrain(int argc, char **argv) {
        static const OptionsUse use = {
            "undrain",
            "[NODE]",
            "Lets jobs begin again on a node that was drained, this one where none is named.",
            NULL,
        };
        gboolean json = FALSE;
        const GOptionEntry entries[] = {
            {"json", 'j', 0, G_OPTION_ARG_NONE, &json, "Print the daemon's JSON", NULL},
            {0},
        };
        g_auto(GStrv) rest = NULL;
        int code = EXIT_CODE_OK;

        if (!options_parse(&use, entries, argc, argv, &rest, &code))
                return code;
        if (!drain_names_one("undrain", rest, &code))
                return code;
        return drain_end(*rest ? *rest : "", json);
}
