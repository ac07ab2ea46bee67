/* When a calendar expression elapses in a time zone: local times become instants, and this is the
 * place where daylight saving is dealt with, by the rules that schedule.h states. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "calendar.h"
#include "dst.h"
#include "timezone.h"

/* The first elapse after, and the last before, an epoch second (both exclusive). Return: false when
 * there is none. */
bool elapse_next(const Calendar *calendar, const Zone *zone, const Dst *dst, int64_t after,
                 int64_t *ret_tick);
bool elapse_previous(const Calendar *calendar, const Zone *zone, const Dst *dst, int64_t before,
                     int64_t *ret_tick);

/* Return: whether it matters what becomes of fixed local times. */
bool elapse_has_fixed_times(const Calendar *calendar, const Zone *zone);
