/* The lock by which a second jobkeeperd on a machine notices the first. */
#include "process-lock.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "event-loop.h"
#include "temporary-tree.h"
#include "timer.h"

#define LONG (60 * USEC_PER_SEC)

static char *root;
static sd_event *loop;

static void setup(void) {
        root = tree_make();
        loop = loop_new();
}

static void teardown(void) {
        loop = loop_end(loop);
        tree_remove(root);
        g_clear_pointer(&root, g_free);
}

TestSuite(process_lock, .init = setup, .fini = teardown);

static int take(usec_t patience) {
        pid_t holder = -1;
        int r = process_lock_take(loop, root, patience, &holder);

        cr_expect_eq(holder, r == -EBUSY ? getpid() : -1);
        return r;
}

Test(process_lock, there_is_one_holder_until_it_ends) {
        int fd = take(0);

        cr_assert_geq(fd, 0);
        cr_expect_eq(take(0), -EBUSY);
        (void)close(fd);
        fd = take(0);
        cr_expect_geq(fd, 0);
        (void)close(fd);
}

Test(process_lock, a_process_that_was_killed_has_it_no_longer) {
        int ready[2], fd;
        pid_t child, holder = 0;
        char byte;

        cr_assert_eq(pipe(ready), 0);
        child = fork();
        if (child == 0) {
                fd = process_lock_take(loop, root, 0, &holder);
                (void)!write(ready[1], fd >= 0 ? "y" : "n", 1);
                for (;;)
                        (void)pause();
        }
        cr_assert_eq(read(ready[0], &byte, 1), 1);
        cr_assert_eq(byte, 'y');
        cr_expect_eq(process_lock_take(loop, root, 0, &holder), -EBUSY);
        cr_expect_eq(holder, child);
        cr_assert_eq(kill(child, SIGKILL), 0);
        fd = process_lock_take(loop, root, LONG, &holder);
        cr_expect_geq(fd, 0);
        cr_expect_eq(waitpid(child, NULL, 0), child);
        (void)close(fd);
        (void)close(ready[0]);
        (void)close(ready[1]);
}

static void holder_ends(void *userdata) {
        int *fd = userdata;

        (void)close(*fd);
        *fd = -1;
}

Test(process_lock, one_that_is_just_ending_is_waited_for) {
        sd_event_source *slot = NULL;
        int first = take(0), fd;

        cr_assert_geq(timer_in(loop, &slot, 100 * USEC_PER_MSEC, holder_ends, &first), 0);
        fd = take(LONG);
        cr_expect_geq(fd, 0);
        cr_expect_eq(first, -1);
        (void)close(fd);
}

Test(process_lock, no_other_program_inherits_it) {
        int fd = take(0);

        cr_expect(fcntl(fd, F_GETFD) & FD_CLOEXEC);
        (void)close(fd);
}

Test(process_lock, it_is_for_its_owner_alone) {
        g_autofree char *path = tree_path(root, PROCESS_LOCK_FILE);
        int fd = take(0);
        struct stat st;

        cr_assert_eq(stat(path, &st), 0);
        cr_expect_eq(st.st_mode & 0777, 0600);
        (void)close(fd);
}

Test(process_lock, what_is_no_file_of_ours_is_set_aside) {
        int fd;

        tree_link(root, PROCESS_LOCK_FILE, "/etc/passwd");
        fd = take(LONG);
        cr_expect_geq(fd, 0);
        (void)close(fd);
        tree_delete(root, PROCESS_LOCK_FILE);
        tree_delete(root, PROCESS_LOCK_FILE ".damaged");
}

Test(process_lock, where_there_is_no_directory_it_is_refused) {
        cr_assert_eq(g_rmdir(root), 0);
        cr_assert(g_file_set_contents(root, "", 0, NULL));
        cr_expect_eq(take(LONG), -ENOTDIR);
        cr_assert_eq(g_unlink(root), 0);
        cr_assert_eq(g_mkdir(root, 0700), 0);
}

Test(process_lock, the_directory_is_made) {
        int fd;

        cr_assert_eq(g_rmdir(root), 0);
        fd = take(0);
        cr_expect_geq(fd, 0);
        (void)close(fd);
}

/* What stands there is not to blame, and stays. */
Test(process_lock, where_no_file_can_be_opened_it_is_said) {
        g_autofree char *file = g_build_filename(root, PROCESS_LOCK_FILE, NULL);
        struct rlimit before, none;
        int r;

        cr_assert(g_file_set_contents(file, "1\n", -1, NULL));
        cr_assert_eq(getrlimit(RLIMIT_NOFILE, &before), 0);
        none = (struct rlimit){0, before.rlim_max};
        cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
        r = take(0);
        cr_assert_eq(setrlimit(RLIMIT_NOFILE, &before), 0);
        cr_expect_eq(r, -EMFILE);
        cr_expect(g_file_test(file, G_FILE_TEST_IS_REGULAR));
}

Test(process_lock, where_there_can_be_no_directory_it_is_said) {
        g_autofree char *file = g_build_filename(root, "file", NULL),
                        *below = g_build_filename(file, "below", NULL);
        pid_t holder = 0;

        cr_assert(g_file_set_contents(file, "", 0, NULL));
        cr_expect_eq(process_lock_take(loop, below, 0, &holder), -ENOTDIR);
}
