/* Ticks as people type them. */
#include "tick-text.h"

#include <criterion/criterion.h>
#include <inttypes.h>

Test(tick_text, a_time_or_the_id_of_a_run) {
        static const struct {
                const char *text;
                int64_t tick; /* 0: it is none */
        } cases[] = {
            {"1763700000-1", 1763700000},
            {"1763700000-0", 1763700000},
            {"1763700000-12", 1763700000},
            {"@1763700000", 1763700000},
            {"2025-11-21 04:40", 1763700000},
            {"2025-11-21 04:40:01", 1763700001},
            {"1763700000", 0},
            {"1763700000-", 0},
            {"1763700000-m0123abcd", 0},
            {"1763700000-1x", 0},
            {"1763700000:1", 0},
            {"-1", 0},
            {"0-1", 0},
            {"@0", 0},
            {"1969-12-31 23:59", 0},
            {"", 0},
        };
        g_autoptr(GTimeZone) utc = g_time_zone_new_utc();

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                int64_t tick = -5;

                cr_expect_eq(tick_from_text(cases[i].text, utc, &tick), cases[i].tick > 0, "%s",
                             cases[i].text);
                cr_expect_eq(tick, cases[i].tick ? cases[i].tick : -5, "%s: %" PRId64,
                             cases[i].text, tick);
        }
}

Test(tick_text, in_the_zone_that_is_said) {
        g_autoptr(GTimeZone) zone = NULL;
        int64_t tick = 0;
        int code = 0;

        cr_assert(tick_zone_is_given("explain", "Europe/Berlin", &zone, &code));
        cr_expect(tick_from_text("2025-11-21 05:40", zone, &tick));
        cr_expect_eq(tick, 1763700000);
}
