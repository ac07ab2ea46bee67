/* A sum over some text, by which a reader knows that it has read all of it as it was written, and
 * not half of it while it was being replaced. No protection against anybody who means harm. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* FNV-1a of 64 bits. */
uint64_t text_sum(const char *text, size_t size);
