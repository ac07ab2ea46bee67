/* The places of max-runs: who gets one, and when. */
#include <criterion/criterion.h>
#include <glib.h>

#include "places.h"

Test(places, first_come_first_served) {
        _cleanup_(places_freep) Places *places = places_new(1);

        cr_expect(places_ask(places, "a", 10, 0));
        cr_expect(places_ask(places, "a", 10, 0), "it has it");
        cr_expect_not(places_ask(places, "c", 20, 0));
        cr_expect_not(places_ask(places, "b", 20, 0));
        cr_expect_not(places_ask(places, "d", 15, 0), "due before them");
        cr_expect_eq(places_in_line(places), 3);
        cr_expect_null(places_next(places, 0));
        cr_expect(places_leave(places, "a"));
        cr_expect_str_eq(places_next(places, 0), "d");
        cr_expect_null(places_next(places, 0));
        cr_expect(places_has(places, "d") && !places_waits(places, "d"));
        cr_expect(places_leave(places, "d"));
        cr_expect_str_eq(places_next(places, 0), "c");
        cr_expect_not(places_leave(places, "b"), "it only stood in line");
        cr_expect(places_leave(places, "c"));
        cr_expect_null(places_next(places, 0));
        cr_expect_not(places_leave(places, "c"), "it left");
}

Test(places, runs_take_them_as_well) {
        _cleanup_(places_freep) Places *places = places_new(3);

        cr_expect_not(places_ask(places, "a", 1, 3));
        cr_expect_not(places_ask(places, "a", 1, 7), "found again after a restart");
        cr_expect_not(places_ask(places, "b", 2, 3));
        cr_expect_null(places_next(places, 3));
        cr_expect_str_eq(places_next(places, 1), "a");
        cr_expect_str_eq(places_next(places, 1), "b");
        cr_expect_not(places_ask(places, "c", 3, 1));
        cr_expect(places_leave(places, "a"));
        cr_expect_not(places_ask(places, "d", 4, 1), "not before who stands in line");
        cr_expect(places_ask(places, "c", 3, 1));
}

Test(places, who_asks_again_stands_where_it_became_due) {
        _cleanup_(places_freep) Places *places = places_new(1);

        cr_expect_not(places_ask(places, "a", 10, 1));
        cr_expect_not(places_ask(places, "b", 20, 1));
        cr_expect_not(places_ask(places, "a", 30, 1), "its tick is a newer one by now");
        cr_expect_eq(places_in_line(places), 2);
        cr_expect_str_eq(places_next(places, 0), "b");
        cr_expect(places_waits(places, "a"));
}

Test(places, without_a_limit_there_is_always_one) {
        _cleanup_(places_freep) Places *places = places_new(0);

        for (unsigned i = 0; i < 100; i++) {
                g_autofree char *job = g_strdup_printf("j%u", i);
                cr_expect(places_ask(places, job, i, 1000));
        }
        cr_expect_eq(places_in_line(places), 0);
}
