/* Chains of jobs that are longer than runs may follow each other. */
#include "job-chain.h"

#include "job-file.h"

#include <criterion/criterion.h>
#include <string.h>

/* "j000" and so many that each follow the one before. */
static void add_chain(GString *text, unsigned links) {
        g_string_append(text, "  j000: {exec: /b}\n");
        for (unsigned i = 1; i <= links; i++)
                g_string_append_printf(text, "  j%03u: {exec: /b, after: j%03u}\n", i, i - 1);
}

/* With `jobs` further ones, expects these warnings. */
static void expect_warnings(unsigned links, const char *jobs, const char *warnings) {
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        _cleanup_(job_file_freep) JobFile *file = NULL;
        GString *text = g_string_new("jobs:\n");
        g_auto(GStrv) lines = NULL;
        g_autofree char *got = NULL, *written = NULL;

        add_chain(text, links);
        g_string_append(text, jobs);
        written = g_string_free(text, FALSE);
        cr_assert_eq(job_file_parse("f", written, strlen(written), diagnostics, &file), 0);
        cr_assert(file->good);
        job_chain_check(file->jobs, diagnostics);
        cr_expect_eq(diagnostics_count(diagnostics), 0);
        lines = diagnostics_warnings_to_strv(diagnostics);
        got = g_strjoinv("\n", lines);
        cr_expect_str_eq(got, warnings, "\n   got: %s\nwanted: %s\n", got, warnings);
}

#define TOO_LONG(place, count, first, last, cut)                                                   \
        "f:" place ": warning: a chain of " count " jobs, from \"" first "\" to \"" last           \
        "\", is too long: at most 100 runs follow one, and what begins with the first does not "   \
        "come to \"" cut "\": give that a schedule of its own, or take links out"

Test(job_chain, as_many_as_may_follow_each_other) {
        expect_warnings(0, "", "");
        expect_warnings(100, "", "");
        expect_warnings(101, "", TOO_LONG("103:3", "102", "j000", "j101", "j101"));
        expect_warnings(120, "", TOO_LONG("103:3", "121", "j000", "j120", "j101"));
}

/* What is run when one fails, or is well again, follows it as well. */
Test(job_chain, every_kind_of_link_counts) {
        expect_warnings(99, "  h: {exec: /b, on-failure: j000}\n", "");
        expect_warnings(100, "  h: {exec: /b, on-failure: j000}\n",
                        TOO_LONG("102:3", "102", "h", "j100", "j100"));
        expect_warnings(100, "  h: {exec: /b, on-recovery: j000}\n",
                        TOO_LONG("102:3", "102", "h", "j100", "j100"));
}

/* The longest way counts, and it is told of once, however many ways there are. */
Test(job_chain, many_ways) {
        expect_warnings(100, "  s: {exec: /b, after: [j000, j050, j099]}\n", "");
        expect_warnings(101, "  s: {exec: /b, after: [j000, j100]}\n  t: {exec: /b, after: j100}\n",
                        TOO_LONG("103:3", "102", "j000", "j101", "j101"));
}

/* One that is not there ends a chain. */
Test(job_chain, names_that_nobody_has) {
        expect_warnings(100, "  s: {exec: /b, after: nobody, on-failure: none}\n", "");
}
