/* Whatever stands in the place of the files that a process left under /run and /var/lib for the
 * next one: a whole daemon (daemon-fixture.h) begins all the same, says what it does not believe,
 * has it set aside, and runs its jobs. */
#include <sys/stat.h>

#include "daemon-fixture.h"
#include "fence-link.h"
#include "job-table.h"
#include "journal.h"
#include "lock-memory.h"
#include "process-lock.h"
#include "rubbish.h"
#include "runs.h"

static const char *const names[] = {
    "run/session",
    "run/fence",
    "run/ended-units",
    "run/clock-waited",
    "run/" LOCK_MEMORY_DIRECTORY,
    "run/" LOCK_MEMORY_OF_ALL,
    "run/leases",
    "state/digests.json",
};

TestSuite(spoilt_state, .init = setup, .fini = teardown, .timeout = 60);

static bool is_running(void) {
        return services_alive() == 1;
}

static bool is_over(void) {
        return runs_count(coordinator->runs) == 0 && server_count("/jobkeeper/open/n1") == 0;
}

/* Return: whether there is a file of ours, or nothing. */
static bool is_ours(const char *name) {
        g_autofree char *path = tree_path(root, name);
        struct stat st;

        if (lstat(path, &st) < 0)
                return true;
        return (S_ISREG(st.st_mode) || S_ISSOCK(st.st_mode) || S_ISDIR(st.st_mode)) &&
               st.st_uid == geteuid() && st.st_size < 1024L * 1024;
}

static void work_with(Rubbish kind) {
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
                rubbish_put(root, names[i], kind);
        rubbish_put(root, "run/x/y", RUBBISH_EMPTY);
        (void)due_soon("");
        await(is_running, rubbish_word(kind));
        cr_expect(session_is_filed(coordinator->session), "%s", rubbish_word(kind));
        service_exit(service_newest(), 0);
        await(is_over, "it is settled");
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
                cr_expect(is_ours(names[i]), "%s: %s", names[i], rubbish_word(kind));
        close_daemon();
        open_daemon_again();
        serve_for(USEC_PER_SEC / 2);
        cr_expect(node_is_ready(coordinator->node));
}

static void expect_said(const char *name, const char *what) {
        g_autofree char *part = g_strdup_printf("/%s %s, and is not believed", name, what);

        cr_expect(journal_has(part), "%s", part);
}

static void expect_all_said(const char *what) {
        g_autofree char *session = g_strdup_printf("/run/session: damaged, ignored: it %s", what);

        cr_expect(journal_has(session), "%s", session);
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
                if (!g_str_equal(names[i], "run/session") && !g_str_equal(names[i], "run/leases") &&
                    !g_str_equal(names[i], "run/" LOCK_MEMORY_DIRECTORY))
                        expect_said(names[i], what);
}

Test(spoilt_state, empty) {
        work_with(RUBBISH_EMPTY);
        expect_said("state/digests.json", "is no file that jobkeeper writes");
}

Test(spoilt_state, binary) {
        work_with(RUBBISH_BINARY);
        expect_all_said("is no file that jobkeeper writes");
        expect_said("run/" LOCK_MEMORY_DIRECTORY, "is no file that jobkeeper writes");
}

Test(spoilt_state, newlines) {
        work_with(RUBBISH_NEWLINES);
}

Test(spoilt_state, json_of_other_types) {
        work_with(RUBBISH_TYPES);
}

Test(spoilt_state, an_array) {
        work_with(RUBBISH_ARRAY);
        expect_said("state/digests.json", "is no file that jobkeeper writes");
        expect_said("run/" LOCK_MEMORY_OF_ALL, "is no file that jobkeeper writes");
}

Test(spoilt_state, too_long) {
        work_with(RUBBISH_LENGTH);
        expect_all_said("is longer than any that jobkeeper writes");
}

Test(spoilt_state, a_directory) {
        work_with(RUBBISH_DIRECTORY);
        expect_all_said("is no file that jobkeeper writes");
}

Test(spoilt_state, a_fifo_is_not_waited_for) {
        work_with(RUBBISH_FIFO);
        expect_all_said("is no file that jobkeeper writes");
}

Test(spoilt_state, a_socket) {
        work_with(RUBBISH_SOCKET);
        expect_all_said("is no file that jobkeeper writes");
}

Test(spoilt_state, a_link) {
        work_with(RUBBISH_LINK);
        expect_all_said("is a link");
}

Test(spoilt_state, a_link_to_nothing) {
        work_with(RUBBISH_DANGLING);
        expect_all_said("is a link");
}

Test(spoilt_state, another_users) {
        work_with(RUBBISH_OTHERS);
        if (geteuid() == 0)
                expect_all_said("is another user's");
}

/* One that is put there while it works. */
Test(spoilt_state, what_is_put_there_meanwhile) {
        (void)due_soon("");
        for (unsigned kind = 0; kind < RUBBISH_KINDS; kind++) {
                if (kind == RUBBISH_DIRECTORY) /* what was there is kept: it is not empty */
                        continue;
                rubbish_put(root, "run/session", kind);
                rubbish_put(root, "run/ended-units", kind);
                rubbish_put(root, "run/fence", kind);
                serve_for(1200 * USEC_PER_MSEC); /* a heartbeat */
                cr_expect(is_ours("run/session"), "%s", rubbish_word(kind));
        }
        rubbish_put(root, "run/session", RUBBISH_DIRECTORY);
        serve_for(1200 * USEC_PER_MSEC);
        cr_expect(is_ours("run/session"));
        cr_expect(session_is_filed(coordinator->session));
}

/* Records of a command's lock, one beside the other, in every shape. */
Test(spoilt_state, locks_of_commands) {
        for (unsigned kind = 0; kind < RUBBISH_KINDS; kind++) {
                g_autofree char *name =
                    g_strdup_printf("run/" LOCK_MEMORY_DIRECTORY "/0%x.json", kind);

                rubbish_put(root, name, kind);
        }
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        open_daemon();
        serve_for(USEC_PER_SEC);
        cr_expect(node_is_ready(coordinator->node));
        expect_said("run/" LOCK_MEMORY_DIRECTORY "/07.json", "is no file that jobkeeper writes");
}

/* A whole daemon is not in it, but what it begins with. */
Test(spoilt_state, the_lock_of_the_process) {
        for (unsigned kind = 0; kind < RUBBISH_KINDS; kind++) {
                g_autofree char *runtime = tree_path(root, "run");
                pid_t holder = 0;
                int fd;

                rubbish_put(root, "run/" PROCESS_LOCK_FILE, kind);
                fd = process_lock_take(event, runtime, 0, &holder);
                cr_expect_geq(fd, 0, "%s: %s", rubbish_word(kind), g_strerror(-fd));
                (void)close(fd);
        }
}
