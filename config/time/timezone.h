/* A time zone: the spans of constant offset between its changes, over GTimeZone.
 *
 * Only questions about UTC instants are put to GLib, for they have one answer. What a local time
 * means (once, twice or never) is worked out from them here: GLib's own answers for local times
 * name an overlap's passes by "standard" and "daylight", which some zones have the other way round,
 * and give no instant for a gap.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cleanup.h"

/* More than any offset differs from UTC, and than any two differ from another, since 1970. */
#define ZONE_SHIFT_MAX INT64_C(108000)

typedef struct Zone Zone;

/* Return: NULL when tzdata lists no such zone. "UTC" is always there. */
Zone *zone_new(const char *name);
Zone *zone_free(Zone *zone);
DEFINE_CLEANUP(Zone, zone_free);

const char *zone_name(const Zone *zone);

/* Return: whether the zone is UTC itself, which has one span. */
bool zone_is_utc(const Zone *zone);

/* The span that an instant falls in (spans are numbered in order of time), and a span's offset:
 * local time minus UTC, in seconds. */
int zone_span(const Zone *zone, int64_t utc);
int64_t zone_span_offset(const Zone *zone, int span);

/* Return: the first second of `span`, which must begin in (low, high]. */
int64_t zone_span_begin(const Zone *zone, int span, int64_t low, int64_t high);

/* Return: the instant at which a local time comes: the first where it comes twice; where it does
 * not exist, the end of the gap. Never falls as `local` grows. */
int64_t zone_first_instant(const Zone *zone, int64_t local);

/* Return: the greatest local time whose zone_first_instant() is not after `utc`. */
int64_t zone_last_local(const Zone *zone, int64_t utc);

/* The other way round: the last instant at which a local time comes (that does not exist: the end
 * of the gap), and the greatest local time of which that is not after `utc`. */
int64_t zone_last_instant(const Zone *zone, int64_t local);
int64_t zone_last_local_over(const Zone *zone, int64_t utc);

/* Return: whether a local time never comes. Then *ret_before and *ret_after are the last local time
 * that comes before it and the first after it. */
bool zone_is_gap(const Zone *zone, int64_t local, int64_t *ret_before, int64_t *ret_after);

/* Return: whether tzdata lists this zone name (no "/etc/localtime", no "posix/...", no
 * "right/..."). */
bool timezone_is_valid(const char *name);
