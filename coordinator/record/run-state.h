/* The states of a run as the ledger and its records know them. `running` is local knowledge of the
 * node that runs it. */
#pragma once

#include <stdbool.h>

typedef enum RunState {
        RUN_CLAIMED,
        RUN_RUNNING,
        RUN_SUCCEEDED,
        RUN_FAILED,
        RUN_TIMED_OUT,
        RUN_STOPPED,     /* somebody asked for its end */
        RUN_INTERRUPTED, /* we ended it: locks lost, daemon stopped, node rebooted */
        RUN_UNKNOWN,     /* its node vanished, or its unit did before the result could be read */
        RUN_SKIPPED,     /* never ran; the reason stands beside it */
        RUN_STATE_COUNT,
} RunState;

/* The words in which records and people speak of them, by state; NULL-terminated. */
extern const char *const run_state_words[RUN_STATE_COUNT + 1];
/* Return: the constant word. */
const char *run_state_to_string(RunState state);

/* Return: 0 with *ret_state, or -EINVAL. */
int run_state_from_string(const char *word, RunState *ret_state);

/* Return: whether nothing more is to come (but for a refined `unknown`). */
bool run_state_is_final(RunState state);
