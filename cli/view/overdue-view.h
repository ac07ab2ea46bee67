/* Which jobs are overdue (`expect-within`), as Status() says. Pure: from JSON to text. */
#pragma once

#include <jansson.h>

typedef enum Overdue {
        OVERDUE_NO, /* or nothing is expected */
        OVERDUE_YES,
        OVERDUE_NOT_KNOWN, /* its ledger was not read */
} Overdue;

Overdue overdue_of(const json_t *job);
/* Of one that is. Return: newly allocated (g_free): "overdue: the last success was 1d 2h ago,
 * within 1d one is expected". */
char *overdue_text(const json_t *job, double now);

/* For a check. Return: the exit status, EXIT_CODE_OK where none is overdue, EXIT_CODE_FAILED where
 * one is, EXIT_CODE_UNAVAILABLE where that is not known of all; *ret_text, newly allocated
 * (g_free), lines that say so. */
int overdue_check(const json_t *status, double now, char **ret_text);
