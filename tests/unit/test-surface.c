/* The daemon on the bus, in a whole daemon (bus-fixture.h): when it says that it is ready, and what
 * becomes of those who ask when the bus goes; that each method is there, and who is not answered.
 */
#include "surface.h"

#include <sys/socket.h>
#include <sys/un.h>

#include "answer.h"
#include "bus-fixture.h"

TestSuite(surface, .init = setup_bus, .fini = teardown_bus);

/* ---- ready ---- */

static int notified = -1;
static unsigned n_ready;

static void listen_at(const char *name, int type, int *ret_fd) {
        g_autofree char *path = g_build_filename(root, name, NULL);
        struct sockaddr_un address = {.sun_family = AF_UNIX};

        *ret_fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        cr_assert_geq(*ret_fd, 0);
        cr_assert_lt(g_strlcpy(address.sun_path, path, sizeof(address.sun_path)),
                     sizeof(address.sun_path));
        cr_assert_eq(bind(*ret_fd, (struct sockaddr *)&address, sizeof(address)), 0);
}

/* The test is the service manager. */
static void listen_for_ready(void) {
        g_autofree char *path = g_build_filename(root, "notify", NULL);

        listen_at("notify", SOCK_DGRAM, &notified);
        g_setenv("NOTIFY_SOCKET", path, TRUE);
}

static void end_listening(void) {
        g_unsetenv("NOTIFY_SOCKET");
        (void)close(notified);
        tree_delete(root, "notify");
}

static bool is_said_ready(void) {
        char text[256];
        ssize_t n;

        while ((n = recv(notified, text, sizeof(text) - 1, 0)) > 0) {
                text[n] = '\0';
                n_ready += g_str_has_prefix(text, "READY=1");
        }
        return n_ready > 0;
}

static void expect_ready_once(void) {
        serve_for(USEC_PER_SEC / 10);
        (void)is_said_ready();
        cr_expect_eq(n_ready, 1U, "%u times", n_ready);
}

static void write_a_job(void) {
        write_job("    every: 1h\n    exec: [/bin/true]\n");
}

static bool is_unknown;

static int on_owner(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        (void)userdata;
        (void)error;
        is_unknown |= sd_bus_message_is_method_error(message, NULL);
        return 0;
}

static void ask_for_owner(const char *name) {
        cr_assert_geq(sd_bus_call_method_async(bus, NULL, "org.freedesktop.DBus",
                                               "/org/freedesktop/DBus", "org.freedesktop.DBus",
                                               "GetNameOwner", on_owner, NULL, "s", name),
                      0);
}

/* What is started after it finds it under both names. */
Test(surface, it_is_ready_once_it_can_be_asked) {
        listen_for_ready();
        write_a_job();
        open_daemon();
        cr_expect_not(is_said_ready());
        await(is_said_ready, "ready");
        ask_for_owner(BUS_NAME);
        ask_for_owner(BUS_NAME_ROOT);
        expect_ready_once();
        cr_expect_not(is_unknown);
        end_listening();
}

Test(surface, it_is_ready_without_a_bus) {
        listen_for_ready();
        bus_end();
        write_a_job();
        open_daemon();
        cr_expect(is_said_ready());
        expect_ready_once();
        bus_begin();
        await_daemon_on_bus();
        expect_ready_once();
        end_listening();
}

/* The bus accepts connections, and says nothing at all. */
Test(surface, a_bus_that_hangs_holds_up_no_start) {
        usec_t opened_at = 0;
        int hanging = -1;

        listen_for_ready();
        bus_end();
        listen_at("bus", SOCK_STREAM, &hanging);
        cr_assert_eq(listen(hanging, 8), 0);
        write_a_job();
        opened_at = clock_monotonic();
        open_daemon();
        serve_for(USEC_PER_SEC / 2);
        cr_expect_not(is_said_ready(), "it may still answer");
        await(is_said_ready, "ready");
        cr_expect_geq(clock_monotonic() - opened_at, 2 * USEC_PER_SEC);
        expect_ready_once();
        (void)close(hanging);
        tree_delete(root, "bus");
        bus_begin();
        end_listening();
}

/* ---- a bus that goes ---- */

static ServerWay keep_lists(const ZkCall *call) {
        return call->request == REQUEST_LIST ? SERVER_KEEP : SERVER_ANSWER;
}

static bool is_kept(void) {
        return g_queue_get_length(&server.kept) > 0;
}

/* Whoever asked is told nothing, what was asked for them counts no more, and the daemon is back
 * where it was. */
Test(surface, a_bus_that_goes_is_come_back_to) {
        write_a_job();
        open_daemon_on_bus();
        server.way = keep_lists;
        ask("History", "su", "a", 0U);
        ask_as(bus, BUS_NAME_ROOT, "Locks", "s", "");
        await(is_kept, "it is being read");
        bus_end();
        serve_for(USEC_PER_SEC / 10);
        bus_begin();
        server.way = NULL;
        server_release();
        await_daemon_on_bus();
        ask("History", "su", "a", 0U);
        expect_said("\"runs\":[]");
}

static void wait_often(sd_bus *caller) {
        for (unsigned i = 0; i < ANSWERS_OF_CALLER_MAX; i++)
                ask_as(caller, BUS_NAME, "WaitRun", "ss", "a", "1000000010-m1");
}

static bool is_there_no_room(void) {
        if (said && strstr(said, SD_BUS_ERROR_LIMITS_EXCEEDED))
                return true;
        if (said)
                ask("History", "su", "a", 0U);
        return false;
}

/* They would wait for ever, and the next ones would find no room. */
Test(surface, who_waited_on_a_bus_that_went_waits_no_more) {
        sd_bus *others[ANSWERS_MAX / ANSWERS_OF_CALLER_MAX];

        write_a_job();
        open_daemon_on_bus();
        server_create("/jobkeeper/jobs/a/runs/1000000010-m1",
                      "{\"run\":\"1000000010-m1\",\"job\":\"a\",\"state\":\"claimed\"}", 0);
        for (size_t i = 0; i < G_N_ELEMENTS(others); i++)
                wait_often(others[i] = another_caller());
        ask("History", "su", "a", 0U);
        await(is_there_no_room, "there is no room");
        for (size_t i = 0; i < G_N_ELEMENTS(others); i++)
                sd_bus_detach_event(others[i]);
        bus_end();
        serve_for(USEC_PER_SEC / 10);
        bus_begin();
        await_daemon_on_bus();
        ask("History", "su", "a", 0U);
        expect_said("\"runs\":");
        for (size_t i = 0; i < G_N_ELEMENTS(others); i++)
                sd_bus_close_unref(others[i]);
}

/* ---- what can be asked ---- */

static void expect_lock_error(const char *method) {
        ask_as(bus, BUS_NAME_ROOT, method, "s", "0123456789abcdef");
        expect_said(BUS_ERROR_NO_SUCH_LOCK);
}

Test(surface, what_is_asked_of_a_lock_that_is_not_there_is_an_error) {
        write_a_job();
        open_daemon_on_bus();
        expect_lock_error("LockLease");
        expect_lock_error("ReleaseLock");
        expect_lock_error("AdoptLock");
        ask_as(bus, BUS_NAME_ROOT, "AttachLock", "su", "0123456789abcdef", (uint32_t)getpid());
        expect_said(BUS_ERROR_NO_SUCH_LOCK);
        ask_as(bus, BUS_NAME_ROOT, "AcquireLock", "s", "][");
        expect_said(SD_BUS_ERROR_INVALID_ARGS);
}

Test(surface, wrong_arguments_are_refused) {
        static const char *const methods[] = {"History", "Next",   "Run",        "WaitRun",
                                              "Locks",   "Status", "AcquireLock"};

        write_a_job();
        open_daemon_on_bus();
        for (size_t i = 0; i < G_N_ELEMENTS(methods); i++) {
                ask_as(bus, BUS_NAME_ROOT, methods[i], "u", 7U);
                expect_said(SD_BUS_ERROR_INVALID_ARGS);
        }
        ask_as(bus, BUS_NAME_ROOT, "Reboot", NULL);
        expect_said(SD_BUS_ERROR_UNKNOWN_METHOD);
}

static unsigned requests;

static ServerWay count_requests(const ZkCall *call) {
        requests += g_str_has_prefix(call->path, "/jobkeeper/requests/") ||
                    g_str_has_prefix(call->path, "/jobkeeper/jobs/a/runs");
        return SERVER_ANSWER;
}

static void send_without_reply(const char *method, const char *types, const char *job,
                               unsigned limit) {
        sd_bus_message *message = NULL;

        cr_assert_geq(sd_bus_message_new_method_call(bus, &message, BUS_NAME_ROOT, BUS_PATH,
                                                     BUS_INTERFACE, method),
                      0);
        cr_assert_geq(sd_bus_message_append(message, types, job, limit), 0);
        cr_assert_geq(sd_bus_message_set_expect_reply(message, 0), 0);
        cr_assert_geq(sd_bus_send(bus, message, NULL), 0);
        sd_bus_message_unref(message);
}

Test(surface, nothing_is_done_for_who_wants_no_answer) {
        write_a_job();
        open_daemon_on_bus();
        server.way = count_requests;
        send_without_reply("Run", "s", "a", 0);
        send_without_reply("History", "su", "a", 1);
        /* The bus keeps the order of what one caller sends. */
        ask_as(bus, BUS_NAME_ROOT, "Next", "su", "a", 1U);
        expect_said("\"ticks\"");
        serve_for(USEC_PER_SEC / 10);
        cr_expect_eq(requests, 0U);
        cr_expect_eq(started->len, 0U);
}

Test(surface, there_may_be_none) {
        cr_expect_null(surface_free(NULL));
}
