/* See text-hash.h. */
#include "text-hash.h"

uint64_t text_hash_add(uint64_t hash, const char *text) {
        for (const unsigned char *c = (const unsigned char *)text; *c; c++)
                hash = (hash ^ *c) * UINT64_C(0x100000001b3);
        return (hash ^ 0xff) * UINT64_C(0x100000001b3); /* so that "ab" + "c" is not "a" + "bc" */
}

/* The finaliser of splitmix64 (Steele, Lea, Flood). */
uint64_t text_hash_mix(uint64_t hash) {
        hash = (hash ^ (hash >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        hash = (hash ^ (hash >> 27)) * UINT64_C(0x94d049bb133111eb);
        return hash ^ (hash >> 31);
}
