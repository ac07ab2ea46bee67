/* See verify-report.h. */
#include "verify-report.h"

#include "exit-code.h"

VerifyReport *verify_report_new(void) {
        VerifyReport *report = g_new0(VerifyReport, 1);

        report->errors = diagnostics_new();
        report->warnings = diagnostics_new();
        return report;
}

VerifyReport *verify_report_free(VerifyReport *report) {
        if (!report)
                return NULL;
        diagnostics_free(report->errors);
        diagnostics_free(report->warnings);
        g_free(report);
        return NULL;
}

static void append_lines(GString *lines, const Diagnostics *diagnostics, const char *severity) {
        const char *message = NULL;
        Mark mark;
        unsigned shown = 0;

        for (; diagnostics_get(diagnostics, shown, &mark, &message); shown++) {
                g_string_append(lines, mark.file);
                if (mark.line > 0)
                        g_string_append_printf(lines, ":%u:%u", mark.line, mark.column);
                g_string_append_printf(lines, ": %s: %s\n", severity, message);
        }
        if (diagnostics_count(diagnostics) > shown)
                g_string_append_printf(lines, "and %u more of severity %s\n",
                                       diagnostics_count(diagnostics) - shown, severity);
}

char *verify_report_lines(const VerifyReport *report) {
        g_autoptr(GString) lines = g_string_new(NULL);

        append_lines(lines, report->errors, "error");
        append_lines(lines, report->warnings, "warning");
        return g_string_free(g_steal_pointer(&lines), FALSE);
}

static void append_findings(json_t *array, const Diagnostics *diagnostics, const char *severity) {
        const char *message = NULL;
        Mark mark;

        for (unsigned i = 0; diagnostics_get(diagnostics, i, &mark, &message); i++) {
                g_autofree char *file =
                    g_utf8_make_valid(mark.file, -1); /* jansson takes only UTF-8 */
                g_autofree char *text = g_utf8_make_valid(message, -1);

                json_array_append_new(array,
                                      json_pack("{s:s, s:i, s:i, s:s, s:s}", "file", file, "line",
                                                (int)mark.line, "column", (int)mark.column,
                                                "severity", severity, "message", text));
        }
}

json_t *verify_report_json(const VerifyReport *report) {
        json_t *array = json_array();

        append_findings(array, report->errors, "error");
        append_findings(array, report->warnings, "warning");
        return array;
}

char *verify_report_summary(const VerifyReport *report) {
        bool single = report->jobs == 1;

        return g_strdup_printf("%u %s in %u %s %s good", report->jobs, single ? "job" : "jobs",
                               report->files, report->files == 1 ? "file" : "files",
                               single ? "is" : "are");
}

int verify_report_exit(const VerifyReport *report) {
        return diagnostics_count(report->errors) > 0 ? EXIT_CODE_FAILED : EXIT_CODE_OK;
}
