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

/* Looks whether others could put something else in the place of `path`: the links on the way to it
 * must be root's (or ours), and so must the directories in which these and it stand, writable by
 * nobody else; where it is a directory, itself. Directories further up are not looked at. Return:
 * NULL; or newly allocated (g_free), what is wrong. */
char *trusted_place_fault(const char *path);

/* Return: newly allocated (g_free), what else there is to say of a path that could not be opened:
 * " (mode 0000; ...)" where its mode is why; "" where there is nothing. */
char *trusted_file_closed(const char *path, int error);

/* Reads `path` whole, which may be a link by who may make one (trusted_place_fault()). Return: 0
 * with the text (g_free, with a zero byte after it); TRUSTED_FILE_MASKED; -ENOENT, about which
 * nothing is said; -EBADMSG when it was refused or could not be read, which is said to
 * `diagnostics`. */
int trusted_file_read(const char *path, size_t size_max, Diagnostics *diagnostics, char **ret_text,
                      size_t *ret_size);
