/* What the end of a run asks for: the jobs that follow it, and those that are run because the job
 * has failed, or is well again. Pure.
 *
 * A success is followed at once. Anything else only where no further attempt of the tick follows:
 * before, nothing has failed yet. What somebody stopped is neither success nor failure: "any"
 * follows it, and nobody is alarmed. What is skipped has no run, and asks for nothing.
 *
 * A run that others settled as unknown may be settled again, by what is known by then: that asks
 * for what the first end did not ask for, and nothing twice. */
#pragma once

#include <stdbool.h>

#include "job-links.h"
#include "run-state.h"

typedef enum FollowWhy { FOLLOW_AFTER, FOLLOW_ON_FAILURE, FOLLOW_ON_RECOVERY } FollowWhy;

/* As a job is bound to the ends of another one's runs. */
typedef struct FollowLink {
        FollowWhy why;
        JobAfterOn on; /* of FOLLOW_AFTER */
} FollowLink;

/* What a run has come to. */
typedef struct FollowState {
        RunState state;
        bool attempt_follows;
        bool failing; /* the newest run that was over when it ended had not succeeded */
} FollowState;

/* Return: whether the run is asked for when a run comes from the one state to the other. */
bool follow_asks(FollowLink link, const FollowState *before, const FollowState *after);
/* Return: whether it may be when the run ends so, whatever else is the case. */
bool follow_may_ask(FollowLink link, RunState state);

/* Return: constant, how requests and people call it: "after", "on-failure", "on-recovery". */
const char *follow_why_to_string(FollowWhy why);
/* Return: 0 with *ret_why, or -EINVAL; NULL is no word. */
int follow_why_from_string(const char *word, FollowWhy *ret_why);
