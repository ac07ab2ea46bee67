/* Whose turn it is to be started. */
#include "event-loop.h"
#include "start-window.h"

#include <criterion/criterion.h>

#define CROWD (START_WINDOW_SIZE + 10U)

static sd_event *event;
static StartWindow *window;
static StartTurn turns[CROWD];
static unsigned begun[CROWD], n_begun;

static void on_turn(void *userdata) {
        begun[n_begun++] = GPOINTER_TO_UINT(userdata);
}

static void take(unsigned i) {
        start_turn_take(&turns[i], window, on_turn, GUINT_TO_POINTER(i));
}

static void begin(void) {
        event = loop_new();
        window = start_window_new(event);
        for (unsigned i = 0; i < CROWD; i++)
                take(i);
}

static void end(void) {
        for (unsigned i = 0; i < CROWD; i++)
                start_turn_end(&turns[i]);
        window = start_window_free(window);
        event = loop_end(event);
}

TestSuite(start_window, .init = begin, .fini = end);

Test(start_window, where_there_is_none_none_is_freed) {
        cr_expect_null(start_window_free(NULL));
}

Test(start_window, first_come_first_served) {
        cr_assert_eq(n_begun, START_WINDOW_SIZE);
        start_turn_end(&turns[5]);
        start_turn_end(&turns[5]); /* idempotent */
        cr_assert_eq(n_begun, START_WINDOW_SIZE + 1U);
        for (unsigned i = 0; i < n_begun; i++)
                cr_expect_eq(begun[i], i);
        start_turn_end(&turns[START_WINDOW_SIZE]);
        start_turn_end(&turns[7]);
        cr_expect_eq(n_begun, START_WINDOW_SIZE + 3U);
}

Test(start_window, who_leaves_while_it_waits_is_passed_over) {
        start_turn_end(&turns[START_WINDOW_SIZE]);
        cr_expect_eq(n_begun, START_WINDOW_SIZE);
        start_turn_end(&turns[0]);
        cr_assert_eq(n_begun, START_WINDOW_SIZE + 1U);
        cr_expect_eq(begun[START_WINDOW_SIZE], START_WINDOW_SIZE + 1U);
        take(0); /* once more, at the end */
        for (unsigned i = 1; i < CROWD; i++)
                start_turn_end(&turns[i]);
        cr_expect_eq(begun[n_begun - 1], 0U);
}

Test(start_window, who_stays_too_long_makes_room) {
        while (n_begun < CROWD && sd_event_run(event, START_WINDOW_PATIENCE + USEC_PER_SEC) > 0)
                ;
        cr_expect_eq(n_begun, CROWD);
        cr_expect_eq(turns[0].state, START_TURN_NONE);
}
