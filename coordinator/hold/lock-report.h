/* A survey of locks as JSON: what the daemon answers to Locks(), and what `jobkeeper locks` makes
 * of its own survey where no daemon runs. Payloads are whatever somebody wrote into a znode: only
 * the members we know are taken from them, each cut to a length that fits a table. Pure. */
#pragma once

#include <jansson.h>

#include "lock-survey.h"

/* `entries` and `unreadable` (may be NULL) as a survey gives them. A resource that was asked for by
 * name (`asked`, may be NULL) appears also when nobody stands in its queue. `privileged`: with the
 * sessions' ids, of which their passwords can be told. Return: a new reference, the object that
 * bus-interface.h describes under Locks. */
json_t *lock_report(const GPtrArray *entries, const GPtrArray *unreadable, const char *asked,
                    usec_t now, bool privileged);
