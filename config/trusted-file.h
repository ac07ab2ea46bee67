/* Reading a configuration file that decides what runs as root. What is checked is the opened file,
 * so that nobody can change it in between: a regular file of root's (or our own user's, when we are
 * not root), writable by its owner alone, and not too large. The daemon is a root without
 * capabilities, so what the owner may not read is refused also where root can: `verify` says of a
 * file what the daemon will find. */
#pragma once

#include <stddef.h>

#include "diagnostics.h"

/* A link to /dev/null, by which an administrator hides a file. */
#define TRUSTED_FILE_MASKED 1

/* Reads `path` whole. Return: 0 with the text (g_free, with a zero byte after it);
 * TRUSTED_FILE_MASKED; -ENOENT, about which nothing is said; -EBADMSG when it was refused or could
 * not be read, which is said to `diagnostics`. */
int trusted_file_read(const char *path, size_t size_max, Diagnostics *diagnostics, char **ret_text,
                      size_t *ret_size);
