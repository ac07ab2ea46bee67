/* A hash of texts that is the same on every node and in every version. Pure. */
#pragma once

#include <stdint.h>

#define TEXT_HASH_BEGIN UINT64_C(0xcbf29ce484222325)

/* Return: `hash` with one more text: FNV-1a, 64 bits (Fowler, Noll, Vo). */
uint64_t text_hash_add(uint64_t hash, const char *text);
/* Return: the finished hash. FNV alone leaves those of n1, n2, n3 too close to each other. */
uint64_t text_hash_mix(uint64_t hash);
