/* The heartbeat, and what follows from it: until when our locks are ours.
 *
 * A heartbeat is a sync, one in flight at a time; what counts is when it was *sent*. A sync is
 * answered by the leader alone, and a leader that was cut off or frozen goes on answering for a
 * while. So after a gap (a lost connection, an answer slower than a tick, a loop of ours that stood
 * still for longer than that) a heartbeat is a write instead: a multi of nothing but a check. It
 * changes nothing, but it is a transaction, and only a quorum can commit it. The first heartbeat of
 * every connection is such a write, so a session begins with a proof.
 *
 * It waits for no request of ours that waits (zk_heartbeat()), only for those under way, of which
 * there are not many: how many jobs are due does not make a heartbeat old.
 *
 * The deadline itself needs no server: two timers on CLOCK_BOOTTIME, moved with each good
 * heartbeat.
 */
#include "session-beat.h"

#include <glib.h>
#include <time.h>

#include "session-timer.h"

static void beat_send(SessionBeat *beat);

void session_beat_init(SessionBeat *beat, sd_event *event, const DeadlineRule *rule,
                       SessionBeatFunc func, void *userdata) {
        *beat = (SessionBeat){.event = event, .rule = rule, .func = func, .userdata = userdata};
}

static int beat_on_stop(sd_event_source *source, uint64_t usec, void *userdata) {
        SessionBeat *beat = userdata;

        if (beat->stop_at > 0 && clock_boottime() >= beat->stop_at)
                beat->func(BEAT_STOP, 0, beat->userdata);
        return 0;
}

/* Return: whether the deadline has passed. */
static bool beat_is_over(const SessionBeat *beat) {
        return beat->until > 0 && clock_boottime() >= beat->until;
}

static int beat_on_lost(sd_event_source *source, uint64_t usec, void *userdata) {
        SessionBeat *beat = userdata;

        if (beat_is_over(beat))
                beat->func(BEAT_LOST, 0, beat->userdata);
        return 0;
}

static void beat_arm(SessionBeat *beat) {
        session_timer_arm(beat->event, &beat->stop, CLOCK_BOOTTIME, beat->stop_at, beat_on_stop,
                          beat);
        session_timer_arm(beat->event, &beat->lost, CLOCK_BOOTTIME, beat->until, beat_on_lost,
                          beat);
}

static void beat_disarm(SessionBeat *beat) {
        beat->stop = sd_event_source_disable_unref(beat->stop);
        beat->lost = sd_event_source_disable_unref(beat->lost);
        beat->until = beat->stop_at = 0;
}

void session_beat_inherit(SessionBeat *beat, usec_t until, usec_t stop_at) {
        beat->until = until;
        beat->stop_at = stop_at;
        beat_arm(beat);
}

void session_beat_disinherit(SessionBeat *beat) {
        if (beat->good == 0)
                beat_disarm(beat);
}

/* Where the last good heartbeat puts them, by what is known of the servers now. */
static void beat_measure(const SessionBeat *beat, usec_t *ret_until, usec_t *ret_stop_at) {
        *ret_until = usec_add(beat->good, deadline_lease(beat->rule, beat->timeout));
        *ret_stop_at = usec_add(beat->good, deadline_stop_after(beat->rule, beat->timeout));
}

void session_beat_count(SessionBeat *beat, usec_t sent) {
        beat->late = false;
        beat->good = MAX(beat->good, sent);
        beat_measure(beat, &beat->until, &beat->stop_at);
        beat_arm(beat);
}

/* What is answered from now on comes too late. */
void session_beat_forsake(SessionBeat *beat) {
        beat->until = clock_boottime();
        session_timer_arm(beat->event, &beat->lost, CLOCK_BOOTTIME, beat->until, beat_on_lost,
                          beat);
}

void session_beat_recount(SessionBeat *beat) {
        usec_t until, stop_at;

        if (beat->good == 0)
                return;
        beat_measure(beat, &until, &stop_at);
        beat->until = MIN(beat->until, until);
        beat->stop_at = MIN(beat->stop_at, stop_at);
        beat_arm(beat);
}

/* A server tells the leader with its next ping only that it has heard of a session, and until then
 * the leader counts from what it was told before. Each heartbeat is sent while the one before
 * counts, which leaves time for that. Before the first one there is only the request for the
 * session: where that was long ago, because servers did not answer or we stood still, the session
 * may be about to end whatever we send. It is asked for anew then, which takes no time where
 * servers answer by now. Where that was long, too, what is answered counts once the leader has
 * certainly been told of the first. Return: whether one that was sent then counts. */
static bool beat_counts(SessionBeat *beat, usec_t sent) {
        usec_t lease = deadline_lease(beat->rule, beat->timeout);
        bool again = beat->late;

        if (beat->good != 0 || beat->until != 0 || sent <= usec_add(zk_asked(beat->zk), lease))
                return true;
        if (beat->counts_from != 0)
                return sent >= beat->counts_from;
        beat->counts_from = clock_boottime() + usec_sub(beat->timeout, lease);
        beat->late = true;
        beat->func(again ? BEAT_LATE_AGAIN : BEAT_LATE, sent, beat->userdata);
        return false;
}

static void beat_on_answer(SessionBeat *beat, const ZkReply *reply, bool write) {
        bool slow = clock_boottime() > usec_add(reply->sent, beat->rule->tick_time);

        beat->call = NULL;
        if (zk_state(beat->zk) != ZK_STATE_CONNECTED)
                return;
        /* A multi that fails is a transaction, too: also one that may not read the root
         * is a proof. */
        if (reply->code != ZK_OK && !(write && reply->code == ZK_NO_AUTH)) {
                beat->doubt = true;
                return;
        }
        if (!write && (slow || beat->doubt)) {
                beat->doubt = true;
                beat_send(beat);
                return;
        }
        if (write)
                beat->doubt = false;
        /* Too late: the timer is about to say the same. */
        if (beat_counts(beat, reply->sent))
                beat->func(beat_is_over(beat) ? BEAT_LOST : BEAT_GOOD, reply->sent, beat->userdata);
}

static void beat_on_sync(const ZkReply *reply, void *userdata) {
        beat_on_answer(userdata, reply, false);
}

static void beat_on_write(const ZkReply *reply, void *userdata) {
        beat_on_answer(userdata, reply, true);
}

static void beat_send(SessionBeat *beat) {
        usec_t now = clock_boottime();
        int r;

        if (beat->call)
                return;
        if (beat->sent != 0 &&
            now > usec_add(beat->sent, beat->rule->heartbeat + beat->rule->tick_time))
                beat->doubt = true;
        r = zk_heartbeat(beat->zk, beat->doubt, beat->doubt ? beat_on_write : beat_on_sync, beat,
                         &beat->call);
        if (r < 0)
                return; /* the port is over, and is about to say so */
        beat->sent = now;
}

static int beat_on_time(sd_event_source *source, uint64_t usec, void *userdata) {
        SessionBeat *beat = userdata;

        if (zk_state(beat->zk) != ZK_STATE_CONNECTED)
                return 0;
        beat_send(beat);
        session_timer_arm(beat->event, &beat->timer, CLOCK_BOOTTIME,
                          clock_boottime() + beat->rule->heartbeat, beat_on_time, beat);
        return 0;
}

void session_beat_now(SessionBeat *beat) {
        session_timer_arm(beat->event, &beat->timer, CLOCK_BOOTTIME, clock_boottime(), beat_on_time,
                          beat);
}

void session_beat_begin(SessionBeat *beat, Zk *zk) {
        beat->zk = zk;
        /* The server may have granted less than before, or more. */
        beat->timeout = zk_timeout(zk);
        beat->doubt = true;
        beat->counts_from = 0;
        session_beat_recount(beat);
        session_beat_now(beat);
}

void session_beat_suspend(SessionBeat *beat) {
        beat->doubt = true;
        if (beat->timer)
                (void)sd_event_source_set_enabled(beat->timer, SD_EVENT_OFF);
}

void session_beat_end(SessionBeat *beat) {
        beat->timer = sd_event_source_disable_unref(beat->timer);
        beat->call = zk_call_free(beat->call);
        if (beat->good != 0)
                beat_disarm(beat);
        beat->zk = NULL;
        beat->sent = beat->good = beat->timeout = beat->counts_from = 0;
        beat->doubt = false;
}
