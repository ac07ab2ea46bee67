/* The rule for names: what is let through, what is refused, and that a refusal says why. */
#include <criterion/criterion.h>
#include <glib.h>
#include <string.h>

#include "name.h"

Test(name, valid) {
        static const char *const names[] = {"a", "0", "n1", "orders-backup", "a.b_c-d", "9-._"};

        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                cr_expect(name_is_valid(names[i]), "%s", names[i]);
                cr_expect_null(name_fault(names[i]), "%s", names[i]);
        }
}

Test(name, invalid) {
        static const struct {
                const char *name, *fault;
        } cells[] = {
            {NULL, "is empty"},
            {"", "is empty"},
            {"A", "may only have"},
            {"aB", "may only have"},
            {"a b", "may only have"},
            {"a/b", "may only have"},
            {"../a", "may only have"},
            {"a:b", "may only have"},
            {"a\n", "may only have"},
            {"a@b", "may only have"},
            {"\xc3\xa4", "may only have"},
            {".", "must begin"},
            {"..", "must begin"},
            {"-a", "must begin"},
            {"_a", "must begin"},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cells); i++) {
                const char *fault = name_fault(cells[i].name);

                cr_expect_not(name_is_valid(cells[i].name), "%zu", i);
                cr_assert_not_null(fault, "%zu", i);
                cr_expect(g_str_has_prefix(fault, cells[i].fault), "%zu: %s", i, fault);
        }
}

Test(name, every_other_byte_is_refused) {
        static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789._-";

        for (int c = 1; c < 256; c++) {
                char name[] = {'a', (char)c, '\0'};

                cr_expect_eq(name_is_valid(name), strchr(allowed, c) != NULL, "byte %d", c);
        }
}

Test(name, length) {
        g_autofree char *longest = g_strnfill(NAME_LENGTH_MAX, 'a'),
                        *longer = g_strnfill(NAME_LENGTH_MAX + 1, 'a');

        cr_expect(name_is_valid(longest));
        cr_expect_not(name_is_valid(longer));
        cr_expect_str_eq(name_fault(longer), "is longer than 100 bytes");
}

Test(name, of_an_instance) {
        g_autofree char *longest = g_strnfill(NAME_LENGTH_MAX, 'a'),
                        *instance = job_name_of_instance(longest, longest),
                        *base = job_name_base("a-b.c@n1"), *plain = job_name_base("a");
        const char *const none[] = {"",     "@",     "a@",    "@n1",  "a@n1@n2",
                                    "A@n1", "a@n/1", "-a@n1", "a@-n1"};

        cr_expect_str_eq(job_name_node("a-b.c@n1"), "n1");
        cr_expect(job_name_is_valid("a@n1") && job_name_is_valid("a") &&
                  job_name_is_valid(instance));
        cr_expect_eq(strlen(instance), JOB_NAME_LENGTH_MAX);
        cr_expect_not(name_is_valid("a@n1"));
        cr_expect_str_eq(base, "a-b.c");
        cr_expect_str_eq(plain, "a");
        cr_expect_null(job_name_node("a"));
        cr_expect_null(job_name_node(NULL));
        cr_expect_not(job_name_is_valid(NULL));
        for (size_t i = 0; i < G_N_ELEMENTS(none); i++)
                cr_expect(!job_name_node(none[i]) && !job_name_is_valid(none[i]), "%s", none[i]);
}

Test(name, of_a_jobs_lock) {
        cr_expect(name_is_of_job_lock("job:a"));
        cr_expect(name_is_of_job_lock("job:"));
        cr_expect_not(name_is_of_job_lock("job"));
        cr_expect_not(name_is_of_job_lock("a-job:a"));
        cr_expect_not(name_is_of_job_lock(NULL));
}

Test(name, what_is_shown_of_one_is_bounded) {
        g_autofree char *millions = g_strnfill(1 << 20, '/'), *shown = name_shown(millions),
                        *whole = g_strnfill(200, '/'), *same = name_shown(whole);

        cr_expect_eq(strlen(shown), 200 + strlen("…"));
        cr_expect(g_str_has_suffix(shown, "//…"), "%s", shown);
        cr_expect_str_eq(same, whole);
}

Test(name, no_character_is_cut_through) {
        g_autoptr(GString) text = g_string_new("a");
        g_autofree char *shown = NULL, *broken = NULL;

        for (unsigned i = 0; i < 100; i++)
                (void)g_string_append(text, "ü");
        shown = name_shown(text->str);
        cr_expect(g_utf8_validate(shown, -1, NULL));
        cr_expect(g_str_has_suffix(shown, "üü…"), "%s", shown);
        broken = name_shown("a\xff");
        cr_expect_str_eq(broken, "a\xef\xbf\xbd");
}
