/* The window of a node by a clock that the test sets: its edges, one timer, and a clock that is set
 * past them. */
#include <criterion/criterion.h>
#include <glib.h>
#include <time.h>

#include "event-loop.h"
#include "node-window.h"

/* A Saturday, 2094-11-27 22:00 UTC: its edges are timers of the real clock, and are still to come.
 */
#define SATURDAY INT64_C(3941733600)
#define HOUR INT64_C(3600)
#define WEEK (INT64_C(168) * HOUR)

static sd_event *event;
static DaemonConfig config;
static Node *node;
static NodeWindow *window;
static unsigned changes;
static int64_t ahead; /* microseconds */

/* In place of base's. */
static usec_t read_clock(clockid_t clock) {
        struct timespec time;

        (void)clock_gettime(clock, &time);
        return (usec_t)time.tv_sec * USEC_PER_SEC + (usec_t)time.tv_nsec / 1000;
}

usec_t clock_boottime(void) {
        return read_clock(CLOCK_BOOTTIME);
}

usec_t clock_monotonic(void) {
        return read_clock(CLOCK_MONOTONIC);
}

usec_t clock_realtime(void) {
        return read_clock(CLOCK_REALTIME) + (usec_t)ahead;
}

static void set_clock(int64_t second) {
        ahead = second * (int64_t)USEC_PER_SEC - (int64_t)read_clock(CLOCK_REALTIME);
}

static void on_changed(void *userdata) {
        (void)userdata;
        changes++;
}

static void add(const char *from, usec_t length) {
        g_autofree char *message = NULL;

        if (!config.windows)
                config.windows = windows_new();
        cr_assert_eq(windows_add(config.windows, from, "UTC", length, &message), 0, "%s", message);
}

static void begin(void) {
        event = loop_new();
        node = node_new(event, "/nowhere", "/nowhere");
        node->config = &config;
        window = node_window_new(node, on_changed, NULL);
}

static void teardown(void) {
        window = node_window_free(window);
        node = node_free(node);
        config.windows = windows_free(config.windows);
        event = loop_end(event);
}

TestSuite(node_window, .fini = teardown);

/* What is due on this turn. Return: whether anything was. */
static bool turn(void) {
        return sd_event_run(event, 0) > 0;
}

static void expect_outside(const char *until, int64_t second) {
        g_autofree char *why =
            g_strdup_printf("this node is outside of its window until %s", until);

        cr_expect_str_eq(node_window_closed(window), why);
        cr_expect_eq(node_window_outside(window), second);
}

static void expect_inside(void) {
        cr_expect_null(node_window_closed(window));
        cr_expect_eq(node_window_outside(window), 0);
}

/* The state is by the clock at once; the word to the others follows on the next turn. */
static void cross(int64_t second, bool opens) {
        unsigned before = changes;

        set_clock(second);
        cr_expect_eq(node_window_closed(window) == NULL, opens);
        cr_expect_eq(changes, before, "nobody is called from a question");
        cr_expect(turn());
        cr_expect_eq(changes, before + 1);
        cr_expect_not(turn(), "and then nothing is looked at");
}

Test(node_window, none_is_always_open) {
        begin();
        expect_inside();
        cr_expect_not(turn());
        cr_expect_eq(changes, 0);
}

Test(node_window, it_opens_and_closes_at_its_edges) {
        add("Sat 22:00", 6 * USEC_PER_HOUR);
        set_clock(SATURDAY - HOUR);
        begin();
        expect_outside("2094-11-27T22:00:00Z", SATURDAY);
        cr_expect_not(turn(), "its timer is at the edge");
        cr_expect_eq(changes, 0, "whoever made it asks by itself");
        cross(SATURDAY, true);
        expect_inside();
        set_clock(SATURDAY + 6 * HOUR - 1);
        expect_inside();
        cr_expect_not(turn());
        cross(SATURDAY + 6 * HOUR, false);
        expect_outside("2094-12-04T22:00:00Z", SATURDAY + WEEK);
}

/* That one begins as another ends is no edge. */
Test(node_window, several_are_one_where_they_touch) {
        add("Sat 22:00", 2 * USEC_PER_HOUR);
        add("Sun 00:00", USEC_PER_HOUR);
        set_clock(SATURDAY);
        begin();
        expect_inside();
        set_clock(SATURDAY + 2 * HOUR);
        expect_inside();
        cross(SATURDAY + 3 * HOUR, false);
        expect_outside("2094-12-04T22:00:00Z", SATURDAY + WEEK);
}

Test(node_window, a_clock_that_is_set_back_or_ahead_is_followed) {
        add("Sat 22:00", 6 * USEC_PER_HOUR);
        set_clock(SATURDAY + HOUR);
        begin();
        expect_inside();
        cross(SATURDAY - HOUR, false);
        expect_outside("2094-11-27T22:00:00Z", SATURDAY);
        cross(SATURDAY + 3 * WEEK - HOUR, false);
        expect_outside("2094-12-18T22:00:00Z", SATURDAY + 3 * WEEK);
        cross(SATURDAY + WEEK + HOUR, true);
        set_clock(SATURDAY + HOUR); /* from one opening into another */
        expect_inside();
        cr_expect(turn());
        cr_expect_not(turn());
        cr_expect_eq(changes, 3, "nobody has anything to do about that");
        expect_inside();
}

Test(node_window, one_that_is_over_for_good) {
        add("2094-11-27 22:00", 6 * USEC_PER_HOUR);
        set_clock(SATURDAY);
        begin();
        expect_inside();
        cross(SATURDAY + 6 * HOUR, false);
        cr_expect_str_eq(node_window_closed(window),
                         "this node is outside of its window, which does not open any more");
        cr_expect_eq(node_window_outside(window), INT64_MAX);
}

/* By the real clock, and nobody asks. */
Test(node_window, its_timer_tells_of_each_edge) {
        int64_t until = 0;

        ahead = 0;
        add("*:*:00/2", USEC_PER_SEC);
        begin();
        for (unsigned i = 1; i <= 3; i++) {
                cr_assert_gt(sd_event_run(event, 2 * USEC_PER_SEC), 0);
                cr_expect_eq(changes, i, "one turn for each edge");
                cr_expect(node_window_outside(window) == 0 || node_window_outside(window) > until);
                until = MAX(until, node_window_outside(window));
        }
        cr_expect_neq(until, 0);
}
