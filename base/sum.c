/* See sum.h. */
#include "sum.h"

#define FNV_OFFSET UINT64_C(0xcbf29ce484222325)
#define FNV_PRIME UINT64_C(0x100000001b3)

uint64_t text_sum(const char *text, size_t size) {
        uint64_t sum = FNV_OFFSET;

        for (size_t i = 0; i < size; i++)
                sum = (sum ^ (unsigned char)text[i]) * FNV_PRIME;
        return sum;
}
