/* How a run (RUN of bus-interface.h) is shown. Pure: from JSON to text. Members that are absent or
 * of another type are left out, since a newer daemon may say more and an older one less. */
#pragma once

#include <glib.h>
#include <jansson.h>
#include <stdbool.h>

#include "table.h"

/* JSON members as C values: the string, "" when there is none; the number, or `otherwise`. */
const char *json_text(const json_t *object, const char *member);
double json_number(const json_t *object, const char *member, double otherwise);

/* Return: newly allocated (g_free), the state with what explains it: "failed (exit status 3)",
 * "failed (SIGKILL)", "succeeded". */
char *run_result(const json_t *run);

/* Return: why it has this state, as far as run_result() does not say so already; else "". Borrowed
 * from `run`. */
const char *run_why(const json_t *run);

/* Return: the history as a table. */
Table *run_table(const json_t *runs, double now, GTimeZone *zone);

/* Return: newly allocated (g_free), one sentence about a settled run: "run 1763-1 of orders-backup
 * on n2: failed (exit status 3) after 4.1s". */
char *run_sentence(const json_t *run);

/* Return: the exit status that `run --wait` ends with for this run. */
int run_exit(const json_t *run);
