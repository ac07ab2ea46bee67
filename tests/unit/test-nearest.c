/* What a mistyped word was meant to be, by hand. */
#include <criterion/criterion.h>
#include <glib.h>
#include <string.h>

#include "nearest.h"

/* Each second name is one slip away, and the first two: what counts a slip twice takes the first.
 */
Test(nearest, each_slip_counts_once) {
        static const struct {
                const char *word, *names[3];
        } cases[] = {
            {"tiemout", {"tiemonn", "timeout", NULL}}, /* two neighbours are swapped */
            {"itmeout", {"itmeonn", "timeout", NULL}},   {"timeotu", {"tnneotu", "timeout", NULL}},
            {"timeut", {"tinnut", "timeout", NULL}},     /* one is missing */
            {"timeeout", {"timeeonn", "timeout", NULL}}, /* one too many */
            {"timwout", {"timwonn", "timeout", NULL}},   /* another one */
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++)
                cr_expect_str_eq(nearest_name(cases[i].word, cases[i].names), cases[i].names[1],
                                 "%s", cases[i].word);
}

/* A letter that stands elsewhere in the word is no neighbour. */
Test(nearest, what_is_swapped_must_be_neighbours) {
        const char *names[] = {"cba", NULL}, *near[] = {"abcdef", NULL}, *far[] = {"efcdab", NULL};

        cr_expect_null(nearest_name("abc", names));
        cr_expect_str_eq(nearest_name("badcef", near), near[0]);
        cr_expect_null(nearest_name("abcdef", far));
}

Test(nearest, the_first_of_the_nearest_is_taken) {
        const char *names[] = {"slots", "locks", "blocks", NULL};

        cr_expect_str_eq(nearest_name("locks", names), "locks");
        cr_expect_str_eq(nearest_name("clocks", names), "locks");
}

/* The longer a word, the more slips may be in it. */
Test(nearest, what_is_too_far_is_something_else) {
        const char *names[] = {"abcdefg", NULL}, *one[] = {"a", NULL};

        cr_expect_str_eq(nearest_name("abcd", (const char *const[]){"abxx", NULL}), "abxx");
        cr_expect_null(nearest_name("abcd", (const char *const[]){"axxx", NULL}));
        cr_expect_str_eq(nearest_name("abcdxxx", names), names[0]);
        cr_expect_null(nearest_name("abcxxxx", names));
        cr_expect_str_eq(nearest_name("b", one), "a");
        cr_expect_null(nearest_name("bc", one));
        cr_expect_null(nearest_name("", one));
        cr_expect_null(nearest_name("a", NULL));
}

Test(nearest, very_long_words_are_not_looked_at) {
        g_autofree char *most = g_strnfill(64, 'a'), *more = g_strnfill(65, 'a');

        cr_expect_str_eq(nearest_name(most, (const char *const[]){more, most, NULL}), most);
        cr_expect_null(nearest_name(more, (const char *const[]){most, NULL}));
}

/* What is too far is not looked at to its end, and that changes no answer. */
Test(nearest, only_the_length_tells_of_some) {
        const char *names[] = {"a", "abcdefghijklmnopqrstuvwxyz", "abcdefghxxxxx", "bacdefgh",
                               NULL};

        cr_expect_str_eq(nearest_name("abcdefgh", names), names[3]);
        cr_expect_str_eq(nearest_name("abdcefgxxxx", names), names[2]);
        cr_expect_null(nearest_name("zyxwvuts", names));
}
