/* See helper-cli.h. */
#include "helper-cli.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <glib.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static char **full_environment(const char *const *environment) {
        char **full = g_get_environ();

        for (; environment && *environment; environment++) {
                g_auto(GStrv) pair = g_strsplit(*environment, "=", 2);

                full = g_environ_setenv(full, pair[0], pair[1], TRUE);
        }
        return full;
}

static void child(const CliRun *run, char **argv, char **environment) {
        int null = open("/dev/null", O_RDONLY);
        sigset_t none;

        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)dup2(null, STDIN_FILENO);
        (void)dup2(run->out, STDOUT_FILENO);
        (void)dup2(run->err, STDERR_FILENO);
        (void)close_range(3, ~0U, 0);
        (void)sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        (void)execve(argv[0], argv, environment);
        _exit(127);
}

CliRun *cli_start(const char *const *arguments, const char *const *environment) {
        g_autoptr(GPtrArray) argv = g_ptr_array_new();
        g_auto(GStrv) full = full_environment(environment);
        CliRun *run = g_new0(CliRun, 1);

        g_ptr_array_add(argv, (gpointer)JOBKEEPER_BINARY);
        for (; *arguments; arguments++)
                g_ptr_array_add(argv, (gpointer)*arguments);
        g_ptr_array_add(argv, NULL);
        run->out = memfd_create("out", MFD_CLOEXEC);
        run->err = memfd_create("err", MFD_CLOEXEC);
        cr_assert(run->out >= 0 && run->err >= 0);
        run->pid = fork();
        cr_assert_geq(run->pid, 0);
        if (run->pid == 0)
                child(run, (char **)argv->pdata, full);
        return run;
}

CliRun *cli_run_free(CliRun *run) {
        if (!run)
                return NULL;
        if (run->pid > 0) {
                (void)kill(run->pid, SIGKILL);
                (void)waitpid(run->pid, NULL, 0);
        }
        close_fdp(&run->out);
        close_fdp(&run->err);
        g_free(run);
        return NULL;
}

static char *read_all(int fd) {
        off_t size = lseek(fd, 0, SEEK_END); /* every writer appends, as the offset is shared */
        char *text = g_malloc0((gsize)size + 1);

        cr_assert_geq(pread(fd, text, (size_t)size, 0), 0);
        return text;
}

char *cli_out(const CliRun *run) {
        return read_all(run->out);
}

char *cli_err(const CliRun *run) {
        return read_all(run->err);
}

int cli_wait(CliRun *run, usec_t limit) {
        _cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, run->pid, 0);
        struct pollfd poll_end = {.fd = pidfd, .events = POLLIN};
        int status = 0;

        cr_assert_geq(pidfd, 0);
        if (poll(&poll_end, 1, (int)(limit / USEC_PER_MSEC)) != 1) {
                g_autofree char *out = cli_out(run);
                g_autofree char *err = cli_err(run);

                cr_assert_fail("jobkeeper has not ended; out: %s err: %s", out, err);
        }
        cr_assert_eq(waitpid(run->pid, &status, 0), run->pid);
        run->pid = 0;
        run->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
        return run->status;
}

static bool wait_for_text(int fd, const char *text, usec_t limit) {
        usec_t end = clock_monotonic() + limit;

        do {
                g_autofree char *all = read_all(fd);

                if (strstr(all, text))
                        return true;
                (void)poll(NULL, 0, 10);
        } while (clock_monotonic() < end);
        return false;
}

bool cli_wait_for_out(const CliRun *run, const char *text, usec_t limit) {
        return wait_for_text(run->out, text, limit);
}

bool cli_wait_for_err(const CliRun *run, const char *text, usec_t limit) {
        return wait_for_text(run->err, text, limit);
}

CliRun *cli_run_to_end(const char *const *arguments, const char *const *environment) {
        CliRun *run = cli_start(arguments, environment);

        (void)cli_wait(run, 30 * USEC_PER_SEC);
        return run;
}

void cli_expect(int status, const char *out, const char *err, const char *const *arguments) {
        _cleanup_(cli_run_freep) CliRun *run = cli_run_to_end(arguments, NULL);
        g_autofree char *got_out = cli_out(run);
        g_autofree char *got_err = cli_err(run);

        cr_expect_eq(run->status, status, "status %d, out: %s err: %s", run->status, got_out,
                     got_err);
        if (out)
                cr_expect_str_eq(got_out, out);
        if (err)
                cr_expect_str_eq(got_err, err);
}
