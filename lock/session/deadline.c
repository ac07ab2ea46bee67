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

/* The fence budget by default: a shorter one asks for shorter stop-timeouts of the jobs, too. */
#define BUDGET_USUAL (8 * USEC_PER_SEC)

/* What the servers' maxSessionTimeout is by default, in ticks. */
#define GREATEST_TIMEOUT_TICKS 20

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

/* What is left of the session timeout when the locks are given up, also where that is less than
 * nothing: people are to see by how much. */
static int64_t lease_or_lack(const DeadlineRule *rule, usec_t session_timeout) {
        return (int64_t)session_timeout - (int64_t)server_slack(rule) - (int64_t)rule->heartbeat -
               (int64_t)(session_timeout / DEADLINE_DRIFT_DIVISOR) - (int64_t)DEADLINE_MARGIN;
}

static double seconds(int64_t usec) {
        return (double)usec / (double)USEC_PER_SEC;
}

/* Return: newly allocated, the sum with the keys' names and all its numbers. */
static char *deadline_sum(const DeadlineRule *rule, usec_t session_timeout) {
        int64_t lease = lease_or_lack(rule, session_timeout);

        return g_strdup_printf(
            "session-timeout %.3gs - (sync-limit %u + 1) x tick %.3gs - heartbeat %.3gs - drift "
            "%.3gs - margin %.3gs = %.3gs; %.3gs - fence-budget %.3gs = %.3gs",
            seconds((int64_t)session_timeout), rule->sync_limit,
            seconds((int64_t)deadline_tick(rule)), seconds((int64_t)rule->heartbeat),
            seconds((int64_t)(session_timeout / DEADLINE_DRIFT_DIVISOR)),
            seconds((int64_t)DEADLINE_MARGIN), seconds(lease), seconds(lease),
            seconds((int64_t)rule->fence_budget), seconds(lease - (int64_t)rule->fence_budget));
}

char *deadline_explain(const DeadlineRule *rule, usec_t session_timeout) {
        g_autofree char *sum = deadline_sum(rule, session_timeout);

        return g_strdup_printf("when ZooKeeper does not answer, runs are stopped after %.3gs and "
                               "the locks are given up after %.3gs (%s)",
                               seconds((int64_t)deadline_stop_after(rule, session_timeout)),
                               seconds((int64_t)deadline_lease(rule, session_timeout)), sum);
}

static usec_t deadline_needed(const DeadlineRule *rule) {
        return HEARTBEATS_BEFORE_STOP * rule->heartbeat;
}

/* Return: newly allocated, what to write instead. */
static char *deadline_advice(const DeadlineRule *rule, usec_t session_timeout) {
        usec_t terms = server_slack(rule) + rule->heartbeat + DEADLINE_MARGIN + rule->fence_budget +
                       MAX(deadline_needed(rule), 1);
        usec_t least = terms * DEADLINE_DRIFT_DIVISOR / (DEADLINE_DRIFT_DIVISOR - 1);
        usec_t whole = (least / USEC_PER_SEC + 1) * USEC_PER_SEC;
        usec_t budget = usec_sub(deadline_lease(rule, session_timeout), deadline_needed(rule)) /
                        USEC_PER_SEC * USEC_PER_SEC;
        g_autofree char *shorter =
            budget >= BUDGET_USUAL && budget < rule->fence_budget
                ? g_strdup_printf(", or fence-budget to %.3gs or less", seconds((int64_t)budget))
                : NULL;

        if (deadline_tick(rule) > rule->tick_time)
                return g_strdup_printf(
                    "lower minSessionTimeout to 2 ticks in the servers' zoo.cfg, "
                    "or set session-timeout to %.4gs or more",
                    seconds((int64_t)whole));
        return g_strdup_printf(
            "set session-timeout to %.4gs or more%s%s", seconds((int64_t)whole),
            whole > GREATEST_TIMEOUT_TICKS * rule->tick_time
                ? " (and maxSessionTimeout in the servers' zoo.cfg, which is 20 ticks by default)"
                : "",
            shorter ? shorter : "");
}

char *deadline_fault(const DeadlineRule *rule, usec_t session_timeout) {
        int64_t left = lease_or_lack(rule, session_timeout) - (int64_t)rule->fence_budget;
        usec_t needed = deadline_needed(rule);
        g_autofree char *sum = NULL, *advice = NULL, *why = NULL;

        if (left > 0 && left >= (int64_t)needed)
                return NULL;

        sum = deadline_sum(rule, session_timeout);
        advice = deadline_advice(rule, session_timeout);
        if (deadline_tick(rule) > rule->tick_time)
                why = g_strdup_printf(
                    "the least session timeout that the ZooKeeper servers grant is %.3gs, so their "
                    "tick is taken to be %.3gs, and ",
                    seconds((int64_t)rule->least_timeout), seconds((int64_t)deadline_tick(rule)));
        return g_strdup_printf(
            "%sruns could not be stopped in time before the locks are given up: at least %.3gs (%d "
            "heartbeats) must be left, not %.3gs (%s). To mend it, %s",
            why ? why : "", seconds((int64_t)needed), HEARTBEATS_BEFORE_STOP, seconds(left), sum,
            advice);
}
