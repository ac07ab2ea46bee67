/* Reads of what stands in a directory of the small server, answered only when the test wants: how
 * many are under way at a time. */
#pragma once

#include <stdbool.h>

/* From now on. `directory` is borrowed until the end. */
void counted_reads_begin(const char *directory);
/* They are answered as everything is. */
void counted_reads_end(void);

/* Answers those that are under way. Return: whether any was. */
bool counted_reads_serve(void);
unsigned counted_reads_most(void);
/* Return: how many were answered. */
unsigned counted_reads_served(void);
