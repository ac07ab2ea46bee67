/* Who is before us: the order, the tombstones, and what is known of the nearest. */
#include <criterion/criterion.h>

#include "place-view.h"

static PlaceView view;

static void list_five(void) {
        static const char *const names[] = {"c-1", "c-3", "c-4", "c-7", "c-9"};
        static const int64_t sequences[] = {1, 3, 4, 7, 9};

        view = (PlaceView){0};
        place_view_init(&view);
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
                place_view_add(&view, sight_new(NULL, names[i], sequences[i]));
}

static void done(void) {
        place_view_done(&view);
}

TestSuite(place_view, .init = list_five, .fini = done);

Test(place_view, the_nearest_first) {
        cr_expect_eq(place_view_length(&view), 5);
        cr_expect_str_eq(place_view_nearest(&view, 0)->name, "c-9");
        cr_expect_str_eq(place_view_nearest(&view, 4)->name, "c-1");
        cr_expect_null(place_view_nearest(&view, 5));
        place_view_begin(&view);
        cr_expect_null(place_view_nearest(&view, 0));
}

Test(place_view, what_is_struck_is_buried) {
        place_view_strike(&view, place_view_nearest(&view, 1));
        cr_expect_eq(place_view_length(&view), 4);
        cr_expect_str_eq(place_view_nearest(&view, 1)->name, "c-4");
        cr_expect(place_view_is_buried(&view, "c-7"));
        cr_expect_not(place_view_is_buried(&view, "c-4"));
        place_view_begin(&view); /* an older list may still show it */
        cr_expect(place_view_is_buried(&view, "c-7"));
}

Test(place_view, a_mark_strikes_all_up_to_it) {
        place_view_strike_up_to(&view, 4);
        cr_expect_eq(place_view_length(&view), 2);
        cr_expect_str_eq(place_view_nearest(&view, 1)->name, "c-7");
        cr_expect(place_view_is_buried(&view, "c-1") && place_view_is_buried(&view, "c-3") &&
                  place_view_is_buried(&view, "c-4"));
        place_view_strike_up_to(&view, 4); /* a mark is read again */
        cr_expect_eq(place_view_length(&view), 2);
        place_view_strike_up_to(&view, 100);
        cr_expect_eq(place_view_length(&view), 0);
}

Test(place_view, the_nearest_are_watched) {
        cr_expect(place_view_watches(&view, 0));
        cr_expect_not(place_view_watches(&view, 1));
        place_view_nearest(&view, 0)->state = SIGHT_WATCHED;
        cr_expect(place_view_watches(&view, 1));
        cr_expect_not(place_view_watches(&view, 2));
        place_view_nearest(&view, 1)->state = SIGHT_WATCHED;
        cr_expect(place_view_watches(&view, 2));
        place_view_strike_up_to(&view, 4); /* all there are */
        cr_expect(place_view_watches(&view, 3));
}

Test(place_view, what_is_asked_or_lost_is_awaited) {
        cr_expect_not(place_view_awaits_any(&view));
        place_view_nearest(&view, 0)->state = SIGHT_WATCHED;
        cr_expect_not(place_view_awaits_any(&view));
        place_view_nearest(&view, 4)->state = SIGHT_ASKED;
        cr_expect(place_view_awaits_any(&view));
        place_view_nearest(&view, 4)->state = SIGHT_STALLED;
        cr_expect(place_view_awaits_any(&view));
        place_view_forget_stalled(&view);
        cr_expect_not(place_view_awaits_any(&view));
        cr_expect_eq(place_view_nearest(&view, 4)->state, SIGHT_UNASKED);
        cr_expect_eq(place_view_nearest(&view, 0)->state, SIGHT_WATCHED);
}

Test(place_view, how_many_there_were_is_told_afterwards) {
        cr_expect_eq(place_view_told(&view), 5);
        place_view_give_up(&view);
        cr_expect_eq(place_view_length(&view), 0);
        cr_expect_eq(place_view_told(&view), 5);
        place_view_give_up(&view); /* and freed later */
        cr_expect_eq(place_view_told(&view), 5);
        place_view_add(&view, sight_new(NULL, "c-12", 12));
        cr_expect_eq(place_view_told(&view), 1);
}
