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

Test(name, of_a_jobs_lock) {
        cr_expect(name_is_of_job_lock("job:a"));
        cr_expect(name_is_of_job_lock("job:"));
        cr_expect_not(name_is_of_job_lock("job"));
        cr_expect_not(name_is_of_job_lock("a-job:a"));
        cr_expect_not(name_is_of_job_lock(NULL));
}
