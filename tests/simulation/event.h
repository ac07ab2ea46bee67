/* sd-event for a simulation: one loop object a daemon, as the product makes them, and all of them
 * driven by the queue of the world.
 *
 * The functions are libsystemd's own, as far as the product uses them (event.c, event-source.c;
 * linked before libsystemd). A loop belongs to the process on whose turn it was made; its turns are
 * the process's. A turn takes what became due and calls one callback, the first by priority and by
 * how long it has been due, as sd_event_run() does, and takes some microseconds of true time. What
 * a callback makes due comes in a later turn. A timer is late by as much as its accuracy allows, by
 * the seed.
 *
 * What the loop must be told is that a descriptor may be ready: there is no polling.
 */
#pragma once

#include <systemd/sd-event.h>

/* Every loop of the process whose turn it is looks at its descriptors. */
void event_descriptors_changed(void);

/* `func` is called on the process's turn once the turn is over in which sd_event_exit() was called;
 * it may free all that uses the loop. */
typedef void (*EventExitFunc)(int code, void *userdata);
void event_on_exit(sd_event *event, EventExitFunc func, void *userdata);
