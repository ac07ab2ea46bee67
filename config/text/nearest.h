/* The name that somebody meant. Pure. */
#pragma once

/* Return: the name among `names` that `word` was probably meant to be, NULL when none is near. */
const char *nearest_name(const char *word, const char *const *names);
