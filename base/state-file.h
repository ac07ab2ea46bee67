/* Small files that a process of ours leaves for the next one, and that nobody else has any business
 * with.
 *
 * Whatever somebody has put in the place of one is neither waited for (a FIFO that nobody writes
 * to) nor believed: a link, another user's file, one that is longer than any that we write. */
#pragma once

#include <stddef.h>

/* Reads it whole; a NUL stands behind the text. Return: 0; -ENOENT: there is none; -EBADMSG: it is
 * no regular file; -ELOOP: a link; -EPERM: another user's; -EFBIG: longer than `most`; or negative
 * errno. `ret_size`: NULL, where NULs in it are no text of ours: -EBADMSG. */
int state_file_read(const char *path, size_t most, char **ret_text, size_t *ret_size);

/* Return: why it is not believed, in words that go on after its path: "is a link". */
const char *state_file_fault(int error);

/* Moves what stands there to PATH.damaged, for people to look at; the first few stay, and what
 * comes after them is deleted. Return: 0; 1: it is deleted; or negative errno, as -EISDIR: one more
 * directory, which may have anything in it, stays where it is. */
int state_file_set_aside(const char *path);
