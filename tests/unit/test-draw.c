/* base/draw.h and base/chance.h: what is drawn has its shape and its range, and is not drawn twice.
 */
#include <criterion/criterion.h>
#include <glib.h>
#include <string.h>

#include "chance.h"
#include "draw.h"

Test(chance, fills_all_of_it_and_no_more) {
        unsigned char bytes[600] = {0};
        unsigned zeros = 0;

        chance_fill(bytes, sizeof(bytes) - 4);
        for (size_t i = 0; i < sizeof(bytes) - 4; i++)
                zeros += bytes[i] == 0;
        cr_assert_leq(zeros, 30, "%u of 596 bytes are 0", zeros);
        for (size_t i = sizeof(bytes) - 4; i < sizeof(bytes); i++)
                cr_assert_eq(bytes[i], 0);
}

Test(draw, a_number_is_below_its_limit_and_may_be_any) {
        unsigned seen[7] = {0};

        for (unsigned i = 0; i < 7000; i++) {
                uint64_t number = draw_below(7);

                cr_assert_lt(number, 7);
                seen[number]++;
        }
        for (unsigned i = 0; i < 7; i++)
                cr_assert(seen[i] > 700 && seen[i] < 1300, "%u came %u times of 7000", i, seen[i]);
        cr_assert_eq(draw_below(0), 0);
        cr_assert_eq(draw_below(1), 0);
}

Test(draw, no_number_of_a_wide_span_is_more_frequent) {
        uint64_t limit = UINT64_MAX / 3 * 2; /* by a remainder alone half of it would come twice */
        unsigned low = 0;

        for (unsigned i = 0; i < 3000; i++)
                low += draw_below(limit) < limit / 2;
        cr_assert(low > 1350 && low < 1650, "%u of 3000 are in the lower half", low);
}

Test(draw, a_delay_is_the_upper_half) {
        for (unsigned i = 0; i < 1000; i++) {
                usec_t delay = draw_delay(1001);

                cr_assert(delay >= 500 && delay <= 1001, "%u", (unsigned)delay);
        }
        cr_assert_eq(draw_delay(0), 0);
}

Test(draw, ids_differ_and_are_hex) {
        char one[DRAW_ID_MAX], other[DRAW_ID_MAX];

        draw_id(one);
        draw_id(other);
        cr_assert_eq(strlen(one), 32);
        cr_assert_eq(strspn(one, "0123456789abcdef"), 32);
        cr_assert_str_neq(one, other);
        cr_assert_neq((uint64_t)draw_bits() << 32 | draw_bits(),
                      (uint64_t)draw_bits() << 32 | draw_bits());
}

Test(draw, a_uuid_is_of_version_4) {
        for (unsigned i = 0; i < 100; i++) {
                g_autofree char *uuid = draw_uuid();

                cr_assert(g_uuid_string_is_valid(uuid), "%s", uuid);
                cr_assert_eq(uuid[14], '4', "%s", uuid);
                cr_assert(strchr("89ab", uuid[19]), "%s", uuid);
        }
}
