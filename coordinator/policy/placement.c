/* See placement.h. */
#include "placement.h"

#include <stdbool.h>
#include <string.h>

#include "text-hash.h"

uint64_t placement_key(const char *key) {
        return text_hash_add(TEXT_HASH_BEGIN, key);
}

uint64_t placement_score_of(uint64_t key, const char *member) {
        return text_hash_mix(text_hash_add(key, member));
}

uint64_t placement_score(const char *key, const char *member) {
        return placement_score_of(placement_key(key), member);
}

uint32_t placement_rank(const char *key, const char *const *candidates, const char *self) {
        const uint64_t hash = placement_key(key), own = placement_score_of(hash, self);
        bool found = false;
        uint32_t rank = 0;

        for (const char *const *candidate = candidates; *candidate; candidate++) {
                uint64_t score = placement_score_of(hash, *candidate);
                int order = strcmp(*candidate, self);

                if (order == 0)
                        found = true;
                else if (score > own || (score == own && order < 0))
                        rank++;
        }
        return found ? rank : PLACEMENT_NONE;
}
