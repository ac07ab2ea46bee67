/* Who asks for whom: links of all kinds, as pairs of places. */
#include "job-graph.h"

#include "job-file.h"

#include <criterion/criterion.h>
#include <string.h>

static void note_link(guint from, guint to, void *userdata) {
        GString *text = userdata;

        g_string_append_printf(text, "%s%u-%u", text->len > 0 ? " " : "", from, to);
}

/* Expects the links between the jobs of a file, whose places are those there. */
static void expect_graph(const char *text, const char *links) {
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        _cleanup_(job_file_freep) JobFile *file = NULL;
        g_autoptr(GString) got = g_string_new(NULL);

        cr_assert_eq(job_file_parse("f", text, strlen(text), diagnostics, &file), 0);
        cr_assert(file->good);
        job_graph_each(file->jobs, note_link, got);
        cr_expect_str_eq(got->str, links, "\n   got: %s\nwanted: %s\n", got->str, links);
}

Test(job_graph, each_kind_of_link) {
        expect_graph("jobs: {a: {exec: /b}}", "");
        expect_graph("jobs: {a: {exec: /b}, b: {exec: /b, after: a}}", "0-1");
        expect_graph("jobs: {a: {exec: /b, on-failure: b}, b: {exec: /b}}", "0-1");
        expect_graph("jobs: {a: {exec: /b}, b: {exec: /b, on-recovery: a}}", "1-0");
        expect_graph("jobs: {a: {exec: /b}, b: {exec: /b}, c: {exec: /b, after: {all: [b, a]}}}",
                     "1-2 0-2");
}

Test(job_graph, a_name_that_nobody_has_leads_nowhere) {
        expect_graph("jobs: {a: {exec: /b, after: [x, b], on-failure: y}, b: {exec: /b}}", "1-0");
}
