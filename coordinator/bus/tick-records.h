/* Which of a job's records tell of a tick: of the runs that it had, or of the stretch of skipped
 * ticks that it is in. A run that was asked for has its tick from what it follows, which is not in
 * its name. Pure. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#include "run-record.h"
#include "zk.h"

/* Return: whether it is a record of that tick: its own, one that skips it, or of a run that has the
 * tick from what it follows. */
bool tick_record_is_of(const RunRecord *record, int64_t tick);
/* Return: newly allocated, those of the names that are a run's and begin with the tick, by their
 * attempts, `requested` also those of runs that were asked for; borrowed from the reply. */
GPtrArray *tick_names_of(const ZkReply *reply, int64_t tick, bool requested);
/* Return: the record of the last stretch of skipped ticks that begins no later than the tick, as it
 * is named; NULL: there is none. */
const char *tick_stretch_before(const ZkReply *reply, int64_t tick);
