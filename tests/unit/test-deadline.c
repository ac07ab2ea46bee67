/* The deadline's sum, number by number, and what is refused. */
#include <criterion/criterion.h>
#include <glib.h>
#include <string.h>

#include "deadline.h"

#define MS USEC_PER_MSEC
#define S USEC_PER_SEC

/* As in jobkeeper.yaml(5). */
static const DeadlineRule defaults = {
    .tick_time = 2 * S,
    .sync_limit = 5,
    .heartbeat = 1 * S,
    .fence_budget = 8 * S,
};

Test(deadline, defaults_give_16_s_and_8_s) {
        cr_assert_eq(deadline_lease(&defaults, 30 * S), 16 * S);
        cr_assert_eq(deadline_stop_after(&defaults, 30 * S), 8 * S);
        cr_assert_null(deadline_fault(&defaults, 30 * S));
}

Test(deadline, every_term_counts) {
        const usec_t lease = deadline_lease(&defaults, 30 * S);
        DeadlineRule rule = defaults;

        rule.tick_time += 100 * MS;
        cr_assert_eq(deadline_lease(&rule, 30 * S), lease - 600 * MS);
        rule = defaults;
        rule.sync_limit++;
        cr_assert_eq(deadline_lease(&rule, 30 * S), lease - 2 * S);
        rule = defaults;
        rule.heartbeat += 5 * MS;
        cr_assert_eq(deadline_lease(&rule, 30 * S), lease - 5 * MS);
        rule = defaults;
        rule.fence_budget += 5 * MS;
        cr_assert_eq(deadline_lease(&rule, 30 * S), lease);
        cr_assert_eq(deadline_stop_after(&rule, 30 * S), 8 * S - 5 * MS);
        cr_assert_eq(deadline_lease(&defaults, 31 * S), lease + 990 * MS,
                     "a second less its drift");
}

Test(deadline, the_longer_tick_counts) {
        DeadlineRule rule = defaults;

        cr_assert_eq(deadline_tick(&rule), 2 * S, "nobody was asked");
        rule.least_timeout = 4 * S;
        cr_assert_eq(deadline_tick(&rule), 2 * S);
        rule.least_timeout = 100 * MS; /* minSessionTimeout was lowered */
        cr_assert_eq(deadline_tick(&rule), 2 * S);
        cr_assert_eq(deadline_lease(&rule, 30 * S), 16 * S);
        rule.least_timeout = 5 * S;
        cr_assert_eq(deadline_tick(&rule), 2500 * MS);
        cr_assert_eq(deadline_lease(&rule, 30 * S), 13 * S);
        cr_assert_eq(deadline_stop_after(&rule, 30 * S), 5 * S);
        cr_assert_null(deadline_fault(&rule, 30 * S));
}

Test(deadline, a_least_timeout_that_leaves_too_little_is_refused_with_the_ways_out) {
        DeadlineRule rule = defaults;
        g_autofree char *fault = NULL;

        rule.least_timeout = 6 * S;
        cr_assert_null(deadline_fault(&rule, 30 * S), "two heartbeats are left");
        rule.least_timeout = 20 * S;
        fault = deadline_fault(&rule, 70 * S);
        cr_assert_str_eq(
            fault,
            "the least session timeout that the ZooKeeper servers grant is 20s, so their tick is "
            "taken to be 10s, and runs could not be stopped in time before the locks are given up: "
            "at least 2s (2 heartbeats) must be left, not -0.4s (session-timeout 70s - "
            "(sync-limit 5 + 1) x tick 10s - heartbeat 1s - drift 0.7s - margin 0.7s = 7.6s; 7.6s "
            "- fence-budget 8s = -0.4s). To mend it, lower minSessionTimeout to 2 ticks in the "
            "servers' zoo.cfg, or set session-timeout to 73s or more");
        cr_assert_null(deadline_fault(&rule, 73 * S));
}

Test(deadline, nothing_left_is_zero_not_a_wrap) {
        DeadlineRule rule = defaults;

        cr_assert_eq(deadline_lease(&defaults, 0), 0);
        cr_assert_eq(deadline_lease(&defaults, 13 * S), 0);
        cr_assert_eq(deadline_stop_after(&defaults, 20 * S), 0);
        rule.sync_limit = G_MAXUINT;
        cr_assert_eq(deadline_lease(&rule, 30 * S), 0);
}

Test(deadline, two_heartbeats_must_fit_before_the_stop) {
        g_autofree char *fault = NULL;

        /* 24 s: 24 - 12 - 1 - 0.24 - 0.7 - 8 = 2.06 s; a little less, and there is no room for two.
         */
        cr_assert_null(deadline_fault(&defaults, 24 * S));
        fault = deadline_fault(&defaults, 23900 * MS);
        cr_assert_not_null(fault);
        cr_assert_not_null(strstr(fault, "23.9"), "%s", fault);
        cr_assert_not_null(strstr(fault, "sync-limit 5"), "%s", fault);
}

Test(deadline, a_lease_of_no_more_than_the_budget_is_refused) {
        DeadlineRule rule = {.tick_time = 500 * MS, .sync_limit = 1, .fence_budget = 3260 * MS};
        g_autofree char *fault = NULL;

        /* 5 - 1 - 0 - 0.05 - 0.7 = 3.25 s */
        fault = deadline_fault(&rule, 5 * S);
        cr_assert_not_null(fault);
}

Test(deadline, what_is_missing_is_shown_below_zero_with_a_value_that_would_do) {
        g_autofree char *fault = deadline_fault(&defaults, 10 * S);

        cr_assert_str_eq(
            fault,
            "runs could not be stopped in time before the locks are given up: at least 2s (2 "
            "heartbeats) must be left, not -11.8s (session-timeout 10s - (sync-limit 5 + 1) x tick "
            "2s - heartbeat 1s - drift 0.1s - margin 0.7s = -3.8s; -3.8s - fence-budget 8s = "
            "-11.8s). To mend it, set session-timeout to 24s or more");
        cr_assert_null(deadline_fault(&defaults, 24 * S));
}

Test(deadline, a_budget_that_is_too_long_is_named_with_the_one_that_would_do) {
        DeadlineRule rule = defaults;
        g_autofree char *fault = NULL, *longer = NULL;

        rule.fence_budget = 20 * S;
        fault = deadline_fault(&rule, 30 * S);
        cr_assert(g_str_has_suffix(fault, "To mend it, set session-timeout to 37s or more, or "
                                          "fence-budget to 14s or less"),
                  "%s", fault);
        cr_assert_null(deadline_fault(&rule, 37 * S));
        rule.fence_budget = 30 * S; /* more than the servers grant, as they come */
        longer = deadline_fault(&rule, 30 * S);
        cr_assert(g_str_has_suffix(longer, "set session-timeout to 47s or more (and "
                                           "maxSessionTimeout in the servers' zoo.cfg, which is 20 "
                                           "ticks by default), or fence-budget to 14s or less"),
                  "%s", longer);
        cr_assert_null(deadline_fault(&rule, 47 * S));
        rule.fence_budget = 14 * S;
        cr_assert_null(deadline_fault(&rule, 30 * S));
}

Test(deadline, the_sum_is_shown_with_its_numbers) {
        g_autofree char *sum = deadline_explain(&defaults, 30 * S);

        cr_assert_str_eq(sum,
                         "when ZooKeeper does not answer, runs are stopped after 8s and the locks "
                         "are given up after 16s (session-timeout 30s - (sync-limit 5 + 1) x tick "
                         "2s - heartbeat 1s - drift 0.3s - margin 0.7s = 16s; 16s - fence-budget "
                         "8s = 8s)");
}
