/* Work on many things in turns of the loop: each once, in their order, never too many at once. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <glib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "event-loop.h"
#include "sweep.h"

static sd_event *event;
static Sweep *sweep;
static GArray *taken; /* unsigned: item * 100 + what */

static void on_item(void *item, unsigned what, void *userdata) {
        unsigned number = GPOINTER_TO_UINT(item), entry = number * 100 + what;

        cr_assert_eq(userdata, &sweep);
        g_array_append_val(taken, entry);
        if (number == 7 && what == 1)
                sweep_add(sweep, item, 2); /* once more */
}

static void begin(void) {
        event = loop_new();
        sweep = sweep_new(event, on_item, &sweep);
        taken = g_array_new(FALSE, FALSE, sizeof(unsigned));
}

static void end(void) {
        sweep = sweep_free(sweep);
        event = loop_end(event);
        g_clear_pointer(&taken, g_array_unref);
}

TestSuite(sweep, .init = begin, .fini = end);

Test(sweep, where_there_is_none_none_is_freed) {
        cr_expect_null(sweep_free(NULL));
}

static void add(unsigned number, unsigned what) {
        sweep_add(sweep, GUINT_TO_POINTER(number), what);
}

/* Return: whether there was anything to do. */
static bool one_turn(void) {
        return sd_event_run(event, 0) > 0;
}

static unsigned entry(guint i) {
        return g_array_index(taken, unsigned, i);
}

Test(sweep, nothing_waits) {
        cr_expect_not(one_turn());
        cr_expect_eq(sweep_length(sweep), 0);
        sweep_remove(NULL, &sweep);
        sweep_remove(sweep, &sweep);
}

/* Where there is no next turn. */
Test(sweep, what_waits_is_done_at_once_at_the_end) {
        sweep_finish(NULL);
        for (unsigned i = 1; i <= 3 * SWEEP_TURN_ITEMS; i++)
                add(i, 3);
        sweep_finish(sweep);
        cr_expect_eq(taken->len, 3 * SWEEP_TURN_ITEMS);
        cr_expect_eq(sweep_length(sweep), 0);
        (void)one_turn();
        cr_expect_not(one_turn());
        cr_expect_eq(taken->len, 3 * SWEEP_TURN_ITEMS);
}

Test(sweep, each_once_in_order_with_all_that_is_to_be_done) {
        add(1, 1);
        add(2, 1);
        add(1, 4);
        cr_expect_eq(taken->len, 0, "never from inside");
        cr_expect_eq(sweep_length(sweep), 2);
        cr_expect(one_turn());
        cr_assert_eq(taken->len, 2);
        cr_expect_eq(entry(0), 105);
        cr_expect_eq(entry(1), 201);
        cr_expect_not(one_turn(), "the loop sleeps when nothing waits");
        add(1, 1);
        cr_expect(one_turn());
        cr_expect_eq(taken->len, 3);
}

Test(sweep, what_is_added_meanwhile_has_its_turn_later) {
        add(7, 1);
        cr_expect(one_turn());
        cr_expect_eq(taken->len, 1);
        cr_expect_eq(sweep_length(sweep), 1);
        cr_expect(one_turn());
        cr_assert_eq(taken->len, 2);
        cr_expect_eq(entry(1), 702);
        cr_expect_not(one_turn());
}

Test(sweep, a_turn_is_bounded) {
        for (unsigned i = 1; i <= 1000; i++)
                add(i, 4);
        for (guint before = 0; one_turn(); before = taken->len)
                cr_assert_leq(taken->len - before, SWEEP_TURN_ITEMS);
        cr_expect_eq(taken->len, 1000);
        cr_expect_leq(sweep_longest_turn(sweep), SWEEP_TURN_ITEMS);
        cr_expect_gt(sweep_longest_turn(sweep), 0);
}

Test(sweep, what_goes_is_not_taken) {
        for (unsigned i = 1; i <= 3; i++)
                add(i, 1);
        sweep_remove(sweep, GUINT_TO_POINTER(2));
        cr_expect(one_turn());
        cr_assert_eq(taken->len, 2);
        cr_expect_eq(entry(1), 301);
        add(4, 1);
        sweep_clear(sweep);
        (void)one_turn();
        cr_expect_eq(taken->len, 2);
        add(5, 1);
        cr_expect(one_turn());
        cr_expect_eq(taken->len, 3);
}

static int on_readable(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        guint *left = userdata;

        (void)fd;
        (void)events;
        *left = sweep_length(sweep);
        return sd_event_source_set_enabled(source, SD_EVENT_OFF);
}

/* A heartbeat, say: it is served in between, not after everything. */
Test(sweep, what_else_is_due_is_not_held_up) {
        sd_event_source *source = NULL;
        guint left = 0;
        int fds[2];

        cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
        cr_assert_geq(sd_event_add_io(event, &source, fds[0], EPOLLIN, on_readable, &left), 0);
        for (unsigned i = 1; i <= 10 * SWEEP_TURN_ITEMS; i++)
                add(i, 3);
        cr_expect(one_turn());
        cr_assert_eq(write(fds[1], "", 1), 1);
        while (one_turn())
                ;
        cr_expect_geq(left, 7 * SWEEP_TURN_ITEMS, "it waited for %u of them",
                      10 * SWEEP_TURN_ITEMS - left);
        sd_event_source_unref(source);
        (void)close(fds[0]);
        (void)close(fds[1]);
}
