/* The file in which the locks of commands are remembered. */
#include <criterion/criterion.h>

#include "lock-memory.h"
#include "temporary-tree.h"

#define FILE_NAME "command-locks.json"

static char *directory;

static void make_directory(void) {
        directory = tree_make();
}

static void remove_directory(void) {
        tree_remove(directory);
        g_clear_pointer(&directory, g_free);
}

TestSuite(lock_memory, .init = make_directory, .fini = remove_directory);

static GPtrArray *load_text(const char *text, char ***ret_swept) {
        g_autofree char *path = g_build_filename(directory, FILE_NAME, NULL);

        tree_write(directory, FILE_NAME, text);
        return lock_memory_load(path, ret_swept);
}

Test(lock_memory, what_is_saved_is_loaded) {
        g_autofree char *path = g_build_filename(directory, FILE_NAME, NULL);
        char *paths[] = {(char *)"/l/a/x-1", (char *)"/l/b/x-2", NULL};
        LockRecord record = {
            .id = (char *)"01", .label = (char *)"a b", .paths = paths, .token = 7, .ending = true};
        g_autoptr(GPtrArray) records = g_ptr_array_new(), swept = g_ptr_array_new(), loaded = NULL;
        g_auto(GStrv) found = NULL;
        const LockRecord *one = NULL;

        g_ptr_array_add(records, &record);
        g_ptr_array_add(swept, (char *)"/l/a");
        cr_assert(lock_memory_save(path, records, swept));
        loaded = lock_memory_load(path, &found);
        cr_assert_eq(loaded->len, 1);
        one = loaded->pdata[0];
        cr_expect_str_eq(one->id, "01");
        cr_expect_str_eq(one->label, "a b");
        cr_expect(g_strv_equal((const char *const *)one->paths, (const char *const *)paths));
        cr_expect_eq(one->token, 7);
        cr_expect(one->ending);
        cr_expect(!one->go_on && !one->session_over);
        cr_expect_null(one->scope);
        cr_assert_not_null(found);
        cr_expect_str_eq(found[0], "/l/a");
}

/* What is not ours in one of them costs no other, and keeps none from being given up. */
Test(lock_memory, a_damaged_record_is_known_by_what_can_be_read) {
        g_auto(GStrv) swept = NULL;
        g_autoptr(GPtrArray) records =
            load_text("{\"locks\": [{\"paths\": [\"/l/a/x-1\"]}, 7, {\"id\": \"02\", \"paths\": "
                      "[\"/l/a/x-2\"], \"token\": \"none\"}, {\"id\": \"03\"}]}",
                      &swept);
        const LockRecord *damaged = NULL;

        cr_assert_eq(records->len, 2);
        damaged = records->pdata[0];
        cr_expect_str_eq(damaged->id, "02");
        cr_expect_str_eq(damaged->paths[0], "/l/a/x-2");
        cr_expect_str_eq(((const LockRecord *)records->pdata[1])->id, "03");
        cr_expect_null(swept);
}

Test(lock_memory, a_file_that_is_none_remembers_nothing) {
        g_auto(GStrv) swept = NULL;
        g_autoptr(GPtrArray) records = load_text("[", &swept);

        cr_expect_eq(records->len, 0);
        cr_expect_null(swept);
}
