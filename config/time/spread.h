/* Spread: by how much the start of a tick is delayed, so that what is due at one moment does not
 * begin at one moment. Pure. */
#pragma once

#include <stdint.h>

/* Return: from 0 to `most` seconds, both included, all about equally often: the same for this job
 * and tick on every machine, in every version. */
int64_t spread_of(const char *job, int64_t tick, int64_t most);
