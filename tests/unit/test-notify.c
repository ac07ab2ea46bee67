/* What the service manager is told, by a manager that does not listen for a while, and by none. */
#include "notify.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "clock.h"
#include "event-loop.h"
#include "temporary-tree.h"

#define LIMIT (10 * USEC_PER_SEC)

static char *root;
static sd_event *event;
static Notify *notify;
static int manager = -1;

static socklen_t address_of(const char *path, struct sockaddr_un *ret_address) {
        *ret_address = (struct sockaddr_un){.sun_family = AF_UNIX};
        cr_assert_lt(g_strlcpy(ret_address->sun_path, path, sizeof(ret_address->sun_path)),
                     sizeof(ret_address->sun_path));
        if (*path == '@')
                ret_address->sun_path[0] = '\0';
        return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path));
}

static void listen_at(const char *path) {
        struct sockaddr_un address;
        socklen_t length = address_of(path, &address);

        manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        cr_assert_geq(manager, 0);
        cr_assert_eq(bind(manager, (const struct sockaddr *)&address, length), 0);
        g_setenv("NOTIFY_SOCKET", path, TRUE);
}

static void setup(void) {
        g_autofree char *path = NULL;

        root = tree_make();
        path = g_build_filename(root, "notify", NULL);
        listen_at(path);
        event = loop_new();
        notify = notify_new(event);
}

static void teardown(void) {
        notify = notify_free(notify);
        event = loop_end(event);
        if (manager >= 0)
                (void)close(manager);
        g_unsetenv("NOTIFY_SOCKET");
        g_unsetenv("WATCHDOG_USEC");
        tree_remove(root);
        g_clear_pointer(&root, g_free);
}

TestSuite(notify, .init = setup, .fini = teardown);

/* Return: the next message, borrowed; NULL: none. */
static const char *hear(void) {
        static char text[256];
        ssize_t n = recv(manager, text, sizeof(text) - 1, 0);

        if (n < 0)
                return NULL;
        text[n] = '\0';
        return text;
}

static void expect(const char *expected) {
        const char *text = hear();

        cr_assert_not_null(text, "nothing was told instead of %s", expected);
        cr_expect_str_eq(text, expected);
}

/* Somebody else's messages, as many as there is room for. */
static void fill(void) {
        const char *path = g_getenv("NOTIFY_SOCKET");
        struct sockaddr_un address;
        socklen_t length = address_of(path, &address);
        int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        while (sendto(fd, "X=1", 3, 0, (const struct sockaddr *)&address, length) == 3)
                ;
        cr_assert_eq(errno, EAGAIN);
        (void)close(fd);
}

static void drain(void) {
        const char *text;

        while ((text = hear()))
                cr_expect_str_eq(text, "X=1", "nobody waited for room");
}

Test(notify, tells_at_once) {
        notify_say(notify, "READY=1");
        notify_say(notify, "STATUS=%s\nMONOTONIC_USEC=%d", "Busy", 7);
        expect("READY=1");
        expect("STATUS=Busy\nMONOTONIC_USEC=7");
        cr_expect_null(hear());
        cr_expect_eq(sd_event_run(event, 0), 0, "nothing is left to do");
}

Test(notify, what_there_is_no_room_for_is_told_later_the_newest_of_each_kind) {
        usec_t until;

        fill();
        notify_say(notify, "READY=1"); /* would wait for ever */
        notify_say(notify, "STATUS=one");
        notify_say(notify, "RELOADING=1");
        notify_say(notify, "STATUS=two");
        notify_say(notify, "READY=1");
        cr_expect_eq(sd_event_run(event, 20 * USEC_PER_MSEC), 0, "and does not spin");
        drain();
        until = clock_monotonic() + LIMIT;
        while (sd_event_run(event, 10 * USEC_PER_MSEC) == 0 && clock_monotonic() < until)
                ;
        expect("RELOADING=1");
        expect("STATUS=two");
        expect("READY=1");
        cr_expect_null(hear());
        cr_expect_eq(sd_event_run(event, 0), 0, "nothing is left to do");
        notify_say(notify, "STOPPING=1");
        expect("STOPPING=1");
}

Test(notify, what_waits_at_the_end_is_tried_once_more) {
        fill();
        notify_say(notify, "STATUS=Failed");
        drain();
        notify = notify_free(notify);
        expect("STATUS=Failed");
}

Test(notify, a_manager_that_is_replaced_is_found_again) {
        g_autofree char *other = g_build_filename(root, "other", NULL);

        notify_say(notify, "READY=1");
        expect("READY=1");
        (void)close(manager);
        listen_at(other);
        notify_say(notify, "RELOADING=1");
        notify_say(notify, "READY=1");
        expect("RELOADING=1");
        expect("READY=1");
}

Test(notify, nobody_is_told_where_there_is_no_manager) {
        g_autofree char *gone = g_build_filename(root, "gone", NULL);
        g_autofree char *long_path = g_strnfill(200, 'x');

        g_unsetenv("NOTIFY_SOCKET");
        notify_say(notify, "READY=1");
        g_setenv("NOTIFY_SOCKET", gone, TRUE);
        notify_say(notify, "READY=1");
        g_setenv("NOTIFY_SOCKET", long_path, TRUE);
        notify_say(notify, "READY=1");
        notify_say(NULL, "READY=1");
        cr_expect_eq(sd_event_run(event, 0), 0);
        cr_expect_null(hear());
}

Test(notify, an_abstract_socket) {
        g_autofree char *name = g_strdup_printf("@jobkeeper-test-notify-%d", (int)getpid());

        (void)close(manager);
        listen_at(name);
        notify_say(notify, "READY=1");
        expect("READY=1");
}

static unsigned pings(usec_t span) {
        usec_t until = clock_monotonic() + span;
        unsigned n = 0;

        while (clock_monotonic() < until) {
                (void)sd_event_run(event, 5 * USEC_PER_MSEC);
                for (const char *text; (text = hear()); n++)
                        cr_expect_str_eq(text, "WATCHDOG=1");
        }
        return n;
}

Test(notify, the_watchdog_hears_of_a_loop_that_turns) {
        cr_expect_eq(notify_watchdog(notify), 0, "there is none");
        cr_expect_eq(pings(50 * USEC_PER_MSEC), 0U);
        g_setenv("WATCHDOG_USEC", "90000", TRUE);
        cr_expect_eq(notify_watchdog(notify), 0);
        cr_expect_geq(pings(200 * USEC_PER_MSEC), 3U);
        fill(); /* a manager that is busy costs no more than the ping */
        (void)sd_event_run(event, 100 * USEC_PER_MSEC);
        drain();
        cr_expect_geq(pings(100 * USEC_PER_MSEC), 1U);
        g_setenv("WATCHDOG_USEC", "often", TRUE);
        cr_expect_lt(notify_watchdog(notify), 0);
}
