/* See run-request.h.
 *
 * The run itself is not ours: ending this command does not end it. */
#include "run-request.h"

#include <glib.h>
#include <stdio.h>

#include "bus-client.h"
#include "exit-code.h"
#include "options.h"
#include "output.h"
#include "run-follow.h"
#include "run-view.h"
#include "run-wait.h"

static int run_wait(const char *job, const char *run, bool json) {
        _cleanup_answer_ BusAnswer answer = {0};
        int code = run_wait_and_show(&answer, job, run, json);

        return code == EXIT_CODE_OK ? run_exit(answer.json) : code;
}

static void run_ask(BusAnswer *answer, const RunRequest *request) {
        const char *node = request->node ? request->node : "", *run = request->run;

        if (run || request->tick)
                bus_ask(answer, "Rerun", BUS_TIMEOUT, "ssxs", request->job, run ? run : "",
                        request->tick, node);
        else if (*node)
                bus_ask(answer, "RunOn", BUS_TIMEOUT, "ss", request->job, node);
        else
                bus_ask(answer, "Run", BUS_TIMEOUT, "s", request->job);
}

static void run_tell_note(const json_t *answer) {
        g_autofree char *note = printable(json_text(answer, "note"));

        if (*note)
                complain("%s", note);
}

int run_request(const RunRequest *request) {
        _cleanup_(run_follow_freep) RunFollow *follow = NULL;
        _cleanup_answer_ BusAnswer answer = {0};
        const char *run = NULL, *job = NULL;
        int code = request->follow ? run_follow_open(&follow) : EXIT_CODE_OK;

        if (code != EXIT_CODE_OK)
                return code;
        run_ask(&answer, request);
        if (answer.outcome != BUS_ANSWERED)
                return bus_answer_report(&answer);
        run = json_text(answer.json, "run");
        job =
            json_text(answer.json, "job"); /* the instance that was meant, of a job that has one */
        run_tell_note(answer.json);
        if (follow)
                return run_follow(follow, job, run);
        if (request->wait && !request->json)
                complain("run %s of %s was requested; waiting until it has ended (Ctrl-C ends the "
                         "waiting, not the run)",
                         run, job);
        if (request->wait)
                return run_wait(job, run, request->json);
        if (request->json)
                output_json_text(answer.text, answer.json);
        else
                printf("run %s of %s was requested (jobkeeper history %s)\n", run, job, job);
        return EXIT_CODE_OK;
}

bool run_node_is_given(const char *command, const char *node, int *ret_exit) {
        if (!node || *node)
                return true;
        *ret_exit = options_error(command, "--on \"\": write the name of a node, as \"jobkeeper "
                                           "status\" shows it, or leave --on out");
        return false;
}
