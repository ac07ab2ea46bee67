/* What is remembered of the locks that commands hold, for the process after this one. */
#include <jansson.h>

#include "command-locks.h"
#include "daemon-fixture.h"

TestSuite(command_locks, .init = setup, .fini = teardown);

#define HELD                                                                                       \
        "{\"locks\":[{\"id\":\"0123abcd\",\"label\":\"orders-db reports\","                        \
        "\"directories\":[\"/jobkeeper/locks/orders-db\",\"/jobkeeper/locks/reports\"],"           \
        "\"paths\":[\"/jobkeeper/locks/orders-db/x-0000000001\","                                  \
        "\"/jobkeeper/locks/reports/x-0000000007\"],\"token\":42,\"go-on\":true,"                  \
        "\"ending\":false,\"session-over\":true}],\"swept\":[]}"

static void lock_is_over(void *userdata) {
}

static const char *nothing_is_wrong(const void *userdata) {
        return "";
}

static const CommandLocksEvents events = {lock_is_over, nothing_is_wrong};

static json_t *remembered(CommandLocks *locks) {
        g_autofree char *path = g_build_filename(root, "run", LOCK_MEMORY_FILE, NULL);
        json_t *file;

        cr_assert(command_locks_remember(locks));
        file = json_load_file(path, 0, NULL);
        cr_assert_not_null(file);
        return file;
}

static void expect_same(const json_t *lock, const json_t *before, const char *member) {
        cr_expect(json_equal(json_object_get(lock, member), json_object_get(before, member)), "%s",
                  member);
        cr_expect_not_null(json_object_get(lock, member), "%s", member);
}

/* Nothing of a lock is lost however often its daemon is restarted. */
Test(command_locks, what_is_recalled_is_remembered) {
        static const char *const members[] = {"id",    "label", "directories", "paths",
                                              "token", "go-on", "session-over"};
        json_t *written = json_loads(HELD, 0, NULL), *file = NULL;
        const json_t *before = json_array_get(json_object_get(written, "locks"), 0), *lock = NULL;
        CommandLocks *locks = NULL;

        write_job("    every: 1h\n    exec: [/bin/true]\n");
        open_daemon();
        tree_write(root, "run/command-locks.json", HELD);
        locks = command_locks_new(coordinator->node, coordinator->units, &events, NULL);
        file = remembered(locks);
        cr_assert_eq(json_array_size(json_object_get(file, "locks")), 1);
        lock = json_array_get(json_object_get(file, "locks"), 0);
        for (size_t i = 0; i < G_N_ELEMENTS(members); i++)
                expect_same(lock, before, members[i]);
        cr_expect(!json_is_true(json_object_get(lock, "ending")));
        cr_expect_eq(json_array_size(json_object_get(file, "swept")), 2,
                     "where a process before us queued");
        command_locks_free(locks);
        json_decref(file);
        json_decref(written);
}
