/* See follow.h. */
#include "follow.h"

#include <errno.h>
#include <glib.h>

typedef enum FollowEnd { FOLLOW_NO_END, FOLLOW_SUCCESS, FOLLOW_FAILURE, FOLLOW_STOP } FollowEnd;

static const FollowEnd follow_ends[RUN_STATE_COUNT] = {
    [RUN_SUCCEEDED] = FOLLOW_SUCCESS,   [RUN_FAILED] = FOLLOW_FAILURE,
    [RUN_TIMED_OUT] = FOLLOW_FAILURE,   [RUN_STOPPED] = FOLLOW_STOP,
    [RUN_INTERRUPTED] = FOLLOW_FAILURE, [RUN_UNKNOWN] = FOLLOW_FAILURE,
};

/* Return: whether such an end is one that is followed. */
static bool follow_is_of(FollowLink link, FollowEnd end) {
        switch (link.why) {
        case FOLLOW_ON_FAILURE:
                return end == FOLLOW_FAILURE;
        case FOLLOW_ON_RECOVERY:
                return end == FOLLOW_SUCCESS;
        case FOLLOW_AFTER:
                break;
        }
        return link.on == JOB_AFTER_ANY
                   ? end != FOLLOW_NO_END
                   : end == (link.on == JOB_AFTER_SUCCESS ? FOLLOW_SUCCESS : FOLLOW_FAILURE);
}

static bool follow_asks_in(FollowLink link, const FollowState *in) {
        return !in->attempt_follows && (link.why != FOLLOW_ON_RECOVERY || in->failing) &&
               follow_is_of(link, follow_ends[in->state]);
}

bool follow_asks(FollowLink link, const FollowState *before, const FollowState *after) {
        return follow_asks_in(link, after) && !follow_asks_in(link, before);
}

bool follow_may_ask(FollowLink link, RunState state) {
        return follow_is_of(link, follow_ends[state]);
}

static const char *const follow_words[] = {
    [FOLLOW_AFTER] = "after",
    [FOLLOW_ON_FAILURE] = "on-failure",
    [FOLLOW_ON_RECOVERY] = "on-recovery",
};

const char *follow_why_to_string(FollowWhy why) {
        return follow_words[why];
}

int follow_why_from_string(const char *word, FollowWhy *ret_why) {
        for (size_t i = 0; word && i < G_N_ELEMENTS(follow_words); i++)
                if (g_str_equal(word, follow_words[i])) {
                        *ret_why = (FollowWhy)i;
                        return 0;
                }
        return -EINVAL;
}
