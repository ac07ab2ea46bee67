/* What is told to the service manager (sd_notify(3)), without ever waiting for it.
 *
 * The manager's socket has room for a few hundred messages of everybody's, and sd_notify() waits
 * while it is full: a manager that is busy starting thousands of units would hold up the loop, and
 * with it the heartbeats that say when a lock is lost. Here what cannot be told at once waits until
 * there is room. Of messages that begin with the same variable only the newest waits, so there are
 * never more than there are kinds.
 *
 * The same goes for the watchdog: sd_event_set_watchdog() waits like sd_notify().
 */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <systemd/sd-event.h>

#include "cleanup.h"

typedef struct Notify Notify;

/* Return: whether a service manager wants to be told: it has started this process. */
bool notify_has_manager(void);

/* `$NOTIFY_SOCKET` is looked at with the first message; where there is none, nobody is told. */
Notify *notify_new(sd_event *event);
/* What waits is tried once more. */
Notify *notify_free(Notify *notify);
DEFINE_CLEANUP(Notify, notify_free);

/* Tells these assignments, one a line. NULL notify: nobody. */
void notify_say(Notify *notify, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* From now on the manager's watchdog hears of us as long as the loop turns, if it wants to
 * ($WATCHDOG_USEC). Return: 0 or negative errno. */
int notify_watchdog(Notify *notify);
