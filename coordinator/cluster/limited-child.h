/* A program that is asked something and may hang: it has so long, and no longer.
 *
 * For a thread that may wait, not for the event loop.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "usec.h"

/* Bytes of an answer that are kept; what comes after them is thrown away. */
#define LIMITED_CHILD_ANSWER_MAX ((size_t)1024 * 1024)

/* Runs `argv` (NULL at its end; the program is looked up in the PATH of `environment`) with nothing
 * on its standard input, and waits until it has ended; what its status is, does not matter. What is
 * left of its process group by then is killed, and so is all of it when `limit` has passed.
 *
 * `*ret_answer`: what it said on its standard error, newly allocated (g_free), where it ended in
 * time. Return: whether it did; false: `*error` is set, G_SPAWN_ERROR_FAILED where the time was
 * over. */
bool limited_child_ask(const char *const *argv, const char *const *environment, usec_t limit,
                       char **ret_answer, GError **error);
