/* Three real ZooKeeper servers that form an ensemble, on ports of 127.0.0.1: for tests of what
 * happens when one of them goes, stands still or lags. */
#pragma once

#include "helper-zookeeper.h"

#define ENSEMBLE_SIZE 3

typedef struct Ensemble Ensemble;

/* Starts them and waits until each serves clients. */
Ensemble *ensemble_new(unsigned tick_ms);
Ensemble *ensemble_free(Ensemble *ensemble);
DEFINE_CLEANUP(Ensemble, ensemble_free);

/* One of them, to kill, freeze, thaw and start. Borrowed. */
ZooKeeperServer *ensemble_server(Ensemble *ensemble, size_t index);
const char *ensemble_address(Ensemble *ensemble, size_t index);
/* Which one has this address. */
size_t ensemble_find(Ensemble *ensemble, const char *address);
/* Which one leads; waits until one does. None of those that are asked may be frozen. */
size_t ensemble_leader(Ensemble *ensemble);
