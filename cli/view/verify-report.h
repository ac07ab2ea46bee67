/* What `jobkeeper verify` found, as lines and as JSON. Pure. */
#pragma once

#include <glib.h>
#include <jansson.h>

#include "diagnostics.h"

typedef struct VerifyReport {
        Diagnostics *found; /* errors and warnings */
        unsigned jobs;      /* good ones */
        unsigned files;     /* good ones */
} VerifyReport;

VerifyReport *verify_report_new(void);
VerifyReport *verify_report_free(VerifyReport *report);
DEFINE_CLEANUP(VerifyReport, verify_report_free);

/* Return: newly allocated (g_free), every finding on a line "FILE:LINE:COLUMN: error: MESSAGE",
 * errors first; "" when there is none. */
char *verify_report_lines(const VerifyReport *report);

/* Return: a new array of {"file", "line", "column", "severity": "error" | "warning", "message"};
 * line and column are 0 for a whole file. */
json_t *verify_report_json(const VerifyReport *report);

/* Return: newly allocated (g_free), "3 jobs in 2 files are good". */
char *verify_report_summary(const VerifyReport *report);

/* Return: the exit status. */
int verify_report_exit(const VerifyReport *report);
