/* Comparing our clock with the server's when nothing else does: a write whose stamp tells. It goes
 * to a node of ours that nobody watches, so that it costs one write and nobody a read. */
#pragma once

#include <stdint.h>

#include "cleanup.h"
#include "clock.h"
#include "zk.h"

typedef struct ClockProbe ClockProbe;

typedef struct ClockProbeEvents {
        /* The server wrote at `server_ms` of its clock what was sent at `sent_realtime` of ours. */
        void (*sample)(int64_t server_ms, usec_t sent_realtime, void *userdata);
        void (*missing)(void *userdata); /* there is no such node */
} ClockProbeEvents;

/* `events` lives longer than the probe. */
ClockProbe *clock_probe_new(const char *path, const ClockProbeEvents *events, void *userdata);
ClockProbe *clock_probe_free(ClockProbe *probe);
DEFINE_CLEANUP(ClockProbe, clock_probe_free);

/* What told nothing is not asked again for so long: everybody who is due asks, and the node may be
 * made again only a second later (tree.h). */
#define CLOCK_PROBE_PAUSE (500 * USEC_PER_MSEC)

/* Asks unless that is under way, or told nothing just now; NULL zk: nothing. */
void clock_probe_ask(ClockProbe *probe, Zk *zk);
/* Return: for how long it asks nothing. */
usec_t clock_probe_pause_left(const ClockProbe *probe);
/* The session is gone. */
void clock_probe_reset(ClockProbe *probe);
