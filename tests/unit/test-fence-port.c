/* The fence as the daemon reaches it, beside the real one: fence_run() in a child process. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "fence-port.h"
#include "fence.h"

#define LIMIT (10 * USEC_PER_SEC)
#define INSTANCE "0123456789abcdef0123456789abcdef"

static char *root, *path;
static sd_event *event;
static FencePort *port;
static int listener;
static pid_t child;
static unsigned greeted, ended;

static void on_port(FencePortEvent what, void *userdata) {
        if (what == FENCE_PORT_GREETED)
                greeted++;
        else
                ended++;
}

static void begin(void) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};

        root = g_dir_make_tmp("fence-port-XXXXXX", NULL);
        path = g_build_filename(root, "socket", NULL);
        g_strlcpy(address.sun_path, path, sizeof address.sun_path);
        listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
        cr_assert_eq(bind(listener, (struct sockaddr *)&address, sizeof address), 0);
        cr_assert_eq(listen(listener, 16), 0);
        cr_assert_eq(sd_event_new(&event), 0);
}

static void kill_fence(void) {
        if (child > 0) {
                (void)kill(child, SIGKILL);
                (void)waitpid(child, NULL, 0);
        }
        child = 0;
}

static void end(void) {
        port = fence_port_free(port);
        kill_fence();
        close(listener);
        (void)g_unlink(path);
        (void)g_rmdir(root);
        g_free(path);
        g_free(root);
        event = sd_event_unref(event);
}

TestSuite(fence_port, .init = begin, .fini = end);

/* Where the slice would be there is none: so nothing lives in it. */
static void start_fence(void) {
        g_autofree char *text = NULL, *cgroup = NULL;
        char *line;

        cr_assert(g_file_get_contents("/proc/self/cgroup", &text, NULL, NULL));
        line = strstr(text, "0::");
        cr_assert_not_null(line);
        cgroup = g_strndup(line + 3, strcspn(line + 3, "\n"));
        child = fork();
        cr_assert_geq(child, 0);
        if (child == 0)
                _exit(fence_run(&(FenceOptions){.listener = listener,
                                                .signals = -1,
                                                .slice_path = root,
                                                .client_cgroup = cgroup,
                                                .instance = INSTANCE}));
}

static void await(const unsigned *count, unsigned n) {
        usec_t until = clock_monotonic() + LIMIT;

        while (*count < n && clock_monotonic() < until)
                (void)sd_event_run(event, 10 * USEC_PER_MSEC);
        cr_assert_eq(*count, n);
}

static void open_port(void) {
        cr_assert_eq(fence_port_new(event, path, on_port, NULL, &port), 0);
}

Test(fence_port, nobody_listens) {
        cr_expect_eq(fence_port_new(event, "/nonexistent/socket", on_port, NULL, &port), -ENOENT);
        close(listener);
        cr_expect_eq(fence_port_new(event, path, on_port, NULL, &port), -ECONNREFUSED);
        cr_expect_null(port);
        listener = -1;
}

Test(fence_port, a_path_that_is_none) {
        g_autofree char *endless = g_strnfill(200, 'x');

        cr_expect_eq(fence_port_new(event, endless, on_port, NULL, &port), -ENAMETOOLONG);
}

Test(fence_port, it_greets_and_its_timers_are_set) {
        start_fence();
        open_port();
        await(&greeted, 1);
        cr_expect_str_eq(fence_port_hello(port)->version, JOBKEEPER_VERSION);
        cr_expect_str_eq(fence_port_hello(port)->instance, INSTANCE);
        cr_expect_eq(memcmp(fence_port_hello(port)->magic, FENCE_MAGIC, 8), 0);
        cr_expect_eq(fence_port_timers(port), FENCE_TIMERS_UNSET);
        fence_port_set(port, FENCE_TIMER_KILL, clock_boottime() + USEC_PER_HOUR);
        cr_expect_eq(fence_port_timers(port), FENCE_TIMERS_SET);
        fence_port_set(port, FENCE_TIMER_STOP, 0);
        cr_expect_eq(fence_port_timers(port), FENCE_TIMERS_PASSED, "0 is long ago");
        cr_expect_eq(fence_port_timers(port), FENCE_TIMERS_PASSED, "asking changes nothing");
        fence_port_set(port, FENCE_TIMER_STOP, clock_boottime() + USEC_PER_HOUR);
        cr_expect_eq(fence_port_timers(port), FENCE_TIMERS_SET);
        cr_expect_eq(ended, 0);
}

Test(fence_port, the_next_one_finds_the_timers_as_they_stand) {
        start_fence();
        open_port();
        await(&greeted, 1);
        fence_port_set(port, FENCE_TIMER_STOP, clock_boottime() + USEC_PER_HOUR);
        port = fence_port_free(port);
        open_port();
        await(&greeted, 2);
        cr_expect_eq(fence_port_timers(port), FENCE_TIMERS_SET);
}

Test(fence_port, its_end_is_told_once) {
        start_fence();
        open_port();
        await(&greeted, 1);
        kill_fence();
        await(&ended, 1);
        (void)sd_event_run(event, 10 * USEC_PER_MSEC);
        cr_expect_eq(ended, 1);
}

Test(fence_port, asked_to_leave_it_goes) {
        start_fence();
        open_port();
        await(&greeted, 1);
        g_rmdir(root);
        fence_port_leave(port);
        await(&ended, 1);
}

Test(fence_port, before_there_is_a_fence_the_connection_waits) {
        open_port();
        for (unsigned i = 0; i < 5; i++)
                (void)sd_event_run(event, 10 * USEC_PER_MSEC);
        cr_expect_eq(greeted + ended, 0);
        start_fence();
        await(&greeted, 1);
}

/* ---- one that is no fence ---- */

static int accept_one(void) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

        cr_assert_geq(fd, 0);
        return fd;
}

/* With copies of these descriptors. */
static void say(int fd, const void *text, size_t size, unsigned descriptors) {
        int fds[4] = {listener, listener, listener, listener};
        struct iovec iov = {(void *)text, size};
        union {
                struct cmsghdr header;
                char space[CMSG_SPACE(sizeof fds)];
        } control = {0};
        struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};

        if (descriptors > 0) {
                message.msg_control = &control;
                message.msg_controllen = CMSG_SPACE(descriptors * sizeof(int));
                control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(descriptors * sizeof(int)),
                                                  .cmsg_level = SOL_SOCKET,
                                                  .cmsg_type = SCM_RIGHTS};
                memcpy(CMSG_DATA(&control.header), fds, descriptors * sizeof(int));
        }
        cr_assert_geq(sendmsg(fd, &message, 0), 0);
}

static unsigned open_descriptors(void) {
        GDir *directory = g_dir_open("/proc/self/fd", 0, NULL);
        unsigned n = 0;

        while (g_dir_read_name(directory))
                n++;
        g_dir_close(directory);
        return n;
}

Test(fence_port, greetings_that_are_none) {
        const FenceHello hello = {.version = "1"};
        static const struct {
                size_t size;
                unsigned descriptors;
        } cells[] = {{sizeof hello, 0}, {sizeof hello, 1}, {4, 2}, {sizeof hello, 4}};
        unsigned before = open_descriptors();

        for (unsigned i = 0; i < G_N_ELEMENTS(cells); i++) {
                int fd;

                open_port();
                fd = accept_one();
                say(fd, &hello, cells[i].size, cells[i].descriptors);
                await(&ended, i + 1);
                port = fence_port_free(port);
                close(fd);
        }
        cr_expect_eq(greeted, 0);
        cr_expect_eq(open_descriptors(), before, "what came along is closed");
}

Test(fence_port, one_of_another_length_is_of_another_protocol) {
        FenceHello hello = {.version = "1"};
        int fd;

        memcpy(hello.magic, FENCE_MAGIC, sizeof hello.magic);
        memset(hello.instance, 'a', sizeof hello.instance);
        open_port();
        fd = accept_one();
        say(fd, &hello, sizeof hello - 1, 2);
        await(&greeted, 1);
        cr_expect_neq(memcmp(fence_port_hello(port)->magic, FENCE_MAGIC, 8), 0);
        cr_expect_eq(strlen(fence_port_hello(port)->instance), FENCE_INSTANCE_DIGITS,
                     "it has an end");
        say(fd, "more", 4, 2);
        await(&ended, 1);
        close(fd);
}
