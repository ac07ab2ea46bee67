/* The heartbeat, and what follows from it: until when our locks are ours.
 *
 * A heartbeat is a sync, one in flight at a time; what counts is when it was *sent*. A sync is
 * answered by the leader alone, and a leader that was cut off or frozen goes on answering for a
 * while. So after a gap (a lost connection, an answer slower than a tick, a loop of ours that stood
 * still for longer than that) a heartbeat is a write instead: a multi of nothing but a check. It
 * changes nothing, but it is a transaction, and only a quorum can commit it. The first heartbeat of
 * every connection is such a write, so a session begins with a proof.
 *
 * The deadline itself needs no server: two timers on CLOCK_BOOTTIME, moved with each good
 * heartbeat.
 */
#include <errno.h>
#include <time.h>

#include "session-private.h"

static void beat(Session *session);

void session_arm(Session *session, sd_event_source **source, clockid_t clock, usec_t at,
                 sd_event_time_handler_t func) {
        int r;

        if (*source) {
                r = sd_event_source_set_time(*source, at);
                if (r >= 0)
                        r = sd_event_source_set_enabled(*source, SD_EVENT_ONESHOT);
        } else {
                r = sd_event_add_time(session->event, source, clock, at, 1, func, session);
                if (r >= 0)
                        r = sd_event_source_set_exit_on_failure(*source, true);
        }
        if (r < 0)
                (void)sd_event_exit(session->event, r);
}

static usec_t in_force(const Session *session, usec_t own, usec_t inherited) {
        if (session->ending != ENDING_NOT)
                return 0;
        return session->established ? own : inherited;
}

usec_t session_held_until(const Session *session) {
        return in_force(session, session->until, session->inherited_until);
}

usec_t session_stop_at(const Session *session) {
        return in_force(session, session->stop_at, session->inherited_stop_at);
}

/* Where the last good heartbeat puts them, by what is known of the servers now. */
static void count_deadline(const Session *session, usec_t *ret_until, usec_t *ret_stop_at) {
        *ret_until = usec_add(session->good, deadline_lease(&session->rule, session->timeout));
        *ret_stop_at =
            usec_add(session->good, deadline_stop_after(&session->rule, session->timeout));
}

usec_t session_heard(const Session *session) {
        return session->established ? session->good : 0;
}

static int on_stop(sd_event_source *source, uint64_t usec, void *userdata) {
        Session *session = userdata;

        (void)source;
        (void)usec;
        if (clock_boottime() < session_stop_at(session) || session_stop_at(session) == 0 ||
            session->stopped)
                return 0;
        session->stopped = true;
        (void)session_emit(session, SESSION_EVENT_STOP);
        return 0;
}

/* Return: whether the deadline has passed. */
static bool is_over(const Session *session) {
        return session_held_until(session) > 0 && clock_boottime() >= session_held_until(session);
}

static int on_lost(sd_event_source *source, uint64_t usec, void *userdata) {
        Session *session = userdata;

        (void)source;
        (void)usec;
        if (is_over(session))
                session_lose(session);
        return 0;
}

void session_beat_arm(Session *session) {
        if (session->established)
                session_file_it(session);
        session_arm(session, &session->stop, CLOCK_BOOTTIME, session_stop_at(session), on_stop);
        session_arm(session, &session->lost, CLOCK_BOOTTIME, session_held_until(session), on_lost);
}

void session_beat_recount(Session *session) {
        usec_t until, stop_at;

        count_deadline(session, &until, &stop_at);
        session->until = MIN(session->until, until);
        session->stop_at = MIN(session->stop_at, stop_at);
        session_beat_arm(session);
}

/* A heartbeat that was sent then proves that the session was alive then. How much that is worth is
 * not known before its server was asked. */
static void on_good(Session *session, usec_t sent) {
        if (is_over(session)) {
                session_lose(session); /* too late: the timer is about to say the same */
                return;
        }
        if (session_probe_waits(session))
                return;
        session->good = MAX(session->good, sent);
        count_deadline(session, &session->until, &session->stop_at);
        if (!session->established) {
                session_established(session);
                return;
        }
        session_beat_arm(session);
        if (session->state == SESSION_CONNECTED && !session->stopped)
                return;
        session->state = SESSION_CONNECTED;
        session->stopped = false;
        (void)session_emit(session, SESSION_EVENT_RESUMED);
}

static void on_answer(Session *session, const ZkReply *reply, bool write) {
        bool slow = clock_boottime() > usec_add(reply->sent, session->rule.tick_time);

        session->beat_call = NULL;
        if (session->ending != ENDING_NOT || zk_state(session->zk) != ZK_STATE_CONNECTED)
                return;
        /* A multi that fails is a transaction, too: who may not read the root still gets his proof.
         */
        if (reply->code != ZK_OK && !(write && reply->code == ZK_NO_AUTH)) {
                session->doubt = true;
                return;
        }
        if (!write && (slow || session->doubt)) {
                session->doubt = true;
                beat(session);
                return;
        }
        if (write)
                session->doubt = false;
        on_good(session, reply->sent);
}

static void on_sync(const ZkReply *reply, void *userdata) {
        on_answer(userdata, reply, false);
}

static void on_write(const ZkReply *reply, void *userdata) {
        on_answer(userdata, reply, true);
}

static void beat(Session *session) {
        const ZkOp check = {.type = ZK_OP_CHECK, .path = "/", .version = -1};
        usec_t now = clock_boottime();
        int r;

        if (session->beat_call)
                return;
        if (session->beat_sent != 0 &&
            now > usec_add(session->beat_sent, session->rule.heartbeat + session->rule.tick_time))
                session->doubt = true;
        r = session->doubt
                ? zk_multi(session->zk, &check, 1, on_write, session, &session->beat_call)
                : zk_sync(session->zk, "/", on_sync, session, &session->beat_call);
        if (r < 0)
                return; /* the port is over, and is about to say so */
        session->beat_sent = now;
}

static int on_beat(sd_event_source *source, uint64_t usec, void *userdata) {
        Session *session = userdata;

        (void)source;
        (void)usec;
        if (zk_state(session->zk) != ZK_STATE_CONNECTED)
                return 0;
        beat(session);
        session_arm(session, &session->beat, CLOCK_BOOTTIME,
                    clock_boottime() + session->rule.heartbeat, on_beat);
        return 0;
}

void session_beat_now(Session *session) {
        session_arm(session, &session->beat, CLOCK_BOOTTIME, clock_boottime(), on_beat);
}

void session_beat_begin(Session *session) {
        /* The server may have granted less than before, or more. */
        session->timeout = zk_timeout(session->zk);
        session->doubt = true;
        if (session->established)
                session_beat_recount(session);
        session_beat_now(session);
}

void session_beat_suspend(Session *session) {
        session->doubt = true;
        if (session->beat)
                (void)sd_event_source_set_enabled(session->beat, SD_EVENT_OFF);
}

void session_beat_end(Session *session) {
        session->beat = sd_event_source_disable_unref(session->beat);
        /* The deadline of the process before us does not depend on how our attempts fare. */
        if (session->inherited_until == 0) {
                session->stop = sd_event_source_disable_unref(session->stop);
                session->lost = sd_event_source_disable_unref(session->lost);
                session->stopped = false;
        }
        session->beat_call = zk_call_free(session->beat_call);
        session->beat_sent = 0;
        session->doubt = false;
        session->good = 0;
        session->timeout = session->until = session->stop_at = 0;
}
