/* Sets of exit statuses, as they are written and as they stand in records. */
#include "exit-set.h"

#include <criterion/criterion.h>
#include <glib.h>

Test(exit_set, what_is_an_item) {
        static const char *const good[] = {"1", "2", "255", "64..78", "7..7", "1..255"};
        static const char *const bad[] = {"",
                                          "0",
                                          "256",
                                          "-1",
                                          "+1",
                                          "01",
                                          "1.5",
                                          "1..",
                                          "..1",
                                          "1..0",
                                          "1..256",
                                          "0..3",
                                          "1-3",
                                          "1...3",
                                          "1..2..3",
                                          " 1",
                                          "1 ",
                                          "all",
                                          "99999999999999999999"};

        for (size_t i = 0; i < G_N_ELEMENTS(good); i++)
                cr_expect_null(exit_range_fault(good[i]), "%s", good[i]);
        for (size_t i = 0; i < G_N_ELEMENTS(bad); i++)
                cr_expect_not_null(exit_range_fault(bad[i]), "%s", bad[i]);
        cr_expect_str_eq(exit_range_fault("78..64"), "is a range that ends before it begins");
}

static void expect_set(const char *items, const char *expected) {
        g_auto(GStrv) words = g_strsplit(items, " ", -1);
        g_autofree char *set = exit_set_of((const char *const *)words);

        cr_expect_eq(g_strcmp0(set, expected), 0, "%s: %s rather than %s", items,
                     set ? set : "none", expected ? expected : "none");
}

Test(exit_set, normal_form) {
        expect_set("2", "2");
        expect_set("64..78 2", "2,64..78");
        expect_set("3 2 2", "2..3");
        expect_set("1..10 5..20 21", "1..21");
        expect_set("255 1", "1,255");
        expect_set("1..255", "1..255");
        cr_expect_null(exit_set_of(NULL));
}

Test(exit_set, what_is_in_it) {
        cr_expect(exit_set_has("2,64..78", 2));
        cr_expect(exit_set_has("2,64..78", 64));
        cr_expect(exit_set_has("2,64..78", 78));
        cr_expect_not(exit_set_has("2,64..78", 63));
        cr_expect_not(exit_set_has("2,64..78", 79));
        cr_expect_not(exit_set_has("2,64..78", 1));
        cr_expect_not(exit_set_has("2,64..78", -1), "a signal's");
        cr_expect_not(exit_set_has("1..255", 0));
        cr_expect_not(exit_set_has(NULL, 1));
        cr_expect_not(exit_set_has("", 1));
}

/* Whatever stands in a record. */
Test(exit_set, what_is_none_has_nothing_in_it) {
        cr_expect_not(exit_set_has("all", 1));
        cr_expect_not(exit_set_has("78..64", 70));
        cr_expect_not(exit_set_has("1..", 1));
        cr_expect(exit_set_has("all,3,,x", 3), "what is an item counts");
}
