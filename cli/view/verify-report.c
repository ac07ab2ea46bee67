/* See verify-report.h. */
#include "verify-report.h"

#include "exit-code.h"

VerifyReport *verify_report_new(void) {
        VerifyReport *report = g_new0(VerifyReport, 1);

        report->found = diagnostics_new();
        return report;
}

VerifyReport *verify_report_free(VerifyReport *report) {
        if (!report)
                return NULL;
        diagnostics_free(report->found);
        g_free(report);
        return NULL;
}

static void append_lines(GString *lines, const Diagnostics *diagnostics, DiagnosticKind kind) {
        const char *message = NULL;
        Mark mark;
        unsigned shown = 0, count;

        for (; diagnostics_get(diagnostics, kind, shown, &mark, &message); shown++) {
                g_string_append(lines, mark.file);
                if (mark.line > 0)
                        g_string_append_printf(lines, ":%u:%u", mark.line, mark.column);
                g_string_append_printf(lines, ": %s: %s\n", diagnostic_kind_to_string(kind),
                                       message);
        }
        count = diagnostics_count_kind(diagnostics, kind);
        if (count > shown)
                g_string_append_printf(lines, "and %u more %ss\n", count - shown,
                                       diagnostic_kind_to_string(kind));
}

char *verify_report_lines(const VerifyReport *report) {
        g_autoptr(GString) lines = g_string_new(NULL);

        append_lines(lines, report->found, DIAGNOSTIC_ERROR);
        append_lines(lines, report->found, DIAGNOSTIC_WARNING);
        return g_string_free(g_steal_pointer(&lines), FALSE);
}

static void append_findings(json_t *array, const Diagnostics *diagnostics, DiagnosticKind kind) {
        const char *message = NULL;
        Mark mark;

        for (unsigned i = 0; diagnostics_get(diagnostics, kind, i, &mark, &message); i++) {
                g_autofree char *file =
                    g_utf8_make_valid(mark.file, -1); /* jansson takes only UTF-8 */
                g_autofree char *text = g_utf8_make_valid(message, -1);

                json_array_append_new(
                    array, json_pack("{s:s, s:i, s:i, s:s, s:s}", "file", file, "line",
                                     (int)mark.line, "column", (int)mark.column, "severity",
                                     diagnostic_kind_to_string(kind), "message", text));
        }
}

json_t *verify_report_json(const VerifyReport *report) {
        json_t *array = json_array();

        append_findings(array, report->found, DIAGNOSTIC_ERROR);
        append_findings(array, report->found, DIAGNOSTIC_WARNING);
        return array;
}

char *verify_report_summary(const VerifyReport *report) {
        bool single = report->jobs == 1;

        return g_strdup_printf("%u %s in %u %s %s good", report->jobs, single ? "job" : "jobs",
                               report->files, report->files == 1 ? "file" : "files",
                               single ? "is" : "are");
}

int verify_report_exit(const VerifyReport *report) {
        return diagnostics_count(report->found) > 0 ? EXIT_CODE_FAILED : EXIT_CODE_OK;
}
