/* A schedule: the union of its expressions and intervals.
 *
 * Each entry can say what its neighbours of an instant are, at a cost that does not depend on the
 * distance; the schedule's are the nearest among them. What an expression means is in calendar.h,
 * what a zone does to it in elapse.h.
 */
#include "schedule.h"

#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <string.h>

#include "calendar.h"
#include "cron-hint.h"
#include "duration.h"
#include "elapse.h"
#include "exceptions.h"
#include "spread.h"
#include "timezone.h"

#define TICK_MIN INT64_C(0)
#define INTERVAL_PREFIX "every "
#define DELAY_PREFIX "random-delay "
#define GAP_SKIP "gap skip"
#define OVERLAP_LAST "overlap last"
#define OVERLAP_BOTH "overlap both"
#define EXCEPT_PREFIX "except "
#define WINDOW_PREFIX "window "
#define MORE_LINES_MAX (3 + EXCEPTIONS_MAX + WINDOWS_MAX)
/* So many excepted stretches are looked behind for a tick: of whole days, those of half a century.
 */
#define EXCEPTED_MAX 20000
/* Where the shortest time between two ticks is looked for: nearly all that is regular repeats
 * itself by then, and leap days come. It begins at a fixed instant, so that a file is right or
 * wrong whenever it is read. What is rarer shortens the delay of the tick before. */
#define PERIODS_FROM INT64_C(1735689600) /* 2025-01-01 */
#define PERIODS_SPAN (INT64_C(5) * 366 * 86400)
#define PERIODS_MAX 20000
/* So many ticks and windows are looked at for a tick that is in a window. */
#define MEETINGS_MAX 4000
#define TRANSITIONS_SPAN (INT64_C(2) * 366 * 86400)

/* One expression, or (calendar NULL) one interval. */
typedef struct ScheduleEntry {
        Calendar *calendar;
        Zone *own_zone;   /* the one that the expression names, if it names one */
        const Zone *zone; /* own_zone or the schedule's */
        const Dst *dst;   /* the schedule's */
        int64_t every;
} ScheduleEntry;

struct Schedule {
        Zone *zone;
        GPtrArray *entries;
        Dst dst;
        Exceptions *exceptions; /* or NULL */
        Windows *windows;       /* or NULL */
        int64_t random_delay;
};

static ScheduleEntry *schedule_entry_free(ScheduleEntry *entry) {
        if (!entry)
                return NULL;
        calendar_free(entry->calendar);
        zone_free(entry->own_zone);
        g_free(entry);
        return NULL;
}

static void schedule_entry_destroy(gpointer entry) {
        schedule_entry_free(entry);
}

static bool entry_next(const ScheduleEntry *entry, int64_t after, int64_t *ret_tick) {
        int64_t tick;

        after = CLAMP(after, TICK_MIN - 1, SCHEDULE_TICK_MAX);
        if (entry->calendar) {
                if (!elapse_next(entry->calendar, entry->zone, entry->dst, after, &tick))
                        return false;
        } else {
                tick = after < 0 ? 0 : (after / entry->every + 1) * entry->every;
        }
        if (tick > SCHEDULE_TICK_MAX)
                return false;
        *ret_tick = tick;
        return true;
}

static bool entry_previous(const ScheduleEntry *entry, int64_t before, int64_t *ret_tick) {
        int64_t tick;

        before = CLAMP(before, TICK_MIN, SCHEDULE_TICK_MAX + 1);
        if (before == TICK_MIN)
                return false;
        if (entry->calendar) {
                if (!elapse_previous(entry->calendar, entry->zone, entry->dst, before, &tick))
                        return false;
        } else {
                tick = (before - 1) / entry->every * entry->every;
        }
        if (tick < TICK_MIN)
                return false;
        *ret_tick = tick;
        return true;
}

int schedule_new(const char *zone, Schedule **ret_schedule, char **ret_message) {
        Zone *opened = zone_new(zone ? zone : "UTC");
        Schedule *schedule;

        if (!opened) {
                *ret_message = g_strdup_printf("tzdata lists no time zone \"%.64s\"", zone);
                return -EINVAL;
        }
        schedule = g_new0(Schedule, 1);
        schedule->zone = opened;
        schedule->entries = g_ptr_array_new_with_free_func(schedule_entry_destroy);
        *ret_schedule = schedule;
        return 0;
}

void schedule_set_dst(Schedule *schedule, const Dst *dst) {
        schedule->dst = *dst;
}

Schedule *schedule_free(Schedule *schedule) {
        if (!schedule)
                return NULL;
        g_clear_pointer(&schedule->entries, g_ptr_array_unref);
        exceptions_free(schedule->exceptions);
        windows_free(schedule->windows);
        zone_free(schedule->zone);
        g_free(schedule);
        return NULL;
}

static int check_room(const Schedule *schedule, char **ret_message) {
        if (schedule->entries->len < SCHEDULE_EXPRESSIONS_MAX)
                return 0;
        *ret_message =
            g_strdup_printf("a schedule has at most %d expressions", SCHEDULE_EXPRESSIONS_MAX);
        return -E2BIG;
}

/* Gives a parsed expression its zone, in which it must elapse at least once. */
static int entry_set_zone(ScheduleEntry *entry, const Schedule *schedule, char **ret_message) {
        const char *name = entry->calendar->timezone;
        int64_t tick;

        if (name) {
                entry->own_zone = zone_new(name);
                if (!entry->own_zone) {
                        *ret_message = g_strdup_printf("time zone \"%s\" cannot be read", name);
                        return -EINVAL;
                }
        }
        entry->zone = entry->own_zone ? entry->own_zone : schedule->zone;
        entry->dst = &schedule->dst;
        if (!entry_next(entry, TICK_MIN - 1, &tick)) {
                *ret_message =
                    g_strdup_printf("it never elapses: no such moment exists from %d to %d",
                                    SCHEDULE_YEAR_MIN, SCHEDULE_YEAR_MAX);
                return -EINVAL;
        }
        return 0;
}

static size_t entry_size(const ScheduleEntry *entry) {
        return strlen(entry->calendar->text) + strlen(" ") + strlen(zone_name(entry->zone));
}

/* What is too long in normal form could not be noted where others have to read it again. */
static int schedule_check_size(const Schedule *schedule, const ScheduleEntry *entry,
                               char **ret_message) {
        g_autofree char *before = schedule_to_string(schedule);

        if (entry_size(entry) > SCHEDULE_TEXT_MAX) {
                *ret_message = g_strdup_printf("a calendar expression has at most %d characters, "
                                               "its normal form and time zone included",
                                               SCHEDULE_TEXT_MAX);
                return -E2BIG;
        }
        if (strlen(before) + strlen("\n") + entry_size(entry) > SCHEDULE_SIZE_MAX) {
                *ret_message = g_strdup_printf("the expressions of a schedule have at most %d "
                                               "characters together, in normal form with their "
                                               "time zones",
                                               SCHEDULE_SIZE_MAX);
                return -E2BIG;
        }
        return 0;
}

/* Return: whether it is an interval, with what to write instead (g_free). A number alone is none.
 */
static bool interval_explain(const char *text, char **ret_message) {
        g_autofree char *duration = NULL;
        usec_t interval;

        if (g_ascii_strncasecmp(text, INTERVAL_PREFIX, strlen(INTERVAL_PREFIX)) == 0)
                text += strlen(INTERVAL_PREFIX);
        if (!text[strspn(text, "0123456789 ")] || duration_parse(text, &interval) < 0 ||
            interval == USEC_INFINITY)
                return false;
        duration = duration_to_string(interval);
        *ret_message = g_strdup_printf("this is an interval: use \"every: %s\" instead", duration);
        return true;
}

int schedule_add_calendar(Schedule *schedule, const char *expression, char **ret_message) {
        g_autofree char *message = NULL;
        ScheduleEntry *entry;
        int r;

        r = check_room(schedule, ret_message);
        if (r < 0)
                return r;
        if (strlen(expression) > SCHEDULE_TEXT_MAX) {
                *ret_message = g_strdup_printf("a calendar expression has at most %d characters",
                                               SCHEDULE_TEXT_MAX);
                return -E2BIG;
        }
        entry = g_new0(ScheduleEntry, 1);
        r = calendar_parse(expression, &entry->calendar, &message);
        if (r == 0)
                r = entry_set_zone(entry, schedule, &message);
        if (r < 0) {
                g_autofree char *general = g_steal_pointer(&message);

                if (!interval_explain(expression, &message) && !cron_explain(expression, &message))
                        message = g_steal_pointer(&general);
                *ret_message =
                    g_strdup_printf("calendar expression \"%.80s\": %s", expression, message);
                schedule_entry_free(entry);
                return r;
        }
        r = schedule_check_size(schedule, entry, ret_message);
        if (r < 0) {
                schedule_entry_free(entry);
                return r;
        }
        g_ptr_array_add(schedule->entries, entry);
        return 0;
}

int schedule_add_every(Schedule *schedule, usec_t interval, char **ret_message) {
        ScheduleEntry *entry;
        int r;

        r = check_room(schedule, ret_message);
        if (r < 0)
                return r;
        if (interval < USEC_PER_SEC || interval % USEC_PER_SEC != 0) {
                *ret_message = g_strdup("an interval is whole seconds, at least one");
                return -EINVAL;
        }
        if (interval / USEC_PER_SEC > SCHEDULE_TICK_MAX) {
                *ret_message = g_strdup_printf("the interval is too long: it does not end by %d",
                                               SCHEDULE_YEAR_MAX);
                return -EINVAL;
        }
        entry = g_new0(ScheduleEntry, 1);
        entry->every = (int64_t)(interval / USEC_PER_SEC);
        g_ptr_array_add(schedule->entries, entry);
        return 0;
}

/* Return: false when no expression elapses any more. */
static bool nearest_next(const Schedule *schedule, int64_t after, int64_t *ret_tick) {
        int64_t nearest = INT64_MAX;

        for (guint i = 0; i < schedule->entries->len; i++) {
                int64_t tick;

                if (entry_next(schedule->entries->pdata[i], after, &tick))
                        nearest = MIN(nearest, tick);
        }
        if (nearest == INT64_MAX)
                return false;
        *ret_tick = nearest;
        return true;
}

static bool nearest_previous(const Schedule *schedule, int64_t before, int64_t *ret_tick) {
        int64_t nearest = INT64_MIN;

        for (guint i = 0; i < schedule->entries->len; i++) {
                int64_t tick;

                if (entry_previous(schedule->entries->pdata[i], before, &tick))
                        nearest = MAX(nearest, tick);
        }
        if (nearest == INT64_MIN)
                return false;
        *ret_tick = nearest;
        return true;
}

static bool is_excepted(const Schedule *schedule, int64_t tick, int64_t *ret_first,
                        int64_t *ret_last) {
        return schedule->exceptions &&
               exceptions_have(schedule->exceptions, tick, ret_first, ret_last);
}

bool schedule_next(const Schedule *schedule, int64_t after, int64_t *ret_tick) {
        int64_t tick, first, last;

        for (unsigned i = 0; i < EXCEPTED_MAX; i++) {
                if (!nearest_next(schedule, after, &tick))
                        return false;
                if (!is_excepted(schedule, tick, &first, &last)) {
                        *ret_tick = tick;
                        return true;
                }
                after = last;
        }
        return false;
}

bool schedule_previous(const Schedule *schedule, int64_t before, int64_t *ret_tick) {
        int64_t tick, first, last;

        for (unsigned i = 0; i < EXCEPTED_MAX; i++) {
                if (!nearest_previous(schedule, before, &tick))
                        return false;
                if (!is_excepted(schedule, tick, &first, &last)) {
                        *ret_tick = tick;
                        return true;
                }
                before = first;
        }
        return false;
}

unsigned schedule_count(const Schedule *schedule, int64_t after, int64_t until, unsigned limit) {
        unsigned count = 0;

        while (count < limit && schedule_next(schedule, after, &after) && after <= until)
                count++;
        return count;
}

/* ---- exceptions ---- */

int schedule_add_exception(Schedule *schedule, const char *expression, const char *zone,
                           char **ret_message) {
        g_autofree char *text = NULL;
        int r;

        if (!schedule->exceptions)
                schedule->exceptions = exceptions_new();
        r = exceptions_add(schedule->exceptions, expression, zone, ret_message);
        if (r < 0)
                return r;
        text = schedule_to_string(schedule);
        if (strlen(text) <= SCHEDULE_SIZE_MAX)
                return 0;
        exceptions_drop_last(schedule->exceptions);
        *ret_message = g_strdup_printf("a schedule has at most %d characters, in normal form with "
                                       "its time zones and exceptions",
                                       SCHEDULE_SIZE_MAX);
        return -E2BIG;
}

/* ---- windows ---- */

static int window_put(Schedule *schedule, const char *expression, const char *zone, usec_t length,
                      char **ret_message) {
        g_autofree char *text = NULL, *fault = NULL;
        int r = windows_add(schedule->windows, expression, zone, length, ret_message);

        if (r < 0)
                return r;
        text = schedule_to_string(schedule);
        fault = windows_explain_last(schedule->windows);
        if (strlen(text) <= SCHEDULE_SIZE_MAX && !fault)
                return 0;
        windows_drop_last(schedule->windows);
        *ret_message =
            fault ? g_steal_pointer(&fault)
                  : g_strdup_printf("a schedule has at most %d characters, in normal form with its "
                                    "time zones, exceptions and windows",
                                    SCHEDULE_SIZE_MAX);
        return strlen(text) > SCHEDULE_SIZE_MAX ? -E2BIG : -ERANGE;
}

int schedule_add_window(Schedule *schedule, const char *expression, const char *zone, usec_t length,
                        char **ret_message) {
        bool is_first = !schedule->windows;
        int r;

        if (is_first)
                schedule->windows = windows_new();
        r = window_put(schedule, expression, zone, length, ret_message);
        if (r < 0 && is_first)
                schedule->windows = windows_free(schedule->windows);
        return r;
}

bool schedule_has_windows(const Schedule *schedule) {
        return schedule->windows;
}

WindowStretch schedule_window(const Schedule *schedule, int64_t instant) {
        if (!schedule->windows)
                return (WindowStretch){.open = true, .from = 0, .to = INT64_MAX};
        return windows_at(schedule->windows, instant);
}

/* Looks at a tick after each beginning of a window, and at the window of each of these. */
static bool meets_window_after(const Schedule *schedule, const char *job, int64_t after) {
        int64_t tick;

        for (unsigned i = 0; i < MEETINGS_MAX && schedule_next(schedule, after, &tick); i++) {
                WindowStretch stretch =
                    schedule_window(schedule, schedule_start(schedule, job, tick));

                if (stretch.open)
                        return true;
                if (stretch.to == INT64_MAX)
                        return false;
                after = MAX(tick, stretch.to - schedule->random_delay - 1);
        }
        return false;
}

bool schedule_meets_window(const Schedule *schedule, const char *job) {
        return meets_window_after(schedule, job, PERIODS_FROM - 1) ||
               meets_window_after(schedule, job, TICK_MIN - 1);
}

/* ---- the delay ---- */

/* Return: false where no two ticks lie that close; else true with the closest two of those that are
 * looked at. */
static bool find_close_ticks(const Schedule *schedule, int64_t distance, int64_t *ret_first,
                             int64_t *ret_second) {
        int64_t before, tick, least = distance + 1, until;

        if (!schedule_next(schedule, PERIODS_FROM - 1, &before) &&
            !schedule_next(schedule, TICK_MIN - 1, &before))
                return false;
        until = before + PERIODS_SPAN;
        for (unsigned i = 0; i < PERIODS_MAX && before <= until; i++) {
                if (!schedule_next(schedule, before, &tick))
                        break;
                if (tick - before < least) {
                        least = tick - before;
                        *ret_first = before;
                        *ret_second = tick;
                }
                before = tick;
        }
        return least <= distance;
}

static char *instant_to_text(int64_t tick) {
        g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(tick);

        return g_date_time_format(time, "%Y-%m-%d %H:%M:%S");
}

static char *explain_close_ticks(int64_t first, int64_t second) {
        const usec_t period = (usec_t)(second - first) * USEC_PER_SEC;
        g_autofree char *from = instant_to_text(first), *to = instant_to_text(second),
                        *is = duration_to_string(period),
                        *most = duration_to_string(period - USEC_PER_SEC);

        return g_strdup_printf("must be shorter than the time between any two ticks, and from %s "
                               "to %s UTC that is only %s: write %s or less",
                               from, to, is, most);
}

int schedule_set_random_delay(Schedule *schedule, usec_t delay, char **ret_message) {
        int64_t seconds = (int64_t)(MIN(delay, INT64_MAX) / USEC_PER_SEC), first = 0, second = 0;

        if (delay % USEC_PER_SEC != 0) {
                *ret_message = g_strdup("must be whole seconds");
                return -EINVAL;
        }
        if (seconds > 0 && find_close_ticks(schedule, seconds, &first, &second)) {
                *ret_message = explain_close_ticks(first, second);
                return -EINVAL;
        }
        schedule->random_delay = seconds;
        return 0;
}

int64_t schedule_random_delay(const Schedule *schedule) {
        return schedule->random_delay;
}

int64_t schedule_start(const Schedule *schedule, const char *job, int64_t tick) {
        int64_t delay = spread_of(job, tick, schedule->random_delay), next;

        if (delay > 0 && schedule_next(schedule, tick, &next))
                delay = MIN(delay, next - tick - 1);
        return tick + delay;
}

int64_t schedule_started(const Schedule *schedule, const char *job, int64_t second) {
        int64_t tick;

        if (schedule->random_delay > 0 && schedule_previous(schedule, second + 1, &tick) &&
            schedule_start(schedule, job, tick) > second)
                return tick - 1;
        return second;
}

/* ---- as text ---- */

static void append_delay(GString *text, int64_t seconds) {
        g_autofree char *duration = duration_to_string((usec_t)seconds * USEC_PER_SEC);

        g_string_append_printf(text, "\n" DELAY_PREFIX "%s", duration);
}

static bool has_fixed_times(const Schedule *schedule) {
        for (guint i = 0; i < schedule->entries->len; i++) {
                const ScheduleEntry *entry = schedule->entries->pdata[i];

                if (entry->calendar && elapse_has_fixed_times(entry->calendar, entry->zone))
                        return true;
        }
        return false;
}

/* Where it matters. */
static void append_dst(GString *text, const Schedule *schedule) {
        if (!has_fixed_times(schedule))
                return;
        if (schedule->dst.gap == DST_GAP_SKIP)
                g_string_append(text, "\n" GAP_SKIP);
        if (schedule->dst.overlap == DST_OVERLAP_LAST)
                g_string_append(text, "\n" OVERLAP_LAST);
        if (schedule->dst.overlap == DST_OVERLAP_BOTH)
                g_string_append(text, "\n" OVERLAP_BOTH);
}

static void append_interval(GString *text, int64_t seconds) {
        g_autofree char *duration = duration_to_string((usec_t)seconds * USEC_PER_SEC);

        g_string_append_printf(text, INTERVAL_PREFIX "%s", duration);
}

char *schedule_to_string(const Schedule *schedule) {
        GString *text = g_string_new(NULL);

        for (guint i = 0; i < schedule->entries->len; i++) {
                const ScheduleEntry *entry = schedule->entries->pdata[i];

                if (i > 0)
                        g_string_append_c(text, '\n');
                if (entry->calendar)
                        g_string_append_printf(text, "%s %s", entry->calendar->text,
                                               zone_name(entry->zone));
                else
                        append_interval(text, entry->every);
        }
        append_dst(text, schedule);
        if (schedule->exceptions)
                exceptions_append(schedule->exceptions, EXCEPT_PREFIX, text);
        if (schedule->windows)
                windows_append(schedule->windows, WINDOW_PREFIX, text);
        if (schedule->random_delay > 0)
                append_delay(text, schedule->random_delay);
        return g_string_free(text, FALSE);
}

/* It was judged by who wrote it, maybe by other time zone data. */
static int take_delay(Schedule *schedule, const char *text) {
        usec_t delay;

        if (duration_parse(text, &delay) < 0 || delay == 0 || delay % USEC_PER_SEC != 0 ||
            delay / USEC_PER_SEC > SCHEDULE_TICK_MAX)
                return -EINVAL;
        schedule->random_delay = (int64_t)(delay / USEC_PER_SEC);
        return 0;
}

static int take_window(Schedule *schedule, const char *text) {
        if (!schedule->windows)
                schedule->windows = windows_new();
        return windows_add_line(schedule->windows, text);
}

/* Return: whether it is a line of that. */
static bool take_dst(Schedule *schedule, const char *line) {
        if (g_str_equal(line, GAP_SKIP))
                schedule->dst.gap = DST_GAP_SKIP;
        else if (g_str_equal(line, OVERLAP_LAST))
                schedule->dst.overlap = DST_OVERLAP_LAST;
        else if (g_str_equal(line, OVERLAP_BOTH))
                schedule->dst.overlap = DST_OVERLAP_BOTH;
        else
                return false;
        return true;
}

static int add_line(Schedule *schedule, const char *line) {
        g_autofree char *message = NULL;
        usec_t interval;

        if (take_dst(schedule, line))
                return 0;
        if (g_str_has_prefix(line, EXCEPT_PREFIX))
                return schedule_add_exception(schedule, line + strlen(EXCEPT_PREFIX), "UTC",
                                              &message);
        if (g_str_has_prefix(line, WINDOW_PREFIX))
                return take_window(schedule, line + strlen(WINDOW_PREFIX));
        if (g_str_has_prefix(line, DELAY_PREFIX))
                return take_delay(schedule, line + strlen(DELAY_PREFIX));
        if (!g_str_has_prefix(line, INTERVAL_PREFIX))
                return schedule_add_calendar(schedule, line, &message);
        if (duration_parse(line + strlen(INTERVAL_PREFIX), &interval) < 0)
                return -EINVAL;
        return schedule_add_every(schedule, interval, &message);
}

int schedule_from_string(const char *text, Schedule **ret_schedule) {
        _cleanup_(schedule_freep) Schedule *schedule = NULL;
        g_auto(GStrv) lines = g_strsplit(text, "\n", SCHEDULE_EXPRESSIONS_MAX + MORE_LINES_MAX + 1);
        g_autofree char *message = NULL;

        if (schedule_new(NULL, &schedule, &message) < 0)
                return -EINVAL;
        for (char **line = lines; *line; line++)
                if (add_line(schedule, *line) < 0)
                        return -EINVAL;
        if (schedule->entries->len == 0)
                return -EINVAL;
        *ret_schedule = g_steal_pointer(&schedule);
        return 0;
}

/* Appends "ZONE OFFSET" for the start and "ZONE INSTANT OFFSET" for each change. */
static void append_transitions(GString *text, const Zone *zone, int64_t from) {
        int64_t until = from + TRANSITIONS_SPAN, at = from;
        int span = zone_span(zone, from), last = zone_span(zone, until);
        int64_t offset = zone_span_offset(zone, span);

        g_string_append_printf(text, "%s %+" PRId64 "\n", zone_name(zone), offset);
        while (span < last) {
                at = zone_span_begin(zone, span + 1, at, until);
                span = zone_span(zone, at);
                if (zone_span_offset(zone, span) == offset)
                        continue;
                offset = zone_span_offset(zone, span);
                g_string_append_printf(text, "%s %" PRId64 " %+" PRId64 "\n", zone_name(zone), at,
                                       offset);
        }
}

typedef struct Transitions {
        GString *text;
        GHashTable *seen; /* names of zones */
        int64_t from;
} Transitions;

static void add_transitions(const Zone *zone, void *userdata) {
        const Transitions *transitions = userdata;

        if (!zone_is_utc(zone) && g_hash_table_add(transitions->seen, (gpointer)zone_name(zone)))
                append_transitions(transitions->text, zone, transitions->from);
}

char *schedule_transitions(const Schedule *schedule, int64_t from) {
        GString *text = g_string_new(NULL);
        g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
        Transitions transitions = {text, seen, CLAMP(from, TICK_MIN, SCHEDULE_TICK_MAX)};

        for (guint i = 0; i < schedule->entries->len; i++) {
                const ScheduleEntry *entry = schedule->entries->pdata[i];

                if (entry->calendar)
                        add_transitions(entry->zone, &transitions);
        }
        if (schedule->exceptions)
                exceptions_each_zone(schedule->exceptions, add_transitions, &transitions);
        if (schedule->windows)
                windows_each_zone(schedule->windows, add_transitions, &transitions);
        return g_string_free(text, FALSE);
}
