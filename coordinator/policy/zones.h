/* Which time zone data are in force for a job.
 *
 * A schedule in local time means what the machine's time zone data say, and these change while the
 * definition does not: a package is updated on one node today and on the next one tomorrow. For all
 * nodes to compute the same ticks meanwhile, the ledger says which changes of offset are in force
 * (ledger.h), and the first node whose own data changed since it last agreed puts them there. For
 * the others nothing changes before the first instant at which theirs differ, mostly the clock
 * change of a season to come; from then on they leave the job to those that agree, until they are
 * updated, too.
 *
 * To know whether our own data changed, or only the ledger, we remember what ours said about the
 * span that was compared: the same text from the same instant. Pure.
 */
#pragma once

#include "ledger.h"

typedef enum ZonesVerdict {
        ZONES_AGREE,  /* ours are those in force, or there are none to compare */
        ZONES_OURS,   /* ours changed since we last agreed: they are to be put in force */
        ZONES_LATER,  /* they differ only from an instant on that is to come */
        ZONES_DIFFER, /* they differ already */
} ZonesVerdict;

/* `remembered` is what zones_to_remember() was when we last agreed, or NULL. */
ZonesVerdict zones_judge(const Ledger *ledger, const Schedule *schedule, const char *remembered,
                         int64_t now);

/* Return: newly allocated (g_free), what to remember once this ledger's zones are ours; "" where
 * there are none. One word. */
char *zones_to_remember(const Ledger *ledger, const Schedule *schedule);

/* Return: the first instant at which two lists of changes tell of different offsets: INT64_MIN when
 * they begin differently, INT64_MAX when they are equal. */
int64_t zones_part_at(const char *ours, const char *theirs);

/* The ledger's zones are noted anew, with the next write, once so much of the span is over. */
#define ZONES_AGE_MAX (INT64_C(366) * 86400)
