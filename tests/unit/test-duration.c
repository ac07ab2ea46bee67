/* Durations: systemd.time(7) in both directions, and against the systemd-analyze of this machine.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "duration.h"

typedef struct Case {
        const char *text;
        int r;
        usec_t value;
} Case;

static const Case cases[] = {
    {"0", 0, 0},
    {"2", 0, 2 * USEC_PER_SEC},
    {"5min 20s", 0, 320 * USEC_PER_SEC},
    {"1h30min", 0, 90 * USEC_PER_MINUTE},
    {" 5s\t", 0, 5 * USEC_PER_SEC},
    {"5 min", 0, 5 * USEC_PER_MINUTE},
    {"5 20", 0, 25 * USEC_PER_SEC},
    {"5s6", 0, 11 * USEC_PER_SEC},
    {"00005s", 0, 5 * USEC_PER_SEC},
    {"1.5", 0, 1500 * USEC_PER_MSEC},
    {".5s", 0, 500 * USEC_PER_MSEC},
    {"1.25h", 0, 75 * USEC_PER_MINUTE},
    {"0.0000001s", 0, 0},
    {"5m", 0, 5 * USEC_PER_MINUTE},
    {"3hr", 0, 3 * USEC_PER_HOUR},
    {"2days", 0, 2 * USEC_PER_DAY},
    {"3weeks", 0, 21 * USEC_PER_DAY},
    {"1M", 0, 2629800 * USEC_PER_SEC},
    {"1y", 0, 31557600 * USEC_PER_SEC},
    {"7ms", 0, 7000},
    {"7msec", 0, 7000},
    {"7us", 0, 7},
    {"7\xc2\xb5s", 0, 7},
    {"7\xce\xbcs", 0, 7},
    {"infinity", 0, USEC_INFINITY},
    {" infinity ", 0, USEC_INFINITY},
    {"584541y", 0, 584541 * (31557600 * USEC_PER_SEC)},
    {"584543y", -ERANGE, 0},
    {"584541y 1y 1y", -ERANGE, 0},
    {"99999999999999999999us", -ERANGE, 0},
    {"999999999999999y", -ERANGE, 0},
    {"", -EINVAL, 0},
    {"  ", -EINVAL, 0},
    {"s", -EINVAL, 0},
    {"5x", -EINVAL, 0},
    {"5minx", -EINVAL, 0},
    {"-1", -EINVAL, 0},
    {"1.", -EINVAL, 0},
    {"1.s", -EINVAL, 0},
    {"1.5.2s", -EINVAL, 0},
    {"5s,6s", -EINVAL, 0},
    {"1e3", -EINVAL, 0},
    {"infinity 5s", -EINVAL, 0},
    {"maybe", -EINVAL, 0},
};

Test(duration, parse) {
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                usec_t value = 4711;
                int r = duration_parse(cases[i].text, &value);

                cr_expect_eq(r, cases[i].r, "\"%s\" gave %d", cases[i].text, r);
                cr_expect_eq(value, r == 0 ? cases[i].value : 4711, "\"%s\" is %" PRIu64,
                             cases[i].text, value);
        }
}

Test(duration, to_string) {
        static const struct {
                usec_t value;
                const char *text;
        } forms[] = {
            {0, "0"},
            {USEC_INFINITY, "infinity"},
            {90 * USEC_PER_MINUTE, "1h 30min"},
            {500 * USEC_PER_MSEC, "500ms"},
            {7 * USEC_PER_DAY, "7d"},
            {8 * USEC_PER_DAY + 1, "8d 1us"},
            {61 * USEC_PER_SEC, "1min 1s"},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(forms); i++) {
                g_autofree char *text = duration_to_string(forms[i].value);

                cr_expect_str_eq(text, forms[i].text);
        }
}

Test(duration, what_is_written_reads_back) {
        g_autoptr(GRand) rand = g_rand_new_with_seed(1);

        for (unsigned i = 0; i < 2000; i++) {
                usec_t value = ((usec_t)g_rand_int(rand) << 32 | g_rand_int(rand)) >>
                               g_rand_int_range(rand, 0, 64);
                g_autofree char *text = duration_to_string(value);
                usec_t again = 0;

                cr_assert_eq(duration_parse(text, &again), 0, "%s", text);
                cr_expect_eq(again, value, "%s", text);
        }
}

/* Asks systemd-analyze. Return: false when it calls the text no time span. */
static bool ask_systemd(const char *text, usec_t *ret) {
        const char *argv[] = {"systemd-analyze", "timespan", "--", text, NULL};
        g_autofree char *output = NULL;
        const char *value;
        int status = -1;

        cr_assert(g_spawn_sync(NULL, (char **)argv, NULL,
                               G_SPAWN_SEARCH_PATH | G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL,
                               &output, NULL, &status, NULL));
        value = strstr(output, "s: ");
        if (status != 0 || !value)
                return false;
        *ret = g_ascii_strtoull(value + strlen("s: "), NULL, 10);
        return true;
}

Test(duration, as_systemd_says) {
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                usec_t theirs = 0;
                bool good = ask_systemd(cases[i].text, &theirs);

                cr_expect_eq(good, cases[i].r == 0, "\"%s\"", cases[i].text);
                if (good)
                        cr_expect_eq(theirs, cases[i].value, "\"%s\" is %" PRIu64, cases[i].text,
                                     theirs);
        }
}
