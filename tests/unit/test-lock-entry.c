/* Who holds and who waits, as worked out from names alone. */
#include <criterion/criterion.h>
#include <glib.h>
#include <string.h>

#include "lock-survey.h"

#define ONE "_c_01234567-89ab-4def-8123-456789abcde1-"
#define TWO "_c_01234567-89ab-8def-8123-456789abcde2-"
#define THREE "_c_01234567-89ab-8def-8123-456789abcde3-"
#define BARE "0123456789abcdef0123456789abcdef"

static void destroy(gpointer entry) {
        lock_entry_free(entry);
}

static GPtrArray *ranked(const char *const *names, unsigned slots) {
        GPtrArray *entries = g_ptr_array_new_with_free_func(destroy);

        for (size_t i = 0; names[i]; i++)
                g_ptr_array_add(entries, lock_entry_new("a", "/locks/a", names[i]));
        lock_entries_rank(entries, slots);
        return entries;
}

/* `expected`: a line for each in its order: "NUMBER before holds|waits [foreign]". */
static void check(const char *const *names, unsigned slots, const char *expected) {
        g_autoptr(GPtrArray) entries = ranked(names, slots);
        g_autoptr(GString) found = g_string_new(NULL);

        for (guint i = 0; i < entries->len; i++) {
                const LockEntry *entry = entries->pdata[i];

                cr_assert(g_str_has_prefix(entry->path, "/locks/a/"));
                g_string_append_printf(found, "%s %u %s%s\n", entry->path + strlen(entry->path) - 2,
                                       entry->before, entry->holds ? "holds" : "waits",
                                       entry->foreign ? " foreign" : "");
        }
        cr_assert_str_eq(found->str, expected);
}

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

Test(lock_entry, nobody_is_nothing) {
        check((const char *const[]){NULL}, 0, "");
}

Test(lock_entry, a_name_tells_naming_and_mode) {
        static const struct {
                const char *name;
                LockNaming naming;
                LockMode mode;
                bool slot, foreign;
        } cases[] = {
            {ONE "__WRIT__0000000001", LOCK_NAMING_CURATOR_RW, LOCK_EXCLUSIVE, false, false},
            {ONE "__READ__0000000001", LOCK_NAMING_CURATOR_RW, LOCK_SHARED, false, false},
            {ONE "__SLOT__0000000001", LOCK_NAMING_CURATOR_RW, LOCK_EXCLUSIVE, true, false},
            {ONE "lock-0000000001", LOCK_NAMING_CURATOR_MUTEX, LOCK_EXCLUSIVE, false, false},
            {BARE "__lock__0000000001", LOCK_NAMING_KAZOO, LOCK_EXCLUSIVE, false, false},
            {BARE "__rlock__0000000001", LOCK_NAMING_KAZOO, LOCK_SHARED, false, false},
            {"lock", LOCK_NAMING_SINGLE_NODE, LOCK_EXCLUSIVE, false, false},
            {"lock-0000000001", LOCK_NAMING_CURATOR_RW, LOCK_EXCLUSIVE, false, true},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                _cleanup_(lock_entry_freep) LockEntry *entry =
                    lock_entry_new("r", "/", cases[i].name);
                g_autofree char *path = g_strconcat("/", cases[i].name, NULL);

                cr_assert_str_eq(entry->resource, "r");
                cr_assert_str_eq(entry->path, path);
                cr_assert_eq(entry->mode, cases[i].mode, "%s", path);
                cr_assert_eq(entry->slot, cases[i].slot, "%s", path);
                cr_assert_eq(entry->foreign, cases[i].foreign, "%s", path);
                cr_assert(entry->foreign || entry->naming == cases[i].naming, "%s", path);
                cr_assert_eq(entry->slots, 1);
                cr_assert_str_empty(entry->payload);
        }
}

Test(lock_entry, the_lowest_number_holds_whatever_the_uuids) {
        check(NAMES(ONE "__WRIT__0000000012", THREE "__WRIT__0000000009", TWO "__WRIT__0000000011"),
              0, "09 0 holds\n11 1 waits\n12 2 waits\n");
}

Test(lock_entry, readers_hold_until_a_writer_stands_before_them) {
        check(NAMES(ONE "__READ__0000000001", TWO "__READ__0000000002", ONE "__WRIT__0000000003",
                    TWO "__READ__0000000004"),
              0, "01 0 holds\n02 1 holds\n03 2 waits\n04 3 waits\n");
}

Test(lock_entry, as_many_hold_as_there_are_slots) {
        const char *const *names =
            NAMES(ONE "__SLOT__0000000001", TWO "__SLOT__0000000002", THREE "__SLOT__0000000003");
        g_autoptr(GPtrArray) entries = ranked(names, 2);

        check(names, 2, "01 0 holds\n02 1 holds\n03 2 waits\n");
        check(names, 0, "01 0 holds\n02 1 waits\n03 2 waits\n");
        cr_assert_eq(((LockEntry *)entries->pdata[2])->slots, 2);
}

Test(lock_entry, kazoo_has_readers_too) {
        check(NAMES(BARE "__rlock__0000000005", BARE "__lock__0000000004",
                    BARE "__rlock__0000000003"),
              0, "03 0 holds\n04 1 waits\n05 2 waits\n");
}

Test(lock_entry, a_single_node_is_the_lock) {
        check(NAMES("lock"), 0, "ck 0 holds\n");
}

Test(lock_entry, another_naming_than_the_first_is_foreign) {
        check(NAMES(ONE "__WRIT__0000000001", BARE "__lock__0000000002", TWO "__READ__0000000003"),
              0, "01 0 holds\n02 1 waits foreign\n03 2 waits\n");
        check(NAMES(ONE "lock-0000000001", "lock"), 0, "ck 0 holds\n01 1 waits foreign\n");
}

Test(lock_entry, a_name_that_says_nothing_comes_last_and_counts_for_nobody) {
        check(NAMES("backup-0000000000", ONE "__WRIT__0000000001"), 0,
              "01 0 holds\n00 0 waits foreign\n");
}

Test(lock_entry, who_steps_down_stands_before_his_twin) {
        check(NAMES(ONE "__READ__0000000001", ONE "__WRIT__0000000001", TWO "__WRIT__0000000002"),
              0, "01 0 holds\n01 1 waits\n02 2 waits\n");
}

/* Everybody is looked at once: looking at all before each would take minutes here. */
Test(lock_entry, a_long_queue_is_judged_in_one_pass, .timeout = 30) {
        enum { WAITERS = 200000 };
        g_autoptr(GPtrArray) entries = g_ptr_array_new_with_free_func(destroy);
        const LockEntry *first = NULL, *second = NULL, *last = NULL;

        for (unsigned i = 0; i < WAITERS; i++) {
                g_autofree char *name = g_strdup_printf(
                    ONE "__%s__%010u", i < 2 || i == WAITERS - 1 ? "READ" : "WRIT", i);
                g_ptr_array_add(entries, lock_entry_new("a", "/locks/a", name));
        }
        lock_entries_rank(entries, 0);
        first = entries->pdata[0];
        second = entries->pdata[1];
        last = entries->pdata[WAITERS - 1];
        cr_expect(first->holds && second->holds && !last->holds);
        cr_expect_eq(last->before, (unsigned)WAITERS - 1);
}
