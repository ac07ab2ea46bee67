/* Diagnostics: their order, their form, their limits. */
#include "expect-errors.h"

#include <string.h>

static Diagnostics *diagnostics;

static void setup(void) {
        diagnostics = diagnostics_new();
}

static void teardown(void) {
        diagnostics = diagnostics_free(diagnostics);
}

TestSuite(diagnostics, .init = setup, .fini = teardown);

Test(diagnostics, none) {
        Mark mark;
        const char *message;

        expect_errors(diagnostics, "");
        cr_expect_eq(diagnostics_count(diagnostics), 0);
        cr_expect_not(diagnostics_get(diagnostics, DIAGNOSTIC_ERROR, 0, &mark, &message));
        cr_expect_null(diagnostics_free(NULL));
}

Test(diagnostics, come_sorted_by_place) {
        diagnostics_add(diagnostics, &(Mark){"b.yaml", 2, 7}, "four");
        diagnostics_add(diagnostics, &(Mark){"a.yaml", 12, 1}, "three");
        diagnostics_add(diagnostics, &(Mark){"b.yaml", 2, 11}, "five %d", 5);
        diagnostics_add(diagnostics, &(Mark){"a.yaml", 2, 30}, "two");
        diagnostics_add(diagnostics, &(Mark){"b.yaml", 2, 11}, "six");
        diagnostics_add(diagnostics, &(Mark){"a.yaml", 0, 0}, "one");
        expect_errors(diagnostics, "a.yaml: error: one\n"
                                   "a.yaml:2:30: error: two\n"
                                   "a.yaml:12:1: error: three\n"
                                   "b.yaml:2:7: error: four\n"
                                   "b.yaml:2:11: error: five 5\n"
                                   "b.yaml:2:11: error: six");
        cr_expect_eq(diagnostics_count(diagnostics), 6);
}

Test(diagnostics, one_by_one) {
        Mark mark = {0};
        const char *message = NULL;

        diagnostics_add(diagnostics, &(Mark){"a.yaml", 3, 4}, "late");
        diagnostics_add(diagnostics, &(Mark){"a.yaml", 1, 2}, "early");
        cr_assert(diagnostics_get(diagnostics, DIAGNOSTIC_ERROR, 0, &mark, &message));
        cr_expect_str_eq(message, "early");
        cr_expect(mark.line == 1 && mark.column == 2);
        cr_assert(diagnostics_get(diagnostics, DIAGNOSTIC_ERROR, 1, &mark, &message));
        cr_expect_str_eq(message, "late");
        cr_expect_not(diagnostics_get(diagnostics, DIAGNOSTIC_ERROR, 2, &mark, &message));
}

Test(diagnostics, are_kept_up_to_a_limit_and_counted_beyond) {
        g_auto(GStrv) lines = NULL;

        for (unsigned i = 0; i < DIAGNOSTICS_MAX + 50; i++)
                diagnostics_add(diagnostics, &(Mark){"a.yaml", i + 1, 1}, "fault");
        lines = diagnostics_to_strv(diagnostics);
        cr_expect_eq(g_strv_length(lines), DIAGNOSTICS_MAX);
        cr_expect_eq(diagnostics_count(diagnostics), DIAGNOSTICS_MAX + 50);
}

Test(diagnostics, are_one_printable_line) {
        g_autofree char *longest = g_strnfill(10000, 'x');
        Mark mark;
        const char *message = NULL;

        diagnostics_add(diagnostics, &(Mark){"a\nb.yaml", 1, 1}, "a\nb\x1b[31m\xff c\xc3\xa4");
        expect_errors(diagnostics,
                      "a\\x0ab.yaml:1:1: error: a\\x0ab\\x1b[31m\xef\xbf\xbd c\xc3\xa4");
        diagnostics_add(diagnostics, &(Mark){"b.yaml", 1, 1}, "%s", longest);
        cr_assert(diagnostics_get(diagnostics, DIAGNOSTIC_ERROR, 1, &mark, &message));
        cr_expect_lt(strlen(message), 500);
}
