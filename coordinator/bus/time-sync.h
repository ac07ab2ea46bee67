/* Waiting for the clock at boot (`wait-for-clock`): until it is synchronised with a time server,
 * nothing is claimed on this machine.
 *
 * The kernel knows whether it is, but our sandbox does not let us ask it (adjtimex() also sets
 * clocks); timedated does, and tells whoever asks. It tells nobody by itself, so it is asked again
 * every few seconds until the first yes. That is remembered until the next boot, over our own
 * restarts too: a time server that is away later is not waited for, and neither is one where nobody
 * can know: in a container, which has its host's clock and is not told, and without a timedated.
 * Nor does a process begin to wait after one that did not, in the midst of a boot.
 */
#pragma once

#include "cleanup.h"
#include "node.h"

/* What systemd makes in a container. */
#define TIME_SYNC_CONTAINER "/run/systemd/container"

typedef struct TimeSync TimeSync;

/* Begins to ask, where there is something to wait for: node->waits_for_clock from then on, until
 * that is over. `container`: TIME_SYNC_CONTAINER. */
TimeSync *time_sync_new(Node *node, const char *container);
TimeSync *time_sync_free(TimeSync *sync);
DEFINE_CLEANUP(TimeSync, time_sync_free);
