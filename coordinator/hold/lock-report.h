/* A survey of locks as JSON: what the daemon answers to Locks(), and what `jobkeeper locks` makes
 * of its own survey where no daemon runs. Payloads are whatever somebody wrote into a znode: only
 * the members we know are taken from them, each cut to a length that fits a table. Pure. */
#pragma once

#include <jansson.h>

#include "lock-survey.h"

/* A report that is being written. */
typedef struct LockReport LockReport;

/* `entries` and `unreadable` (may be NULL) as a survey gives them, borrowed while it is written. A
 * resource that was asked for by name (`asked`, may be NULL) appears also when nobody stands in its
 * queue. `privileged`: with the sessions' ids, of which their passwords can be told. */
LockReport *lock_report_new(const GPtrArray *entries, const GPtrArray *unreadable,
                            const char *asked, usec_t now, bool privileged);
LockReport *lock_report_free(LockReport *report);
DEFINE_CLEANUP(LockReport, lock_report_free);
/* Appends what comes next, one contender or so, to the text, which holds nothing else. Return:
 * whether there is more; if not, it is the object that bus-interface.h describes under Locks. */
bool lock_report_write(LockReport *report, GString *text);

/* All of it, with arguments as above. Return: a new reference. */
json_t *lock_report(const GPtrArray *entries, const GPtrArray *unreadable, const char *asked,
                    usec_t now, bool privileged);
