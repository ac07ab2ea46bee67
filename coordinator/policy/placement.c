/* See placement.h. */
#include "placement.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* FNV-1a, 64 bits (Fowler, Noll, Vo). */
static uint64_t hash_text(uint64_t hash, const char *text) {
        for (const unsigned char *c = (const unsigned char *)text; *c; c++)
                hash = (hash ^ *c) * UINT64_C(0x100000001b3);
        return (hash ^ 0xff) * UINT64_C(0x100000001b3); /* so that "ab" + "c" is not "a" + "bc" */
}

/* The finaliser of splitmix64 (Steele, Lea, Flood): FNV alone leaves the scores of n1, n2, n3 too
 * close to each other. */
static uint64_t mix(uint64_t x) {
        x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
        return x ^ (x >> 31);
}

uint64_t placement_score(const char *key, const char *member) {
        return mix(hash_text(hash_text(UINT64_C(0xcbf29ce484222325), key), member));
}

uint32_t placement_rank(const char *key, const char *const *candidates, const char *self) {
        uint64_t own = placement_score(key, self);
        bool found = false;
        uint32_t rank = 0;

        for (const char *const *candidate = candidates; *candidate; candidate++) {
                uint64_t score = placement_score(key, *candidate);
                int order = strcmp(*candidate, self);

                if (order == 0)
                        found = true;
                else if (score > own || (score == own && order < 0))
                        rank++;
        }
        return found ? rank : PLACEMENT_NONE;
}
