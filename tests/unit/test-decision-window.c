/* A window, cell by cell: it is open for the first 20 s of each minute, so that of the ticks 120,
 * 180, ... of a job that runs each minute all begin, and of those at 100, 200, ... only 300 does.
 */
#include <criterion/criterion.h>

#include "decision-cells.h"

#define OUT(next) "outside its window; the next begins at 1970-01-01T00:" next "Z"
#define SHUT "its window closed before it could begin"
#define IN_AT(ms)                                                                                  \
        "{'run':'100-1','state':'failed','tick':100,'attempt':1,'node':'n1','not_before':" ms "}"
#define OTHER_120 "{'run':'120-1','state':'claimed','claimed':121,'tick':120,'node':'n2'}"
#define OURS_120 "{'run':'120-1','state':'claimed','claimed':121,'tick':120,'node':'n1'}"
#define DONE(tick) "{'run':'" tick "-0','state':'skipped','tick':" tick "}"

Test(decision_window, a_tick_outside_is_skipped_when_it_comes) {
        static const DecisionCell cells[] = {
            {"not yet", 99999, 0, "nothing, again 100", .window = 20},
            {"at once", 100000, 0, "skip 100-100 x1 (" OUT("02:00") "), nothing, again 100",
             .window = 20},
            {"by rank 1 in its turn", 101000, 1, "nothing, again 102", .window = 20},
            {"rank 1", 102000, 1, "skip 100-100 x1 (" OUT("02:00") "), nothing, again 102",
             .window = 20},
            {"not by rank 4", 102000, PLACEMENT_RANKS, "nothing, never again", .window = 20},
            {"also where nobody can run it", 100000, 0,
             "skip 100-100 x1 (" OUT("02:00") "), nothing, again 100", .window = 20,
             .nobody = true},
            {"once the window is open again, for the same reason", 125000, 0,
             "skip 100-100 x1 (" OUT("02:00") "), nothing, again 125", .window = 20},
            {"then nothing until the next one", 150000, 0, "nothing, again 200", DONE("100"),
             .window = 20},
            {"nor is it caught up with", 125000, 0,
             "skip 100-100 x1 (" OUT("02:00") "), nothing, again 125", .window = 20,
             .catch_up = JOB_CATCH_UP_ALL},
            {"a pause comes first", 100000, 0, "skip 100-100 x1 (paused), nothing, again 100",
             .window = 20, .paused = 90},
        };

        EXPECT_CELLS(cells);
}

Test(decision_window, a_tick_inside_begins_until_it_closes) {
        static const DecisionCell cells[] = {
            {"at once", 120000, 0, "run 120, again 140", .window = 20, .every = 120},
            {"caught up with", 139999, 0, "run 120, again 140", .window = 20, .every = 120},
            {"not if none is", 139999, 0, "skip 120-120 x1 (" NOBODY "), nothing, again 140",
             .window = 20, .every = 120, .catch_up = JOB_CATCH_UP_NONE},
            {"no more when it is closed", 140000, 0,
             "skip 120-120 x1 (" SHUT "), nothing, again 140", .window = 20, .every = 120},
            {"by any rank", 140000, 3, "skip 120-120 x1 (" SHUT "), nothing, again 140",
             .window = 20, .every = 120},
            {"missed where its start deadline was sooner", 150000, 0,
             "skip 120-120 x1 (" EXPIRED "), nothing, again 150", .window = 20, .every = 120,
             .deadline = 15},
            {"in line behind an attempt it waited for that", 150000, 0,
             "skip 130-130 x1 (" EARLIER "), nothing, again 150",
             "{'run':'60-0','state':'skipped','tick':60,'to':110,'count':6},"
             "{'run':'120-1','state':'failed','tick':120,'attempt':1,'node':'n1',"
             "'not_before':155}",
             .window = 20, .every = 10, .deadline = 15, .overlap = JOB_OVERLAP_QUEUE},
            {"nor in the next one", 181000, 0, "skip 120-120 x1 (" EXPIRED "), nothing, again 181",
             .window = 20, .every = 120},
            {"however late it may be", 181000, 0, "skip 120-120 x1 (" SHUT "), nothing, again 181",
             .window = 20, .every = 120, .deadline = 1000},
            {"the rest of a time that nobody was there for is outside", 250000, 0,
             "skip 100-100 x1 (" EXPIRED "), nothing, again 250", .window = 20, .deadline = 10},
            {"or before a window that has closed", 250000, 0,
             "skip 100-200 x2 (missed: a window has closed since), nothing, again 250",
             .window = 10, .deadline = 1000},
        };

        EXPECT_CELLS(cells);
}

Test(decision_window, the_start_counts_and_not_the_tick) {
        static const DecisionCell cells[] = {
            /* 100 starts at 130, 200 at 240, 300 at once, 400 at 402. */
            {"not yet", 129000, 0, "nothing, again 130", .window = 20, .random_delay = 40},
            {"inside", 130000, 0, "run 100, again 140", .window = 20, .random_delay = 40},
            {"inside", 240000, 0, "run 200, again 260", DONE("100"), .window = 20,
             .random_delay = 40},
            {"outside", 402000, 0, "skip 400-400 x1 (" OUT("07:00") "), nothing, again 402",
             "{'run':'100-0','state':'skipped','tick':100,'to':300,'count':3}", .window = 20,
             .random_delay = 40},
        };

        EXPECT_CELLS(cells);
}

Test(decision_window, a_month_is_one_stretch) {
        static const DecisionCell cells[] = {
            {"of a second each", 179000, 0, "skip 51-118 x68 (" EXPIRED "), nothing, again 179",
             .window = 1, .every = 1},
            {"and the rest", 179000, 0, "skip 121-179 x59 (" OUT("03:00") "), nothing, again 179",
             "{'run':'51-0','state':'skipped','tick':51,'to':120,'count':70}", .window = 1,
             .every = 1},
        };

        EXPECT_CELLS(cells);
}

Test(decision_window, a_retry_begins_in_the_window_that_its_pause_ends_in) {
        static const DecisionCell cells[] = {
            {"inside", 121000, 0, "run 100, again 140", IN_AT("121"), .window = 20},
            {"which closes", 140000, 0, "give up 100-100 x1 (" SHUT "), nothing, again 140",
             IN_AT("121"), .window = 20},
            {"outside", 150000, 0, "give up 100-100 x1 (" OUT("03:00") "), nothing, again 150",
             IN_AT("150"), .window = 20},
            {"by rank 1 in its turn", 151000, 1, "nothing, again 152", IN_AT("150"), .window = 20},
            {"rank 1", 152000, 1, "give up 100-100 x1 (" OUT("03:00") "), nothing, again 152",
             IN_AT("150"), .window = 20},
            {"nor in the next one", 181000, 0,
             "give up 100-100 x1 (" OUT("03:00") "), nothing, again 181", IN_AT("150"),
             .window = 20},
            {"in a second that is inside", 121500, 0, "nothing, again 122", IN_AT("121.5"),
             .window = 20},
            {"or in none", 139900, 0, "nothing, again 140", IN_AT("139.8"), .window = 20},
            {"then", 140000, 0, "give up 100-100 x1 (" OUT("03:00") "), nothing, again 140",
             IN_AT("139.8"), .window = 20},
            {"long ago", 181000, 0,
             "give up 100-100 x1 (missed: a window has closed since), nothing, again 181",
             IN_AT("110"), .window = 20, .deadline = 1000},
            {"one that is to come is waited for", 150000, 0, "nothing, again 185", IN_AT("185"),
             .window = 20},
        };

        EXPECT_CELLS(cells);
}

Test(decision_window, what_waits_waits_until_it_closes) {
        static const DecisionCell cells[] = {
            {"in line, while it is open", 135000, 0, "watch, again 140",
             "{'run':'60-0','state':'skipped','tick':60,'to':105,'count':4}," OTHER_120,
             .window = 20, .every = 15, .overlap = JOB_OVERLAP_QUEUE},
            {"in line", 150000, 0, "skip 135-135 x1 (" SHUT "), nothing, again 150",
             "{'run':'60-0','state':'skipped','tick':60,'to':105,'count':4}," OTHER_120,
             .window = 20, .every = 15, .overlap = JOB_OVERLAP_QUEUE},
            {"in the place of what is under way here", 140000, 0,
             "skip 135-135 x1 (" SHUT "), nothing, again 140",
             "{'run':'60-0','state':'skipped','tick':60,'to':105,'count':4}," OURS_120,
             .window = 20, .every = 15, .overlap = JOB_OVERLAP_REPLACE},
            {"what is outside ends nothing", 150000, 0,
             "skip 150-150 x1 (" OUT("03:00") "), nothing, again 150",
             "{'run':'60-0','state':'skipped','tick':60,'to':105,'count':4}," OURS_120
             ",{'run':'135-0','state':'skipped','tick':135}",
             .window = 20, .every = 15, .overlap = JOB_OVERLAP_REPLACE},
            {"nor is it blocked", 150000, 0,
             "skip 150-150 x1 (" OUT("03:00") "), nothing, again 150",
             "{'run':'60-0','state':'skipped','tick':60,'to':105,'count':4}," OTHER_120
             ",{'run':'135-0','state':'skipped','tick':135}",
             .window = 20, .every = 15},
        };

        EXPECT_CELLS(cells);
}

/* What may begin is what is to start in the stretch that is now; told to the second, over what no
 * window of a cell has: several, and none any more. */
Test(decision_window, as_it_is_at_a_moment) {
        static const struct {
                unsigned now;
                bool open;
                usec_t closed, since, until;
                const char *why;
        } cells[] = {
            {5, false, 0, USEC_INFINITY, 0, OUT("00:10")},
            {10, true, 0, 10, 30, OUT("00:10")},
            {29, true, 0, 10, 30, OUT("00:10")},
            {30, false, 30, USEC_INFINITY, 0, OUT("01:10")},
            {70, true, 30, 70, 80, OUT("01:10")},
            {80, false, 80, USEC_INFINITY, 0, "outside its window, which does not begin any more"},
        };
        _cleanup_(schedule_freep) Schedule *schedule = every(1);
        g_autofree char *fault = NULL;

        cr_expect_null(decision_window_new(schedule, 0));
        cr_expect_null(decision_window_new(NULL, 0));
        cr_expect_null(decision_window_outside(NULL, 5));
        cr_expect_null(decision_window_outside(schedule, 5));
        cr_assert_eq(
            schedule_add_window(schedule, "1970-01-01 00:00:10", "UTC", 10 * USEC_PER_SEC, &fault),
            0);
        cr_assert_eq(
            schedule_add_window(schedule, "1970-01-01 00:00:20", "UTC", 10 * USEC_PER_SEC, &fault),
            0);
        cr_assert_eq(
            schedule_add_window(schedule, "1970-01-01 00:01:10", "UTC", 10 * USEC_PER_SEC, &fault),
            0);
        for (size_t i = 0; i < G_N_ELEMENTS(cells); i++) {
                _cleanup_(decision_window_freep) DecisionWindow *window =
                    decision_window_new(schedule, cells[i].now * USEC_PER_SEC + 999999);
                g_autofree char *outside = decision_window_outside(schedule, cells[i].now);

                cr_expect_eq(window->open, cells[i].open);
                cr_expect_eq(window->closed, cells[i].closed * USEC_PER_SEC, "%u", cells[i].now);
                cr_expect_eq(window->since,
                             cells[i].open ? cells[i].since * USEC_PER_SEC : USEC_INFINITY);
                cr_expect_eq(window->until, cells[i].until * USEC_PER_SEC);
                cr_expect_str_eq(window->why, cells[i].why);
                cr_expect_str_eq(outside ? outside : "inside",
                                 cells[i].open ? "inside" : cells[i].why);
        }
}
