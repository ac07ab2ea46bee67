/* The leader's time of sessions. */
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "session-tracker.h"

#define TICK (2 * USEC_PER_SEC)

static guint expired(SessionTracker *tracker, usec_t now) {
        g_autoptr(GArray) sessions = session_tracker_expire(tracker, now);

        return sessions->len;
}

Test(session_tracker, a_timeout_is_rounded_up_to_the_next_tick) {
        _cleanup_(session_tracker_freep) SessionTracker *tracker = session_tracker_new(TICK);

        session_tracker_add(tracker, 1, 10 * USEC_PER_SEC, 1 * USEC_PER_SEC);
        cr_assert_eq(expired(tracker, 12 * USEC_PER_SEC - 1), 0);
        cr_assert_eq(expired(tracker, 12 * USEC_PER_SEC), 1);
        cr_assert_eq(expired(tracker, 12 * USEC_PER_SEC), 0, "it is closing");
        cr_assert_not(session_tracker_touch(tracker, 1, 10 * USEC_PER_SEC, 12 * USEC_PER_SEC));
}

Test(session_tracker, who_is_heard_of_lives) {
        _cleanup_(session_tracker_freep) SessionTracker *tracker = session_tracker_new(TICK);

        session_tracker_add(tracker, 1, 4 * USEC_PER_SEC, 0);
        session_tracker_add(tracker, 2, 4 * USEC_PER_SEC, 0);
        cr_assert(session_tracker_touch(tracker, 2, 4 * USEC_PER_SEC, 3 * USEC_PER_SEC));
        cr_assert_eq(expired(tracker, 6 * USEC_PER_SEC), 1);
        cr_assert_eq(session_tracker_check(tracker, 1, 0), ZK_CLOSED);
        cr_assert_eq(session_tracker_check(tracker, 2, 0), ZK_OK);
}

Test(session_tracker, a_session_is_at_one_server) {
        _cleanup_(session_tracker_freep) SessionTracker *tracker = session_tracker_new(TICK);

        session_tracker_add(tracker, 1, 4 * USEC_PER_SEC, 0);
        cr_assert_eq(session_tracker_check(tracker, 1, 0), ZK_OK, "the first one has it");
        cr_assert_eq(session_tracker_check(tracker, 1, 2), ZK_UNKNOWN);
        session_tracker_set_owner(tracker, 1, 2);
        cr_assert_eq(session_tracker_check(tracker, 1, 2), ZK_OK);
        cr_assert_eq(session_tracker_check(tracker, 1, 0), ZK_UNKNOWN);
        session_tracker_remove(tracker, 1);
        cr_assert_eq(session_tracker_check(tracker, 1, 2), ZK_CLOSED);
}
