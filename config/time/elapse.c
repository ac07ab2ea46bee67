/* Calendar expression + time zone = instants.
 *
 * An expression of fixed local times maps each of them to one instant, zone_first_instant() or
 * zone_last_instant(), or to both. Neither map ever falls, so that the neighbour of an instant is
 * the neighbour of a local time, and no search is needed, but over gaps that are to be skipped.
 *
 * An hourly expression follows real time: an instant elapses when the local time it has does.
 * Within one span of constant offset that is again the neighbour of a local time; where the answer
 * lies beyond the span's end, the search goes on from there, in the next span. So that it does not
 * walk over every change of many years, it then jumps to the neighbourhood of the answer it had:
 * offsets differ by ZONE_SHIFT_MAX at most, hence nothing that lies further than that from both
 * ends of a stretch without elapsing local times can elapse.
 */
#include "elapse.h"

#include <glib.h>

/* One of the two maps from local times to instants. */
typedef struct FixedMap {
        int64_t (*instant)(const Zone *zone, int64_t local);
        int64_t (*local)(const Zone *zone, int64_t utc);
} FixedMap;

static const FixedMap fixed_first = {zone_first_instant, zone_last_local};
static const FixedMap fixed_last = {zone_last_instant, zone_last_local_over};

static bool fixed_next_by(const FixedMap *map, const Calendar *calendar, const Zone *zone,
                          bool skips, int64_t after, int64_t *ret_tick) {
        int64_t local, before_gap, after_gap, from = map->local(zone, after);

        while (calendar_next(calendar, from, &local)) {
                if (!skips || !zone_is_gap(zone, local, &before_gap, &after_gap)) {
                        *ret_tick = map->instant(zone, local);
                        return true;
                }
                from = after_gap - 1;
        }
        return false;
}

static bool fixed_previous_by(const FixedMap *map, const Calendar *calendar, const Zone *zone,
                              bool skips, int64_t before, int64_t *ret_tick) {
        int64_t local, before_gap, after_gap, from = map->local(zone, before - 1) + 1;

        while (calendar_previous(calendar, from, &local)) {
                if (!skips || !zone_is_gap(zone, local, &before_gap, &after_gap)) {
                        *ret_tick = map->instant(zone, local);
                        return true;
                }
                from = before_gap + 1;
        }
        return false;
}

static bool fixed_next(const Calendar *calendar, const Zone *zone, const Dst *dst, int64_t after,
                       int64_t *ret_tick) {
        const FixedMap *map = dst->overlap == DST_OVERLAP_LAST ? &fixed_last : &fixed_first;
        bool skips = dst->gap == DST_GAP_SKIP, found;
        int64_t tick, other;

        found = fixed_next_by(map, calendar, zone, skips, after, &tick);
        if (dst->overlap == DST_OVERLAP_BOTH &&
            fixed_next_by(&fixed_last, calendar, zone, skips, after, &other)) {
                tick = found ? MIN(tick, other) : other;
                found = true;
        }
        if (found)
                *ret_tick = tick;
        return found;
}

static bool fixed_previous(const Calendar *calendar, const Zone *zone, const Dst *dst,
                           int64_t before, int64_t *ret_tick) {
        const FixedMap *map = dst->overlap == DST_OVERLAP_LAST ? &fixed_last : &fixed_first;
        bool skips = dst->gap == DST_GAP_SKIP, found;
        int64_t tick, other;

        found = fixed_previous_by(map, calendar, zone, skips, before, &tick);
        if (dst->overlap == DST_OVERLAP_BOTH &&
            fixed_previous_by(&fixed_last, calendar, zone, skips, before, &other)) {
                tick = found ? MAX(tick, other) : other;
                found = true;
        }
        if (found)
                *ret_tick = tick;
        return found;
}

static bool hourly_next(const Calendar *calendar, const Zone *zone, int64_t after,
                        int64_t *ret_tick) {
        for (;;) {
                int span = zone_span(zone, after + 1);
                int64_t offset = zone_span_offset(zone, span), local, probe, end;
                bool found = calendar_next(calendar, after + offset, &local);

                probe = found ? local - offset : after + ZONE_SHIFT_MAX;
                if (zone_span(zone, probe) == span) {
                        if (found)
                                *ret_tick = probe;
                        return found;
                }
                end = zone_span_begin(zone, span + 1, after + 1, probe);
                if (found && end > after + ZONE_SHIFT_MAX)
                        end = MAX(end, probe - ZONE_SHIFT_MAX);
                after = end - 1;
        }
}

static bool hourly_previous(const Calendar *calendar, const Zone *zone, int64_t before,
                            int64_t *ret_tick) {
        for (;;) {
                int span = zone_span(zone, before - 1);
                int64_t offset = zone_span_offset(zone, span), local, probe, begin;
                bool found = calendar_previous(calendar, before + offset, &local);

                probe = found ? local - offset : before - ZONE_SHIFT_MAX;
                if (zone_span(zone, probe) == span) {
                        if (found)
                                *ret_tick = probe;
                        return found;
                }
                begin = zone_span_begin(zone, span, probe, before - 1);
                if (found && begin < before - ZONE_SHIFT_MAX)
                        begin = MIN(begin, probe + ZONE_SHIFT_MAX);
                before = begin;
        }
}

bool elapse_has_fixed_times(const Calendar *calendar, const Zone *zone) {
        return !calendar_is_hourly(calendar) && !zone_is_utc(zone);
}

bool elapse_next(const Calendar *calendar, const Zone *zone, const Dst *dst, int64_t after,
                 int64_t *ret_tick) {
        if (calendar_is_hourly(calendar) && !zone_is_utc(zone))
                return hourly_next(calendar, zone, after, ret_tick);
        return fixed_next(calendar, zone, dst, after, ret_tick);
}

bool elapse_previous(const Calendar *calendar, const Zone *zone, const Dst *dst, int64_t before,
                     int64_t *ret_tick) {
        if (calendar_is_hourly(calendar) && !zone_is_utc(zone))
                return hourly_previous(calendar, zone, before, ret_tick);
        return fixed_previous(calendar, zone, dst, before, ret_tick);
}
