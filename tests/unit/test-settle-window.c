/* How many settles read and write at a time: as many as there is room for, in the order in which
 * they came, and whoever goes makes room. */
#include "settle-window.h"

#include <criterion/criterion.h>
#include <string.h>

#include "event-loop.h"

#define MORE (SETTLE_WINDOW_SIZE + 5)

static sd_event *loop;
static SettleWindow *window;
static SettleTurn turns[MORE];
static GString *begun;
static char jobs[MORE][8];

/* Each is of a job of its own. */
static void take_turn(unsigned i, SettleWindow *of, void (*func)(void *userdata)) {
        settle_turn_take(&turns[i], of, jobs[i], func, &turns[i]);
}

static void setup_window(void) {
        loop = loop_new();
        window = settle_window_new(loop);
        memset(turns, 0, sizeof turns);
        begun = g_string_new(NULL);
        for (unsigned i = 0; i < MORE; i++)
                (void)g_snprintf(jobs[i], sizeof jobs[i], "j%u", i);
}

static void teardown_window(void) {
        for (unsigned i = 0; i < MORE; i++)
                settle_turn_end(&turns[i]);
        window = settle_window_free(window);
        g_string_free(begun, TRUE);
        loop = loop_end(loop);
}

TestSuite(settle_window, .init = setup_window, .fini = teardown_window);

static void on_turn(void *userdata) {
        g_string_append_printf(begun, "%u ", (unsigned)((SettleTurn *)userdata - turns));
}

static void on_short_turn(void *userdata) {
        on_turn(userdata);
        settle_turn_end(userdata);
}

static void run_loop(void) {
        while (sd_event_run(loop, 0) > 0) {
        }
}

static void take_all(void) {
        for (unsigned i = 0; i < MORE; i++)
                take_turn(i, window, on_turn);
        run_loop();
        cr_assert(g_str_has_suffix(begun->str, "14 15 "), "%s", begun->str);
        (void)g_string_truncate(begun, 0);
}

Test(settle_window, so_many_at_a_time_and_the_others_in_their_order) {
        take_all();
        settle_turn_end(&turns[3]);
        settle_turn_end(&turns[3]);
        cr_expect_str_eq(begun->str, "", "not from inside");
        run_loop();
        cr_expect_str_eq(begun->str, "16 ");
        settle_turn_end(&turns[5]);
        settle_turn_end(&turns[0]);
        run_loop();
        cr_expect_str_eq(begun->str, "16 17 18 ");
}

Test(settle_window, who_goes_while_waiting_makes_room_for_nobody) {
        take_all();
        settle_turn_end(&turns[16]);
        run_loop();
        cr_expect_str_eq(begun->str, "");
        settle_turn_end(&turns[0]);
        run_loop();
        cr_expect_str_eq(begun->str, "17 ");
}

Test(settle_window, who_has_a_turn_goes_on_and_who_waits_waits) {
        take_all();
        take_turn(2, window, on_turn);
        take_turn(17, window, on_turn);
        run_loop();
        cr_expect_str_eq(begun->str, "2 ");
}

Test(settle_window, turns_that_end_at_once_hold_up_nobody) {
        take_all();
        for (unsigned i = 0; i < 2; i++)
                settle_turn_end(&turns[i]);
        run_loop();
        cr_expect_str_eq(begun->str, "16 17 ");
        (void)g_string_truncate(begun, 0);
        for (unsigned i = 0; i < 2; i++) /* behind 18, 19 and 20 */
                take_turn(i, window, on_short_turn);
        for (unsigned i = 2; i < SETTLE_WINDOW_SIZE; i++)
                settle_turn_end(&turns[i]);
        run_loop();
        cr_expect_str_eq(begun->str, "18 19 20 0 1 ");
}

/* They write the same ledger. */
Test(settle_window, one_at_a_time_of_a_job) {
        for (unsigned i = 0; i < 3; i++)
                settle_turn_take(&turns[i], window, "same", on_turn, &turns[i]);
        take_turn(3, window, on_turn);
        run_loop();
        cr_expect_str_eq(begun->str, "0 3 ");
        settle_turn_end(&turns[0]);
        run_loop();
        cr_expect_str_eq(begun->str, "0 3 1 ");
        settle_turn_end(&turns[3]);
        settle_turn_end(&turns[1]);
        run_loop();
        cr_expect_str_eq(begun->str, "0 3 1 2 ");
}

Test(settle_window, without_a_window_everybody_begins) {
        for (unsigned i = 0; i < MORE; i++)
                take_turn(i, NULL, on_turn);
        cr_expect(g_str_has_suffix(begun->str, "20 "));
}
