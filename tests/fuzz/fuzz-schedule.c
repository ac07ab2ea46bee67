/* Calendar expressions from anywhere: no text crashes the parser, makes the search loop, or yields
 * ticks out of order. The input's first byte chooses the schedule's time zone; a newline separates
 * expressions. */
#include <glib.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "schedule.h"

#define CHECK(condition)                                                                           \
        do {                                                                                       \
                if (!(condition))                                                                  \
                        __builtin_trap();                                                          \
        } while (0)

static const char *const zones[] = {"UTC",
                                    "Europe/Berlin",
                                    "Pacific/Apia",
                                    "Australia/Lord_Howe",
                                    "Asia/Kathmandu",
                                    "Africa/Casablanca",
                                    "America/New_York",
                                    "America/Sao_Paulo"};

/* Around a change, at the ends of what is searched, and beyond them. */
static const int64_t points[] = {
    INT64_MIN,  -1,         0,          946684800,  1325239200,          1698541200,
    1698544799, 1709164800, 4107542400, 7258118399, INT64_C(7258118400), INT64_MAX};

static void walk(const Schedule *schedule, int64_t from) {
        int64_t at = from, tick, back;

        for (unsigned i = 0; i < 4 && schedule_next(schedule, at, &tick); i++) {
                CHECK(tick > at && tick >= 0);
                CHECK(schedule_previous(schedule, tick + 1, &back) && back == tick);
                if (schedule_previous(schedule, tick, &back))
                        CHECK(i == 0 ? back <= at : back == at);
                at = tick;
        }
        at = from;
        for (unsigned i = 0; i < 4 && schedule_previous(schedule, at, &tick); i++) {
                CHECK(tick < at && tick >= 0);
                CHECK(schedule_next(schedule, tick - 1, &back) && back == tick);
                at = tick;
        }
}

/* The normal form means the same and is its own normal form. */
static void check_normal_form(const Schedule *schedule) {
        g_autofree char *text = schedule_to_string(schedule), *again = NULL, *message = NULL;
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        Schedule *copy = NULL;

        CHECK(schedule_new(NULL, &copy, &message) == 0);
        for (char **line = lines; *line; line++)
                if (strlen(*line) > SCHEDULE_TEXT_MAX ||
                    schedule_add_calendar(copy, *line, &message) != 0)
                        break;
        again = schedule_to_string(copy);
        CHECK(strlen(text) > SCHEDULE_TEXT_MAX || g_str_equal(text, again));
        schedule_free(copy);
}

static void check(const Schedule *schedule) {
        g_autofree char *transitions = schedule_transitions(schedule, 1700000000);

        CHECK(transitions);
        for (size_t i = 0; i < G_N_ELEMENTS(points); i++)
                walk(schedule, points[i]);
        CHECK(schedule_count(schedule, 0, INT64_MAX, 10) <= 10);
        check_normal_form(schedule);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        g_autofree char *text = NULL, *zone_message = NULL;
        g_auto(GStrv) lines = NULL;
        Schedule *schedule = NULL;
        unsigned added = 0;

        if (size == 0)
                return 0;
        text = g_strndup((const char *)data + 1, size - 1);
        lines = g_strsplit(text, "\n", SCHEDULE_EXPRESSIONS_MAX + 1);
        CHECK(schedule_new(zones[data[0] % G_N_ELEMENTS(zones)], &schedule, &zone_message) == 0);
        for (char **line = lines; *line; line++) {
                g_autofree char *message = NULL;

                if (schedule_add_calendar(schedule, *line, &message) == 0)
                        added++;
                else
                        CHECK(message);
        }
        if (added > 0)
                check(schedule);
        schedule_free(schedule);
        return 0;
}
