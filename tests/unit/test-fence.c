/* The fence: its table cell by cell, what it reads of the kernel, and the whole of it in a child
 * process, whose slice is a directory that looks like one. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "fence-peer.h"
#include "fence-slice.h"
#include "fence-table.h"
#include "fence-voice.h"
#include "fence.h"

#define PATIENCE_MSEC 10000
#define INSTANCE "0123456789abcdef0123456789abcdef"
/* A directory's files tell of no change: the child looks again when it tells the manager. */
#define WATCHDOG (30 * USEC_PER_MSEC)

/* -- the table */

Test(fence, next_step) {
        static const FenceStep cells[FENCE_STATES][FENCE_INSTANTS][2] = {
            {{FENCE_REST, FENCE_REST}, {FENCE_WATCH, FENCE_STOP}, {FENCE_WATCH, FENCE_KILL}},
            {{FENCE_RETIRE, FENCE_WATCH}, {FENCE_RETIRE, FENCE_STOP}, {FENCE_RETIRE, FENCE_KILL}},
            {{FENCE_FAIL, FENCE_WATCH}, {FENCE_FAIL, FENCE_WATCH}, {FENCE_FAIL, FENCE_KILL}},
        };

        for (unsigned state = 0; state < FENCE_STATES; state++)
                for (unsigned passed = 0; passed < FENCE_INSTANTS; passed++)
                        for (int populated = 0; populated < 2; populated++)
                                cr_expect_eq(fence_next_step(state, passed, populated),
                                             cells[state][passed][populated],
                                             "state %u, instant %u, populated %d", state, passed,
                                             populated);
}

/* -- what it reads */

Test(fence, events) {
        static const struct {
                const char *text;
                bool populated;
        } cells[] = {
            {"populated 0\nfrozen 0\n", false},
            {"frozen 0\npopulated 0\n", false},
            {"populated 1\nfrozen 0\n", true},
            {"populated 01\n", true},
            {"unpopulated 0\n", true},
            {"populated 0", true}, /* cut off */
            {"populated 0 \n", true},
            {"\n\n", true},
            {"", true},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cells); i++)
                cr_expect_eq(fence_events_populated(cells[i].text, strlen(cells[i].text)),
                             cells[i].populated, "\"%s\"", cells[i].text);
}

Test(fence, cgroup_line) {
        static const struct {
                const char *text;
                bool is;
        } cells[] = {
            {"0::/system.slice/jobkeeperd.service\n", true},
            {"5:devices:/x\n1:name=systemd:/y\n0::/system.slice/jobkeeperd.service\n", true},
            {"0::/system.slice/jobkeeperd.service", false},
            {"0::/system.slice/jobkeeperd.service/below\n", false},
            {"0::/system.slice/jobkeeperd.service2\n", false},
            {"0::/system.slice/jobkeeperd.servic\n", false},
            {"0::/user.slice/system.slice/jobkeeperd.service\n", false},
            {"1:name=systemd:/system.slice/jobkeeperd.service\n0::/\n", false},
            {"10::/system.slice/jobkeeperd.service\n", false},
            {"0::/x\n0::/system.slice/jobkeeperd.service\n", false}, /* the kernel writes one */
            {"0::\n", false},
            {"\n", false},
            {"", false},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cells); i++)
                cr_expect_eq(fence_cgroup_is(cells[i].text, strlen(cells[i].text),
                                             "/system.slice/jobkeeperd.service"),
                             cells[i].is, "\"%s\"", cells[i].text);
}

Test(fence, a_slice_that_is_none) {
        g_autofree char *endless = g_strnfill(PATH_MAX, 'x');
        FenceSlice nowhere = {.path = "/nonexistent/slice", .events = -1};
        FenceSlice not_a_directory = {.path = "/dev/null", .events = -1};
        FenceSlice too_long = {.path = endless, .events = -1};

        cr_expect_not(fence_slice_populated(&nowhere));
        cr_expect_not(fence_slice_may_kill(&nowhere));
        cr_expect_eq(fence_slice_kill(&nowhere), -ENOENT);
        fence_slice_watch(&nowhere);
        cr_expect_eq(nowhere.events, -1);
        cr_expect(fence_slice_populated(&not_a_directory));
        cr_expect_eq(fence_slice_kill(&not_a_directory), -ENOTDIR);
        cr_expect(fence_slice_populated(&too_long));
        cr_expect_eq(fence_slice_kill(&too_long), -ENAMETOOLONG);
}

Test(fence, manager) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        g_autofree char *name = g_strdup_printf("@fence-%d", (int)getpid());
        char text[64] = "";
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        cr_assert_eq(unsetenv("NOTIFY_SOCKET"), 0);
        cr_expect_eq(fence_tell_manager("READY=1", 0), -ENOENT);
        cr_assert_eq(setenv("NOTIFY_SOCKET", "", 1), 0);
        cr_expect_eq(fence_tell_manager("READY=1", 0), -EINVAL);
        cr_assert_eq(setenv("NOTIFY_SOCKET", "/nonexistent/notify", 1), 0);
        cr_expect_eq(fence_tell_manager("READY=1", 0), -ENOENT);
        g_strlcpy(address.sun_path + 1, name + 1, sizeof address.sun_path - 1);
        cr_assert_eq(bind(fd, (struct sockaddr *)&address,
                          (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))),
                     0);
        cr_assert_eq(setenv("NOTIFY_SOCKET", name, 1), 0);
        cr_expect_eq(fence_tell_manager("READY=1", 0), 0);
        cr_expect_eq(recv(fd, text, sizeof text - 1, MSG_DONTWAIT), (ssize_t)strlen("READY=1"));
        cr_expect_str_eq(text, "READY=1");
        close(fd);
}

/* -- the whole */

typedef struct Scene {
        char *root, *slice, *events, *kill;
        char *own_cgroup; /* ours, which stands for jobkeeperd's */
        struct sockaddr_un address;
        int listener, notify;
        pid_t fence;
} Scene;

static Scene scene;

static int bound_socket(int type, const char *path) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int fd = socket(AF_UNIX, type | SOCK_CLOEXEC, 0);

        g_strlcpy(address.sun_path, path, sizeof address.sun_path);
        cr_assert(fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0);
        return fd;
}

/* In place, and never half of it, as the kernel's own file changes. */
static void set_populated(bool populated) {
        int fd = open(scene.events, O_WRONLY | O_CLOEXEC);

        cr_assert(fd >= 0 && pwrite(fd, populated ? "1" : "0", 1, strlen("populated ")) == 1);
        close(fd);
}

static char *own_cgroup(void) {
        g_autofree char *text = NULL;
        char *line;

        cr_assert(g_file_get_contents("/proc/self/cgroup", &text, NULL, NULL));
        line = strstr(text, "0::");
        cr_assert_not_null(line, "this machine has a unified hierarchy");
        return g_strndup(line + 3, strcspn(line + 3, "\n"));
}

static void begin(void) {
        g_autofree char *socket_path = NULL, *notify_path = NULL;

        scene.root = g_dir_make_tmp("fence-XXXXXX", NULL);
        scene.slice = g_build_filename(scene.root, "slice", NULL);
        scene.events = g_build_filename(scene.slice, "cgroup.events", NULL);
        scene.kill = g_build_filename(scene.slice, "cgroup.kill", NULL);
        socket_path = g_build_filename(scene.root, "socket", NULL);
        notify_path = g_build_filename(scene.root, "notify", NULL);
        cr_assert_eq(g_mkdir(scene.slice, 0700), 0);
        cr_assert(g_file_set_contents(scene.events, "populated 0\nfrozen 0\n", -1, NULL));
        cr_assert(g_file_set_contents(scene.kill, "", 0, NULL));
        scene.own_cgroup = own_cgroup();
        scene.listener = bound_socket(SOCK_SEQPACKET, socket_path);
        cr_assert_eq(listen(scene.listener, 16), 0);
        scene.notify = bound_socket(SOCK_DGRAM, notify_path);
        scene.address.sun_family = AF_UNIX;
        g_strlcpy(scene.address.sun_path, socket_path, sizeof scene.address.sun_path);
        cr_assert_eq(setenv("NOTIFY_SOCKET", notify_path, 1), 0);
        cr_assert_eq(unsetenv("JOURNAL_STREAM"), 0);
}

static void end(void) {
        if (scene.fence > 0) {
                (void)kill(scene.fence, SIGKILL);
                (void)waitpid(scene.fence, NULL, 0);
        }
        close(scene.listener);
        close(scene.notify);
        for (GDir *dir = g_dir_open(scene.root, 0, NULL); dir; g_dir_close(dir), dir = NULL)
                for (const char *name; (name = g_dir_read_name(dir));) {
                        g_autofree char *path = g_build_filename(scene.root, name, NULL);

                        (void)g_unlink(path);
                }
        (void)g_unlink(scene.events);
        (void)g_unlink(scene.kill);
        (void)g_rmdir(scene.slice);
        (void)g_rmdir(scene.root);
        g_free(scene.root);
        g_free(scene.slice);
        g_free(scene.events);
        g_free(scene.kill);
        g_free(scene.own_cgroup);
}

TestSuite(fence_whole, .init = begin, .fini = end);

static void start_fence_with(const char *client_cgroup, usec_t watchdog) {
        sigset_t set;

        scene.fence = fork();
        cr_assert_geq(scene.fence, 0);
        if (scene.fence > 0)
                return;
        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigprocmask(SIG_BLOCK, &set, NULL);
        exit(fence_run(&(FenceOptions){.listener = scene.listener,
                                       .signals = signalfd(-1, &set, SFD_CLOEXEC),
                                       .slice_path = scene.slice,
                                       .client_cgroup = client_cgroup,
                                       .instance = INSTANCE,
                                       .watchdog = watchdog}));
}

static void start_fence(const char *client_cgroup) {
        start_fence_with(client_cgroup, WATCHDOG);
}

static void wait_readable(int fd) {
        struct pollfd one = {.fd = fd, .events = POLLIN};

        cr_assert_eq(poll(&one, 1, PATIENCE_MSEC), 1, "in vain");
}

/* Until the fence tells the manager this; what else it tells is passed over. */
static void wait_told(const char *words) {
        for (;;) {
                char text[256];
                ssize_t n;

                wait_readable(scene.notify);
                n = recv(scene.notify, text, sizeof text - 1, 0);
                cr_assert_gt(n, 0);
                text[n] = '\0';
                if (g_str_has_prefix(text, words))
                        return;
        }
}

/* Forgets what it has told, and waits for the next two signs of life: whatever it had to decide
 * before, it has. */
static void wait_turns(void) {
        char text[256];

        while (recv(scene.notify, text, sizeof text, MSG_DONTWAIT) > 0)
                ;
        wait_told("WATCHDOG=1");
        wait_told("WATCHDOG=1");
}

/* Whatever it had to do before, it has, and waits. */
static void wait_asleep(void) {
        gint64 until = g_get_monotonic_time() + (gint64)PATIENCE_MSEC * 1000;
        g_autofree char *path = g_strdup_printf("/proc/%d/stat", (int)scene.fence);

        for (;;) {
                g_autofree char *text = NULL;

                cr_assert(g_file_get_contents(path, &text, NULL, NULL));
                if (g_str_has_prefix(strrchr(text, ')'), ") S"))
                        return;
                cr_assert_lt(g_get_monotonic_time(), until, "it does not rest");
                g_usleep(1000);
        }
}

/* Return: its exit status. */
static int wait_ended(void) {
        gint64 until = g_get_monotonic_time() + (gint64)PATIENCE_MSEC * 1000;
        int status;

        while (waitpid(scene.fence, &status, WNOHANG) == 0) {
                cr_assert_lt(g_get_monotonic_time(), until, "it goes on");
                g_usleep(1000);
        }
        scene.fence = 0;
        cr_assert(WIFEXITED(status));
        return WEXITSTATUS(status);
}

static int connect_to_fence(void) {
        int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

        cr_assert(fd >= 0 &&
                  connect(fd, (struct sockaddr *)&scene.address, sizeof scene.address) == 0);
        return fd;
}

/* Return: how many bytes the greeting had. */
static ssize_t greeting(int fd, FenceHello *hello, int timers[FENCE_TIMERS]) {
        union {
                struct cmsghdr header;
                char space[CMSG_SPACE(FENCE_TIMERS * sizeof(int))];
        } control = {0};
        struct iovec iov = {hello, sizeof *hello};
        struct msghdr message = {.msg_iov = &iov,
                                 .msg_iovlen = 1,
                                 .msg_control = &control,
                                 .msg_controllen = sizeof control};
        ssize_t n;

        wait_readable(fd);
        n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
        if (n > 0) {
                cr_assert_eq(control.header.cmsg_len, CMSG_LEN(FENCE_TIMERS * sizeof(int)));
                memcpy(timers, CMSG_DATA(&control.header), FENCE_TIMERS * sizeof(int));
        }
        return n;
}

/* Connects as jobkeeperd would. */
static int connect_and_take(int timers[FENCE_TIMERS]) {
        FenceHello hello;
        int fd = connect_to_fence();

        cr_assert_eq(greeting(fd, &hello, timers), (ssize_t)sizeof hello);
        cr_assert_eq(memcmp(hello.magic, FENCE_MAGIC, sizeof hello.magic), 0);
        cr_assert_str_eq(hello.version, JOBKEEPER_VERSION);
        cr_assert_str_eq(hello.instance, INSTANCE);
        cr_assert_eq(hello.flags, FENCE_CAN_KILL);
        return fd;
}

static void set_timer(int timer, usec_t from_now) {
        usec_t at = usec_add(clock_boottime(), from_now);
        struct itimerspec spec = {.it_value = {.tv_sec = (time_t)(at / USEC_PER_SEC),
                                               .tv_nsec = (long)(at % USEC_PER_SEC * 1000)}};

        cr_assert_eq(timerfd_settime(timer, TFD_TIMER_ABSTIME, &spec, NULL), 0);
}

static bool was_killed(void) {
        g_autofree char *text = NULL;

        cr_assert(g_file_get_contents(scene.kill, &text, NULL, NULL));
        return g_str_equal(text, "1");
}

static void expect_closed(int fd) {
        char byte;

        wait_readable(fd);
        cr_expect_leq(recv(fd, &byte, 1, 0), 0);
        close(fd);
}

static void close_timers(const int timers[FENCE_TIMERS]) {
        close(timers[FENCE_TIMER_STOP]);
        close(timers[FENCE_TIMER_KILL]);
}

Test(fence_whole, stops_and_ends_when_nothing_lives) {
        int timers[FENCE_TIMERS], fd;

        start_fence(scene.own_cgroup);
        wait_told("READY=1");
        fd = connect_and_take(timers);
        set_populated(true);
        wait_turns();
        set_timer(timers[FENCE_TIMER_KILL], USEC_PER_MINUTE);
        set_timer(timers[FENCE_TIMER_STOP], 0);
        wait_told("STOPPING=1");
        expect_closed(fd);
        wait_turns();
        set_populated(false);
        cr_expect_eq(wait_ended(), 1);
        cr_expect_not(was_killed());
        close_timers(timers);
}

Test(fence_whole, kills_what_is_left) {
        int timers[FENCE_TIMERS], fd;

        start_fence(scene.own_cgroup);
        fd = connect_and_take(timers);
        set_populated(true);
        set_timer(timers[FENCE_TIMER_KILL], 200 * USEC_PER_MSEC);
        set_timer(timers[FENCE_TIMER_STOP], 100 * USEC_PER_MSEC);
        wait_told("STOPPING=1");
        cr_expect_not(was_killed());
        cr_expect_eq(wait_ended(), 1);
        cr_expect(was_killed());
        close(fd);
        close_timers(timers);
}

static char *told_first(void) {
        char text[256];
        ssize_t n;

        wait_readable(scene.notify);
        n = recv(scene.notify, text, sizeof text - 1, 0);
        cr_assert_gt(n, 0);
        return g_strndup(text, (gsize)n);
}

/* Of what was stopped with the one before. */
Test(fence_whole, begins_with_nothing_that_can_be_ended) {
        g_autofree char *first = NULL;

        set_populated(true);
        start_fence(scene.own_cgroup);
        first = told_first();
        cr_expect_str_eq(first, "READY=1", "it goes on");
        cr_expect(was_killed());
}

Test(fence_whole, begins_without_a_kill_where_nothing_lives) {
        g_autofree char *first = NULL;

        start_fence(scene.own_cgroup);
        first = told_first();
        cr_expect_str_eq(first, "READY=1");
        cr_expect_not(was_killed());
}

/* By its timers alone: it wakes for nothing else. */
Test(fence_whole, needs_no_watchdog) {
        int timers[FENCE_TIMERS], fd;
        usec_t began;

        start_fence_with(scene.own_cgroup, 0);
        fd = connect_and_take(timers);
        set_populated(true);
        wait_asleep();
        began = clock_boottime();
        set_timer(timers[FENCE_TIMER_KILL], USEC_PER_HOUR);
        set_timer(timers[FENCE_TIMER_STOP], 100 * USEC_PER_MSEC);
        wait_told("STOPPING=1");
        cr_expect_geq(clock_boottime() - began, 100 * USEC_PER_MSEC);
        cr_expect_not(was_killed());
        wait_asleep();
        began = clock_boottime();
        set_timer(timers[FENCE_TIMER_KILL], 100 * USEC_PER_MSEC);
        cr_expect_eq(wait_ended(), 1);
        cr_expect_geq(clock_boottime() - began, 100 * USEC_PER_MSEC);
        cr_expect(was_killed());
        close(fd);
        close_timers(timers);
}

/* The manager is busy, or somebody sees to it that its socket is full. */
static void fill_manager(void) {
        while (fence_tell_manager("X=1", 0) == 0)
                ;
}

static char state_of(pid_t pid) {
        g_autofree char *path = g_strdup_printf("/proc/%d/stat", (int)pid), *text = NULL;

        cr_assert(g_file_get_contents(path, &text, NULL, NULL));
        return strrchr(text, ')')[2];
}

Test(fence_whole, the_manager_is_waited_for) {
        fill_manager();
        scene.fence = fork();
        cr_assert_geq(scene.fence, 0);
        if (scene.fence == 0)
                _exit(fence_tell_manager("STATUS=here", USEC_PER_MINUTE) == 0 ? 0 : 1);
        while (!strchr("SZ", state_of(scene.fence)))
                g_usleep(1000);
        wait_told("STATUS=here");
        cr_expect_eq(wait_ended(), 0);
}

Test(fence_whole, the_manager_is_not_waited_for_any_longer) {
        usec_t began = clock_monotonic();

        fill_manager();
        cr_expect_eq(fence_tell_manager("X=1", 50 * USEC_PER_MSEC), -EAGAIN);
        cr_expect_geq(clock_monotonic() - began, 50 * USEC_PER_MSEC);
}

Test(fence_whole, what_found_no_room_is_told_once_there_is_some) {
        int timers[FENCE_TIMERS], fd;

        fill_manager();
        start_fence_with(scene.own_cgroup, USEC_PER_HOUR); /* so that it is no later ping */
        fd = connect_and_take(timers);                     /* after its first attempt */
        wait_told("READY=1");
        wait_told("WATCHDOG=1");
        close(fd);
        close_timers(timers);
}

Test(fence_whole, no_instant_waits_for_the_manager) {
        int timers[FENCE_TIMERS], fd;

        start_fence(scene.own_cgroup);
        fd = connect_and_take(timers);
        fill_manager();
        set_populated(true);
        set_timer(timers[FENCE_TIMER_STOP], 30 * USEC_PER_MSEC);
        set_timer(timers[FENCE_TIMER_KILL], 60 * USEC_PER_MSEC);
        cr_expect_eq(wait_ended(), 1);
        cr_expect(was_killed());
        close(fd);
        close_timers(timers);
}

/* The manager is busy: its socket is full just then. */
Test(fence_whole, tells_the_manager_again_until_it_has_room) {
        int timers[FENCE_TIMERS], fd;

        start_fence_with(scene.own_cgroup, 0);
        wait_told("READY=1");
        fill_manager();
        fd = connect_and_take(timers);
        set_populated(true);
        set_timer(timers[FENCE_TIMER_STOP], 0);
        expect_closed(fd); /* it is stopping */
        wait_asleep();     /* and told the manager in vain */
        wait_told("STOPPING=1");
        close_timers(timers);
}

Test(fence_whole, says_that_it_cannot_kill) {
        int timers[FENCE_TIMERS], fd;
        FenceHello hello;

        cr_assert_eq(g_unlink(scene.kill), 0);
        start_fence(scene.own_cgroup);
        fd = connect_to_fence();
        cr_assert_eq(greeting(fd, &hello, timers), (ssize_t)sizeof hello);
        cr_expect_eq(hello.flags, 0);
        set_populated(true);
        set_timer(timers[FENCE_TIMER_KILL], 0);
        cr_expect_eq(wait_ended(), 1, "it fails, and what is bound to it is stopped");
        close(fd);
        close_timers(timers);
}

Test(fence_whole, a_loop_that_cannot_begin_fails) {
        close(scene.listener);
        scene.listener = -1;
        start_fence(scene.own_cgroup);
        cr_expect_eq(wait_ended(), 1);
}

Test(fence_whole, kills_where_both_instants_have_passed) {
        int timers[FENCE_TIMERS], fd;

        start_fence(scene.own_cgroup);
        fd = connect_and_take(timers);
        set_timer(timers[FENCE_TIMER_STOP], 0);
        set_timer(timers[FENCE_TIMER_KILL], 0);
        wait_turns();
        set_populated(true);
        cr_expect_eq(wait_ended(), 1);
        cr_expect(was_killed());
        close(fd);
        close_timers(timers);
}

/* It can write only when somebody reads. */
Test(fence_whole, tells_the_manager_before_it_kills) {
        int timers[FENCE_TIMERS], fd, kills;
        char text[4] = "";

        start_fence(scene.own_cgroup);
        fd = connect_and_take(timers);
        cr_assert_eq(g_unlink(scene.kill), 0);
        cr_assert_eq(mkfifo(scene.kill, 0600), 0);
        set_timer(timers[FENCE_TIMER_STOP], 0);
        set_timer(timers[FENCE_TIMER_KILL], 0);
        wait_turns();
        set_populated(true);
        wait_told("STOPPING=1");
        kills = open(scene.kill, O_RDONLY | O_CLOEXEC);
        cr_expect_eq(read(kills, text, sizeof text), 1);
        cr_expect_str_eq(text, "1");
        cr_expect_eq(wait_ended(), 1);
        close(kills);
        close(fd);
        close_timers(timers);
}

Test(fence_whole, an_instant_on_an_idle_machine_may_be_taken_back) {
        int timers[FENCE_TIMERS], fd;

        start_fence(scene.own_cgroup);
        fd = connect_and_take(timers);
        set_timer(timers[FENCE_TIMER_STOP], 0);
        wait_turns();
        set_timer(timers[FENCE_TIMER_STOP], USEC_PER_MINUTE);
        set_populated(true);
        wait_turns();
        cr_expect_eq(waitpid(scene.fence, NULL, WNOHANG), 0, "it goes on");
        /* And what it is set to then counts. */
        set_timer(timers[FENCE_TIMER_STOP], 0);
        wait_told("STOPPING=1");
        close(fd);
        close_timers(timers);
}

Test(fence_whole, a_slice_that_is_gone_is_empty_and_one_that_cannot_be_read_is_not) {
        int timers[FENCE_TIMERS], fd;

        start_fence(scene.own_cgroup);
        fd = connect_and_take(timers);
        cr_assert_eq(g_unlink(scene.events), 0);
        set_timer(timers[FENCE_TIMER_STOP], 0);
        wait_turns();
        cr_expect_eq(waitpid(scene.fence, NULL, WNOHANG), 0, "it goes on");
        cr_assert_eq(g_mkdir(scene.events, 0700), 0);
        wait_told("STOPPING=1");
        cr_assert_eq(g_rmdir(scene.events), 0);
        close(fd);
        close_timers(timers);
}

Test(fence_whole, the_next_one_is_given_the_timers_as_they_stand) {
        int timers[FENCE_TIMERS], again[FENCE_TIMERS], fd, next;
        struct itimerspec left;

        start_fence(scene.own_cgroup);
        fd = connect_and_take(timers);
        set_timer(timers[FENCE_TIMER_STOP], USEC_PER_MINUTE);
        next = connect_and_take(again);
        expect_closed(fd);
        cr_assert_eq(timerfd_gettime(again[FENCE_TIMER_STOP], &left), 0);
        cr_expect(left.it_value.tv_sec >= 30 && left.it_value.tv_sec < 60);
        cr_assert_eq(timerfd_gettime(again[FENCE_TIMER_KILL], &left), 0);
        cr_expect_eq(left.it_value.tv_sec, 0, "never set");
        close(next);
        close_timers(timers);
        close_timers(again);
}

Test(fence_whole, leaves_once_nothing_lives) {
        int timers[FENCE_TIMERS], fd;

        start_fence(scene.own_cgroup);
        fd = connect_and_take(timers);
        set_populated(true);
        cr_assert_eq(send(fd, "L", 1, 0), 1);
        wait_turns();
        cr_expect_eq(waitpid(scene.fence, NULL, WNOHANG), 0, "it waits");
        set_populated(false);
        cr_expect_eq(wait_ended(), 0);
        close(fd);
        close_timers(timers);
}

Test(fence_whole, leaving_it_still_guards) {
        int timers[FENCE_TIMERS], fd;

        start_fence(scene.own_cgroup);
        fd = connect_and_take(timers);
        set_populated(true);
        cr_assert_eq(kill(scene.fence, SIGTERM), 0);
        wait_turns();
        set_timer(timers[FENCE_TIMER_STOP], 0);
        wait_told("STOPPING=1");
        set_timer(timers[FENCE_TIMER_KILL], 0);
        cr_expect_eq(wait_ended(), 1);
        cr_expect(was_killed());
        close(fd);
        close_timers(timers);
}

Test(fence_whole, sigterm_ends_it_where_nothing_lives) {
        start_fence(scene.own_cgroup);
        wait_told("READY=1");
        cr_assert_eq(kill(scene.fence, SIGTERM), 0);
        cr_expect_eq(wait_ended(), 0);
}

Test(fence_whole, nonsense_ends_the_connection_alone) {
        static const struct {
                const char *bytes;
                size_t size;
        } cells[] = {{"LL", 2}, {"l", 1}, {"", 0}, {"LLLLLLLLLLLLLLLL", 16}};
        int timers[FENCE_TIMERS], fd;

        start_fence(scene.own_cgroup);
        for (size_t i = 0; i < G_N_ELEMENTS(cells); i++) {
                fd = connect_and_take(timers);
                cr_assert_eq(send(fd, cells[i].bytes, cells[i].size, 0), (ssize_t)cells[i].size);
                expect_closed(fd);
                close_timers(timers);
        }
}

Test(fence_whole, strangers_are_closed) {
        start_fence("/system.slice/of-somebody-else.service");
        for (int i = 0; i < 200; i++)
                expect_closed(connect_to_fence());
        wait_turns();
}

/* The least of a few counts: it opens one for a moment when it tells the manager something. */
static unsigned open_descriptors(void) {
        g_autofree char *path = g_strdup_printf("/proc/%d/fd", (int)scene.fence);
        unsigned least = UINT_MAX;

        for (int i = 0; i < 20; i++) {
                g_autoptr(GDir) dir = g_dir_open(path, 0, NULL);
                unsigned n = 0;

                cr_assert_not_null(dir);
                while (g_dir_read_name(dir))
                        n++;
                least = MIN(least, n);
                g_usleep(1000);
        }
        return least;
}

Test(fence_whole, descriptors_that_are_sent_are_not_kept) {
        int timers[FENCE_TIMERS], fd;
        unsigned before;
        union {
                struct cmsghdr header;
                char space[CMSG_SPACE(sizeof(int))];
        } control = {0};
        struct iovec iov = {(char[]){"X"}, 1};
        struct msghdr message = {.msg_iov = &iov,
                                 .msg_iovlen = 1,
                                 .msg_control = &control,
                                 .msg_controllen = sizeof control};

        start_fence(scene.own_cgroup);
        wait_told("READY=1");
        wait_turns();
        before = open_descriptors();
        fd = connect_and_take(timers);
        control.header = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), &scene.notify, sizeof(int));
        if (sendmsg(fd, &message, 0) < 0) /* where the kernel refuses them */
                cr_assert_eq(send(fd, "X", 1, 0), 1);
        expect_closed(fd);
        wait_turns();
        cr_expect_eq(open_descriptors(), before);
        close_timers(timers);
}
