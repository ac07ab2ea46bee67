/* The files in which the locks of commands are remembered. */
#include <criterion/criterion.h>
#include <signal.h>
#include <sys/resource.h>

#include "lock-memory.h"
#include "temporary-tree.h"

static char *runtime_dir;

static void make_directory(void) {
        runtime_dir = tree_make();
}

static void remove_directory(void) {
        tree_remove(runtime_dir);
        g_clear_pointer(&runtime_dir, g_free);
}

TestSuite(lock_memory, .init = make_directory, .fini = remove_directory);

static const LockRecord *find(const GPtrArray *records, const char *id) {
        for (guint i = 0; i < records->len; i++)
                if (g_str_equal(((const LockRecord *)records->pdata[i])->id, id))
                        return records->pdata[i];
        return NULL;
}

static bool there_is(const char *name) {
        g_autofree char *path = g_build_filename(runtime_dir, name, NULL);

        return g_file_test(path, G_FILE_TEST_EXISTS);
}

Test(lock_memory, what_is_saved_is_loaded_until_it_is_removed) {
        char *paths[] = {(char *)"/l/a/x-1", (char *)"/l/b/x-2", NULL};
        LockRecord record = {
            .id = (char *)"01", .label = (char *)"a b", .paths = paths, .token = 7, .ending = true};
        g_autoptr(GPtrArray) loaded = NULL, left = NULL;
        const LockRecord *one = NULL;

        cr_assert_null(lock_memory_save(runtime_dir, &record));
        cr_assert_null(lock_memory_save(runtime_dir, &(LockRecord){.id = (char *)"02"}));
        loaded = lock_memory_load(runtime_dir);
        cr_assert_eq(loaded->len, 2);
        one = find(loaded, "01");
        cr_assert_not_null(one);
        cr_expect_str_eq(one->label, "a b");
        cr_expect(g_strv_equal((const char *const *)one->paths, (const char *const *)paths));
        cr_expect(lock_record_is_held(one));
        cr_expect_eq(one->token, 7);
        cr_expect(one->ending);
        cr_expect(!one->go_on && !one->session_over);
        cr_expect_null(one->scope);
        cr_expect_not(lock_record_is_held(find(loaded, "02")));
        lock_memory_remove(runtime_dir, "01");
        lock_memory_remove(runtime_dir, "03");
        left = lock_memory_load(runtime_dir);
        cr_assert_eq(left->len, 1);
        cr_expect_null(find(left, "01"));
}

Test(lock_memory, what_cannot_be_saved_is_said) {
        g_autofree char *why = NULL;

        tree_write(runtime_dir, LOCK_MEMORY_DIRECTORY, "");
        why = lock_memory_save(runtime_dir, &(LockRecord){.id = (char *)"01"});
        cr_expect_not_null(strstr(why, "/" LOCK_MEMORY_DIRECTORY "/01.json"), "%s", why);
        cr_expect_not_null(strstr(why, "Not a directory"), "%s", why);
}

/* What is not ours in one of them costs no other, and keeps none from being given up. */
Test(lock_memory, a_damaged_record_is_known_by_what_can_be_read) {
        g_autoptr(GPtrArray) records = NULL;
        const LockRecord *damaged = NULL;

        tree_write(runtime_dir, LOCK_MEMORY_DIRECTORY "/01.json", "[");
        tree_write(runtime_dir, LOCK_MEMORY_DIRECTORY "/02.json",
                   "{\"paths\": [\"/l/a/x-1\"], \"token\": \"none\"}");
        tree_write(runtime_dir, LOCK_MEMORY_DIRECTORY "/A b.json", "{}");
        records = lock_memory_load(runtime_dir);
        cr_assert_eq(records->len, 2);
        damaged = find(records, "02");
        cr_assert_not_null(damaged);
        cr_expect_str_eq(damaged->paths[0], "/l/a/x-1");
        cr_assert_not_null(find(records, "01"));
        cr_expect_null(find(records, "01")->paths);
}

Test(lock_memory, without_files_nothing_is_remembered) {
        g_autoptr(GPtrArray) records = lock_memory_load(runtime_dir),
                             taken = lock_memory_take_over(runtime_dir);

        cr_expect_eq(records->len, 0);
        cr_expect_eq(taken->len, 0);
}

/* ---- whoever goes on with them ---- */

/* A process was killed before it could rename it. */
Test(lock_memory, what_was_not_written_to_the_end_is_deleted) {
        g_autoptr(GPtrArray) read = NULL, taken = NULL;

        tree_write(runtime_dir, LOCK_MEMORY_DIRECTORY "/01.json.A7B8C9", "{\"id\":");
        read = lock_memory_load(runtime_dir);
        cr_expect_eq(read->len, 0);
        cr_expect(there_is(LOCK_MEMORY_DIRECTORY "/01.json.A7B8C9"));
        taken = lock_memory_take_over(runtime_dir);
        cr_expect_eq(taken->len, 0);
        cr_expect_not(there_is(LOCK_MEMORY_DIRECTORY "/01.json.A7B8C9"));
}

#define OF_ALL                                                                                     \
        "{\"locks\": [{\"paths\": [\"/l/a/x-1\"]}, 7, {\"id\": \"../02\"}, {\"id\": \"03\", "      \
        "\"paths\": [\"/l/a/x-2\"], \"go-on\": true}, {\"id\": \"04\"}], \"swept\": [\"/l/b\"]}"

/* The upgrade happens while locks are held. */
Test(lock_memory, the_file_of_all_that_versions_before_wrote_is_taken_over) {
        g_autoptr(GPtrArray) taken = NULL, loaded = NULL;
        const LockRecord *one = NULL;

        tree_write(runtime_dir, LOCK_MEMORY_OF_ALL, OF_ALL);
        taken = lock_memory_take_over(runtime_dir);
        cr_expect_eq(taken->len, 3);
        cr_expect_not(there_is(LOCK_MEMORY_OF_ALL));
        loaded = lock_memory_load(runtime_dir);
        cr_assert_eq(loaded->len, 3);
        one = find(loaded, "03");
        cr_assert_not_null(one);
        cr_expect_str_eq(one->paths[0], "/l/a/x-2");
        cr_expect(one->go_on);
        cr_assert_not_null(find(loaded, "04"));
        one = find(loaded, "swept");
        cr_assert_not_null(one);
        cr_expect_str_eq(one->directories[0], "/l/b");
}

/* Killed in between, it is done again; what was written since counts. */
Test(lock_memory, what_was_taken_over_is_not_read_again) {
        g_autoptr(GPtrArray) taken = NULL;

        tree_write(runtime_dir, LOCK_MEMORY_OF_ALL, OF_ALL);
        cr_assert_null(
            lock_memory_save(runtime_dir, &(LockRecord){.id = (char *)"03", .token = 5}));
        taken = lock_memory_take_over(runtime_dir);
        cr_expect_eq(taken->len, 3);
        cr_expect_eq(find(taken, "03")->token, 5);
        cr_expect_not(find(taken, "03")->go_on);
}

/* No file has room for anything. */
Test(lock_memory, what_cannot_be_taken_over_stays) {
        g_autoptr(GPtrArray) taken = NULL;
        struct rlimit before, none;

        tree_write(runtime_dir, LOCK_MEMORY_OF_ALL, OF_ALL);
        cr_assert_neq(signal(SIGXFSZ, SIG_IGN), SIG_ERR);
        cr_assert_eq(getrlimit(RLIMIT_FSIZE, &before), 0);
        none = (struct rlimit){0, before.rlim_max};
        cr_assert_eq(setrlimit(RLIMIT_FSIZE, &none), 0);
        taken = lock_memory_take_over(runtime_dir);
        cr_assert_eq(setrlimit(RLIMIT_FSIZE, &before), 0);
        cr_expect_eq(taken->len, 3);
        cr_expect(there_is(LOCK_MEMORY_OF_ALL));
}

Test(lock_memory, what_is_no_directory_is_set_aside) {
        g_autoptr(GPtrArray) taken = NULL;

        tree_write(runtime_dir, LOCK_MEMORY_OF_ALL, OF_ALL);
        tree_write(runtime_dir, LOCK_MEMORY_DIRECTORY, "");
        taken = lock_memory_take_over(runtime_dir);
        cr_expect_eq(taken->len, 3);
        cr_expect(there_is(LOCK_MEMORY_DIRECTORY "/03.json"));
        cr_expect(there_is(LOCK_MEMORY_DIRECTORY ".damaged"));
        cr_expect_not(there_is(LOCK_MEMORY_OF_ALL));
}
