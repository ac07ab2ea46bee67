/* See silence.h. */
#include "silence.h"

#include <glib.h>

/* A loop that is so late itself has not heard what came meanwhile. */
#define SILENCE_LATE (1 * USEC_PER_SEC)

struct Silence {
        SilenceEvents events;
        usec_t patience;
        usec_t since; /* CLOCK_MONOTONIC; 0: nothing waits */
        usec_t due;   /* when the timer is */
        bool silent;  /* for longer than the patience */
        bool told;    /* that it is */
        bool asks;    /* something is to be asked */
        bool excused; /* we were late ourselves: given another moment */
        sd_event_source *timer;
};

/* Return: when what waits has waited for too long. */
static usec_t silence_end(const Silence *silence) {
        return silence->since + silence->patience + (silence->excused ? SILENCE_LATE : 0);
}

/* Return: when there is something to be done, CLOCK_MONOTONIC; USEC_INFINITY: once something
 * happens. */
static usec_t silence_due(const Silence *silence) {
        if (silence->asks || silence->told != silence->silent)
                return 0;
        if (silence->since == 0 || silence->silent)
                return USEC_INFINITY;
        return silence_end(silence);
}

static void silence_arm(Silence *silence) {
        usec_t due = silence_due(silence);

        if (due == silence->due)
                return;
        silence->due = due;
        if (due != USEC_INFINITY)
                (void)sd_event_source_set_time(silence->timer, due);
        (void)sd_event_source_set_enabled(silence->timer,
                                          due == USEC_INFINITY ? SD_EVENT_OFF : SD_EVENT_ONESHOT);
}

/* Return: whether we have heard all that came by then. */
static bool silence_is_heard(Silence *silence, usec_t now) {
        bool late = now > silence->since + silence->patience + SILENCE_LATE;

        if (!late || silence->excused)
                return true;
        /* as if it had been sent later */
        silence->since = now - silence->patience;
        silence->excused = true;
        return false;
}

static void silence_look(Silence *silence) {
        usec_t now = clock_monotonic();

        if (silence->since == 0 || silence->silent || now < silence_end(silence))
                return;
        silence->silent = silence_is_heard(silence, now);
}

static int silence_on_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        Silence *silence = userdata;
        bool asks = silence->asks && silence->since > 0;

        silence->due = USEC_INFINITY; /* it has fired, and is off */
        silence->asks = false;
        silence_look(silence);
        if (asks)
                silence->events.ask(silence->events.userdata);
        if (silence->told != silence->silent) {
                silence->told = silence->silent;
                silence->events.changed(silence->told, silence->events.userdata);
        }
        silence_arm(silence);
        return 0;
}

int silence_new(sd_event *event, usec_t patience, const SilenceEvents *events,
                Silence **ret_silence) {
        _cleanup_(silence_freep) Silence *silence = g_new0(Silence, 1);
        int r;

        silence->events = *events;
        silence->patience = patience;
        silence->due = USEC_INFINITY;
        if ((r = sd_event_add_time(event, &silence->timer, CLOCK_MONOTONIC, 0, USEC_PER_MSEC,
                                   silence_on_timer, silence)) < 0 ||
            (r = sd_event_source_set_enabled(silence->timer, SD_EVENT_OFF)) < 0)
                return r;
        *ret_silence = g_steal_pointer(&silence);
        return 0;
}

Silence *silence_free(Silence *silence) {
        if (!silence)
                return NULL;
        sd_event_source_disable_unref(silence->timer);
        g_free(silence);
        return NULL;
}

void silence_waits(Silence *silence) {
        if (silence->since > 0)
                return;
        silence->since = clock_monotonic();
        silence_arm(silence);
}

/* Nothing older waits. */
static void silence_counts_from(Silence *silence, usec_t oldest) {
        silence->since = oldest;
        silence->excused = false;
        silence->asks = false;
        silence->silent =
            silence->silent && oldest > 0 && clock_monotonic() >= oldest + silence->patience;
        silence_arm(silence);
}

void silence_answered(Silence *silence, usec_t oldest) {
        silence_counts_from(silence, oldest);
}

void silence_missed(Silence *silence, usec_t oldest) {
        silence->asks = silence->since > 0 && oldest == 0;
        silence_arm(silence);
}

void silence_let_go(Silence *silence, usec_t oldest) {
        if (silence->silent)
                silence_missed(silence, oldest);
        else
                silence_counts_from(silence, oldest);
}

usec_t silence_lasts(const Silence *silence) {
        return silence->silent ? usec_sub(clock_monotonic(), silence->since) : 0;
}
