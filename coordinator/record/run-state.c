/* See run-state.h. */
#include "run-state.h"

#include <errno.h>
#include <string.h>

static const char *const words[RUN_STATE_COUNT] = {
    [RUN_CLAIMED] = "claimed", [RUN_RUNNING] = "running",         [RUN_SUCCEEDED] = "succeeded",
    [RUN_FAILED] = "failed",   [RUN_TIMED_OUT] = "timed-out",     [RUN_STOPPED] = "stopped",
    [RUN_UNKNOWN] = "unknown", [RUN_INTERRUPTED] = "interrupted", [RUN_SKIPPED] = "skipped",
};

const char *run_state_to_string(RunState state) {
        return words[state];
}

int run_state_from_string(const char *word, RunState *ret_state) {
        for (int state = 0; state < RUN_STATE_COUNT; state++)
                if (word && strcmp(words[state], word) == 0) {
                        *ret_state = (RunState)state;
                        return 0;
                }
        return -EINVAL;
}

bool run_state_is_final(RunState state) {
        return state != RUN_CLAIMED && state != RUN_RUNNING;
}
