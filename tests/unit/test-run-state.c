/* The words of a run's states, both ways, and which of them are final. */
#include <criterion/criterion.h>
#include <errno.h>
#include <glib.h>

#include "run-state.h"

static const struct {
        RunState state;
        const char *word;
        bool final;
} states[] = {
    {RUN_CLAIMED, "claimed", false},        {RUN_RUNNING, "running", false},
    {RUN_SUCCEEDED, "succeeded", true},     {RUN_FAILED, "failed", true},
    {RUN_TIMED_OUT, "timed-out", true},     {RUN_STOPPED, "stopped", true},
    {RUN_INTERRUPTED, "interrupted", true}, {RUN_UNKNOWN, "unknown", true},
    {RUN_SKIPPED, "skipped", true},
};

Test(run_state, every_state_has_its_word) {
        cr_assert_eq(G_N_ELEMENTS(states), (size_t)RUN_STATE_COUNT);
        for (size_t i = 0; i < G_N_ELEMENTS(states); i++) {
                RunState state = RUN_STATE_COUNT;

                cr_expect_str_eq(run_state_to_string(states[i].state), states[i].word);
                cr_expect_eq(run_state_from_string(states[i].word, &state), 0);
                cr_expect_eq(state, states[i].state, "%s", states[i].word);
                cr_expect_eq(run_state_is_final(states[i].state), states[i].final, "%s",
                             states[i].word);
        }
}

Test(run_state, other_words_are_refused) {
        static const char *const words[] = {NULL,      "",        "Claimed",  "claimed ",
                                            " failed", "timeout", "timed_out"};

        for (size_t i = 0; i < G_N_ELEMENTS(words); i++) {
                RunState state = RUN_STATE_COUNT;

                cr_expect_eq(run_state_from_string(words[i], &state), -EINVAL, "%zu", i);
                cr_expect_eq(state, RUN_STATE_COUNT, "untouched");
        }
}
