/* Long work in slices: beside other work, and beside what is due. */
#include "slice.h"

#include <criterion/criterion.h>
#include <glib.h>

#include "clock.h"
#include "event-loop.h"

/* Each step takes a millisecond of the loop's time. */
typedef struct Work {
        unsigned steps, done;
        const struct Work *other;
        unsigned other_began_after; /* steps of ours; 0: not yet */
        Slice *slice;
} Work;

static sd_event *event;

static bool work_on_step(void *userdata) {
        Work *work = userdata;
        usec_t until = clock_monotonic() + USEC_PER_MSEC;

        while (clock_monotonic() < until)
                ;
        work->done++;
        if (work->other_began_after == 0 && work->other && work->other->done > 0)
                work->other_began_after = work->done;
        if (work->done < work->steps)
                return true;
        work->slice = slice_free(work->slice);
        return false;
}

static void begin(void) {
        event = loop_new();
}

static void end(void) {
        event = loop_end(event);
}

TestSuite(slice, .init = begin, .fini = end);

Test(slice, where_there_is_none_none_is_freed) {
        cr_expect_null(slice_free(NULL));
}

static void work_begin(Work *work) {
        cr_assert_geq(slice_new(event, work_on_step, work, &work->slice), 0);
}

static void run(void) {
        while (sd_event_run(event, 0) > 0)
                ;
}

Test(slice, goes_on_until_there_is_no_more) {
        Work work = {.steps = 10};

        work_begin(&work);
        cr_expect_eq(work.done, 0U, "never from inside");
        run();
        cr_expect_eq(work.done, 10U);
        cr_expect_null(work.slice);
}

Test(slice, two_take_turns) {
        Work second = {.steps = 10}, first = {.steps = 100, .other = &second};

        work_begin(&first);
        work_begin(&second);
        run();
        cr_expect_eq(first.done, 100U);
        cr_expect_eq(second.done, 10U);
        cr_expect(first.other_began_after > 0 && first.other_began_after < 20U, "after %u steps",
                  first.other_began_after);
}

Test(slice, what_is_freed_is_not_done) {
        Work work = {.steps = 10};

        work_begin(&work);
        work.slice = slice_free(work.slice);
        run();
        cr_expect_eq(work.done, 0U);
}
