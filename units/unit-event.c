/* See unit-event.h. */
#include "unit-event.h"

static unsigned events_next(const UnitEvents *events) {
        return events->held ? events->waiting & (1U << UNIT_EVENT_STARTED) : events->waiting;
}

static void events_arm(UnitEvents *events) {
        (void)sd_event_source_set_enabled(events->teller,
                                          events_next(events) ? SD_EVENT_ONESHOT : SD_EVENT_OFF);
}

static int events_on_turn(sd_event_source *source, void *userdata) {
        UnitEvents *events = userdata;
        unsigned next = events_next(events);

        for (UnitEvent event = UNIT_EVENT_STARTED; event <= UNIT_EVENT_ABSENT; event++)
                if (next & (1U << event)) {
                        events->waiting &= ~(1U << event);
                        events_arm(events);
                        events->func(event, events->userdata); /* may free the events */
                        return 0;
                }
        return 0;
}

int unit_events_init(UnitEvents *events, sd_event *event, UnitEventFunc func, void *userdata) {
        int r = sd_event_add_defer(event, &events->teller, events_on_turn, events);

        events->func = func;
        events->userdata = userdata;
        return r < 0 ? r : sd_event_source_set_enabled(events->teller, SD_EVENT_OFF);
}

void unit_events_add(UnitEvents *events, UnitEvent event) {
        events->waiting |= 1U << event;
        events_arm(events);
}

void unit_events_hold(UnitEvents *events, bool held) {
        events->held = held;
        events_arm(events);
}
