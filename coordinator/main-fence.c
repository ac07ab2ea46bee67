/* jobkeeper-fence: what the service manager hands over, and the loop. Everything else is in fence/.
 *
 * It is started by systemd only, with its socket as the one descriptor passed (sd_listen_fds(3)).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/uio.h>
#include <sysexits.h>
#include <unistd.h>

#include "cleanup.h"
#include "fence-protocol.h"
#include "fence.h"

#define LISTENER 3      /* SD_LISTEN_FDS_START */
#define WRITE_AGAIN 250 /* milliseconds */

/* Return: the value of a variable that is a number meant for this process; 0 where there is none.
 */
static unsigned long long number_for_us(const char *name, const char *pid_name) {
        const char *value = getenv(name), *pid = getenv(pid_name);

        if (!value || (pid && strtoll(pid, NULL, 10) != getpid()))
                return 0;
        return strtoull(value, NULL, 10);
}

/* What is not SIGTERM's meaning must not end us, and all that is bound to us: somebody's reload of
 * everything that is called jobkeeper, say.
 *
 * Return: a signalfd of those that ask us to end, or negative errno. */
static int take_signals(void) {
        static const int others[] = {SIGHUP, SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE};
        sigset_t set;
        int fd;

        for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
                (void)signal(others[i], SIG_IGN);
        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGINT);
        if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
                return -errno;
        fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
        return fd >= 0 ? fd : -errno;
}

/* Return: 0 or negative errno. */
static int write_instance(const char *instance) {
        _cleanup_close_ int fd =
            open(FENCE_INSTANCE_PATH,
                 O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
        struct iovec line[] = {{(char *)instance, strlen(instance)}, {(char *)"\n", 1}};
        ssize_t n = fd < 0 ? -1 : writev(fd, line, 2);

        if (n < 0)
                return -errno;
        return (size_t)n == strlen(instance) + 1 ? 0 : -ENOSPC;
}

/* Something else stands there: our runtime directory was not emptied before us. */
static void make_room_for_instance(int error) {
        if (error != -ENXIO && error != -EISDIR && error != -ELOOP)
                return;
        if (unlink(FENCE_INSTANCE_PATH) < 0)
                (void)rename(FENCE_INSTANCE_PATH, FENCE_INSTANCE_PATH ".damaged");
}

/* Before the manager is told that we are ready, which is when what is bound to us may begin: that
 * looks there whether it is we who guard it. Where it cannot be written nothing could begin, and we
 * do not either, until it can be. */
static void name_ourselves(const char *instance) {
        int r, before = 0;

        while ((r = write_instance(instance)) < 0) {
                if (r != before)
                        (void)fprintf(stderr, "jobkeeper-fence: " FENCE_INSTANCE_PATH ": %s\n",
                                      strerror(-r));
                make_room_for_instance(r);
                before = r;
                (void)poll(NULL, 0, WRITE_AGAIN);
        }
}

static int run(void) {
        const char *instance = getenv("INVOCATION_ID");
        _cleanup_close_ int signals = -1;
        FenceOptions options = {
            .listener = LISTENER,
            .slice_path = "/sys/fs/cgroup" FENCE_SLICE_CGROUP,
            .client_cgroup = FENCE_CLIENT_CGROUP,
            .instance = instance ? instance : "",
            .watchdog = number_for_us("WATCHDOG_USEC", "WATCHDOG_PID"),
        };

        name_ourselves(options.instance); /* SIGTERM ends that */
        signals = take_signals();
        options.signals = signals;
        if (signals < 0) {
                (void)fprintf(stderr, "jobkeeper-fence: %s\n", strerror(-signals));
                return EXIT_FAILURE;
        }
        /* A machine that is short of memory must not make it late, since others judge by that
         * whether it hangs: what it has once used stays. Where it may not have that, it goes
         * without. */
        (void)mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT);
        return fence_run(&options);
}

static void print_help(void) {
        puts(
            "jobkeeper-fence\n\n"
            "Stops fenced jobs in time where jobkeeperd cannot. Started by systemd, as\n" FENCE_UNIT
            ".\n\n"
            "  -h --help            Show this help\n"
            "     --version         Show the version\n\n"
            "See jobkeeper-fence(8).");
}

int main(int argc, char **argv) {
        if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
                print_help();
                return EXIT_SUCCESS;
        }
        if (argc == 2 && strcmp(argv[1], "--version") == 0) {
                puts("jobkeeper-fence " JOBKEEPER_VERSION);
                return EXIT_SUCCESS;
        }
        if (argc > 1) {
                (void)fprintf(stderr, "jobkeeper-fence: unexpected argument \"%s\"\n", argv[1]);
                return EX_USAGE;
        }
        if (number_for_us("LISTEN_FDS", "LISTEN_PID") != 1) {
                (void)fprintf(stderr,
                              "jobkeeper-fence: no socket was passed: it is started by systemd, "
                              "with jobkeeper-fence.socket\n");
                return EX_USAGE;
        }
        return run();
}
