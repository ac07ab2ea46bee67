/* What is paused, for the log: each change is told once, on every node. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

/* The control node as it was (NULL: nothing was known) and is. Return: whether it says something
 * else of what is paused, or was. */
bool pause_note_changes(const json_t *before, const json_t *after);
