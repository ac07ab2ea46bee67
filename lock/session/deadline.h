/* The arithmetic of deadline D: until when are our locks certainly ours? Pure: no clock is read
 * here.
 *
 * A server may expire our session T after it last heard of us. It heard of us no earlier than when
 * we *sent* the last request that it answered. A server cut off from its leader keeps answering for
 * up to syncLimit ticks, and a session's expiry is rounded to a tick. So, counted on CLOCK_BOOTTIME
 * from that send:
 *
 *   D = t_sent + T - (syncLimit + 1) * tick - heartbeat - drift - margin
 *
 * `drift` allows for two clocks of different speed (T / 100, far more than any oscillator needs),
 * `margin` for the scheduler. The stop of a run starts at D - K (K = the fence budget), so that its
 * cgroup is empty by D.
 *
 * With a tick that is shorter than the servers' D is too late, and nothing else would show it. So a
 * session asks them (session-probe.c): no server says its tick, but the least session timeout that
 * it grants is 2 ticks by default. The longer of what is configured and what that makes counts.
 */
#pragma once

#include "clock.h"

#define DEADLINE_DRIFT_DIVISOR 100
#define DEADLINE_MARGIN (700 * USEC_PER_MSEC)

typedef struct DeadlineRule {
        usec_t tick_time;     /* the servers' tickTime, as configured */
        unsigned sync_limit;  /* the servers' syncLimit */
        usec_t heartbeat;     /* our period */
        usec_t fence_budget;  /* K: the time a run's stop may take */
        usec_t least_timeout; /* the least session timeout that the servers grant; 0: not known */
} DeadlineRule;

/* What minSessionTimeout is by default, in ticks. */
#define DEADLINE_LEAST_TIMEOUT_TICKS 2

/* Return: the tick that counts: the configured one, or that which the servers' least timeout makes
 * where it is longer. */
usec_t deadline_tick(const DeadlineRule *rule);

/* Return: how long after the send of a good heartbeat our locks are ours, under the negotiated
 * timeout; 0 when nothing is left. */
usec_t deadline_lease(const DeadlineRule *rule, usec_t session_timeout);

/* Return: how long after it the stop of runs begins: deadline_lease() - K, or 0. */
usec_t deadline_stop_after(const DeadlineRule *rule, usec_t session_timeout);

/* Return: NULL when the sum leaves K and at least two heartbeats before the stop, else a newly
 * allocated sentence (g_free) that shows the whole sum with its numbers, how much is missing, and
 * which values would do. */
char *deadline_fault(const DeadlineRule *rule, usec_t session_timeout);

/* Return: newly allocated (g_free), the sum in one line, for `verify`, the log and the manual. */
char *deadline_explain(const DeadlineRule *rule, usec_t session_timeout);
