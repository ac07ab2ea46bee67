/* timer.c: one-shot timers in slots. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "event-loop.h"
#include "timer.h"

typedef struct Waiter {
        sd_event *event;
        sd_event_source *slot;
        unsigned fired, again;
        bool empty; /* the slot, when it fired */
} Waiter;

static void waiter_on_timer(void *userdata) {
        Waiter *waiter = userdata;

        waiter->fired++;
        waiter->empty = !waiter->slot;
        if (waiter->again-- > 0)
                cr_assert_eq(timer_in(waiter->event, &waiter->slot, 0, waiter_on_timer, waiter), 0);
        else
                (void)sd_event_exit(waiter->event, 0);
}

static Waiter waiter_new(void) {
        Waiter waiter = {0};

        waiter.event = loop_new();
        return waiter;
}

static void waiter_done(Waiter *waiter) {
        waiter->slot = sd_event_source_disable_unref(waiter->slot);
        waiter->event = loop_end(waiter->event);
}

Test(timer, fires_once_with_its_slot_empty) {
        Waiter waiter = waiter_new();

        cr_assert_eq(timer_in(waiter.event, &waiter.slot, 1, waiter_on_timer, &waiter), 0);
        cr_assert_not_null(waiter.slot);
        cr_assert_eq(sd_event_loop(waiter.event), 0);
        cr_expect_eq(waiter.fired, 1);
        cr_expect(waiter.empty);
        cr_expect_null(waiter.slot);
        waiter_done(&waiter);
}

Test(timer, may_be_set_anew_from_its_function) {
        Waiter waiter = waiter_new();

        waiter.again = 3;
        cr_assert_eq(timer_in(waiter.event, &waiter.slot, 0, waiter_on_timer, &waiter), 0);
        cr_assert_eq(sd_event_loop(waiter.event), 0);
        cr_expect_eq(waiter.fired, 4);
        waiter_done(&waiter);
}

Test(timer, setting_it_again_cancels_the_one_before) {
        Waiter waiter = waiter_new();

        cr_assert_eq(timer_in(waiter.event, &waiter.slot, USEC_PER_HOUR, waiter_on_timer, &waiter),
                     0);
        cr_assert_eq(timer_at(waiter.event, &waiter.slot, CLOCK_BOOTTIME, clock_boottime(),
                              waiter_on_timer, &waiter),
                     0);
        cr_assert_eq(sd_event_loop(waiter.event), 0);
        cr_expect_eq(waiter.fired, 1);
        waiter_done(&waiter);
}

static int on_readable(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Waiter *waiter = userdata;

        (void)fd;
        (void)events;
        waiter->again = waiter->fired;
        return sd_event_source_set_enabled(source, SD_EVENT_OFF);
}

static void waiter_on_next_turn(void *userdata) {
        Waiter *waiter = userdata;

        waiter->empty = !waiter->slot;
        if (++waiter->fired < 10)
                cr_assert_eq(
                    timer_next_turn(waiter->event, &waiter->slot, waiter_on_next_turn, waiter), 0);
}

Test(timer, the_next_turn_is_behind_what_is_due) {
        Waiter waiter = waiter_new();
        sd_event_source *source = NULL;
        int fds[2];

        waiter.again = UINT_MAX;
        cr_assert_eq(pipe2(fds, O_CLOEXEC), 0);
        cr_assert_geq(sd_event_add_io(waiter.event, &source, fds[0], EPOLLIN, on_readable, &waiter),
                      0);
        cr_assert_eq(timer_next_turn(waiter.event, &waiter.slot, waiter_on_next_turn, &waiter), 0);
        cr_expect_eq(waiter.fired, 0, "never at once");
        cr_assert_eq(write(fds[1], "", 1), 1);
        while (sd_event_run(waiter.event, 0) > 0)
                ;
        cr_expect_eq(waiter.fired, 10);
        cr_expect(waiter.empty);
        cr_expect_leq(waiter.again, 2, "%u turns came first", waiter.again);
        sd_event_source_unref(source);
        (void)close(fds[0]);
        (void)close(fds[1]);
        waiter_done(&waiter);
}

Test(timer, cancelled_it_is_silent) {
        Waiter waiter = waiter_new();

        cr_assert_eq(timer_in(waiter.event, &waiter.slot, 0, waiter_on_timer, &waiter), 0);
        waiter.slot = sd_event_source_disable_unref(waiter.slot);
        cr_assert_geq(sd_event_run(waiter.event, 0), 0);
        cr_expect_eq(waiter.fired, 0);
        waiter_done(&waiter);
}

Test(timer, a_clock_that_has_no_timers_leaves_the_slot_empty) {
        Waiter waiter = waiter_new();

        cr_expect_lt(timer_at(waiter.event, &waiter.slot, CLOCK_THREAD_CPUTIME_ID, 1,
                              waiter_on_timer, &waiter),
                     0);
        cr_expect_null(waiter.slot);
        waiter_done(&waiter);
}
