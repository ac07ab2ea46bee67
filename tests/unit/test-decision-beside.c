/* The same of runs side by side, of ticks that stand in line, where all that was missed is caught
 * up with, and in a pause. */
#include "decision-cells.h"

#define ALLOW .overlap = JOB_OVERLAP_ALLOW, .beside = JOB_BESIDE_MAX
#define SLOTS .beside = 2
#define RETRY(tick, at)                                                                            \
        "{'run':'" tick "-1','state':'failed','tick':" tick                                        \
        ",'attempt':1,'node':'n1','not_before':" at "}"

Test(decision, side_by_side_each_tick_is_for_itself) {
        static const DecisionCell cells[] = {
            {"beside ours", 200000, 0, "run 200, again 300", OURS_100, ALLOW},
            {"beside another's", 200000, 0, "run 200, again 300", OTHER_100, ALLOW},
            {"beside one by hand", 200000, 0, "run 200, again 300",
             "{'run':'100-1','state':'failed','tick':100}" BY_HAND("n2"), ALLOW},
            {"in our turn, though one is ours", 200000, 1, "nothing, again 202", OURS_100, ALLOW},
            {"in our turn", 202000, 1, "run 200, again 302", OURS_100, ALLOW},
            {"not as no candidate, though one is ours", 200000, PLACEMENT_NONE,
             "nothing, never again", OURS_100, ALLOW},
            {"however long it has been there", 200000, 0, "run 200, again 300", OTHER_100,
             .waited_run = "100-1", .waited_long_enough = true, ALLOW},
            {"what was missed", 215000, 0, "run 200, again 300", OURS_100, ALLOW},
            {"of several the newest", 425000, 0, "skip 200-300 x2 (" NEWER "), run 400, again 500",
             OURS_100, ALLOW},
            {"none of them", 425000, 0, "skip 200-400 x3 (" NOBODY "), nothing, again 500",
             OURS_100, .catch_up = JOB_CATCH_UP_NONE, ALLOW},
            {"too late", 261000, 0, "skip 200-200 x1 (" EXPIRED "), nothing, again 300", OURS_100,
             ALLOW},
        };

        EXPECT_CELLS(cells);
}

Test(decision, side_by_side_a_retry_waits_for_nobody) {
        static const DecisionCell cells[] = {
            {"nor does a tick for it", 200000, 0, "run 200, again 250", LATE, ALLOW},
            {"beside one by hand", 130000, 0, "run 100, again 175", RETRY_100 BY_HAND("n2"), ALLOW},
            {"whose end nobody waits for", 110000, 0, "nothing, again 115", RETRY_100 BY_HAND("n2"),
             ALLOW},
            {"but for that of its attempt before", 105000, 0, "watch, again 200", AGAIN("n2"),
             ALLOW},
            {"before what is due", 200000, 0, "run 100, again 300", RETRY("100", "150"),
             .deadline = 200, ALLOW},
            {"of several that which begins first", 230000, 0, "run 200, again 285",
             RETRY("100", "240") "," RETRY("200", "225"), ALLOW},
            {"then the other", 245000, 0, "run 100, again 300",
             RETRY("100", "240") ",{'run':'200-2','state':'claimed','tick':200,'node':'n1'}",
             ALLOW},
            {"the one that is too late is given up", 286000, 0,
             "give up 200-200 x1 (" EXPIRED "), nothing, again 286",
             RETRY("100", "240") "," RETRY("200", "225"), ALLOW},
        };

        EXPECT_CELLS(cells);
}

/* Each is one second before the next, the last one is due. */
static char *many(unsigned claimed, unsigned retries) {
        GString *text = g_string_new("");
        unsigned tick = 51;

        for (unsigned i = 0; i < claimed; i++, tick++)
                g_string_append_printf(text,
                                       "%s{'run':'%u-1','state':'claimed','tick':%u,'node':'n2'}",
                                       i > 0 ? "," : "", tick, tick);
        for (unsigned i = 0; i < retries; i++, tick++)
                g_string_append_printf(
                    text, ",{'run':'%u-1','state':'failed','tick':%u,'not_before':200}", tick,
                    tick);
        return g_string_free(text, FALSE);
}

Test(decision, side_by_side_are_only_so_many) {
        static const unsigned most = JOB_BESIDE_MAX;
        static const char skipped[] = "skip 75-75 x1 (" DECISION_WHY_MANY "), nothing, again 76";
        const struct {
                unsigned claimed, retries;
                const char *expected;
        } cases[] = {{most, 0, skipped}, {most - 4, 4, skipped}, {most - 1, 0, "run 74, again 75"}};

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                g_autofree char *entries = many(cases[i].claimed, cases[i].retries);
                unsigned tick = 51 + cases[i].claimed + cases[i].retries;
                const DecisionCell cell = {cases[i].expected, tick * 1000, 0,    cases[i].expected,
                                           entries,           .every = 1,  ALLOW};

                expect_cell(&cell);
        }
}

Test(decision, slots_are_for_so_many) {
        static const char skipped[] =
            "skip 200-200 x1 (" DECISION_WHY_SLOTS "), nothing, again 300";
        static const DecisionCell cells[] = {
            {"one is free", 200000, 0, "run 200, again 300", OTHER_100, SLOTS},
            {"ours does not matter either", 200000, 0, "run 200, again 300", OURS_100, SLOTS},
            {"we who run one do not answer for it", 200000, 1, "nothing, again 202", OURS_100,
             SLOTS},
            {"none is free", 200000, 0, skipped, OTHER_100 BY_HAND("n1"), SLOTS},
            {"in our turn", 200000, 1, "nothing, again 202", OTHER_100 BY_HAND("n1"), SLOTS},
            {"what is to be attempted again has one", 200000, 0,
             "skip 200-200 x1 (" DECISION_WHY_SLOTS "), nothing, again 250",
             "{'run':'100-1','state':'failed','tick':100,'not_before':250}" BY_HAND("n2"), SLOTS},
            {"and begins beside another", 250000, 0, "run 100, again 300",
             "{'run':'100-1','state':'failed','tick':100,'not_before':250},"
             "{'run':'200-1','state':'claimed','tick':200,'node':'n2'}",
             SLOTS},
        };

        EXPECT_CELLS(cells);
}

Test(decision, what_is_owed_waits_for_a_slot) {
        static const DecisionCell cells[] = {
            {"one is free", 255000, 0, "run 200, again 300", OTHER_100, SLOTS,
             .catch_up = JOB_CATCH_UP_ALL},
            {"none is", 255000, 0, "watch, again 260", OTHER_100 BY_HAND("n1"), SLOTS,
             .catch_up = JOB_CATCH_UP_ALL},
        };

        EXPECT_CELLS(cells);
}

#define DONE_100 "{'run':'100-1','state':'failed','tick':100}"
#define REPLACE .overlap = JOB_OVERLAP_REPLACE, .beside = 1
#define TAKEN(ticks, count) "skip " ticks " x" count " (" DECISION_WHY_REPLACED "), "

Test(decision, a_newer_tick_takes_the_place_of_a_run) {
        static const DecisionCell cells[] = {
            {"ours ends at once", 200000, 0, "replace 200 by 100-1, again 260", OURS_100, REPLACE},
            {"whatever our rank is", 200000, PLACEMENT_NONE, "replace 200 by 100-1, again 260",
             OURS_100, REPLACE},
            {"not before", 199000, 0, "nothing, again 200", OURS_100, REPLACE},
            {"another's is waited for", 200000, 0, "blocked 200 by 100-1, again 260", OTHER_100,
             REPLACE},
            {"in our turn", 200000, 1, "nothing, again 202", OTHER_100, REPLACE},
            {"what stays there too long is asked to end", 250000, 0,
             "replace 200 by 100-1, again 260", OTHER_100, .waited_run = "100-1",
             .waited_long_enough = true, REPLACE},
            {"another run than that is not", 250000, 0, "blocked 200 by 100-1, again 260",
             OTHER_100, .waited_run = "99-1", .waited_long_enough = true, REPLACE},
            {"to its deadline", 260001, 0,
             "skip 200-200 x1 (" DECISION_WHY_OUTLASTED "), nothing, again 300", OURS_100, REPLACE},
            {"it is the newest", 300000, 0, TAKEN("200-200", "1") "replace 300 by 100-1, again 400",
             OURS_100, .deadline = 1000, REPLACE},
            {"one by hand that is older", 200000, 0, "replace 200 by 110-m1, again 260",
             DONE_100 ",{'run':'110-m1','state':'claimed','node':'n1','claimed':150}", REPLACE},
            {"one by hand that is newer is waited for", 220000, 0, "nothing, again 260",
             DONE_100 ",{'run':'110-m1','state':'claimed','node':'n1','claimed':210}", REPLACE},
            {"of another node", 220000, 0, "watch, again 260",
             DONE_100 ",{'run':'110-m1','state':'claimed','node':'n2','claimed':210}",
             .waited_run = "110-m1", .waited_long_enough = true, REPLACE},
        };

        EXPECT_CELLS(cells);
}

Test(decision, a_newer_tick_takes_the_place_of_an_attempt) {
        static const char retry[] = "{'run':'100-1','state':'failed','tick':100,'not_before':250}";
        static const DecisionCell cells[] = {
            {"that is to come", 200000, 0,
             "give up 100-100 x1 (" DECISION_WHY_REPLACED "), nothing, again 200", retry, REPLACE},
            {"in our turn", 200000, 1, "nothing, again 202", retry, REPLACE},
            {"before it comes, nothing", 190000, 0, "nothing, again 200", retry, REPLACE},
            {"what was missed and is not caught up with takes nothing", 255000, 0,
             "skip 200-200 x1 (missed: no node could start it), nothing, again 300", retry,
             .deadline = 100, .catch_up = JOB_CATCH_UP_NONE, REPLACE},
        };

        EXPECT_CELLS(cells);
}

Test(decision, the_newest_begins_when_the_run_before_has_ended) {
        static const char done[] = "{'run':'100-1','state':'stopped','tick':100}";
        static const DecisionCell cells[] = {
            {"at once", 205000, 0, "run 200, again 300", done, .last_tick = 100, .last_ended = 204,
             REPLACE},
            {"by rank from then on", 205000, 1, "nothing, again 206", done, .last_tick = 100,
             .last_ended = 204, REPLACE},
            {"however long that took", 450000, 0, TAKEN("200-300", "2") "run 400, again 500", done,
             .last_tick = 100, .last_ended = 449, .deadline = 1000, REPLACE},
            {"it is not missed", 450000, 0, TAKEN("200-300", "2") "run 400, again 500", done,
             .last_tick = 100, .last_ended = 449, .deadline = 1000, .catch_up = JOB_CATCH_UP_NONE,
             REPLACE},
        };

        EXPECT_CELLS(cells);
}

#define QUEUE .overlap = JOB_OVERLAP_QUEUE

Test(decision, in_line_a_tick_waits_for_the_run_before_it) {
        static const DecisionCell cells[] = {
            {"another's is watched", 200000, 0, "watch, again 260", OTHER_100, QUEUE},
            {"we hear of the end of ours", 200000, 0, "nothing, again 260", OURS_100, QUEUE},
            {"before our turn nobody watches", 200000, 1, "nothing, again 202", OTHER_100, QUEUE},
            {"in our turn", 202000, 1, "watch, again 260", OTHER_100, QUEUE},
            {"we are no candidate", 200000, PLACEMENT_NONE, "nothing, never again", OURS_100,
             QUEUE},
            {"nothing is due", 150000, 0, "nothing, again 200", OTHER_100, QUEUE},
            {"it is not missed", 255000, 0, "watch, again 260", OTHER_100,
             .catch_up = JOB_CATCH_UP_NONE, QUEUE},
            {"however long that stands there", 255000, 0, "watch, again 260", OTHER_100,
             .waited_run = "100-1", .waited_long_enough = true, QUEUE},
            {"one by hand", 200000, 0, "watch, again 260", DONE_100 BY_HAND("n2"), QUEUE},
            {"to its deadline", 260000, 0, "watch, again 260", OTHER_100, QUEUE},
            {"not longer", 260001, 0,
             "skip 200-200 x1 (" DECISION_WHY_OUTLASTED "), nothing, again 300", OTHER_100, QUEUE},
            {"nobody can run it", 261000, 0,
             "skip 200-200 x1 (no node could run it), nothing, "
             "again 360",
             OTHER_100, .nobody = true, QUEUE},
        };

        EXPECT_CELLS(cells);
}

Test(decision, in_line_is_one) {
        static const DecisionCell cells[] = {
            {"the next is left out", 300000, 0,
             "skip 300-300 x1 (" DECISION_WHY_WAITS "), watch, again 400", OTHER_100,
             .deadline = 1000, QUEUE},
            {"in our turn", 300000, 1, "watch, again 302", OTHER_100, .deadline = 1000, QUEUE},
            {"then", 302000, 1, "skip 300-300 x1 (" DECISION_WHY_WAITS "), watch, again 402",
             OTHER_100, .deadline = 1000, QUEUE},
            {"and all others", 555000, 0,
             "skip 300-500 x3 (" DECISION_WHY_WAITS "), watch, again 600", OTHER_100,
             .deadline = 1000, QUEUE},
            {"whose run it is does not matter", 555000, 0,
             "skip 300-500 x3 (" DECISION_WHY_WAITS "), nothing, again 600", OURS_100,
             .deadline = 1000, QUEUE},
            {"when its time is over the next one waits", 351000, 0,
             "skip 200-200 x1 (" DECISION_WHY_OUTLASTED "), watch, again 400", OTHER_100,
             .deadline = 150, QUEUE},
        };

        EXPECT_CELLS(cells);
}

Test(decision, in_line_attempts_come_first) {
        static const DecisionCell cells[] = {
            {"a tick waits for them", 200000, 0, "nothing, again 250", LATE, QUEUE},
            {"the next one does not", 300000, 0,
             "skip 300-300 x1 (" DECISION_WHY_WAITS "), nothing, again 350", RETRY("100", "350"),
             .deadline = 1000, QUEUE},
            {"it is their turn", 250000, 0, "run 100, again 260", LATE, QUEUE},
            {"it has waited too long", 261000, 0,
             "skip 200-200 x1 (" EARLIER "), nothing, again 300", LATE, QUEUE},
            {"too late for them", 311000, 0,
             "give up 100-100 x1 (missed: the start deadline passed), nothing, again 311", LATE,
             QUEUE},
            {"one that may follow is watched", 105000, 0, "watch, again 200", AGAIN("n2"), QUEUE},
        };

        EXPECT_CELLS(cells);
}

Test(decision, what_was_in_line_is_not_missed) {
        static const DecisionCell cells[] = {
            {"rank 0 at once", 255000, 0, "run 200, again 300", DONE_100, .last_tick = 100,
             .last_ended = 255, QUEUE},
            {"rank 1 not yet", 256000, 1, "nothing, again 257", DONE_100, .last_tick = 100,
             .last_ended = 255, QUEUE},
            {"rank 1", 257000, 1, "run 200, again 302", DONE_100, .last_tick = 100,
             .last_ended = 255, QUEUE},
            {"it need not be caught up", 259000, 0, "run 200, again 300", DONE_100,
             .last_tick = 100, .last_ended = 240, .catch_up = JOB_CATCH_UP_NONE, QUEUE},
            {"to its deadline", 260001, 0, "skip 200-200 x1 (" EXPIRED "), nothing, again 300",
             DONE_100, .last_tick = 100, .last_ended = 255, QUEUE},
            {"the run was over before it", 215000, 0,
             "skip 200-200 x1 (" NOBODY "), nothing, again 300", DONE_100, .last_tick = 100,
             .last_ended = 199, .catch_up = JOB_CATCH_UP_NONE, QUEUE},
            {"the run was its own", 215000, 0, "skip 200-200 x1 (" NOBODY "), nothing, again 300",
             DONE_100, .last_tick = 200, .last_ended = 205, .catch_up = JOB_CATCH_UP_NONE, QUEUE},
            {"without a line nobody waited", 255000, 0,
             "skip 200-200 x1 (" NOBODY "), nothing, again 300", DONE_100, .last_tick = 100,
             .last_ended = 255, .catch_up = JOB_CATCH_UP_NONE},
            {"the oldest, and the next one waits for it", 305000, 0, "run 200, again 400", DONE_100,
             .last_tick = 100, .last_ended = 300, .deadline = 1000, QUEUE},
            {"ended by a clock that was ahead", 255000, 3, "run 200, again 306", DONE_100,
             .last_tick = 100, .last_ended = 256, .catch_up = JOB_CATCH_UP_NONE, QUEUE},
            {"behind an attempt by hand", 255000, 0, "run 200, again 300", DONE_100,
             .last_tick = 200, .last_by_hand = true, .last_ended = 250,
             .catch_up = JOB_CATCH_UP_NONE, QUEUE},
            {"one before the run waited for nothing", 105500, 1,
             "skip 52-100 x25 (" EXPIRED "), run 102, again 108",
             "{'run':'104-1','state':'succeeded','tick':104}", .every = 2, .deadline = 4,
             .last_tick = 104, .last_ended = 105, QUEUE},
            {"behind one by hand", 255000, 0, "run 200, again 300", DONE_100, .last_ended = 250,
             .catch_up = JOB_CATCH_UP_NONE, QUEUE},
        };

        EXPECT_CELLS(cells);
}

/* Until then the run, which had ended before the tick, stood in the ledger, or an attempt was owed.
 */
Test(decision, what_waited_for_what_is_written_late_is_not_missed) {
        static const DecisionCell cells[] = {
            {"rank 0 at once", 255000, 0, "run 200, again 300", DONE_100, .last_tick = 100,
             .last_ended = 199, .freed = 255, .catch_up = JOB_CATCH_UP_NONE, QUEUE},
            {"rank 1 not yet", 256000, 1, "nothing, again 257", DONE_100, .last_tick = 100,
             .last_ended = 199, .freed = 255, .catch_up = JOB_CATCH_UP_NONE, QUEUE},
            {"before a newer one", 305000, 0, "run 200, again 400", DONE_100, .last_tick = 100,
             .last_ended = 199, .freed = 255, .deadline = 1000, QUEUE},
            {"by a clock that was ahead", 255000, 3, "run 200, again 306", DONE_100,
             .last_tick = 100, .last_ended = 199, .freed = 256, .catch_up = JOB_CATCH_UP_NONE,
             QUEUE},
            {"it was too early for the tick", 215000, 0,
             "skip 200-200 x1 (" NOBODY "), nothing, again 300", DONE_100, .last_tick = 100,
             .last_ended = 150, .freed = 199, .catch_up = JOB_CATCH_UP_NONE, QUEUE},
            {"without a line nobody waited", 255000, 0,
             "skip 200-200 x1 (" NOBODY "), nothing, again 300", DONE_100, .last_tick = 100,
             .last_ended = 199, .freed = 255, .catch_up = JOB_CATCH_UP_NONE},
            {"nor where nothing has run", 255000, 0,
             "skip 200-200 x1 (" NOBODY "), nothing, again 300", DONE_100, .freed = 255,
             .catch_up = JOB_CATCH_UP_NONE, QUEUE},
        };

        EXPECT_CELLS(cells);
}

#define ALL .catch_up = JOB_CATCH_UP_ALL, .deadline = 1000
/* Begun when several were owed already. */
#define LATE_RUN(node)                                                                             \
        "{'run':'100-1','state':'claimed','tick':100,'claimed':455,'node':'" node "'}"
#define LATE_RETRY                                                                                 \
        "{'run':'100-1','state':'failed','tick':100,'attempt':1,'claimed':455,'node':'n1',"        \
        "'not_before':600}"

Test(decision, all_are_caught_up_with_oldest_first) {
        static const DecisionCell cells[] = {
            {"the oldest", 455000, 0, "run 100, again 500", ALL},
            {"at any rank", 455000, 3, "run 100, again 506", ALL},
            {"the next one", 455000, 0, "run 200, again 500", DONE_100, ALL},
            {"before a fresh one", 500000, 0, "run 100, again 600", ALL},
            {"which comes in its turn", 500000, 1, "nothing, again 502",
             "{'run':'100-0','state':'skipped','tick':100,'to':400,'count':4}", ALL},
            {"then", 502000, 1, "run 500, again 602",
             "{'run':'100-0','state':'skipped','tick':100,'to':400,'count':4}", ALL},
            {"but those past their deadline", 455000, 0,
             "skip 100-200 x2 (" EXPIRED "), run 300, again 500", .catch_up = JOB_CATCH_UP_ALL,
             .deadline = 200},
            {"nobody can run it", 455000, 0,
             "skip 100-200 x2 (no node could run it), nothing, again 500", .nobody = true,
             .catch_up = JOB_CATCH_UP_ALL, .deadline = 200},
            {"side by side", 455000, 0, "run 200, again 500", LATE_RUN("n2"), ALLOW, ALL},
            {"in line", 455000, 0, "run 100, again 500", QUEUE, ALL},
        };

        EXPECT_CELLS(cells);
}

Test(decision, what_is_caught_up_with_is_no_overlap) {
        static const DecisionCell cells[] = {
            {"it waits", 460000, 0, "watch, again 500", LATE_RUN("n2"), ALL},
            {"at any rank", 460000, 3, "watch, again 506", LATE_RUN("n2"), ALL},
            {"behind ours", 460000, 0, "nothing, again 500", LATE_RUN("n1"), ALL},
            {"what comes during the run is", 500000, 0,
             "skip 500-500 x1 (" OVERLAP "), nothing, again 600", LATE_RUN("n1"), ALL},
            {"though we are no candidate any more", 500000, PLACEMENT_NONE,
             "skip 500-500 x1 (" OVERLAP "), nothing, again 600", LATE_RUN("n1"), ALL},
            {"each of it", 655000, 0, "skip 500-600 x2 (" OVERLAP "), nothing, again 700",
             LATE_RUN("n1"), ALL},
            {"once it is known that it was one", 500000, 0, "blocked 500 by 100-1, again 600",
             LATE_RUN("n2"), ALL},
            {"after a while", 655000, 0, "skip 500-600 x2 (" OVERLAP "), watch, again 700",
             LATE_RUN("n2"), .waited_run = "100-1", .waited_long_enough = true, ALL},
            {"it waits for a retry", 470000, 0, "nothing, again 500", LATE_RETRY, ALL},
            {"what comes meanwhile does not", 500000, 0,
             "skip 500-500 x1 (" EARLIER "), nothing, again 600", LATE_RETRY, ALL},
            {"which is first", 600000, 0, "run 100, again 700",
             LATE_RETRY ",{'run':'500-0','state':'skipped','tick':500,'to':600}", ALL},
            {"it is too late for some", 1255000, 0,
             "skip 200-200 x1 (" EXPIRED "), skip 500-1200 x8 (" OVERLAP "), nothing, again 1300",
             LATE_RUN("n1"), ALL},
            {"in line one more waits", 655000, 0,
             "skip 600-600 x1 (" DECISION_WHY_WAITS "), watch, again 700", LATE_RUN("n2"), QUEUE,
             ALL},
            {"which has not come yet", 460000, 0, "watch, again 500", LATE_RUN("n2"), QUEUE, ALL},
        };

        EXPECT_CELLS(cells);
}

Test(decision, where_too_many_are_side_by_side_those_that_were_missed_wait) {
        g_autofree char *entries = many(JOB_BESIDE_MAX, 0);
        const DecisionCell cell = {"full",  90000,      0,     "watch, again 91",
                                   entries, .every = 1, ALLOW, ALL};

        expect_cell(&cell);
}

/* The starts are at 130, 240, 300, 402, ... */
Test(decision, in_line_a_delayed_tick_waits_from_its_start_on) {
        static const DecisionCell cells[] = {
            {"it has come", 200000, 0, "nothing, again 240", OTHER_100, .random_delay = 40, QUEUE},
            {"not yet", 239999, 0, "nothing, again 240", OTHER_100, .random_delay = 40, QUEUE},
            {"at its start", 240000, 0, "watch, again 300", OTHER_100, .random_delay = 40, QUEUE},
            {"rank 1 not yet", 241999, 1, "nothing, again 242", OTHER_100, .random_delay = 40,
             QUEUE},
            {"rank 1", 242000, 1, "watch, again 300", OTHER_100, .random_delay = 40, QUEUE},
            {"to its deadline, and the next one starts", 300000, 0,
             "skip 300-300 x1 (" DECISION_WHY_WAITS "), watch, again 300", OTHER_100,
             .random_delay = 40, QUEUE},
            {"not longer", 300001, 0,
             "skip 200-200 x1 (" DECISION_WHY_OUTLASTED "), watch, again 360", OTHER_100,
             .random_delay = 40, QUEUE},
            {"one that has come and not started is not left out", 401999, 0, "watch, again 402",
             OTHER_100 ",{'run':'200-0','state':'skipped','tick':200}", .random_delay = 40,
             .deadline = 1000, QUEUE},
            {"one that has started is", 402000, 0,
             "skip 400-400 x1 (" DECISION_WHY_WAITS "), watch, again 514",
             OTHER_100 ",{'run':'200-0','state':'skipped','tick':200}", .random_delay = 40,
             .deadline = 1000, QUEUE},
            {"behind attempts", 230000, 0, "nothing, again 240", LATE, .random_delay = 40, QUEUE},
            {"it has started", 240000, 0, "nothing, again 250", LATE, .random_delay = 40, QUEUE},
            {"they come first", 250000, 0, "run 100, again 300", LATE, .random_delay = 40, QUEUE},
        };

        EXPECT_CELLS(cells);
}

Test(decision, when_nothing_is_in_the_way_a_delayed_tick_begins_at_its_start) {
        static const DecisionCell cells[] = {
            {"the run ended before it", 235000, 0, "nothing, again 240", DONE_100, .last_tick = 100,
             .last_ended = 235, .random_delay = 40, QUEUE},
            {"by a clock that was ahead", 235000, 0, "nothing, again 240", DONE_100,
             .last_tick = 100, .last_ended = 250, .random_delay = 40, QUEUE},
            {"not yet", 239999, 0, "nothing, again 240", DONE_100, .last_tick = 100,
             .last_ended = 235, .random_delay = 40, QUEUE},
            {"now", 240000, 0, "run 200, again 300", DONE_100, .last_tick = 100, .last_ended = 235,
             .random_delay = 40, QUEUE},
            {"rank 1 counts from the start", 241999, 1, "nothing, again 242", DONE_100,
             .last_tick = 100, .last_ended = 235, .random_delay = 40, QUEUE},
            {"from there on it was missed", 250001, 0,
             "skip 200-200 x1 (" NOBODY "), nothing, again 300", DONE_100, .last_tick = 100,
             .last_ended = 235, .random_delay = 40, .catch_up = JOB_CATCH_UP_NONE, QUEUE},
            {"it has waited for the run", 255001, 0, "run 200, again 300", DONE_100,
             .last_tick = 100, .last_ended = 245, .random_delay = 40, .catch_up = JOB_CATCH_UP_NONE,
             QUEUE},
            {"rank 1 counts from its end", 246999, 1, "nothing, again 247", DONE_100,
             .last_tick = 100, .last_ended = 245, .random_delay = 40, QUEUE},
            {"rank 1", 247000, 1, "run 200, again 302", DONE_100, .last_tick = 100,
             .last_ended = 245, .random_delay = 40, QUEUE},
            {"to its deadline", 300000, 0, "run 200, again 402", DONE_100, .last_tick = 100,
             .last_ended = 295, .random_delay = 40, QUEUE},
        };

        EXPECT_CELLS(cells);
}

Test(decision, side_by_side_a_delayed_tick_begins_at_its_start) {
        static const DecisionCell cells[] = {
            {"beside ours", 239999, 0, "nothing, again 240", OURS_100, .random_delay = 40, ALLOW},
            {"now", 240000, 0, "run 200, again 300", OURS_100, .random_delay = 40, ALLOW},
            {"rank 1 later", 241999, 1, "nothing, again 242", OURS_100, .random_delay = 40, ALLOW},
            {"rank 1", 242000, 1, "run 200, again 302", OTHER_100, .random_delay = 40, ALLOW},
        };

        EXPECT_CELLS(cells);
}

/* ---- paused ---- */

Test(decision, what_is_paused_is_skipped_by_rank_as_it_comes) {
        static const DecisionCell cells[] = {
            {"not yet", 99999, 0, "nothing, again 100", .paused = 50},
            {"rank 0 at once", 100000, 0, "skip 100-100 x1 (paused), nothing, again 100",
             .paused = 50},
            {"rank 1 not yet", 101999, 1, "nothing, again 102", .paused = 50},
            {"rank 1", 102000, 1, "skip 100-100 x1 (paused), nothing, again 102", .paused = 50},
            {"rank 3 not yet", 105999, 3, "nothing, again 106", .paused = 50},
            {"not rank 4", 120000, PLACEMENT_RANKS, "nothing, never again", .paused = 50},
            {"whoever sees it stale", 120000, 3, "skip 100-100 x1 (paused), nothing, again 120",
             .paused = 50},
            {"the next one", 150000, 1, "nothing, again 202",
             "{'run':'100-1','state':'failed','tick':100}", .paused = 50},
            {"many at once", 550000, 0, "skip 100-500 x5 (paused), nothing, again 550",
             .paused = 50},
            {"the fresh one has its turn", 500000, 1,
             "skip 100-400 x4 (paused), nothing, again 500", .paused = 50},
            {"what was to be caught up with", 150000, 0,
             "skip 100-100 x1 (paused), nothing, again 150", .paused = 140},
            {"what was too late by then was missed", 350000, 0,
             "skip 100-200 x2 (" EXPIRED "), nothing, again 350", .paused = 270},
            {"and the rest is paused", 350000, 0, "skip 300-300 x1 (paused), nothing, again 350",
             "{'run':'100-0','state':'skipped','tick':100,'to':200,'count':2}", .paused = 270},
            {"where nobody can run it, too", 100000, 0,
             "skip 100-100 x1 (paused), nothing, again 100", .nobody = true, .paused = 50},
            {"beside a run of ours", 200000, 2, "skip 200-200 x1 (paused), nothing, again 200",
             OURS_100, .paused = 150},
            {"beside a run of another", 200000, 0, "skip 200-200 x1 (paused), nothing, again 200",
             OTHER_100, .paused = 150},
        };

        EXPECT_CELLS(cells);
}

Test(decision, what_came_by_the_end_of_a_pause_is_not_caught_up_with) {
        static const DecisionCell cells[] = {
            {"at its second", 100500, 0, "skip 100-100 x1 (paused), nothing, again 100.5",
             .paused = 50, .resumed = 100},
            {"a second later", 101000, 0, "run 100, again 200", .paused = 50, .resumed = 99},
            {"by rank", 100500, 1, "nothing, again 102", .paused = 50, .resumed = 100},
            {"by rank, also where several wait for what is over", 355500, 1, "nothing, again 357",
             RETRY("100", "500"), .deadline = 1000, QUEUE, .last_tick = 100, .last_ended = 355,
             .paused = 250, .resumed = 355},
            {"then", 357000, 1, "skip 200-300 x2 (paused), nothing, again 357", RETRY("100", "500"),
             .deadline = 1000, QUEUE, .last_tick = 100, .last_ended = 355, .paused = 250,
             .resumed = 355},
            {"several, and then the fresh one", 500000, 0,
             "skip 100-400 x4 (paused), nothing, again 500", .paused = 50, .resumed = 450},
            {"the fresh one", 500000, 0, "run 500, again 600",
             "{'run':'100-0','state':'skipped','tick':100,'to':400,'count':4}", .paused = 50,
             .resumed = 450},
            {"however late", 900000, 0, "skip 100-400 x4 (paused), nothing, again 900",
             .deadline = 1000, .paused = 50, .resumed = 450},
            {"what was missed after it is as ever", 900000, 0,
             "skip 500-800 x4 (" NEWER "), run 900, again 1000",
             "{'run':'100-0','state':'skipped','tick':100,'to':400,'count':4}", .deadline = 1000,
             .paused = 50, .resumed = 450},
        };

        EXPECT_CELLS(cells);
}

/* The starts are at 130, 240, 300, 402, ... */
Test(decision, a_delayed_tick_is_paused_when_it_starts) {
        static const DecisionCell cells[] = {
            {"it has come", 110000, 0, "nothing, again 130", .random_delay = 40, .paused = 50},
            {"not yet", 129999, 0, "nothing, again 130", .random_delay = 40, .paused = 50},
            {"at its start", 130000, 0, "skip 100-100 x1 (paused), nothing, again 130",
             .random_delay = 40, .paused = 50},
            {"rank 1 not yet", 131999, 1, "nothing, again 132", .random_delay = 40, .paused = 50},
            {"resumed before it", 115000, 0, "nothing, again 130", .random_delay = 40, .paused = 50,
             .resumed = 110},
            {"then it is run", 130000, 0, "run 100, again 240", .random_delay = 40, .paused = 50,
             .resumed = 129},
            {"resumed in its second", 130500, 0, "skip 100-100 x1 (paused), nothing, again 130.5",
             .random_delay = 40, .paused = 50, .resumed = 130},
            {"it was missed before the pause", 235000, 0,
             "skip 100-100 x1 (" EXPIRED "), nothing, again 235", .random_delay = 40,
             .paused = 191},
            {"it could still begin then", 235000, 0, "skip 100-100 x1 (paused), nothing, again 235",
             .random_delay = 40, .paused = 190},
        };

        EXPECT_CELLS(cells);
}

Test(decision, what_is_in_line_in_a_pause_does_not_begin) {
        static const DecisionCell cells[] = {
            {"it comes", 200000, 0, "skip 200-200 x1 (paused), nothing, again 200", OTHER_100,
             .paused = 150, QUEUE},
            {"in our turn", 201999, 1, "nothing, again 202", OTHER_100, .paused = 150, QUEUE},
            {"it waits", 210000, 0, "skip 200-200 x1 (paused), nothing, again 210", OTHER_100,
             .paused = 205, QUEUE},
            {"the run is over", 255000, 0, "skip 200-200 x1 (paused), nothing, again 255", DONE_100,
             .last_tick = 100, .last_ended = 255, .paused = 210, QUEUE},
            {"which counts for rank 1", 256000, 1, "nothing, again 257", DONE_100, .last_tick = 100,
             .last_ended = 255, .paused = 210, QUEUE},
            {"resumed while it ran", 256000, 0, "skip 200-200 x1 (paused), nothing, again 256",
             DONE_100, .last_tick = 100, .last_ended = 255, .paused = 210, .resumed = 240, QUEUE},
            {"what comes after that waits", 305000, 0, "watch, again 360",
             OTHER_100 ",{'run':'200-0','state':'skipped','tick':200}", .paused = 150,
             .resumed = 240, QUEUE},
            {"an attempt waits", 250000, 0, "nothing, again 300",
             LATE ",{'run':'200-0','state':'skipped','tick':200}", .paused = 240, QUEUE},
        };

        EXPECT_CELLS(cells);
}

Test(decision, side_by_side_nothing_begins_in_a_pause) {
        static const DecisionCell cells[] = {
            {"beside ours", 200000, 0, "skip 200-200 x1 (paused), nothing, again 200", OURS_100,
             .paused = 150, ALLOW},
            {"in our turn", 201999, 1, "nothing, again 202", OURS_100, .paused = 150, ALLOW},
            {"afterwards", 200000, 0, "run 200, again 300", OTHER_100, .paused = 150,
             .resumed = 199, ALLOW},
            {"an attempt", 115000, 0, "nothing, again 175", RETRY_100, .paused = 110, ALLOW},
            {"beside one by hand", 130000, 0, "nothing, again 175", RETRY_100 BY_HAND("n2"),
             .paused = 110, ALLOW},
        };

        EXPECT_CELLS(cells);
}

Test(decision, all_are_caught_up_with_beside_and_in_line) {
        static const DecisionCell cells[] = {
            {"beside what is to be attempted again", 200000, 0, "run 200, again 250", LATE, SLOTS,
             ALL},
            {"there is no place for one that is fresh", 300000, 0,
             "skip 300-300 x1 (" DECISION_WHY_SLOTS "), nothing, again 400",
             OTHER_100 ",{'run':'200-1','state':'claimed','tick':200,'node':'n2'}", SLOTS, ALL},
            {"in line behind one that lasts for long", 400000, 0,
             "skip 200-200 x1 (" DECISION_WHY_OUTLASTED "), skip 400-400 x1 (" DECISION_WHY_WAITS
             "), watch, again 450",
             OTHER_100, QUEUE, .catch_up = JOB_CATCH_UP_ALL, .deadline = 150},
        };

        EXPECT_CELLS(cells);
}

Test(decision, what_is_paused_is_not_caught_up_with_either) {
        static const DecisionCell cells[] = {
            {"it lasts", 455000, 0, "skip 100-400 x4 (paused), nothing, again 455", .paused = 50,
             ALL},
            {"it is over", 455000, 0, "skip 100-200 x2 (paused), nothing, again 455", .paused = 50,
             .resumed = 250, ALL},
            {"what came afterwards is", 455000, 0, "run 300, again 500",
             "{'run':'100-0','state':'skipped','tick':100,'to':200,'count':2}", .paused = 50,
             .resumed = 250, ALL},
        };

        EXPECT_CELLS(cells);
}

Test(decision, a_retry_of_a_paused_job_waits) {
        static const DecisionCell cells[] = {
            {"it is due", 115000, 0, "nothing, again 175", RETRY_100, .paused = 110},
            {"by rank", 115000, 1, "nothing, again 175", RETRY_100, .paused = 110},
            {"to its start deadline", 175000, 0, "nothing, again 175", RETRY_100, .paused = 110},
            {"then it is given up", 175001, 0,
             "give up 100-100 x1 (paused), nothing, again 175.001", RETRY_100, .paused = 110},
            {"where it is resumed before it begins", 150000, 0, "run 100, again 175", RETRY_100,
             .paused = 110, .resumed = 140},
            {"who would take it hears of its end", 110000, 1, "watch, again 202", AGAIN("n2"),
             .paused = 105},
        };

        EXPECT_CELLS(cells);
}
