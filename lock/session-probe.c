/* What tick do the servers have? The deadline counts with it (deadline.h), and no server says it.
 *
 * But each grants at least its minSessionTimeout, which is 2 ticks unless somebody has set it. So a
 * second session, to the server that has just taken ours and with the same credentials, asks for
 * less than a correct one would grant, and half of what it is granted counts as the tick where that
 * is longer than the configured one. A raised minSessionTimeout looks like a long tick: then the
 * deadline is earlier than need be, which is the safe side. A lowered one tells nothing.
 *
 * What is asked for is 2 of the configured ticks, not the least that there is: more than that is
 * granted exactly where the configured tick is too short, which is all that is to be found out. And
 * this client library takes the timeout that it asks for as the time in which the server must
 * answer: with 1 ms it never connects.
 *
 * Each server that takes our session is asked, also when a connection comes back: it may be another
 * one, or have been started anew. The longest tick of those that had the session counts. No
 * heartbeat counts while the answer is awaited; where locks may be ours already, that is no longer
 * than their deadline allows.
 */
#include <syslog.h>
#include <time.h>

#include "session-private.h"

/* Where the ticks of the rule are so short that a server could not answer in time. */
#define ASK_MIN (100 * USEC_PER_MSEC)

/* Ends the second session at the server, too; nobody waits for that. */
static void stop_asking(Session *session) {
        session->probe_limit = sd_event_source_disable_unref(session->probe_limit);
        if (session->probe)
                zk_close(session->probe);
        session->probe = zk_free(session->probe);
}

/* A new session every few seconds, as with servers that are refused, needs no line each. */
static void say_longer(Session *session) {
        const DeadlineRule *rule = &session->rule;
        g_autofree char *sum = NULL, *message = NULL;

        if (deadline_tick(rule) <= rule->tick_time || session->probe_said == rule->least_timeout)
                return;
        session->probe_said = rule->least_timeout;
        sum = deadline_explain(rule, zk_timeout(session->zk));
        message = g_strdup_printf(
            "the least session timeout that the ZooKeeper servers grant is %.3gs, so their tick is "
            "taken to be %.3gs, longer than the configured tick-time of %.3gs (%s)",
            (double)rule->least_timeout / USEC_PER_SEC, (double)deadline_tick(rule) / USEC_PER_SEC,
            (double)rule->tick_time / USEC_PER_SEC, sum);
        session_say(session, LOG_WARNING, message);
}

static void say_unknown(Session *session) {
        g_autofree char *message = g_strdup_printf(
            "the ZooKeeper server did not say its least session timeout: the configured tick-time "
            "of %.3gs is taken on trust",
            (double)session->rule.tick_time / USEC_PER_SEC);

        session_say(session, LOG_WARNING, message);
}

static void on_through(Session *session, usec_t least_timeout) {
        stop_asking(session);
        session->rule.least_timeout = MAX(session->rule.least_timeout, least_timeout);
        if (session->rule.least_timeout > 0)
                say_longer(session);
        else
                say_unknown(session);
        session_probed(session);
}

static void on_probe_state(Zk *zk, ZkState state, void *userdata) {
        switch (state) {
        case ZK_STATE_CONNECTED:
                on_through(userdata, zk_timeout(zk));
                break;
        case ZK_STATE_EXPIRED:
        case ZK_STATE_AUTH_FAILED:
        case ZK_STATE_FAILED:
                on_through(userdata, 0);
                break;
        case ZK_STATE_CONNECTING:
        case ZK_STATE_SUSPENDED:
        case ZK_STATE_CLOSED:
                break;
        }
}

static int on_limit(sd_event_source *source, uint64_t usec, void *userdata) {
        (void)source;
        (void)usec;
        on_through(userdata, 0);
        return 0;
}

/* Return: how long an answer is worth waiting for, when locks may be ours already. */
static usec_t patience(const Session *session) {
        usec_t now = clock_boottime(), left = usec_sub(session_stop_at(session), now);

        if (left == 0)
                left = usec_sub(session_held_until(session), now);
        return left > 0 ? MIN(left / 2, SESSION_PROBE_LIMIT) : SESSION_PROBE_LIMIT;
}

void session_probe_begin(Session *session) {
        const char *server = zk_server(session->zk);
        int r;

        r = zk_connect(session->event,
                       &(ZkOptions){
                           .servers = *server ? server : session->servers,
                           .session_timeout =
                               MAX(DEADLINE_LEAST_TIMEOUT_TICKS * session->rule.tick_time, ASK_MIN),
                           .auth = session->auth,
                           .state = on_probe_state,
                           .userdata = session,
                       },
                       &session->probe);
        if (r < 0)
                say_unknown(session);
        else
                session_arm(session, &session->probe_limit, CLOCK_MONOTONIC,
                            clock_monotonic() + patience(session), on_limit);
}

bool session_probe_waits(const Session *session) {
        return session->probe;
}

void session_probe_suspend(Session *session) {
        stop_asking(session);
}

void session_probe_end(Session *session) {
        stop_asking(session);
        session->rule.least_timeout = 0;
}
