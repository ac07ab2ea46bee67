/* See lock-outcome.h.
 *
 * The parts of the recipes announce what they find on the way, and go on with what they do. Its
 * owner hears of it from an event source: what ends it first, and of what goes on only while it is
 * held. Past the deadline nothing is held: then the session is about to say so.
 */
#include "lock-outcome.h"

#include <glib.h>

#include "lock-backoff.h"
#include "timer.h"

/* What waits and holds for less is spared the watch on its own contender. */
#define WATCH_LATER (20 * USEC_PER_MSEC)

/* An outcome after which nothing else comes first; what goes on is told in its order. */
static const LockEvent delivery_order[] = {
    LOCK_EVENT_LOST, LOCK_EVENT_FAILED,     LOCK_EVENT_TIMEOUT,
    LOCK_EVENT_HELD, LOCK_EVENT_DOWNGRADED, LOCK_EVENT_REVOKED,
};

static bool event_is_final(LockEvent event) {
        return event == LOCK_EVENT_LOST || event == LOCK_EVENT_FAILED ||
               event == LOCK_EVENT_TIMEOUT;
}

/* Takes the next event that may be told now. Return: whether there is one. */
static bool outcome_take(Outcome *outcome, LockEvent *ret_event) {
        for (size_t i = 0; i < G_N_ELEMENTS(delivery_order); i++) {
                LockEvent event = delivery_order[i];

                if (!(outcome->pending & (1U << event)) ||
                    (!event_is_final(event) && !outcome_is_held(outcome)))
                        continue;
                outcome->pending = event_is_final(event) ? 0 : outcome->pending & ~(1U << event);
                *ret_event = event;
                return true;
        }
        return false;
}

static int outcome_on_deliver(sd_event_source *source, void *userdata) {
        Outcome *outcome = userdata;
        LockEvent event;

        if (outcome_is_held(outcome) && outcome_held_until(outcome) <= clock_boottime())
                return 0;
        if (!outcome_take(outcome, &event))
                return 0;
        if (outcome->pending != 0)
                (void)sd_event_source_set_enabled(outcome->deliver, SD_EVENT_ONESHOT);
        outcome->funcs->tell(event, outcome->userdata);
        return 0;
}

static void outcome_on_timeout(void *userdata) {
        outcome_announce(userdata, LOCK_EVENT_TIMEOUT);
}

int outcome_init(Outcome *outcome, Session *session, usec_t wait, const OutcomeFuncs *funcs,
                 void *userdata) {
        sd_event *event = session_event_loop(session);
        int r;

        *outcome = (Outcome){.session = session,
                             .funcs = funcs,
                             .userdata = userdata,
                             .aim = wait == 0 ? OUTCOME_TRY : OUTCOME_WAIT};
        r = sd_event_add_defer(event, &outcome->deliver, outcome_on_deliver, outcome);
        if (r >= 0)
                r = sd_event_source_set_enabled(outcome->deliver, SD_EVENT_OFF);
        if (r >= 0 && wait > 0 && wait < USEC_INFINITY)
                r = timer_in(event, &outcome->timeout, wait, outcome_on_timeout, outcome);
        return r;
}

static void outcome_disarm(Outcome *outcome) {
        outcome->timeout = sd_event_source_disable_unref(outcome->timeout);
        outcome->retry = sd_event_source_disable_unref(outcome->retry);
        outcome->watch_later = sd_event_source_disable_unref(outcome->watch_later);
}

void outcome_clear(Outcome *outcome) {
        outcome->deliver = sd_event_source_disable_unref(outcome->deliver);
        outcome_disarm(outcome);
        g_clear_pointer(&outcome->fault, g_free);
        g_free((char *)outcome->options.payload);
        outcome->options.payload = NULL;
}

usec_t outcome_held_until(const Outcome *outcome) {
        return outcome_is_held(outcome) && outcome->session ? session_held_until(outcome->session)
                                                            : 0;
}

void outcome_announce(Outcome *outcome, LockEvent event) {
        if (outcome_is_over(outcome))
                return;
        /* What was held before us may be in use still: its contenders stay until lock_set_free().
         */
        if (outcome_adopts(outcome) && event == LOCK_EVENT_FAILED)
                event = LOCK_EVENT_LOST;
        outcome->pending |= 1U << event;
        if (event_is_final(event)) {
                outcome->state = OUTCOME_OVER;
                outcome_disarm(outcome);
        } else if (event == LOCK_EVENT_HELD) {
                outcome->state = OUTCOME_HELD;
                outcome->timeout = sd_event_source_disable_unref(outcome->timeout);
        }
        (void)sd_event_source_set_enabled(outcome->deliver, SD_EVENT_ONESHOT);
}

bool outcome_may_wait(Outcome *outcome) {
        if (outcome->aim != OUTCOME_WAIT)
                outcome_announce(outcome,
                                 outcome_adopts(outcome) ? LOCK_EVENT_LOST : LOCK_EVENT_TIMEOUT);
        return outcome->aim == OUTCOME_WAIT;
}

static void outcome_end_for(Outcome *outcome, LockEvent event, const char *format,
                            va_list arguments) __attribute__((format(printf, 3, 0)));
static void outcome_end_for(Outcome *outcome, LockEvent event, const char *format,
                            va_list arguments) {
        if (outcome_is_over(outcome))
                return;
        outcome->fault = g_strdup_vprintf(format, arguments);
        outcome_announce(outcome, event);
}

void outcome_fail(Outcome *outcome, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        outcome_end_for(outcome, LOCK_EVENT_FAILED, format, arguments);
        va_end(arguments);
}

void outcome_lose(Outcome *outcome, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        outcome_end_for(outcome, LOCK_EVENT_LOST, format, arguments);
        va_end(arguments);
}

static void outcome_on_retry(void *userdata) {
        Outcome *outcome = userdata;

        if (outcome->session && session_state(outcome->session) == SESSION_CONNECTED)
                outcome->funcs->retry(outcome->userdata);
}

void outcome_stall(Outcome *outcome) {
        if (outcome->retry || outcome_is_over(outcome))
                return;
        (void)timer_in(session_event_loop(outcome->session), &outcome->retry,
                       lock_backoff(outcome->failures++), outcome_on_retry, outcome);
}

static void outcome_on_watch_later(void *userdata) {
        Outcome *outcome = userdata;

        outcome->funcs->watch(outcome->userdata);
}

void outcome_watch_later(Outcome *outcome) {
        if (outcome->watch_later || outcome_is_over(outcome))
                return;
        if (timer_in(session_event_loop(outcome->session), &outcome->watch_later, WATCH_LATER,
                     outcome_on_watch_later, outcome) < 0)
                outcome_on_watch_later(outcome);
}

void outcome_note_clock(Outcome *outcome, const ZkReply *reply) {
        if (outcome->sampled)
                return;
        outcome->sampled = true;
        outcome->sample_server = (usec_t)reply->stat.ctime_ms * USEC_PER_MSEC;
        outcome->sample_sent = reply->sent_realtime;
        outcome->sample_received = clock_realtime();
}
