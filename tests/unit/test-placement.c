/* Ranks: a permutation, the same on every node, even, and moved by nothing but what has to move. */
#include <criterion/criterion.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "placement.h"

#define MEMBERS 10
#define KEYS 10000

static const char *const members[MEMBERS + 1] = {"n1", "n2", "n3", "n4", "n5",
                                                 "n6", "n7", "n8", "n9", "n10"};

static char *key_of(unsigned i) {
        return g_strdup_printf("job-%u", i);
}

/* Return: the member of rank 0. */
static const char *owner_of(const char *key, const char *const *candidates) {
        for (const char *const *candidate = candidates; *candidate; candidate++)
                if (placement_rank(key, candidates, *candidate) == 0)
                        return *candidate;
        cr_assert_fail("nobody owns %s", key);
        return NULL;
}

Test(placement, ranks_are_a_permutation) {
        for (unsigned i = 0; i < 500; i++) {
                g_autofree char *key = key_of(i);
                bool seen[MEMBERS] = {false};

                for (unsigned m = 0; m < MEMBERS; m++) {
                        uint32_t rank = placement_rank(key, members, members[m]);

                        cr_assert_lt(rank, MEMBERS);
                        cr_assert_not(seen[rank], "two of rank %u for %s", rank, key);
                        seen[rank] = true;
                }
        }
}

Test(placement, ranks_follow_scores) {
        for (unsigned i = 0; i < 100; i++) {
                g_autofree char *key = key_of(i);

                for (unsigned a = 0; a < MEMBERS; a++)
                        for (unsigned b = 0; b < MEMBERS; b++)
                                if (placement_score(key, members[a]) >
                                    placement_score(key, members[b]))
                                        cr_assert_lt(placement_rank(key, members, members[a]),
                                                     placement_rank(key, members, members[b]));
        }
}

Test(placement, order_of_the_list_does_not_matter) {
        const char *reversed[MEMBERS + 1] = {NULL};

        for (unsigned m = 0; m < MEMBERS; m++)
                reversed[m] = members[MEMBERS - 1 - m];
        for (unsigned i = 0; i < 500; i++) {
                g_autofree char *key = key_of(i);

                for (unsigned m = 0; m < MEMBERS; m++)
                        cr_assert_eq(placement_rank(key, members, members[m]),
                                     placement_rank(key, reversed, members[m]));
        }
}

Test(placement, not_a_member) {
        static const char *const nobody[] = {NULL};

        cr_expect_eq(placement_rank("job", members, "n11"), PLACEMENT_NONE);
        cr_expect_eq(placement_rank("job", members, "n"), PLACEMENT_NONE);
        cr_expect_eq(placement_rank("job", members, ""), PLACEMENT_NONE);
        cr_expect_eq(placement_rank("job", nobody, "n1"), PLACEMENT_NONE);
}

Test(placement, alone) {
        static const char *const alone[] = {"n7", NULL};

        cr_expect_eq(placement_rank("job", alone, "n7"), 0);
}

/* Mean 1000 a member, standard deviation 30: 150 is five of those. */
Test(placement, keys_spread_evenly) {
        unsigned owned[MEMBERS] = {0}, second[MEMBERS] = {0};

        for (unsigned i = 0; i < KEYS; i++) {
                g_autofree char *key = key_of(i);

                for (unsigned m = 0; m < MEMBERS; m++) {
                        uint32_t rank = placement_rank(key, members, members[m]);

                        owned[m] += rank == 0;
                        second[m] += rank == 1;
                }
        }
        for (unsigned m = 0; m < MEMBERS; m++) {
                cr_expect(abs((int)owned[m] - KEYS / MEMBERS) <= 150, "%s owns %u", members[m],
                          owned[m]);
                cr_expect(abs((int)second[m] - KEYS / MEMBERS) <= 150, "%s is second for %u",
                          members[m], second[m]);
        }
}

/* Without `gone` (an index into members). */
static void list_without(unsigned gone, const char *ret_list[MEMBERS + 1]) {
        unsigned n = 0;

        for (unsigned m = 0; m < MEMBERS; m++)
                if (m != gone)
                        ret_list[n++] = members[m];
        ret_list[n] = NULL;
}

Test(placement, a_removed_member_moves_only_its_own_keys) {
        unsigned inherited[MEMBERS] = {0};
        const char *left[MEMBERS + 1];

        list_without(3, left);
        for (unsigned i = 0; i < KEYS; i++) {
                g_autofree char *key = key_of(i);
                const char *before = owner_of(key, members), *after = owner_of(key, left);

                if (strcmp(before, "n4") != 0)
                        cr_assert_str_eq(before, after, "%s moved", key);
                else
                        inherited[strtol(after + 1, NULL, 10) - 1]++;
        }
        /* and they are shared out among all that are left, 111 each: five deviations are 50 */
        for (unsigned m = 0; m < MEMBERS; m++)
                cr_expect(m == 3 ? inherited[m] == 0 : abs((int)inherited[m] - 111) <= 55,
                          "%s inherits %u", members[m], inherited[m]);
}

Test(placement, those_behind_a_removed_member_move_up_by_one) {
        const char *left[MEMBERS + 1];

        list_without(6, left);
        for (unsigned i = 0; i < 500; i++) {
                g_autofree char *key = key_of(i);
                uint32_t gone = placement_rank(key, members, "n7");

                for (const char *const *member = left; *member; member++) {
                        uint32_t before = placement_rank(key, members, *member);

                        cr_assert_eq(placement_rank(key, left, *member),
                                     before > gone ? before - 1 : before);
                }
        }
}

/* Every node computes them for itself, of any version: they may not change. */
Test(placement, scores_are_fixed) {
        cr_expect_eq(placement_score("", ""), placement_score("", ""));
        cr_expect_neq(placement_score("ab", "c"), placement_score("a", "bc"));
        cr_expect_neq(placement_score("a", "b"), placement_score("b", "a"));
        cr_expect_eq(placement_score("orders-backup", "n1"), UINT64_C(0x60207aa70b607c44));
        cr_expect_eq(placement_score("orders-backup", "n2"), UINT64_C(0x95bb634d987a1de5));
}
