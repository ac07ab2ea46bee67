/* See job-file-fixture.h. */
#include "job-file-fixture.h"

#include <string.h>

#include "expect-errors.h"

JobFile *parse_job_file(const char *text, const char *errors) {
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        JobFile *file = NULL;

        cr_assert_eq(job_file_parse("f", text, strlen(text), diagnostics, &file), 0);
        expect_errors(diagnostics, errors);
        cr_expect_eq(file->good, !*errors, "%s", text);
        if (*errors)
                cr_expect_eq(file->jobs->len, 0, "a bad file has no jobs: %s", text);
        return file;
}

void expect_job_file(const char *text, const char *errors) {
        (void)job_file_free(parse_job_file(text, errors));
}

char *job_file_with_line(const char *line) {
        const char *exec = g_str_has_prefix(line, "exec:") ? "" : "    exec: /bin/true\n";
        g_auto(GStrv) parts = g_strsplit(line, "\n", -1);
        g_autofree char *joined = g_strjoinv("\n    ", parts);

        return g_strdup_printf("jobs:\n  a:\n%s    %s\n", exec, joined);
}

const JobSpec *job_in_file(const JobFile *file, const char *name) {
        for (guint i = 0; i < file->jobs->len; i++) {
                const JobSpec *spec = file->jobs->pdata[i];

                if (g_str_equal(spec->name, name))
                        return spec;
        }
        cr_assert_fail("there is no job \"%s\"", name);
        return NULL;
}
