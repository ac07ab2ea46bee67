/* SystemdLink: one way to PID 1, which comes back by itself: its private socket, or the system bus.
 *
 * A way is up once PID 1 has answered Subscribe on it: a bus without PID 1 is as good as none.
 * Everything is asynchronous, the connecting too; attempts back off from 100 ms to 5 s.
 */
#pragma once

#include <stdbool.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "cleanup.h"

typedef struct SystemdLink SystemdLink;

/* What its owner hears, from the loop. None of them may free the link. */
typedef struct SystemdLinkEvents {
        /* PID 1 has answered; also again, when it executed itself anew while the bus stayed. */
        void (*up)(SystemdLink *link, void *userdata);
        /* It was up, and is about to be closed. */
        void (*down)(SystemdLink *link, void *userdata);
        /* PID 1 has a job now. Told by PID 1 and nobody else, as what follows. */
        void (*systemd_job_added)(SystemdLink *link, const char *unit, void *userdata);
        /* A job of PID 1's has ended. */
        void (*systemd_job_removed)(SystemdLink *link, const char *systemd_job, const char *unit,
                                    const char *word, void *userdata);
} SystemdLinkEvents;

/* Connects to the address, of a bus or (is_private) of PID 1 itself, and for ever tries again.
 * Return: 0 or negative errno. */
int systemd_link_new(sd_event *event, const char *address, bool is_private,
                     const SystemdLinkEvents *events, void *userdata, SystemdLink **ret_link);
/* Tells nothing. */
SystemdLink *systemd_link_free(SystemdLink *link);
DEFINE_CLEANUP(SystemdLink, systemd_link_free);

/* Return: whether PID 1 answers on it at the moment. */
bool systemd_link_is_up(const SystemdLink *link);
/* Return: its connection while it is up, else NULL. Borrowed. */
sd_bus *systemd_link_bus(const SystemdLink *link);
/* The connection's number, another one each time it comes back; 0 while it is not up. */
unsigned systemd_link_generation(const SystemdLink *link);
