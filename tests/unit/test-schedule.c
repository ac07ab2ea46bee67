/* Schedules against systemd's own answers: recorded ones (data/calendar-cases.txt, made by
 * data/record-calendar) and, live, those of the systemd-analyze of this machine to random
 * expressions. Daylight saving has a file of its own, test-schedule-dst.c. */
#include <criterion/criterion.h>
#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "../random-seed.h"
#include "schedule.h"
#include "timezone.h"

#define CASES TEST_SOURCE_DIR "/data/calendar-cases.txt"
#define NEVER INT64_MIN

static Schedule *schedule_of(const char *expression) {
        g_autofree char *message = NULL;
        Schedule *schedule = NULL;

        cr_assert_eq(schedule_new(NULL, &schedule, &message), 0);
        cr_assert_eq(schedule_add_calendar(schedule, expression, &message), 0, "%s", message);
        return schedule;
}

static int64_t next_of(const Schedule *schedule, int64_t after) {
        int64_t tick = NEVER;

        (void)schedule_next(schedule, after, &tick);
        return tick;
}

static int64_t previous_of(const Schedule *schedule, int64_t before) {
        int64_t tick = NEVER;

        (void)schedule_previous(schedule, before, &tick);
        return tick;
}

/* Return: the message with which an expression is refused; the schedule must be as empty afterwards
 * as before. */
static char *refusal_of(const char *expression) {
        _cleanup_(schedule_freep) Schedule *schedule = NULL;
        g_autofree char *text = NULL;
        char *message = NULL;
        int64_t tick;

        cr_assert_eq(schedule_new(NULL, &schedule, &message), 0);
        cr_assert_eq(schedule_add_calendar(schedule, expression, &message), -EINVAL,
                     "accepted: \"%s\"", expression);
        cr_assert_not_null(message, "no message: \"%s\"", expression);
        text = schedule_to_string(schedule);
        cr_assert_str_empty(text);
        cr_assert_not(schedule_next(schedule, 0, &tick));
        return message;
}

/* Every tick of the answer, and back again over all of them. */
static void check_answer(const char *expression, int64_t base, const char *normal, char **elapses) {
        _cleanup_(schedule_freep) Schedule *schedule = schedule_of(expression);
        g_autofree char *text = schedule_to_string(schedule);
        /* systemd names no zone where none was asked for. */
        g_autofree char *with_zone = g_strconcat(normal, " UTC", NULL);
        int64_t at = base;

        cr_assert(g_str_equal(text, normal) || g_str_equal(text, with_zone),
                  "\"%s\" is \"%s\", wanted \"%s\"", expression, text, normal);
        for (; *elapses; elapses++) {
                int64_t wanted =
                    g_str_equal(*elapses, "never") ? NEVER : g_ascii_strtoll(*elapses, NULL, 10);
                int64_t tick = next_of(schedule, at);

                cr_assert_eq(tick, wanted, "\"%s\" after %" PRId64 ": %" PRId64 ", wanted %s",
                             expression, at, tick, *elapses);
                if (wanted == NEVER)
                        break;
                if (at != base)
                        cr_assert_eq(previous_of(schedule, tick), at, "\"%s\" before %" PRId64,
                                     expression, tick);
                cr_assert_leq(previous_of(schedule, tick), at);
                at = tick;
        }
}

Test(schedule, recorded_cases) {
        g_autofree char *text = NULL;
        g_auto(GStrv) lines = NULL;
        unsigned answers = 0, refusals = 0;

        cr_assert(g_file_get_contents(CASES, &text, NULL, NULL));
        lines = g_strsplit(text, "\n", -1);
        for (char **line = lines; *line; line++) {
                g_auto(GStrv) columns = g_strsplit(*line, "\t", -1);

                if (**line == '#' || **line == 0)
                        continue;
                if (g_strv_length(columns) == 2) {
                        g_autofree char *message = refusal_of(columns[0]);
                        bool never = g_str_equal(columns[1], "never");

                        cr_assert(never || g_str_equal(columns[1], "refused"), "%s", *line);
                        cr_assert_eq(!strstr(message, "never elapses"), !never, "%s", *line);
                        refusals++;
                } else {
                        g_auto(GStrv) elapses = NULL;

                        cr_assert_eq(g_strv_length(columns), 4, "%s", *line);
                        elapses = g_strsplit(columns[3], " ", -1);
                        check_answer(columns[0], g_ascii_strtoll(columns[1], NULL, 10), columns[2],
                                     elapses);
                        answers++;
                }
        }
        cr_assert_geq(answers, 500);
        cr_assert_geq(refusals, 150);
}

/* What systemd takes and we do not, knowingly. */
Test(schedule, stricter_than_systemd) {
        static const char *const expressions[] = {
            "*-02-30",
            "*-04,06-31",
            "Mon 2023-02-28",
            "12:00:00.5",
            "12:00:0/0.5",
            "*:*:0.0000001",
            "@ 5",
            "@+5",
            "12:00 localtime",
            "12:00 posixrules",
            "12:00 posix/Europe/Berlin",
            "2199-12-31 23:59 Etc/GMT+12",
        };

        for (size_t i = 0; i < G_N_ELEMENTS(expressions); i++)
                g_free(refusal_of(expressions[i]));
}

Test(schedule, messages_say_what_is_wrong) {
        static const struct {
                const char *expression;
                const char *words;
        } cases[] = {
            {"25:00", "hour 25 is outside 0..23"},
            {"12:00:00.5", "parts of a second"},
            {"*-*-* 12:00 Europe/Berln", "no time zone \"Europe/Berln\""},
            {"Sat..Mon", "the weekday range Sat..Mon runs backwards"},
            {"*-02-30", "never elapses"},
            {"fortnightly", "\"fortnightly\" is no weekday"},
            {"5..3:00", "hour range 5..3 runs backwards"},
            {"*:0/60", "step of minute 0/60"},
            {"*-*~31", "outside 1..28 (counted from the month's end"},
            {"", "empty"},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *message = refusal_of(cases[i].expression);

                cr_assert_not_null(strstr(message, cases[i].words), "%s", message);
        }
}

Test(schedule, limits) {
        _cleanup_(schedule_freep) Schedule *schedule = NULL;
        g_autoptr(GString) text = g_string_new(NULL);
        g_autofree char *message = NULL;

        cr_assert_eq(schedule_new(NULL, &schedule, &message), 0);
        while (text->len <= SCHEDULE_TEXT_MAX)
                g_string_append(text, "12,");
        cr_assert_eq(schedule_add_calendar(schedule, text->str, &message), -E2BIG);
        for (unsigned i = 0; i < SCHEDULE_EXPRESSIONS_MAX; i++)
                cr_assert_eq(schedule_add_calendar(schedule, "daily", &message), 0);
        g_clear_pointer(&message, g_free);
        cr_assert_eq(schedule_add_calendar(schedule, "daily", &message), -E2BIG);
        g_clear_pointer(&message, g_free);
        cr_assert_eq(schedule_add_every(schedule, USEC_PER_SEC, &message), -E2BIG);
}

Test(schedule, every_is_anchored_at_the_epoch) {
        _cleanup_(schedule_freep) Schedule *schedule = NULL;
        g_autofree char *message = NULL, *text = NULL;

        cr_assert_eq(schedule_new("Europe/Berlin", &schedule, &message), 0);
        cr_assert_eq(schedule_add_every(schedule, 15 * USEC_PER_MINUTE, &message), 0);
        cr_assert_eq(next_of(schedule, 1700000000), 1700000100);
        cr_assert_eq(next_of(schedule, 1700000100), 1700001000);
        cr_assert_eq(previous_of(schedule, 1700000100), 1699999200);
        cr_assert_eq(previous_of(schedule, 1700000101), 1700000100);
        cr_assert_eq(next_of(schedule, INT64_MIN), 0);
        cr_assert_eq(next_of(schedule, INT64_MAX), NEVER);
        cr_assert_eq(previous_of(schedule, 0), NEVER);
        cr_assert_eq(previous_of(schedule, INT64_MAX) % 900, 0);
        text = schedule_to_string(schedule);
        cr_assert_str_eq(text, "every 15min");
}

Test(schedule, every_refusals) {
        static const usec_t intervals[] = {0,
                                           USEC_PER_SEC - 1,
                                           USEC_PER_SEC / 2,
                                           USEC_PER_SEC * 3 / 2,
                                           USEC_INFINITY,
                                           USEC_PER_DAY * 366 * 231};

        for (size_t i = 0; i < G_N_ELEMENTS(intervals); i++) {
                _cleanup_(schedule_freep) Schedule *schedule = NULL;
                g_autofree char *message = NULL;

                cr_assert_eq(schedule_new(NULL, &schedule, &message), 0);
                cr_assert_eq(schedule_add_every(schedule, intervals[i], &message), -EINVAL);
                cr_assert_not_null(message);
        }
}

Test(schedule, several_expressions_are_a_union) {
        const int64_t day = 19675 * INT64_C(86400);
        _cleanup_(schedule_freep) Schedule *schedule = NULL;
        g_autofree char *message = NULL, *text = NULL;

        cr_assert_eq(schedule_new("Asia/Kathmandu", &schedule, &message), 0);
        cr_assert_eq(schedule_add_calendar(schedule, "06:00", &message), 0);
        cr_assert_eq(schedule_add_calendar(schedule, "00:15 UTC", &message),
                     0); /* the same instant */
        cr_assert_eq(schedule_add_every(schedule, 6 * USEC_PER_HOUR, &message), 0);
        cr_assert_eq(next_of(schedule, day), day + 900);
        cr_assert_eq(next_of(schedule, day + 900), day + 21600);
        cr_assert_eq(previous_of(schedule, day + 21600), day + 900);
        cr_assert_eq(schedule_count(schedule, day, day + 86400, 100), 5);
        cr_assert_eq(schedule_count(schedule, day, day + 86400, 3), 3);
        cr_assert_eq(schedule_count(schedule, day, day + 86400, 0), 0);
        cr_assert_eq(schedule_count(schedule, day + 86400, day, 10), 0);
        text = schedule_to_string(schedule);
        cr_assert_str_eq(text, "*-*-* 06:00:00 Asia/Kathmandu\n*-*-* 00:15:00 UTC\nevery 6h");
}

/* Return: newly allocated, an expression of `size` characters, in normal form but for its zone. */
static char *long_expression(size_t size) {
        GString *text = g_string_new("2001");

        for (int year = 2002; text->len + strlen(",2001-01-01 00:00:00") <= size; year++)
                g_string_append_printf(text, ",%d", year);
        g_string_append(text, "-01-01 00:00:00");
        return g_string_free(text, FALSE);
}

/* It stands in ZooKeeper in normal form, and has to be read again there. */
Test(schedule, no_longer_in_normal_form_than_can_be_read_again) {
        _cleanup_(schedule_freep) Schedule *schedule = NULL, *copy = NULL;
        g_autofree char *zone_message = NULL, *message = NULL, *text = NULL, *again = NULL;
        g_autofree char *expression = long_expression(480);
        unsigned taken = 0;

        cr_assert_eq(schedule_new("America/Argentina/Buenos_Aires", &schedule, &zone_message), 0);
        while (taken < SCHEDULE_EXPRESSIONS_MAX &&
               schedule_add_calendar(schedule, expression, &message) == 0)
                taken++;
        text = schedule_to_string(schedule);
        cr_expect_leq(strlen(text), (size_t)SCHEDULE_SIZE_MAX);
        cr_expect_gt(strlen(text) + 480 + 32, (size_t)SCHEDULE_SIZE_MAX, "%u taken", taken);
        cr_assert_not_null(message);
        cr_expect_str_eq(message, "the expressions of a schedule have at most 4096 characters "
                                  "together, in normal form with their time zones");
        cr_assert_eq(schedule_from_string(text, &copy), 0);
        again = schedule_to_string(copy);
        cr_expect_str_eq(again, text);
}

Test(schedule, no_expression_is_too_long_with_its_zone) {
        _cleanup_(schedule_freep) Schedule *schedule = NULL, *copy = NULL;
        g_autofree char *zone_message = NULL, *message = NULL, *text = NULL;
        g_autofree char *fits = long_expression(990), *too_long = long_expression(1010);

        cr_assert_eq(schedule_new("America/Argentina/Buenos_Aires", &schedule, &zone_message), 0);
        cr_expect_eq(schedule_add_calendar(schedule, too_long, &message), -E2BIG);
        cr_expect_str_eq(message, "a calendar expression has at most 1024 characters, its normal "
                                  "form and time zone included");
        g_clear_pointer(&message, g_free);
        cr_expect_eq(schedule_add_calendar(schedule, fits, &message), 0, "%s", message);
        text = schedule_to_string(schedule);
        cr_expect_eq(schedule_from_string(text, &copy), 0);
}

Test(schedule, normal_form_and_back) {
        static const char *const texts[] = {
            "*-*-* 06:00:00 Asia/Kathmandu\n*-*-* 00:15:00 UTC\nevery 6h", "every 1min 30s",
            "Mon..Fri *-*-* 02:30:00 Europe/Berlin"};
        static const char *const others[] = {"",        "never",      "every",     "every 0s",
                                             "every x", "every 6h\n", "\nevery 6h"};
        Schedule *untouched = NULL;

        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
                _cleanup_(schedule_freep) Schedule *schedule = NULL;
                g_autofree char *again = NULL;

                cr_assert_eq(schedule_from_string(texts[i], &schedule), 0, "%s", texts[i]);
                again = schedule_to_string(schedule);
                cr_expect_str_eq(again, texts[i]);
        }
        for (size_t i = 0; i < G_N_ELEMENTS(others); i++)
                cr_expect_eq(schedule_from_string(others[i], &untouched), -EINVAL, "%s", others[i]);
        cr_expect_null(untouched);
}

/* Where we knowingly differ: systemd 252 passes over the first and the last of these. */
Test(schedule, open_steps_start_anew_at_every_rollover) {
        static const struct {
                const char *expression;
                int64_t after;
                int64_t tick;
        } cases[] = {
            {"0/7:00", 1675200600, 1675209600},   /* 2023-01-31 21:30 → 2023-02-01 00:00 */
            {"*-*-1/10", 1704024000, 1704067200}, /* 2023-12-31 12:00 → 2024-01-01 00:00 */
            {"0/1:0/11", 1704067080, 1704067200}, /* 2023-12-31 23:58 → 2024-01-01 00:00 */
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                _cleanup_(schedule_freep) Schedule *schedule = schedule_of(cases[i].expression);

                cr_assert_eq(next_of(schedule, cases[i].after), cases[i].tick, "%s",
                             cases[i].expression);
        }
}

Test(schedule, past_ones_are_accepted) {
        _cleanup_(schedule_freep) Schedule *schedule = schedule_of("2020-01-01");

        cr_assert_eq(next_of(schedule, 1577836799), 1577836800);
        cr_assert_eq(next_of(schedule, 1577836800), NEVER);
        cr_assert_eq(previous_of(schedule, INT64_MAX), 1577836800);
        cr_assert_eq(previous_of(schedule, 1577836800), NEVER);
}

Test(schedule, zone_names) {
        static const char *const wrong[] = {
            "",          "localtime",     "/etc/localtime", "posixrules",     "posix/UTC",
            "right/UTC", "Europe",        "Europe/",        "Europe//Berlin", "../zoneinfo/UTC",
            "utc",       "europe/berlin", "UTC+1",          "+01:00",         "EST5EDT4",
            "zone.tab",  "tzdata.zi",     ":Europe/Berlin", "Europe/Berlin ", "Europe/./Berlin",
        };
        Schedule *schedule = NULL;

        cr_assert_not(timezone_is_valid(NULL));
        for (size_t i = 0; i < G_N_ELEMENTS(wrong); i++) {
                g_autofree char *message = NULL;

                cr_assert_not(timezone_is_valid(wrong[i]), "%s", wrong[i]);
                cr_assert_eq(schedule_new(wrong[i], &schedule, &message), -EINVAL, "%s", wrong[i]);
                cr_assert_not_null(message);
                cr_assert_null(schedule);
        }
        cr_assert(timezone_is_valid("UTC"));
        cr_assert(timezone_is_valid("Etc/GMT-14"));
        cr_assert(timezone_is_valid("America/Argentina/ComodRivadavia"));
}

/* tzdata's own list: "Z NAME ..." is a zone, "L TARGET NAME" a link. */
Test(schedule, every_zone_of_tzdata_is_known) {
        g_autofree char *text = NULL;
        g_auto(GStrv) lines = NULL;
        unsigned zones = 0;

        cr_assert(g_file_get_contents("/usr/share/zoneinfo/tzdata.zi", &text, NULL, NULL));
        lines = g_strsplit(text, "\n", -1);
        for (char **line = lines; *line; line++) {
                g_auto(GStrv) words = g_strsplit(*line, " ", -1);
                const char *name = **line == 'Z' ? words[1] : **line == 'L' ? words[2] : NULL;

                if (!name)
                        continue;
                cr_assert(timezone_is_valid(name), "%s", name);
                zones++;
        }
        cr_assert_geq(zones, 400);
}

/* ---- live ---- */

static const char *const live_zones[] = {
    "Asia/Tokyo",       "Asia/Kathmandu",    "Etc/GMT+12",  "Pacific/Kiritimati",
    "Europe/Berlin",    "America/New_York",  "Asia/Tehran", "Australia/Lord_Howe",
    "America/St_Johns", "Africa/Casablanca", "UTC",         "Europe/London"};

static void append_random_field(GString *text, GRand *random, int low, int high, double any,
                                bool steps) {
        int count = g_rand_int_range(random, 1, 4);

        if (g_rand_double(random) < any) {
                g_string_append_c(text, '*');
                return;
        }
        for (int i = 0; i < count; i++) {
                int first = g_rand_int_range(random, low, high + 1);
                int last = g_rand_int_range(random, low, high + 1);
                double kind = g_rand_double(random);

                g_string_append_printf(text, "%s%d", i ? "," : "", first);
                if (kind < 0.3)
                        g_string_append_printf(text, "..%d", MAX(first, last));
                if (kind > 0.15 && kind < (steps ? 0.45 : 0.3))
                        g_string_append_printf(text, "/%d",
                                               g_rand_int_range(random, 1, 2 + (high - low) / 4));
        }
}

static void append_random_date(GString *text, GRand *random) {
        bool from_end = g_rand_double(random) < 0.25;

        if (g_rand_boolean(random)) {
                append_random_field(text, random, 1990, 2070, 0.6, true);
                g_string_append_c(text, '-');
        }
        append_random_field(text, random, 1, 12, 0.4, true);
        g_string_append_c(text, from_end ? '~' : '-');
        append_random_field(text, random, 1, from_end ? 28 : 31, 0.3, !from_end);
        g_string_append_c(text, ' ');
}

static char *random_expression(GRand *random) {
        static const char *const days[] = {"Mon", "tue", "Wednesday", "Thu",
                                           "FRI", "Sat", "Sunday"};
        GString *text = g_string_new(NULL);

        if (g_rand_double(random) < 0.3) {
                int first = g_rand_int_range(random, 0, 7);

                g_string_append_printf(text, "%s%s%s ", days[first],
                                       g_rand_boolean(random) ? ".." : ",",
                                       days[g_rand_int_range(random, first, 7)]);
        }
        if (g_rand_double(random) < 0.7)
                append_random_date(text, random);
        append_random_field(text, random, 0, 23, 0.2, true);
        g_string_append_c(text, ':');
        append_random_field(text, random, 0, 59, 0.2, true);
        if (g_rand_boolean(random)) {
                g_string_append_c(text, ':');
                append_random_field(text, random, 0, 59, 0.2, true);
        }
        if (g_rand_boolean(random))
                g_string_append_printf(
                    text, " %s", live_zones[g_rand_int_range(random, 0, G_N_ELEMENTS(live_zones))]);
        /* One in six is broken, or by luck not, at a random place. */
        if (g_rand_int_range(random, 0, 6) == 0)
                text->str[g_rand_int_range(random, 0, (int)text->len)] =
                    " *-~:/.,0149@aMZ"[g_rand_int_range(random, 0, 16)];
        return g_string_free(text, FALSE);
}

typedef struct Answer {
        bool refused;
        bool given_up; /* systemd looks at so many moments, and then no further */
        char normal[2048];
        int64_t ticks[8];
        unsigned count;
} Answer;

/* One line of an answer. */
static void take_line(const char *line, Answer *answer) {
        struct tm tm = {0};
        const char *value = strstr(line, ": ");

        answer->refused = false;
        if (!value)
                return;
        value += 2;
        if (g_str_has_prefix(line, "Normalized form"))
                g_strlcpy(answer->normal, value, sizeof answer->normal);
        else if ((g_str_has_prefix(line, "Next elapse") || g_str_has_prefix(line, "Iter.")) &&
                 /* NOLINTNEXTLINE(cert-err34-c): numbers of systemd's own making */
                 sscanf(value, "%*s %d-%d-%d %d:%d:%d UTC", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
                        &tm.tm_hour, &tm.tm_min, &tm.tm_sec) == 6) {
                tm.tm_year -= 1900;
                tm.tm_mon--;
                answer->ticks[answer->count++] = timegm(&tm);
        }
}

/* An empty line ends what is said of each, which of one that is refused is nothing. */
static void parse_answers(char *output, unsigned n, Answer *answers) {
        g_auto(GStrv) lines = g_strsplit(output, "\n", -1);
        unsigned i = 0;

        for (unsigned j = 0; j < n; j++)
                answers[j] = (Answer){.refused = true};
        for (char **line = lines; *line && i < n; line++)
                if (**line)
                        take_line(g_strchug(*line), &answers[i]);
                else
                        i++;
}

static void ask_systemd(const char *const *expressions, unsigned n, int64_t base,
                        Answer *ret_answers) {
        g_autofree char *base_option = g_strdup_printf("--base-time=@%" PRId64, base);
        g_autoptr(GPtrArray) argv = g_ptr_array_new();
        g_auto(GStrv) environment = g_environ_setenv(g_get_environ(), "TZ", "UTC", TRUE);
        g_autofree char *output = NULL, *errors = NULL;

        g_ptr_array_add(argv, (gpointer) "systemd-analyze");
        g_ptr_array_add(argv, (gpointer) "calendar");
        g_ptr_array_add(argv, (gpointer) "--iterations=5");
        g_ptr_array_add(argv, base_option);
        g_ptr_array_add(argv, (gpointer) "--");
        for (unsigned i = 0; i < n; i++)
                g_ptr_array_add(argv, (gpointer)expressions[i]);
        g_ptr_array_add(argv, NULL);
        environment = g_environ_setenv(environment, "LC_ALL", "C.UTF-8", TRUE);
        cr_assert(g_spawn_sync(NULL, (char **)argv->pdata, environment, G_SPAWN_SEARCH_PATH, NULL,
                               NULL, &output, &errors, NULL, NULL),
                  "systemd-analyze is needed for this test");
        parse_answers(output, n, ret_answers);
        for (unsigned i = 0; i < n; i++) {
                g_autofree char *given_up =
                    g_strdup_printf("next elapse for '%s': Resource deadlock", expressions[i]);

                ret_answers[i].given_up = strstr(errors, given_up);
                ret_answers[i].refused &= !ret_answers[i].given_up;
        }
}

/* What is refused beyond systemd must be so for one of the known reasons. */
static void check_stricter(const char *expression, const Answer *answer, const char *message) {
        Answer from_the_first;

        if (strstr(message, "parts of a second") || strstr(message, "\"@\" takes"))
                return;
        cr_assert_not_null(strstr(message, "never elapses"), "\"%s\": %s", expression, message);
        ask_systemd(&expression, 1, 1, &from_the_first);
        cr_assert_eq(from_the_first.count, 0, "\"%s\" does elapse", expression);
}

/* Writes the open steps ("5/20") of one field as the list that they stand for. */
static void append_without_steps(GString *text, const char *field, int max) {
        g_auto(GStrv) elements = g_strsplit(field, ",", -1);

        for (char **element = elements; *element; element++) {
                int start = 0, step = 0;

                if (element != elements)
                        g_string_append_c(text, ',');
                /* NOLINTNEXTLINE(cert-err34-c): of this test's own making */
                if (strstr(*element, "..") || sscanf(*element, "%d/%d", &start, &step) != 2) {
                        g_string_append(text, *element);
                        continue;
                }
                g_string_append_printf(text, "%d", start);
                while ((start += step) <= max)
                        g_string_append_printf(text, ",%d", start);
        }
}

/* systemd 252 passes over ticks where an open step overflows its field while a larger unit rolls
 * over as well: "0/7:00" after 21:00 on the last of a month gives 07:00, not 00:00. Lists do not
 * have that fault, so they are what it is asked for in a second opinion. (Days counted from the end
 * of the month keep their steps; random expressions have none there.) */
static char *without_open_steps(const char *normal) {
        static const int maxima[] = {2199, 12, 31, 23, 59, 59};
        g_auto(GStrv) words = g_strsplit(normal, " ", -1);
        GString *text = g_string_new(NULL);
        char **word = words;
        size_t field = 0;

        if (g_ascii_isalpha(**word))
                g_string_append_printf(text, "%s ", *word++);
        for (; *word && !g_ascii_isalpha(**word); word++) {
                const char *at = *word;

                while (*at) {
                        size_t length = strcspn(at, "-~:");
                        g_autofree char *part = g_strndup(at, length);

                        append_without_steps(text, part, maxima[field++]);
                        g_string_append_c(text, at[length] ? at[length] : ' ');
                        at += length + (at[length] != 0);
                }
        }
        g_string_append(text, *word ? *word : "UTC");
        return g_string_free(text, FALSE);
}

/* Compares up to a day before the zone's first change after the base.
 * Return: how many are equal, and whether one then was not. */
static unsigned compare_ticks(const Schedule *schedule, int64_t base, const Answer *answer,
                              bool *ret_differs) {
        g_autofree char *text = schedule_to_string(schedule);
        _cleanup_(zone_freep) Zone *zone = zone_new(strrchr(text, ' ') + 1);
        int span = zone_span(zone, base - 86400);
        int64_t at = base;
        unsigned i;

        *ret_differs = false;
        for (i = 0; i < 5; i++) {
                int64_t wanted = i < answer->count ? answer->ticks[i] : NEVER;
                int64_t tick = next_of(schedule, at);

                if (zone_span(zone, MAX(tick, wanted) + 86400) != span)
                        break;
                *ret_differs = tick != wanted;
                if (*ret_differs || tick == NEVER)
                        break;
                at = tick;
        }
        return i;
}

/* Return: how many ticks are as systemd says. */
static unsigned check_ticks(const Schedule *schedule, const char *expression, int64_t base,
                            Answer *answer) {
        g_autofree char *plain = without_open_steps(answer->normal);
        bool differs;
        unsigned equal = compare_ticks(schedule, base, answer, &differs);

        if (differs) {
                ask_systemd((const char *const *)&plain, 1, base, answer);
                cr_assert_not(answer->refused, "\"%s\", which is \"%s\"", plain, expression);
                if (answer->given_up)
                        return 0;
                equal = compare_ticks(schedule, base, answer, &differs);
        }
        cr_assert_not(differs, "\"%s\" after %" PRId64 ": number %u is not what systemd says",
                      expression, base, equal + 1);
        return equal;
}

/* Return: how many ticks are as systemd says; -1 for none, because the expression is refused. */
static int check_expression(const char *expression, int64_t base, Answer *answer) {
        _cleanup_(schedule_freep) Schedule *schedule = NULL;
        g_autofree char *message = NULL, *text = NULL;
        int r;

        cr_assert_eq(schedule_new(NULL, &schedule, &message), 0);
        r = schedule_add_calendar(schedule, expression, &message);
        if (answer->refused) {
                cr_assert_eq(r, -EINVAL, "systemd refuses \"%s\"", expression);
                return -1;
        }
        if (answer->given_up)
                return -1;
        if (r < 0) {
                check_stricter(expression, answer, message);
                return -1;
        }
        text = schedule_to_string(schedule);
        cr_assert(g_str_has_prefix(text, answer->normal), "\"%s\": \"%s\", systemd says \"%s\"",
                  expression, text, answer->normal);
        return (int)check_ticks(schedule, expression, base, answer);
}

#define ROUNDS 50
#define AT_ONCE 100

/* 5,000 of them. */
Test(schedule, random_expressions_as_systemd_says, .timeout = 280) {
        guint32 seed = random_seed();
        g_autoptr(GRand) random = g_rand_new_with_seed(seed);
        Answer *answers = g_new0(Answer, AT_ONCE);
        unsigned compared = 0, accepted = 0;

        (void)fflush(stdout); /* a failure ends the process without */
        for (unsigned round = 0; round < ROUNDS; round++) {
                char *expressions[AT_ONCE + 1] = {NULL};
                int64_t base = g_rand_int_range(random, 700000000, 2000000000);

                for (unsigned i = 0; i < AT_ONCE; i++)
                        expressions[i] = random_expression(random);
                ask_systemd((const char *const *)expressions, AT_ONCE, base, answers);
                for (unsigned i = 0; i < AT_ONCE; i++) {
                        int equal = check_expression(expressions[i], base, &answers[i]);

                        accepted += equal >= 0;
                        compared += (unsigned)MAX(equal, 0);
                        g_free(expressions[i]);
                }
        }
        g_free(answers);
        cr_assert_geq(accepted, 2000, "seed %u", seed);
        cr_assert_geq(compared, 5000, "seed %u", seed);
}
