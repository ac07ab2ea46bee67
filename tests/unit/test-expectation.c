/* When a job is overdue, and who tells it, cell by cell. A success is expected within 100 s; the
 * last one was after 1000 days; a rank's turn is 2 s after that of the one before. */
#include "expectation.h"

#include <criterion/criterion.h>
#include <glib.h>
#include <inttypes.h>

#include "placement.h"

#define S USEC_PER_SEC
#define DAY EXPECTATION_REMIND
#define SINCE (1000 * DAY)
#define END (SINCE + 100 * S)

typedef struct ExpectationCell {
        const char *title;
        usec_t now;
        uint32_t rank;
        usec_t told;
        bool tell;
        usec_t again;
        usec_t within; /* 0: 100 s */
        bool was_told;
} ExpectationCell;

static void expect_cell(const ExpectationCell *cell) {
        Expectation found = expectation_judge(&(ExpectationInput){
            .within = cell->within ? cell->within : 100 * S,
            .since = SINCE,
            .told = cell->told,
            .now = cell->now,
            .rank = cell->rank,
            .takeover_delay = 2 * S,
        });

        cr_expect_eq(found.tell, cell->tell, "%s", cell->title);
        cr_expect_eq(found.told, cell->was_told, "%s", cell->title);
        cr_expect_eq(found.again, cell->again, "%s: %" PRIu64, cell->title, found.again);
}

Test(expectation, who_tells_and_when) {
        static const ExpectationCell cells[] = {
            {"a success just now", SINCE, 0, 0, false, END + 1},
            {"to the last moment", END, 0, 0, false, END + 1},
            {"over", END + 1, 0, 0, true, END + 1 + EXPECTATION_PAUSE},
            {"long over", END + DAY, 0, 0, true, END + DAY + EXPECTATION_PAUSE},
            {"rank 1 gives rank 0 time", END + 1, 1, 0, false, END + 2 * S + 1},
            {"and then tells", END + 2 * S + 1, 1, 0, true, END + 2 * S + 1 + EXPECTATION_PAUSE},
            {"rank 3", END + 6 * S, 3, 0, false, END + 6 * S + 1},
            {"rank 3 at its turn", END + 6 * S + 1, 3, 0, true,
             END + 6 * S + 1 + EXPECTATION_PAUSE},
            {"not rank 4", END + DAY, PLACEMENT_RANKS, 0, false, USEC_INFINITY},
            {"nor who is no candidate", END + DAY, PLACEMENT_NONE, 0, false, USEC_INFINITY},
            {"told already", END + 60 * S, 0, END + 1, false, END + 160 * S + 1, 0, true},
            {"told already, and much is expected", SINCE + 2 * DAY + 60 * S, 0, SINCE + 2 * DAY + 1,
             false, SINCE + 3 * DAY + 1, 2 * DAY, true},
            {"rank 1 knows", END + 60 * S, 1, END + 1, false, END + 160 * S + 1, 0, true},
            {"nearly a day later", END + DAY, 0, END + 1, false, END + DAY + 1, 0, true},
            {"rank 1 nearly a day later", END + DAY, 1, END + 1, false, END + 1 + DAY + 2 * S, 0,
             true},
            {"a day later", END + 1 + DAY, 0, END + 1, true, END + 1 + DAY + EXPECTATION_PAUSE, 0,
             true},
            {"rank 1 a day later", END + 1 + DAY, 1, END + 1, false, END + 1 + DAY + 2 * S, 0,
             true},
            {"told before that success", END + 1, 0, SINCE - S, true, END + 1 + EXPECTATION_PAUSE},
            {"told in the moment of that success", END + 1, 0, SINCE, true,
             END + 1 + EXPECTATION_PAUSE},
            {"told when less was expected", SINCE + 70 * S, 0, SINCE + 60 * S, false,
             SINCE + 170 * S + 1, 0, true},
            {"told ahead of time, by clocks that differ", END + 1, 0, END + S, false,
             END + 100 * S + 2, 0, true},
            {"told far ahead, by a clock that was wrong", END + 1, 0, END + DAY, true,
             END + 1 + EXPECTATION_PAUSE},
            {"a success that lies ahead", SINCE - DAY, 0, 0, false, END + 1},
            {"nothing is expected", END + DAY, 0, 0, false, USEC_INFINITY, USEC_INFINITY},
            {"the longest that is expected", END, 0, 0, false, SINCE + 366 * DAY + 1, 366 * DAY},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cells); i++)
                expect_cell(&cells[i]);
}

Test(expectation, overdue) {
        cr_expect_not(expectation_is_overdue(100 * S, SINCE, END));
        cr_expect(expectation_is_overdue(100 * S, SINCE, END + 1));
        cr_expect_not(expectation_is_overdue(USEC_INFINITY, SINCE, END + DAY));
        cr_expect_not(expectation_is_overdue(100 * S, SINCE, SINCE - DAY), "a clock set back");
        cr_expect_not(expectation_is_overdue(100 * S, USEC_INFINITY - S, END), "no overflow");
}
