/* See run-state.h. */
#include "run-state.h"

#include <errno.h>
#include <string.h>

const char *const run_state_words[RUN_STATE_COUNT + 1] = {
    [RUN_CLAIMED] = "claimed", [RUN_RUNNING] = "running",         [RUN_SUCCEEDED] = "succeeded",
    [RUN_FAILED] = "failed",   [RUN_TIMED_OUT] = "timed-out",     [RUN_STOPPED] = "stopped",
    [RUN_UNKNOWN] = "unknown", [RUN_INTERRUPTED] = "interrupted", [RUN_SKIPPED] = "skipped",
};

const char *run_state_to_string(RunState state) {
        return run_state_words[state];
}

int run_state_from_string(const char *word, RunState *ret_state) {
        for (int state = 0; state < RUN_STATE_COUNT; state++)
                if (word && strcmp(run_state_words[state], word) == 0) {
                        *ret_state = (RunState)state;
                        return 0;
                }
        return -EINVAL;
}

bool run_state_is_final(RunState state) {
        return state != RUN_CLAIMED && state != RUN_RUNNING;
}
