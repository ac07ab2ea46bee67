/* Contender names and whom they wait for. */
#include <criterion/criterion.h>
#include <errno.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "contender.h"

#define UUID "01234567-89ab-cdef-0123-456789abcdef"
#define HEX "0123456789abcdef0123456789abcdef"

static const struct {
        const char *name;
        LockNaming naming;
        ContenderKind kind;
        int64_t sequence;
} parse_table[] = {
    {"_c_" UUID "-__WRIT__0000000017", LOCK_NAMING_CURATOR_RW, CONTENDER_WRITER, 17},
    {"_c_" UUID "-__READ__0000000018", LOCK_NAMING_CURATOR_RW, CONTENDER_READER, 18},
    {"_c_" UUID "-__SLOT__0000000019", LOCK_NAMING_CURATOR_RW, CONTENDER_SLOT, 19},
    {"_c_" UUID "-__READ__2147483647", LOCK_NAMING_CURATOR_RW, CONTENDER_READER, INT32_MAX},
    {"_c_" UUID "-__WRIT__-2147483648", LOCK_NAMING_CURATOR_RW, CONTENDER_WRITER, INT32_MIN},
    {"_c_" UUID "-__WRIT__-000000005", LOCK_NAMING_CURATOR_RW, CONTENDER_WRITER, -5},
    {"_c_" UUID "-lock-0000000001", LOCK_NAMING_CURATOR_MUTEX, CONTENDER_WRITER, 1},
    {"_c_" UUID "-lock--000000001", LOCK_NAMING_CURATOR_MUTEX, CONTENDER_WRITER, -1},
    {HEX "__lock__0000000003", LOCK_NAMING_KAZOO, CONTENDER_WRITER, 3},
    {HEX "__rlock__0000000004", LOCK_NAMING_KAZOO, CONTENDER_READER, 4},
    {"", LOCK_NAMING_CURATOR_RW, CONTENDER_FOREIGN, 0},
    {"x-0000000001", LOCK_NAMING_CURATOR_RW, CONTENDER_FOREIGN, 0},
    {"config", LOCK_NAMING_CURATOR_RW, CONTENDER_FOREIGN, 0},
    {"__WRIT__0000000001", LOCK_NAMING_CURATOR_RW, CONTENDER_FOREIGN, 0},
    {"_c_" UUID, LOCK_NAMING_CURATOR_RW, CONTENDER_FOREIGN, 0},
    {"_c_" UUID "-__WRIT__", LOCK_NAMING_CURATOR_RW, CONTENDER_FOREIGN, 0},
    {"_c_" UUID "-__WRIT__1", LOCK_NAMING_CURATOR_RW, CONTENDER_FOREIGN, 0},
    {"_c_" UUID "-__WRIT__ 000000001", LOCK_NAMING_CURATOR_RW, CONTENDER_FOREIGN, 0},
    {"_c_" UUID "-__WRIT__+000000001", LOCK_NAMING_CURATOR_RW, CONTENDER_FOREIGN, 0},
    {"_c_" UUID "-__WRIT__00000000017", LOCK_NAMING_CURATOR_RW, CONTENDER_FOREIGN, 0},
    {"_c_" UUID "-__WRIT__2147483648", LOCK_NAMING_CURATOR_RW, CONTENDER_FOREIGN, 0},
    {"_c_" UUID "-__WRIT__99999999999999999999", LOCK_NAMING_CURATOR_RW, CONTENDER_FOREIGN, 0},
    {"_c_" UUID "-__WRIT__0000000017x", LOCK_NAMING_CURATOR_RW, CONTENDER_FOREIGN, 0},
    {"_c_" UUID "-__LEAS__0000000017", LOCK_NAMING_CURATOR_RW, CONTENDER_FOREIGN, 0},
    {"_c_01234567-89ab-cdef-0123-456789abcdeg-__WRIT__0000000017", LOCK_NAMING_CURATOR_RW,
     CONTENDER_FOREIGN, 0},
    {"_c_" HEX "-__WRIT__0000000017", LOCK_NAMING_CURATOR_RW, CONTENDER_FOREIGN, 0},
    {UUID "-__WRIT__0000000017", LOCK_NAMING_CURATOR_RW, CONTENDER_FOREIGN, 0},
    {"z" HEX "__lock__0000000003", LOCK_NAMING_CURATOR_RW, CONTENDER_FOREIGN, 0},
    {HEX "__lease__0000000003", LOCK_NAMING_CURATOR_RW, CONTENDER_FOREIGN, 0},
};

Test(contender, parses_names) {
        for (size_t i = 0; i < G_N_ELEMENTS(parse_table); i++) {
                Contender contender;

                memset(&contender, 0x55, sizeof contender);
                contender_parse(parse_table[i].name, &contender);
                cr_expect_eq(contender.naming, parse_table[i].naming, "naming of '%s'",
                             parse_table[i].name);
                cr_expect_eq(contender.kind, parse_table[i].kind, "kind of '%s'",
                             parse_table[i].name);
                cr_expect_eq(contender.sequence, parse_table[i].sequence, "sequence of '%s'",
                             parse_table[i].name);
                cr_expect_eq(contender.name, parse_table[i].name);
                if (contender.kind == CONTENDER_FOREIGN)
                        cr_expect_str_empty(contender.uuid);
                else
                        cr_expect_str_eq(contender.uuid,
                                         contender.naming == LOCK_NAMING_KAZOO ? HEX : UUID);
        }
}

Test(contender, a_prefix_and_a_sequence_number_make_a_name) {
        for (int naming = 0; naming < LOCK_NAMING_N; naming++) {
                for (int kind = CONTENDER_WRITER; kind < CONTENDER_FOREIGN; kind++) {
                        g_autofree char *uuid = contender_uuid_new((LockNaming)naming, false);
                        g_autofree char *prefix =
                            contender_prefix((LockNaming)naming, (ContenderKind)kind, uuid);
                        g_autofree char *name = g_strdup_printf("%s%010d", prefix, 42);
                        Contender contender;

                        if (!prefix)
                                continue;
                        contender_parse(name, &contender);
                        cr_expect_eq(contender.naming, (LockNaming)naming, "%s", name);
                        cr_expect_eq(contender.kind, (ContenderKind)kind, "%s", name);
                        cr_expect_eq(contender.sequence, 42);
                        cr_expect_str_eq(contender.uuid, uuid);
                        cr_expect_not(contender.may_leave_twin, "%s", name);
                }
        }
}

Test(contender, a_naming_without_such_a_kind_has_no_prefix) {
        cr_expect_null(contender_prefix(LOCK_NAMING_CURATOR_MUTEX, CONTENDER_READER, UUID));
        cr_expect_null(contender_prefix(LOCK_NAMING_KAZOO, CONTENDER_SLOT, HEX));
        cr_expect_null(contender_prefix(LOCK_NAMING_SINGLE_NODE, CONTENDER_WRITER, UUID));
        cr_expect_null(contender_prefix(LOCK_NAMING_CURATOR_RW, CONTENDER_FOREIGN, UUID));
}

/* Whoever does not say that he leaves no twin may leave one. */
Test(contender, twins) {
        static const struct {
                const char *name;
                bool may;
                const char *twin;
        } table[] = {
            {"_c_01234567-89ab-4def-8123-456789abcdef-__WRIT__0000000017", true,
             "_c_01234567-89ab-4def-8123-456789abcdef-__READ__0000000017"},
            {"_c_01234567-89ab-8def-8123-456789abcdef-__WRIT__0000000017", false,
             "_c_01234567-89ab-8def-8123-456789abcdef-__READ__0000000017"},
            {"_c_01234567-89ab-4def-8123-456789abcdef-__READ__0000000017", false, NULL},
            {"_c_01234567-89ab-4def-8123-456789abcdef-lock-0000000017", false, NULL},
            {"0123456789ab4def8123456789abcdef__lock__0000000017", false, NULL},
            {"x", false, NULL},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(table); i++) {
                g_autofree char *twin = contender_twin(table[i].name);
                Contender contender, other;

                contender_parse(table[i].name, &contender);
                cr_expect_eq(contender.may_leave_twin, table[i].may, "%s", table[i].name);
                cr_expect_eq(g_strcmp0(twin, table[i].twin), 0, "%s", twin);
                if (!twin)
                        continue;
                contender_parse(twin, &other);
                cr_expect_eq(other.kind, CONTENDER_READER);
                cr_expect_lt(contender_compare(&contender, &other), 0);
        }
}

Test(contender, only_who_asks_to_step_down_may_leave_a_twin) {
        for (int may = 0; may <= 1; may++) {
                g_autofree char *uuid = contender_uuid_new(LOCK_NAMING_CURATOR_RW, may);
                g_autofree char *prefix =
                    contender_prefix(LOCK_NAMING_CURATOR_RW, CONTENDER_WRITER, uuid);
                g_autofree char *name = g_strconcat(prefix, "0000000001", NULL);
                Contender contender;

                contender_parse(name, &contender);
                cr_expect_eq(contender.may_leave_twin, may);
        }
}

Test(contender, namings_have_words) {
        LockNaming naming = LOCK_NAMING_N;

        for (int i = 0; i < LOCK_NAMING_N; i++) {
                cr_expect_eq(lock_naming_from_string(lock_naming_to_string((LockNaming)i), &naming),
                             0);
                cr_expect_eq(naming, (LockNaming)i);
        }
        cr_expect_eq(lock_naming_from_string("zookeeper", &naming), -EINVAL);
        cr_expect_eq(naming, LOCK_NAMING_SINGLE_NODE);
}

Test(contender, order_is_the_sequence_number_then_the_name) {
        Contender queue[] = {
            {.name = "a", .sequence = 10},        {.name = "z", .sequence = 9},
            {.name = "c", .sequence = -1},        {.name = "b", .sequence = 10},
            {.name = "d", .sequence = INT32_MIN}, {.name = "e", .sequence = INT32_MAX},
        };
        g_autoptr(GString) order = g_string_new(NULL);

        qsort(queue, G_N_ELEMENTS(queue), sizeof *queue, contender_compare);
        for (size_t i = 0; i < G_N_ELEMENTS(queue); i++)
                g_string_append(order, queue[i].name);
        cr_expect_str_eq(order->str, "dczabe");
        cr_expect_eq(contender_compare(&queue[0], &queue[0]), 0);
}

Test(contender, who_keeps_whom_waiting) {
        static const struct {
                ContenderKind self, other;
                bool waits;
        } table[] = {
            {CONTENDER_WRITER, CONTENDER_WRITER, true}, {CONTENDER_WRITER, CONTENDER_READER, true},
            {CONTENDER_READER, CONTENDER_WRITER, true}, {CONTENDER_READER, CONTENDER_READER, false},
            {CONTENDER_SLOT, CONTENDER_SLOT, true},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(table); i++)
                cr_expect_eq(
                    contender_is_in_the_way(table[i].self, &(Contender){.kind = table[i].other}),
                    table[i].waits, "row %zu", i);
}
