/* The name that somebody meant. Pure. */
#pragma once

/* Return: the name among `names` that `word` was probably meant to be, NULL when none is near.
 * `names` may be NULL: an empty array of GLib's is. */
const char *nearest_name(const char *word, const char *const *names);
