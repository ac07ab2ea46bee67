/* See run-wait.h.
 *
 * What is waited for stands in ZooKeeper, so the daemon may be restarted or upgraded meanwhile:
 * then the question is asked again for a while. */
#include "run-wait.h"

#include <glib.h>
#include <stdio.h>
#include <unistd.h>

#include "exit-code.h"
#include "output.h"
#include "run-view.h"

#define WAIT_TRIES                                                                                 \
        60 /* a second apart: longer than a daemon's restart and its reconnecting take             \
            */

static bool outcome_may_pass(BusOutcome outcome) {
        return outcome == BUS_NO_ANSWER || outcome == BUS_NO_DAEMON || outcome == BUS_NOT_CONNECTED;
}

/* Said once: afterwards whoever waits knows how long. */
static void tell_patience(BusOutcome outcome) {
        complain("%s: waiting up to %d s for it",
                 outcome == BUS_NOT_CONNECTED ? "jobkeeperd cannot use ZooKeeper at present"
                                              : "jobkeeperd is gone",
                 WAIT_TRIES);
}

bool run_wait_goes_on(BusOutcome outcome, unsigned tries) {
        if (!outcome_may_pass(outcome) || tries >= WAIT_TRIES)
                return false;
        if (tries == 0)
                tell_patience(outcome);
        return true;
}

static void wait_for_run(BusAnswer *answer, const char *job, const char *run) {
        for (unsigned tries = 0;; tries++) {
                bus_ask(answer, "WaitRun", USEC_INFINITY, "ss", job, run);
                if (!run_wait_goes_on(answer->outcome, tries))
                        return;
                (void)sleep(1);
        }
}

int run_wait_failed(const BusAnswer *answer, const char *job, const char *run) {
        if (outcome_may_pass(answer->outcome))
                complain("the result of run %s is not known here: jobkeeper history %s on another "
                         "node",
                         run, job);
        return bus_answer_report(answer);
}

int run_wait_and_show(BusAnswer *ret_answer, const char *job, const char *run, bool json) {
        g_autofree char *sentence = NULL, *shown = NULL;

        wait_for_run(ret_answer, job, run);
        if (ret_answer->outcome != BUS_ANSWERED)
                return run_wait_failed(ret_answer, job, run);
        if (json) {
                output_json_text(ret_answer->text, ret_answer->json);
                return EXIT_CODE_OK;
        }
        sentence = run_sentence(ret_answer->json);
        shown = printable(sentence);
        (void)puts(shown);
        return EXIT_CODE_OK;
}
