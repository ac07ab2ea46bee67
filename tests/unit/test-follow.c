/* What the end of a run asks for, cell by cell: each kind of link against each end, with and
 * without a further attempt, after a success and after a failure; and what a second, better
 * known end asks for beyond the first. */
#include "follow.h"

#include <criterion/criterion.h>
#include <errno.h>

static const FollowLink links[] = {{FOLLOW_AFTER, JOB_AFTER_SUCCESS},
                                   {FOLLOW_AFTER, JOB_AFTER_FAILURE},
                                   {FOLLOW_AFTER, JOB_AFTER_ANY},
                                   {FOLLOW_ON_FAILURE, JOB_AFTER_SUCCESS},
                                   {FOLLOW_ON_RECOVERY, JOB_AFTER_SUCCESS}};

/* One letter a link, in that order: s f a F R; "-" where it asks for nothing. */
typedef struct FollowCell {
        RunState state;
        bool attempt_follows, failing;
        const char *asks;
} FollowCell;

static const FollowCell cells[] = {
    {RUN_CLAIMED, false, false, "-----"},    {RUN_CLAIMED, false, true, "-----"},
    {RUN_RUNNING, false, true, "-----"},     {RUN_SUCCEEDED, false, false, "s-a--"},
    {RUN_SUCCEEDED, false, true, "s-a-R"},   {RUN_FAILED, false, false, "-faF-"},
    {RUN_FAILED, false, true, "-faF-"},      {RUN_FAILED, true, false, "-----"},
    {RUN_FAILED, true, true, "-----"},       {RUN_TIMED_OUT, false, false, "-faF-"},
    {RUN_TIMED_OUT, true, false, "-----"},   {RUN_STOPPED, false, false, "--a--"},
    {RUN_STOPPED, false, true, "--a--"},     {RUN_INTERRUPTED, false, false, "-faF-"},
    {RUN_INTERRUPTED, true, false, "-----"}, {RUN_UNKNOWN, false, false, "-faF-"},
    {RUN_UNKNOWN, true, false, "-----"},     {RUN_SKIPPED, false, false, "-----"},
    {RUN_SKIPPED, false, true, "-----"},
};

static void expect_asks(const FollowState *before, const FollowState *after, const char *asks) {
        for (size_t i = 0; i < 5; i++)
                cr_expect_eq(follow_asks(links[i], before, after), asks[i] != '-',
                             "link %zu, from %s%s to %s%s%s: wanted %s", i,
                             run_state_to_string(before->state),
                             before->attempt_follows ? " with another attempt" : "",
                             run_state_to_string(after->state),
                             after->attempt_follows ? " with another attempt" : "",
                             after->failing ? " of what had failed" : "", asks);
}

Test(follow, each_end_of_a_run) {
        const FollowState claimed = {.state = RUN_CLAIMED};

        for (size_t i = 0; i < sizeof(cells) / sizeof(cells[0]); i++) {
                const FollowCell *cell = &cells[i];

                expect_asks(&claimed,
                            &(FollowState){cell->state, cell->attempt_follows, cell->failing},
                            cell->asks);
        }
}

Test(follow, what_is_known_better_asks_for_what_was_not_asked_for) {
        const FollowState unknown = {.state = RUN_UNKNOWN},
                          repeated = {.state = RUN_UNKNOWN, .attempt_follows = true};

        expect_asks(&unknown, &(FollowState){.state = RUN_SUCCEEDED, .failing = true}, "s---R");
        expect_asks(&unknown, &(FollowState){.state = RUN_FAILED}, "-----");
        expect_asks(&unknown, &(FollowState){.state = RUN_STOPPED}, "-----");
        expect_asks(&unknown, &unknown, "-----");
        expect_asks(&repeated, &(FollowState){.state = RUN_SUCCEEDED}, "s-a--");
        expect_asks(&repeated, &(FollowState){.state = RUN_FAILED}, "-faF-");
}

/* What is offered must not lack what is then asked for. */
Test(follow, nothing_is_asked_for_that_was_not_offered) {
        const FollowState claimed = {.state = RUN_CLAIMED};

        for (unsigned state = 0; state < RUN_STATE_COUNT; state++)
                for (size_t i = 0; i < 5; i++)
                        cr_expect_eq(follow_may_ask(links[i], state),
                                     follow_asks(links[i], &claimed,
                                                 &(FollowState){.state = state, .failing = true}),
                                     "link %zu, %s", i, run_state_to_string(state));
}

Test(follow, words) {
        FollowWhy why = FOLLOW_AFTER;

        for (unsigned i = FOLLOW_AFTER; i <= FOLLOW_ON_RECOVERY; i++) {
                cr_expect_eq(follow_why_from_string(follow_why_to_string(i), &why), 0);
                cr_expect_eq(why, i);
        }
        cr_expect_eq(follow_why_from_string("before", &why), -EINVAL);
        cr_expect_eq(follow_why_from_string(NULL, &why), -EINVAL);
        cr_expect_eq(why, FOLLOW_ON_RECOVERY, "as it was");
}
