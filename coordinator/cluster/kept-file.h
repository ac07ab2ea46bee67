/* What a process of ours has kept for the next one, read with a word to people where it is not what
 * any of ours would have written: that is set aside, and counts as not being there. */
#pragma once

#include <stddef.h>

#include "state-file.h"

/* Reads a file that has no NULs, and `most` bytes. Return: newly allocated; NULL: there is none
 * that is believed. `lost`: what follows from that, a sentence's end: "its fence is not known". */
char *kept_file_read(const char *path, size_t most, const char *lost);

/* What it says is none of ours: says so, and sets it aside. */
void kept_file_refuse(const char *path, int error, const char *lost);
