/* The socket on which root renews the leases of locks, from both of its ends (lease-door.h,
 * lease-way.h), in a whole daemon: it needs no bus, and gives nothing else away. */
#include "lease-door.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "bus-fixture.h"
#include "journal.h"
#include "lease-way.h"
#include "lock-call.h"
#include "lock-caller.h"

static Caller *caller;
static LeaseWay *way;
static sd_bus_slot *slot;
static char *path;

static bool answered;
static char *fault; /* the error's name; NULL: it is none */
static json_t *lease;

static LeaseWay *way_new(void) {
        g_autofree char *address = g_strdup_printf("unix:path=%s", path);

        return lease_way_new(event, address);
}

static void setup_door(void) {
        setup_bus();
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        open_daemon_on_bus();
        caller = caller_new();
        path = g_build_filename(coordinator->node->runtime_dir, LEASE_SOCKET, NULL);
        way = way_new();
}

static void teardown_door(void) {
        slot = sd_bus_slot_unref(slot);
        way = lease_way_free(way);
        caller = caller_free(caller);
        g_clear_pointer(&path, g_free);
        g_clear_pointer(&fault, g_free);
        json_decref(lease);
        lease = NULL;
        teardown_bus();
}

TestSuite(lease_door, .init = setup_door, .fini = teardown_door);

Test(lease_door, shows_whoever_may_that_a_daemon_is_there) {
        cr_expect(lease_way_is_served(path));
        cr_expect_not(journal_has("no socket for the leases"));
        close_daemon();
        cr_expect(g_file_test(path, G_FILE_TEST_EXISTS), "this shows nothing");
        cr_expect_not(lease_way_is_served(path));
        cr_expect_not(lease_way_is_served("/nonexistent/leases"));
}

static int on_reply(sd_bus_message *reply, void *userdata, sd_bus_error *error) {
        const sd_bus_error *said_error = sd_bus_message_get_error(reply);

        (void)userdata;
        (void)error;
        json_decref(lease);
        lease = lock_reply_json(reply);
        g_free(fault);
        fault = said_error ? g_strdup(said_error->name) : NULL;
        answered = true;
        return 0;
}

static bool is_answered(void) {
        return answered;
}

static void ask_here(const char *method, const char *id) {
        answered = false;
        cr_assert_geq(lock_call(lease_way_bus(way), &slot, method, LOCK_CALL_TIMEOUT, on_reply,
                                NULL, "s", id),
                      0);
        await(is_answered, "an answer");
}

static const char *state_said(void) {
        const char *state = json_string_value(json_object_get(lease, "state"));

        return state ? state : "(none)";
}

Test(lease_door, a_lease_is_renewed_without_a_bus) {
        g_autofree char *id = g_strdup(caller_hold(caller, "db"));

        ask_here("LockLease", id);
        cr_expect_str_eq(state_said(), "held");
        cr_expect_gt((usec_t)json_integer_value(json_object_get(lease, "stop_at")),
                     clock_boottime());
        bus_end();
        ask_here("LockLease", id);
        cr_expect_str_eq(json_string_value(json_object_get(lease, "id")), id);
        bus_begin();
}

Test(lease_door, nothing_else_is_asked_here) {
        g_autofree char *id = g_strdup(caller_hold(caller, "db"));

        ask_here("ReleaseLock", id);
        cr_expect_str_eq(fault, SD_BUS_ERROR_UNKNOWN_METHOD);
        ask_here("LockLease", "0000000000000000");
        cr_expect_str_eq(fault, BUS_ERROR_NO_SUCH_LOCK);
        expect_queue("db", 1);
}

Test(lease_door, it_is_roots_alone) {
        struct stat status;

        cr_assert_eq(stat(path, &status), 0);
        cr_expect(S_ISSOCK(status.st_mode));
        cr_expect_eq(status.st_mode & 0777, 0600U);
}

/* A daemon that was killed leaves its socket behind. */
Test(lease_door, it_comes_back_with_the_next_daemon) {
        ask_here("LockLease", "0000000000000000");
        close_daemon();
        cr_expect_eq(access(path, F_OK), 0);
        lease_way_is_lost(way);
        cr_expect_null(lease_way_bus(way), "nobody listens");
        open_daemon_again();
        await_daemon_on_bus();
        ask_here("LockLease", "0000000000000000");
        cr_expect_str_eq(fault, BUS_ERROR_NO_SUCH_LOCK);
}

static unsigned descriptors(void) {
        g_autoptr(GDir) directory = g_dir_open("/proc/self/fd", 0, NULL);
        unsigned n = 0;

        while (g_dir_read_name(directory))
                n++;
        return n;
}

static unsigned wanted_descriptors;

static bool is_closed(void) {
        return descriptors() <= wanted_descriptors;
}

Test(lease_door, who_leaves_is_forgotten) {
        wanted_descriptors = descriptors();
        ask_here("LockLease", "0000000000000000");
        slot = sd_bus_slot_unref(slot);
        way = lease_way_free(way);
        await(is_closed, "both ends are closed");
        serve_for(10 * USEC_PER_MSEC); /* and nothing comes of it later */
        way = way_new();
        ask_here("LockLease", "0000000000000000");
        cr_expect_str_eq(fault, BUS_ERROR_NO_SUCH_LOCK);
}

/* Where it cannot be, leases are asked for on the bus. */
Test(lease_door, a_directory_that_cannot_have_it_is_told) {
        g_autofree char *long_name = g_strnfill(200, 'x');
        LeaseDoor *door = NULL;

        cr_expect_eq(lease_door_new(&(Node){.event = event, .runtime_dir = long_name}, NULL, &door),
                     -ENAMETOOLONG);
        cr_expect_eq(
            lease_door_new(&(Node){.event = event, .runtime_dir = (char *)"/nowhere"}, NULL, &door),
            -ENOENT);
        cr_expect_null(door);
}

/* Whatever somebody makes of the socket's mode. */
Test(lease_door, who_is_not_of_our_user_is_not_heard) {
        struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = LEASE_SOCKET};
        int r, fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        char byte;

        cr_assert_geq(fd, 0);
        cr_assert_eq(chmod(coordinator->node->runtime_dir, 0755) | chmod(path, 0666), 0);
        /* From inside: what lies above may be closed to others (a TMPDIR often is). */
        cr_assert_eq(chdir(coordinator->node->runtime_dir), 0);
        cr_assert_eq(seteuid(65534), 0, "only root can be somebody else");
        r = connect(fd, (const struct sockaddr *)&address, sizeof(address));
        cr_assert_eq(seteuid(0) | chdir("/"), 0);
        cr_assert_eq(r, 0);
        serve_for(100 * USEC_PER_MSEC);
        cr_expect_eq(recv(fd, &byte, 1, MSG_DONTWAIT), 0, "it is closed");
        (void)close(fd);
}
