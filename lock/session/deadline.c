/* The sum that every node does alone, and that must come out the same: see deadline.h for the
 * reasoning behind each term.
 *
 * Kept apart from the session so that it can be tested number by number, and so that `verify` can
 * print it without a server.
 */
#include "deadline.h"

#include <glib.h>

/* Heartbeats that must fit before the stop begins: with one alone, a single late answer would stop
 * every run. */
#define HEARTBEATS_BEFORE_STOP 2

usec_t deadline_tick(const DeadlineRule *rule) {
        return MAX(rule->tick_time, rule->least_timeout / DEADLINE_LEAST_TIMEOUT_TICKS);
}

static usec_t server_slack(const DeadlineRule *rule) {
        return ((usec_t)rule->sync_limit + 1) * deadline_tick(rule);
}

usec_t deadline_lease(const DeadlineRule *rule, usec_t session_timeout) {
        usec_t lease = session_timeout;

        lease = usec_sub(lease, server_slack(rule));
        lease = usec_sub(lease, rule->heartbeat);
        lease = usec_sub(lease, session_timeout / DEADLINE_DRIFT_DIVISOR);
        return usec_sub(lease, DEADLINE_MARGIN);
}

usec_t deadline_stop_after(const DeadlineRule *rule, usec_t session_timeout) {
        return usec_sub(deadline_lease(rule, session_timeout), rule->fence_budget);
}

static double seconds(usec_t usec) {
        return (double)usec / (double)USEC_PER_SEC;
}

char *deadline_explain(const DeadlineRule *rule, usec_t session_timeout) {
        return g_strdup_printf(
            "session timeout %.3gs - (sync limit %u + 1) x tick %.3gs - heartbeat %.3gs - drift "
            "%.3gs - "
            "margin %.3gs = %.3gs until the locks are given up; - fence budget %.3gs = %.3gs until "
            "runs are stopped",
            seconds(session_timeout), rule->sync_limit, seconds(deadline_tick(rule)),
            seconds(rule->heartbeat), seconds(session_timeout / DEADLINE_DRIFT_DIVISOR),
            seconds(DEADLINE_MARGIN), seconds(deadline_lease(rule, session_timeout)),
            seconds(rule->fence_budget), seconds(deadline_stop_after(rule, session_timeout)));
}

char *deadline_fault(const DeadlineRule *rule, usec_t session_timeout) {
        g_autofree char *sum = NULL;
        usec_t needed = HEARTBEATS_BEFORE_STOP * rule->heartbeat;

        if (deadline_stop_after(rule, session_timeout) >= needed &&
            deadline_lease(rule, session_timeout) > rule->fence_budget)
                return NULL;

        sum = deadline_explain(rule, session_timeout);
        if (deadline_tick(rule) > rule->tick_time)
                return g_strdup_printf(
                    "the least session timeout that the ZooKeeper servers grant is %.3gs, so their "
                    "tick is taken to be %.3gs, and runs could not be stopped in time: lower "
                    "minSessionTimeout to 2 ticks in the servers' zoo.cfg, or choose a longer "
                    "session-timeout (%s; at least %.3gs, %d heartbeats, must be left)",
                    seconds(rule->least_timeout), seconds(deadline_tick(rule)), sum,
                    seconds(needed), HEARTBEATS_BEFORE_STOP);
        return g_strdup_printf(
            "the session timeout is too short: runs could not be stopped in time "
            "(%s; at least %.3gs, %d heartbeats, must be left)",
            sum, seconds(needed), HEARTBEATS_BEFORE_STOP);
}
