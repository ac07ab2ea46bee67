/* Times and spans as people read them. Pure: "now" and the zone are given. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* Return: newly allocated (g_free), "2026-11-21 02:30:00"; "-" for what is no time of the years 1
 * to 9999. */
char *time_to_text(double epoch, GTimeZone *zone);

/* Reads a time as it is shown, "2026-11-21 02:30" with or without seconds, in `zone`, or as "@" and
 * a number of seconds. Return: whether it is one. */
bool time_from_text(const char *text, GTimeZone *zone, int64_t *ret_epoch);

/* Return: the part of a time's text that differs: without the date where that is the other's. */
const char *time_without_day_of(const char *time, const char *other);

/* Return: newly allocated (g_free): "in 3h 2min", "4min 10s ago", "now". */
char *time_relative(double epoch, double now);

/* Return: newly allocated (g_free): both, without the date where that is today's:
 * "2026-11-22 02:30:00 (in 1d 3h)", "02:30:00 (3min ago)". */
char *time_with_age(double epoch, double now, GTimeZone *zone);

/* Return: newly allocated (g_free), the two largest units of a span: "12ms", "4.1s", "3min 20s",
 * "2d 4h". */
char *span_to_text(double seconds);
