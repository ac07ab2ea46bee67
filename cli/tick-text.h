/* Ticks as people type them, and the time zone that they mean. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

/* What to write instead of what is no tick. */
#define TICK_TEXT_ADVICE "\"2026-11-21 02:30\", \"@SECONDS\", or the id of a run"

/* Reads a time as it is shown, or the id of one of the tick's runs. Return: whether it can be one:
 * not what is before 1970. */
bool tick_from_text(const char *text, GTimeZone *zone, int64_t *ret_tick);
/* `name`: as --timezone has it; NULL: the local one. Return: whether there is one, with *ret_zone;
 * else it is said, with *ret_exit. */
bool tick_zone_is_given(const char *command, const char *name, GTimeZone **ret_zone, int *ret_exit);
