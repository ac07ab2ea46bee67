/* What is told of a unit, and when: from the loop, one event a round, in the order of the enum,
 * never from inside the call that caused it. */
#pragma once

#include <stdbool.h>
#include <systemd/sd-event.h>

/* In this order, each once at most. A unit that never ran has ENDED alone. After a failure PID 1
 * keeps the start job until what is left is dead, so that EXITED then comes together with ENDED. */
typedef enum UnitEvent {
        /* The start job began (or an adopted unit is running): invocation id is known. Of one that
         * says itself when it has started: it has said so. */
        UNIT_EVENT_STARTED,
        /* Main process ended: unit_result() is final but for CPU time; what is left is being
         * killed. */
        UNIT_EVENT_EXITED,
        /* Cgroup is empty (or never was): unit_result() is final. Always the last one. */
        UNIT_EVENT_ENDED,
        /* unit_adopt(): no such unit, or it has another nonce. The last event, without ENDED. */
        UNIT_EVENT_ABSENT,
} UnitEvent;
typedef void (*UnitEventFunc)(UnitEvent event, void *userdata);

typedef struct UnitEvents {
        sd_event_source *teller; /* the owner frees it */
        unsigned waiting;        /* bits of UnitEvent */
        bool held;               /* none but STARTED is told */
        UnitEventFunc func;
        void *userdata;
} UnitEvents;

/* Return: 0 or negative errno. */
int unit_events_init(UnitEvents *events, sd_event *event, UnitEventFunc func, void *userdata);
void unit_events_add(UnitEvents *events, UnitEvent event);
/* The result is not known for certain yet, or it is. */
void unit_events_hold(UnitEvents *events, bool held);
