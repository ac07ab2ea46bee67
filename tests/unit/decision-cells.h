/* What is to be done, in tables: a cell says what is known, and what is to come of it. Unless it
 * says otherwise ticks are 100, 200, ..., owed from 50 on, a tick's turn at rank r is 2 r seconds
 * after its start, it is fresh for 10 s and may start for 60 s. */
#pragma once

#include "decision.h"
#include "ledger-fixture.h"
#include "placement.h"

#define OVERLAP "overlap: the previous run was still under way"
#define NEWER "missed: no node started it in time, and a newer tick came"
#define NOBODY "missed: no node could start it"
#define EXPIRED "missed: the start deadline passed"

/* A run of another node, and one of ours, that stand in the way. */
#define OTHER_100 "{'run':'100-1','state':'claimed','tick':100,'node':'n2'}"
#define OURS_100 "{'run':'100-1','state':'claimed','tick':100,'node':'n1'}"

/* A failed attempt of ours that is to be followed, one that may be, and a run by hand. */
#define RETRY_100                                                                                  \
        "{'run':'100-1','state':'failed','tick':100,'attempt':1,'node':'n1','not_before':115}"
#define AGAIN(node) "{'run':'100-1','state':'claimed','tick':100,'node':'" node "','again':true}"
#define BY_HAND(node) ",{'run':'110-m1','state':'claimed','node':'" node "'}"
#define EARLIER "overlap: an earlier tick is to be attempted again"
#define LATE "{'run':'100-1','state':'failed','tick':100,'attempt':1,'node':'n1','not_before':250}"

typedef struct DecisionCell {
        const char *title;
        unsigned ms; /* now, 1/1000 s */
        uint32_t rank;
        const char *expected;
        const char *entries;
        unsigned every;
        unsigned deadline;
        JobOverlap overlap;
        unsigned beside;
        JobCatchUp catch_up;
        const char *waited_run;
        bool waited_long_enough;
        bool nobody;
        unsigned random_delay;
        unsigned last_tick, last_ended; /* of the last run, s */
        bool last_by_hand;
        unsigned freed;           /* s */
        unsigned paused, resumed; /* since and until, s; 0: not, and until now */
        unsigned window;          /* s at the beginning of each minute; 0: always */
} DecisionCell;

/* Of this job the ticks from 100 on are delayed by 30, 40, 0, 2, 14 and 7 s where 40 are allowed.
 */
#define DELAYED_JOB "j113902"

/* The schedule has a window for the first so many seconds of each minute; 0: none. */
void give_window(Schedule *schedule, unsigned seconds);
/* What is known makes just that of it. */
void expect_decision(const DecisionInput *input, const char *title, const char *expected);
void expect_cell(const DecisionCell *cell);
#define EXPECT_CELLS(cells)                                                                        \
        for (size_t i = 0; i < G_N_ELEMENTS(cells); i++)                                           \
        expect_cell(&(cells)[i])
