/* See draw.h. */
#include "draw.h"

#include <glib.h>
#include <stdio.h>

#include "chance.h"

uint32_t draw_bits(void) {
        uint32_t bits = 0;

        chance_fill(&bits, sizeof(bits));
        return bits;
}

/* What lies beyond the last full span would make its first numbers more frequent. */
uint64_t draw_below(uint64_t limit) {
        uint64_t number = 0, rest = limit > 0 ? (UINT64_MAX % limit + 1) % limit : 0;

        if (limit == 0)
                return 0;
        do
                chance_fill(&number, sizeof(number));
        while (number > UINT64_MAX - rest);
        return number % limit;
}

usec_t draw_delay(usec_t delay) {
        return delay / 2 + draw_below(delay - delay / 2);
}

void draw_id(char ret_id[DRAW_ID_MAX]) {
        unsigned char bytes[16];

        chance_fill(bytes, sizeof(bytes));
        for (unsigned i = 0; i < sizeof(bytes); i++)
                (void)snprintf(&ret_id[(size_t)2 * i], 3, "%02x", bytes[i]);
}

char *draw_uuid(void) {
        char id[DRAW_ID_MAX];

        draw_id(id);
        id[12] = '4';                                      /* the version */
        id[16] = "89ab"[g_ascii_xdigit_value(id[16]) & 3]; /* the variant */
        return g_strdup_printf("%.8s-%.4s-%.4s-%.4s-%.12s", id, &id[8], &id[12], &id[16], &id[20]);
}
