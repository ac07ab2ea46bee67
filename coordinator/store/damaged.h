/* Records of runs that somebody wrote over. Nothing can be learnt from one, so its run is settled
 * as unknown once nothing of it can live any more; what stood there is kept beside the records
 * first, for people to look at. */
#pragma once

#include <stddef.h>

#include "zk.h"

/* Why such a run is unknown. */
#define DAMAGED_WHY "its record in ZooKeeper was damaged"

/* Keeps a copy, by a request that goes before whatever is asked for next, and says where. The first
 * one of a run stays. */
void damaged_keep(Zk *zk, const char *root, const char *job, const char *run, const char *data,
                  size_t size);
