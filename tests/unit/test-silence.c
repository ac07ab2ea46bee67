/* Whether PID 1 answers: counted from the oldest call that waits, over with an answer only, and
 * with no timer where nothing waits. */
#include <criterion/criterion.h>
#include <glib.h>

#include "event-loop.h"
#include "silence.h"

#define PATIENCE (50 * USEC_PER_MSEC)

typedef struct Scene {
        sd_event *event;
        Silence *silence;
        unsigned asked, begun, over;
} Scene;

static Scene scene;

static void on_ask(void *userdata) {
        ((Scene *)userdata)->asked++;
}

static void on_changed(bool silent, void *userdata) {
        Scene *of = userdata;

        of->begun += silent;
        of->over += !silent;
}

static void setup(void) {
        const SilenceEvents events = {on_ask, on_changed, &scene};

        scene = (Scene){.event = loop_new()};
        cr_assert_eq(silence_new(scene.event, PATIENCE, &events, &scene.silence), 0);
}

static void teardown(void) {
        silence_free(scene.silence);
        loop_end(scene.event);
}

TestSuite(silence, .init = setup, .fini = teardown);

/* The loop turns once. Return: whether there was anything to do in that time. */
static bool turn(usec_t limit) {
        int r = sd_event_run(scene.event, limit);

        cr_assert_geq(r, 0);
        return r > 0;
}

static void begin_silence(void) {
        silence_waits(scene.silence);
        while (scene.begun == 0)
                cr_assert(turn(10 * USEC_PER_SEC));
}

Test(silence, begins_when_a_call_has_waited_for_so_long) {
        usec_t before = clock_monotonic();

        cr_expect_eq(silence_lasts(scene.silence), 0);
        begin_silence();
        cr_expect_geq(clock_monotonic() - before, PATIENCE);
        cr_expect_geq(silence_lasts(scene.silence), PATIENCE);
        cr_expect_eq(scene.asked, 0, "what waits will tell");
        cr_expect_not(turn(2 * PATIENCE), "it is told once");
}

Test(silence, an_answer_ends_it_and_all_clocks) {
        begin_silence();
        silence_answered(scene.silence, 0);
        cr_expect_eq(silence_lasts(scene.silence), 0, "at once");
        cr_expect_eq(scene.over, 0, "from the loop");
        cr_expect(turn(10 * USEC_PER_SEC));
        cr_expect_eq(scene.over, 1);
        cr_expect_not(turn(2 * PATIENCE));
}

Test(silence, there_is_none_where_calls_are_answered) {
        silence_waits(scene.silence);
        silence_answered(scene.silence, 0);
        cr_expect_not(turn(2 * PATIENCE), "no timer runs");
        cr_expect_eq(scene.begun, 0);
}

/* PID 1 answers in order: what is answered was asked before. */
Test(silence, lasts_as_long_as_the_oldest_has_waited_too_long) {
        begin_silence();
        silence_answered(scene.silence, clock_monotonic() - 2 * PATIENCE);
        cr_expect_geq(silence_lasts(scene.silence), 2 * PATIENCE);
        cr_expect_not(turn(PATIENCE / 2));
        silence_answered(scene.silence, clock_monotonic());
        cr_expect_eq(silence_lasts(scene.silence), 0);
        while (scene.begun < 2)
                cr_assert(turn(10 * USEC_PER_SEC));
        cr_expect_eq(scene.over, 1);
}

Test(silence, what_ends_without_an_answer_has_something_asked) {
        silence_waits(scene.silence);
        silence_missed(scene.silence, 0);
        cr_expect(turn(10 * USEC_PER_SEC));
        cr_expect_eq(scene.asked, 1);
        cr_expect_eq(scene.begun, 0, "the time is not over");
        while (scene.begun == 0)
                cr_assert(turn(10 * USEC_PER_SEC));
        silence_missed(scene.silence, 0);
        cr_expect(turn(10 * USEC_PER_SEC));
        cr_expect_eq(scene.asked, 2);
        cr_expect_gt(silence_lasts(scene.silence), 0);
}

Test(silence, what_nobody_waits_for_any_more_counts_only_during_it) {
        silence_waits(scene.silence);
        silence_let_go(scene.silence, 0);
        cr_expect_not(turn(2 * PATIENCE));
        begin_silence();
        silence_let_go(scene.silence, 0);
        cr_expect(turn(10 * USEC_PER_SEC));
        cr_expect_eq(scene.asked, 1);
        cr_expect_gt(silence_lasts(scene.silence), 0);
}

/* It may have been answered meanwhile. */
Test(silence, who_was_not_there_to_hear_waits_another_moment) {
        silence_waits(scene.silence);
        g_usleep(PATIENCE + 1100 * USEC_PER_MSEC); /* the process stands still */
        cr_expect(turn(10 * USEC_PER_SEC));
        cr_expect_eq(scene.begun, 0);
        silence_answered(scene.silence, 0);
        cr_expect_not(turn(2 * PATIENCE));
}
