/* Sets of exit statuses, as people write them: "2,64..78". The text is the set: it stands in a
 * job's definition and in the records of its runs, and whoever reads one from there believes no
 * more of it than this parser takes. Pure. */
#pragma once

#include <stdbool.h>

/* Return: what is wrong with one item ("2" or "64..78"), as a sentence fragment; NULL: nothing. */
const char *exit_range_fault(const char *item);
/* Return: the set of these items (NULL-terminated, without faults) in normal form: sorted, what
 * touches is joined; NULL for none. Newly allocated (g_free). */
char *exit_set_of(const char *const *items);
/* Return: whether the status is in it; `set` may be NULL, and what is no item has nothing in it. */
bool exit_set_has(const char *set, int status);
