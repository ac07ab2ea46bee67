/* What is recognised as cron's, and that the expression which is named in its place elapses in the
 * same minutes. */
#include <criterion/criterion.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "cron-hint.h"
#include "cron.h"
#include "schedule.h"

static const struct {
        const char *cron;
        const char *said;
} known[] = {
    {"*/5 * * * *", "\"*:0/5\""},
    {"* * * * *", "\"*:*\""},
    {"0-59/5 * * * *", "\"*:0/5\""},
    {"0,5,10,15,20,25,30,35,40,45,50,55 * * * *", "\"*:0/5\""},
    {"30 2 * * *", "\"*-*-* 02:30\""},
    {"30  2\t*  * *", "\"*-*-* 02:30\""},
    {"0 */6 * * *", "\"*-*-* 0/6:00\""},
    {"17 * * * *", "\"*:17\""},
    {"0 9-17 * * 1-5", "\"Mon..Fri *-*-* 09..17:00\""},
    {"0 9,17 * * mon,Wed,fri", "\"Mon,Wed,Fri *-*-* 09,17:00\""},
    {"0 0 * * 0", "\"Sun *-*-* 00:00\""},
    {"0 0 * * 7", "\"Sun *-*-* 00:00\""},
    {"0 0 * * 5-7", "\"Fri..Sun *-*-* 00:00\""},
    {"0 0 * * 0,6", "\"Sat,Sun *-*-* 00:00\""},
    {"0 4 1 * *", "\"*-*-01 04:00\""},
    {"0 4 1,15 jan-MAR *", "\"*-01..03-01,15 04:00\""},
    {"5 4 31 12 *", "\"*-12-31 04:05\""},
    {"0 4 1 * 1", "[\"*-*-01 04:00\", \"Mon *-*-* 04:00\"]"},
    {"0 4 */2 * 1", "\"Mon *-*-1/2 04:00\""},
    {"10/20 * * * *", "\"*:10/20\""},
    {"@daily", "\"daily\""},
    {"@Midnight", "\"daily\""},
    {"@hourly", "\"hourly\""},
    {"@weekly", "\"Sun 00:00\""},
    {"@monthly", "\"monthly\""},
    {"@yearly", "\"yearly\""},
    {"@annually", "\"yearly\""},
};

Test(cron, is_named_as_an_expression) {
        for (size_t i = 0; i < G_N_ELEMENTS(known); i++) {
                g_autofree char *message = NULL;
                bool everywhere = g_str_has_prefix(known[i].said, "\"*:") ||
                                  g_str_equal(known[i].said, "\"hourly\"");
                g_autofree char *wanted =
                    g_strconcat("this is cron's form; here it is ", known[i].said,
                                everywhere ? "" : ". " CRON_ZONE_HINT, NULL);

                cr_assert(cron_explain(known[i].cron, &message), "%s", known[i].cron);
                cr_expect_str_eq(message, wanted, "%s: %s", known[i].cron, message);
        }
}

Test(cron, others_are_left_alone) {
        static const char *const others[] = {"",
                                             "daily",
                                             "*-*-* 02:30",
                                             "a * * * *",
                                             "@fortnightly",
                                             "@1763700000",
                                             "*x * * * *",
                                             "* * * foo *",
                                             "* * *",
                                             "mon tue wed thu",
                                             "Mon Tue",
                                             "*-*-* 25:00",
                                             "1 2 3",
                                             "run at 0 2 * * *"};

        for (size_t i = 0; i < G_N_ELEMENTS(others); i++) {
                g_autofree char *message = NULL;

                cr_expect_not(cron_explain(others[i], &message), "%s: %s", others[i], message);
                cr_expect_null(message);
        }
}

/* What cron, too, would refuse, and the forms of others. */
Test(cron, what_is_nearly_its_form_is_told_of) {
        static const struct {
                const char *text, *said;
        } nearly[] = {
            {"0 25 * * *", "this looks like cron's form, but cron has no hour \"25\" (0 to 23)"},
            {"60 * * * *", "this looks like cron's form, but cron has no minute \"60\" (0 to 59)"},
            {"-1 * * * *", "this looks like cron's form, but cron has no minute \"-1\" (0 to 59)"},
            {"5-1 * * * *",
             "this looks like cron's form, but cron has no minute \"5-1\" (0 to 59)"},
            {"1, * * * *", "this looks like cron's form, but cron has no minute \"1,\" (0 to 59)"},
            {"*/0 * * * *",
             "this looks like cron's form, but cron has no minute \"*/0\" (0 to 59)"},
            {"* * 32 * *",
             "this looks like cron's form, but cron has no day of the month \"32\" (1 to 31)"},
            {"* * * 13 *", "this looks like cron's form, but cron has no month \"13\" (1 to 12)"},
            {"* * * * 8", "this looks like cron's form, but cron has no weekday \"8\" (0 to 7)"},
            {"0 25 * * * /usr/bin/backup",
             "this looks like cron's form, but cron has no hour \"25\" (0 to 23)"},
            {"5 4 * *", "this looks like cron's form, but has 4 fields, and not the 5 of minute, "
                        "hour, day of the month, month, weekday"},
            {"0 0 0 1 * 2 2026", "this looks like cron's form, but has 7 fields, and not the 5 of "
                                 "minute, hour, day of the month, month, weekday"},
            {"0 0 0 * * 2", "this looks like cron's form, but has 6 fields, and not the 5 of "
                            "minute, hour, day of the month, month, weekday"},
            {"* * * * * *", "this looks like cron's form, but has 6 fields, and not the 5 of "
                            "minute, hour, day of the month, month, weekday"},
            {"0 30 2 * * ?", "this is cron's form with seconds; here it is \"*-*-* 02:30\". "
                             "" CRON_ZONE_HINT},
            {"0 */5 * * * ?", "this is cron's form with seconds; here it is \"*:0/5\""},
            {"0 0 4 ? * mon",
             "this is cron's form with seconds; here it is \"Mon *-*-* 04:00\". " CRON_ZONE_HINT},
            {"0 2 * * * /usr/bin/backup",
             "this is a line of a crontab; here the schedule is \"*-*-* 02:00\", and the command "
             "stands in \"exec\". " CRON_ZONE_HINT},
            {"@hourly root /usr/bin/poll", "this is a line of a crontab; here the schedule is "
                                           "\"hourly\", and the command stands in \"exec\""},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(nearly); i++) {
                g_autofree char *message = NULL;

                cr_expect(cron_explain(nearly[i].text, &message), "%s", nearly[i].text);
                cr_expect_str_eq(message ? message : "", nearly[i].said, "%s: %s", nearly[i].text,
                                 message);
        }
}

/* Cron's rule for one field, value by value. */
static bool field_has(const char *field, long value, long low, long high) {
        g_auto(GStrv) parts = g_strsplit(field, ",", -1);

        for (char **part = parts; *part; part++) {
                const char *slash = strchr(*part, '/'), *dash = strchr(*part, '-');
                long first = **part == '*' ? low : strtol(*part, NULL, 10);
                long last = **part == '*' ? high : dash ? strtol(dash + 1, NULL, 10) : first;
                long step = slash ? strtol(slash + 1, NULL, 10) : 1;

                if (slash && !dash)
                        last = high;
                if (value >= first && value <= last && (value - first) % step == 0)
                        return true;
        }
        return false;
}

static bool cron_has(char **fields, GDateTime *time) {
        long weekday = g_date_time_get_day_of_week(time); /* 1 Monday ... 7 Sunday */
        bool day = field_has(fields[2], g_date_time_get_day_of_month(time), 1, 31);
        bool named =
            field_has(fields[4], weekday, 0, 7) || (weekday == 7 && field_has(fields[4], 0, 0, 7));
        bool either = *fields[2] != '*' && *fields[4] != '*';

        return field_has(fields[0], g_date_time_get_minute(time), 0, 59) &&
               field_has(fields[1], g_date_time_get_hour(time), 0, 23) &&
               field_has(fields[3], g_date_time_get_month(time), 1, 12) &&
               (either ? day || named : day && named);
}

Test(cron, elapses_when_cron_would) {
        static const char *const lines[] = {"*/7 3 * * *",     "0 0 29-31 * *", "13 */5 1-7 2-4 *",
                                            "0 12 13 * 5",     "0 12 */2 * 0",  "1 1 * */3 6-7",
                                            "5-50/15 * 1 1 *", "0 0 1 * 1-5"};

        for (size_t i = 0; i < G_N_ELEMENTS(lines); i++) {
                g_auto(GStrv) fields = g_strsplit(lines[i], " ", -1);
                _cleanup_(schedule_freep) Schedule *schedule = NULL;
                g_autofree char *message = NULL;
                CronTimes times = {0};
                int64_t begin = INT64_C(1764500000) / 86400 * 86400, next = begin - 1;

                cr_assert_gt(cron_times_parse(lines[i], &times), 0);
                cr_assert_eq(schedule_new(NULL, &schedule, &message), 0);
                cr_assert_eq(schedule_add_calendar(schedule, times.first, &message), 0, "%s",
                             message);
                if (times.second)
                        cr_assert_eq(schedule_add_calendar(schedule, times.second, &message), 0);
                (void)schedule_next(schedule, next, &next);
                for (int64_t at = begin; at < begin + 100 * INT64_C(86400); at += 60) {
                        g_autoptr(GDateTime) time = g_date_time_new_from_unix_utc(at);

                        cr_assert_eq(cron_has(fields, time), next == at, "%s at %" G_GINT64_FORMAT,
                                     lines[i], at);
                        if (next == at)
                                (void)schedule_next(schedule, next, &next);
                }
                cron_times_clear(&times);
        }
}
