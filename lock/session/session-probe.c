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
#include "session-probe.h"

#include <glib.h>
#include <time.h>

#include "deadline.h"
#include "session-timer.h"

/* Where the ticks of the rule are so short that a server could not answer in time. */
#define ASK_MIN (100 * USEC_PER_MSEC)

/* So long a new session is held back, at most, for the answer. Shorter than what a session is given
 * to begin. */
#define PROBE_LIMIT (2 * USEC_PER_SEC)

void session_probe_init(SessionProbe *probe, sd_event *event, SessionProbeFunc func,
                        void *userdata) {
        *probe = (SessionProbe){.event = event, .func = func, .userdata = userdata};
}

/* Ends the second session at the server, too; nobody waits for that. */
void session_probe_end(SessionProbe *probe) {
        probe->limit = sd_event_source_disable_unref(probe->limit);
        if (probe->zk)
                zk_close(probe->zk);
        probe->zk = zk_free(probe->zk);
}

static void probe_answer(SessionProbe *probe, usec_t least_timeout) {
        session_probe_end(probe);
        probe->func(least_timeout, probe->userdata);
}

static void probe_on_state(Zk *zk, ZkState state, void *userdata) {
        switch (state) {
        case ZK_STATE_CONNECTED:
                probe_answer(userdata, zk_timeout(zk));
                break;
        case ZK_STATE_EXPIRED:
        case ZK_STATE_AUTH_FAILED:
        case ZK_STATE_FAILED:
                probe_answer(userdata, 0);
                break;
        case ZK_STATE_CONNECTING:
        case ZK_STATE_SUSPENDED:
        case ZK_STATE_CLOSED:
                break;
        }
}

static int probe_on_limit(sd_event_source *source, uint64_t usec, void *userdata) {
        probe_answer(userdata, 0);
        return 0;
}

int session_probe_begin(SessionProbe *probe, const char *server, const char *auth, usec_t tick_time,
                        usec_t left) {
        usec_t patience = left > 0 ? MIN(left / 2, PROBE_LIMIT) : PROBE_LIMIT;
        int r;

        r = zk_connect(
            probe->event,
            &(ZkOptions){
                .servers = server,
                .session_timeout = MAX(DEADLINE_LEAST_TIMEOUT_TICKS * tick_time, ASK_MIN),
                .auth = auth,
                .state = probe_on_state,
                .userdata = probe,
            },
            &probe->zk);
        if (r >= 0)
                session_timer_arm(probe->event, &probe->limit, CLOCK_MONOTONIC,
                                  clock_monotonic() + patience, probe_on_limit, probe);
        return r;
}

bool session_probe_waits(const SessionProbe *probe) {
        return probe->zk;
}
