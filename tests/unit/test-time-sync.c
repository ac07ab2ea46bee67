/* Whether the clock is waited for after a boot, for how long, and who is told: beside a timedated
 * of the test's own, on a bus of its own. */
#include "time-sync.h"

#include <time.h>
#include <unistd.h>

#include "bus-fixture.h"
#include "journal.h"
#include "session-file.h"

#define TIMEDATE "org.freedesktop.timedate1"

static Node *node;
static DaemonConfig config;
static TimeSync *sync_;
static sd_bus *timedated;
static bool synchronised;
static const char *refusal;
static unsigned questions;
static usec_t later; /* than it is */

static usec_t read_clock(clockid_t id) {
        struct timespec now;

        clock_gettime(id, &now);
        return (usec_t)now.tv_sec * USEC_PER_SEC + (usec_t)now.tv_nsec / 1000;
}

usec_t clock_boottime(void) {
        return read_clock(CLOCK_BOOTTIME) + later;
}

usec_t clock_monotonic(void) {
        return read_clock(CLOCK_MONOTONIC);
}

usec_t clock_realtime(void) {
        return read_clock(CLOCK_REALTIME);
}

static int get_synchronised(sd_bus *connection, const char *path, const char *interface,
                            const char *property, sd_bus_message *reply, void *userdata,
                            sd_bus_error *error) {
        (void)connection;
        (void)path;
        (void)interface;
        (void)property;
        (void)userdata;
        questions++;
        return refusal ? sd_bus_error_set(error, refusal, "no")
                       : sd_bus_message_append(reply, "b", synchronised);
}

static const sd_bus_vtable vtable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_PROPERTY("NTPSynchronized", "b", get_synchronised, 0, 0),
    SD_BUS_VTABLE_END,
};

static void begin(void) {
        g_autofree char *runtime = NULL;

        setup_bus();
        runtime = g_build_filename(root, "run", NULL);
        cr_assert_geq(g_mkdir_with_parents(runtime, 0755), 0);
        config = (DaemonConfig){.wait_for_clock = true};
        node = node_new(event, runtime, "/nowhere");
        node->config = &config;
}

static void end(void) {
        sync_ = time_sync_free(sync_);
        timedated = sd_bus_flush_close_unref(timedated);
        node = node_free(node);
        teardown_bus();
}

TestSuite(time_sync, .init = begin, .fini = end);

static void begin_timedated(void) {
        timedated = another_caller();
        cr_assert_geq(sd_bus_add_object_vtable(timedated, NULL, "/org/freedesktop/timedate1",
                                               TIMEDATE, vtable, NULL),
                      0);
        cr_assert_geq(sd_bus_request_name(timedated, TIMEDATE, 0), 0);
}

static void start(void) {
        sync_ = time_sync_new(node, "/nonexistent");
}

static void start_again(void) {
        sync_ = time_sync_free(sync_);
        questions = 0;
        node->waits_for_clock = false;
        start();
}

static bool is_over(void) {
        return !node->waits_for_clock;
}

static bool is_asked(void) {
        return questions > 0;
}

static bool is_asked_again(void) {
        return questions > 1;
}

static bool is_announced(void) {
        return journal_has("info: no job is started until this machine's clock is synchronised: "
                           "timedated says that it is not yet");
}

static bool is_warned(void) {
        return journal_has(
                   "warning: no job is started until this machine's clock is synchronised: ") &&
               journal_has("\"rtcsync\"") && journal_has("wait-for-clock: no");
}

Test(time_sync, who_is_synchronised_hears_nothing) {
        begin_timedated();
        synchronised = true;
        start();
        cr_expect(node->waits_for_clock, "until it is known");
        await(is_over, "it is known");
        cr_expect_eq(journal_count(MESSAGE_CLOCK_WAITED_FOR), 0);
        start_again();
        cr_expect_not(node->waits_for_clock, "not twice in a boot");
        serve_for(200 * USEC_PER_MSEC);
        cr_expect_eq(questions, 0);
}

Test(time_sync, it_is_asked_until_the_first_yes) {
        begin_timedated();
        start();
        await(is_announced, "people are told");
        cr_expect(node->waits_for_clock);
        cr_expect_not(is_warned());
        later = 61 * USEC_PER_SEC;
        await(is_warned, "that it is long");
        cr_expect(node->waits_for_clock);
        cr_expect_eq(questions, 2);
        synchronised = true;
        await(is_over, "the first yes");
        cr_expect(journal_has("notice: this machine's clock is synchronised"));
        cr_expect_eq(journal_count(MESSAGE_CLOCK_WAITED_FOR), 3);
        synchronised = false;
        start_again();
        cr_expect_not(node->waits_for_clock);
}

/* What is not remembered is the waiting itself. */
Test(time_sync, the_next_process_waits_on) {
        begin_timedated();
        start();
        await(is_announced, "it waits");
        start_again();
        cr_expect(node->waits_for_clock);
        await(is_asked, "the next one asks");
}

static char *in_runtime(const char *name) {
        return g_build_filename(node->runtime_dir, name, NULL);
}

static void leave_session(void) {
        const SessionFile file = {.session = {.id = 7}, .held_until = 2, .stop_at = 1};
        g_autofree char *path = in_runtime("session");

        cr_assert_eq(session_file_save(path, "n1 /jobkeeper", &file), 0);
}

static void leave_mark(const char *text) {
        g_autofree char *path = in_runtime("clock-waited");

        cr_assert(g_file_set_contents(path, text, -1, NULL));
}

/* As of a version that knew of no waiting. */
Test(time_sync, after_a_process_that_did_not_wait_it_is_not_begun) {
        g_autofree char *path = in_runtime("session");

        begin_timedated();
        leave_session();
        start();
        cr_expect_not(node->waits_for_clock);
        cr_assert_eq(unlink(path), 0);
        start_again();
        cr_expect_not(node->waits_for_clock, "that is remembered");
        serve_for(200 * USEC_PER_MSEC);
        cr_expect_eq(questions, 0);
}

Test(time_sync, a_process_that_waited_with_a_session_is_waited_on_after) {
        begin_timedated();
        start();
        await(is_announced, "it waits");
        leave_session();
        start_again();
        cr_expect(node->waits_for_clock);
        start_again();
        cr_expect(node->waits_for_clock, "and so does the one after it");
        synchronised = true;
        await(is_over, "the first yes");
        start_again();
        cr_expect_not(node->waits_for_clock);
}

Test(time_sync, a_session_of_another_boot_tells_nothing) {
        g_autofree char *path = in_runtime("session"), *text = NULL;
        char *digit;

        begin_timedated();
        leave_session();
        cr_assert(g_file_get_contents(path, &text, NULL, NULL));
        digit = strstr(text, "boot ") + strlen("boot ");
        *digit = *digit == '0' ? '1' : '0';
        cr_assert(g_file_set_contents(path, text, -1, NULL));
        start();
        cr_expect(node->waits_for_clock);
}

/* There was no room for it, or somebody was killed at it. */
Test(time_sync, a_mark_that_is_not_whole_is_no_yes) {
        begin_timedated();
        leave_session();
        leave_mark("");
        start();
        cr_expect(node->waits_for_clock);
        leave_mark("ye");
        start_again();
        cr_expect(node->waits_for_clock);
        leave_mark("yes\n");
        start_again();
        cr_expect_not(node->waits_for_clock);
}

Test(time_sync, where_the_key_says_no_nobody_is_asked) {
        begin_timedated();
        config.wait_for_clock = false;
        start();
        cr_expect_not(node->waits_for_clock);
        serve_for(200 * USEC_PER_MSEC);
        cr_expect_eq(questions, 0);
        config.wait_for_clock = true;
        start_again();
        cr_expect(node->waits_for_clock, "and that is not remembered");
}

Test(time_sync, a_container_has_its_hosts_clock) {
        begin_timedated();
        sync_ = time_sync_new(node, "/");
        cr_expect_not(node->waits_for_clock);
        cr_expect(journal_has("it is a container"));
        serve_for(200 * USEC_PER_MSEC);
        cr_expect_eq(questions, 0);
}

Test(time_sync, without_a_timedated_nobody_could_ever_tell) {
        start();
        cr_expect(node->waits_for_clock);
        await(is_over, "it is unknown");
        cr_expect(journal_has("it is not waited for"));
}

static void expect_unknowable(const char *error) {
        begin_timedated();
        refusal = error;
        start();
        await(is_over, error);
        cr_expect_eq(questions, 1);
}

Test(time_sync, nor_by_one_that_is_masked) {
        expect_unknowable("org.freedesktop.systemd1.UnitMasked");
}

Test(time_sync, nor_by_one_that_does_not_know) {
        expect_unknowable(SD_BUS_ERROR_UNKNOWN_PROPERTY);
}

Test(time_sync, nor_without_a_bus) {
        g_setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent", TRUE);
        start();
        cr_expect_not(node->waits_for_clock, "at once");
}

Test(time_sync, one_that_does_not_answer_now_is_asked_again) {
        begin_timedated();
        refusal = SD_BUS_ERROR_NO_REPLY;
        start();
        await(is_asked_again, "the next question");
        cr_expect(node->waits_for_clock);
        bus_end();
        timedated = sd_bus_close_unref(timedated);
        bus_begin();
        cr_expect(node->waits_for_clock);
        refusal = NULL;
        synchronised = true;
        begin_timedated();
        await(is_over, "the bus is back");
}

Test(time_sync, there_may_be_none) {
        cr_expect_null(time_sync_free(NULL));
}
