/* What is to be done about a service, cell by cell: what its ledger has × our rank × what keeps it.
 * Its definition is in force since 99 s, so its tick is 100 s; rank r has its turn 2 r seconds
 * after what is to begin. */
#include "decision-service.h"

#include <criterion/criterion.h>
#include <string.h>

#define SECONDS(n) ((usec_t)(n)*USEC_PER_SEC)
#define NEVER UINT_MAX

/* Entries of its ledger. */
#define RUN(node)                                                                                  \
        "{'run':'100-1','state':'claimed','tick':100,'attempt':1,'node':'" node                    \
        "','service':true,'again':true}"
#define NEXT_AT(second)                                                                            \
        "{'run':'100-4','state':'failed','tick':100,'attempt':4,'node':'n2','service':true,"       \
        "'not_before':" second "}"
#define OVER "{'run':'100-4','state':'unknown','tick':100,'attempt':4,'node':'n2','service':true}"
#define BY_HAND "{'run':'101-mff','state':'claimed','node':'n2'}"
#define BEFORE(node)                                                                               \
        "{'run':'50-7','state':'claimed','tick':50,'attempt':7,'node':'" node                      \
        "','service':true,'again':true}"
#define MAY_LIVE(tick)                                                                             \
        "{'run':'" tick "-7','state':'unknown','tick':" tick                                       \
        ",'attempt':7,'node':'n2','service':true,'continues':true}"
#define SHORT(runs)                                                                                \
        "{'run':'100-4','state':'failed','tick':100,'attempt':4,'node':'n2','service':true,"       \
        "'not_before':200,'short_lived':" runs "}"
#define SCHEDULED "{'run':'50-1','state':'claimed','tick':50,'attempt':1,'node':'n1'}"

typedef struct ServiceCell {
        const char *title, *entries;
        unsigned now, rank;
        DecisionVerdict verdict;
        unsigned again;
        bool watch;
        bool paused, nobody, patient, withdrawn;
} ServiceCell;

static const ServiceCell cells[] = {
    {"not before its definition is in force", "", 99, 0, DECISION_NOTHING, 100, true},
    {"then at once", "", 100, 0, DECISION_RUN, NEVER, false},
    {"rank 1 waits for its turn", "", 101, 1, DECISION_NOTHING, 102, true},
    {"which comes", "", 102, 1, DECISION_RUN, NEVER, false},
    {"so does that of rank 2", "", 104, 2, DECISION_RUN, NEVER, false},
    {"three are enough", "", 999, 3, DECISION_NOTHING, NEVER, false},
    {"it is never too late", "", 4000000000, 0, DECISION_RUN, NEVER, false},
    {"while it runs it is watched", RUN("n2"), 150, 0, DECISION_NOTHING, NEVER, true},
    {"here, too", RUN("n1"), 150, 0, DECISION_NOTHING, NEVER, true},
    {"by who runs it whatever its rank", RUN("n1"), 150, 9, DECISION_NOTHING, NEVER, true},
    {"not by others of such a rank", RUN("n2"), 150, 9, DECISION_NOTHING, NEVER, false},
    {"after its pause", NEXT_AT("200"), 150, 0, DECISION_NOTHING, 200, true},
    {"it is run again", NEXT_AT("200"), 200, 0, DECISION_RUN, NEVER, false},
    {"by rank", NEXT_AT("200"), 200, 2, DECISION_NOTHING, 204, true},
    {"however late", NEXT_AT("200"), 900000, 2, DECISION_RUN, NEVER, false},
    {"by a clock that was wrong at once", NEXT_AT("900000"), 150, 0, DECISION_RUN, NEVER, false},
    {"what may be alive is followed by nothing", OVER, 900000, 0, DECISION_NOTHING, NEVER, true},
    {"also where nobody knows", MAY_LIVE("100"), 900000, 0, DECISION_NOTHING, NEVER, true},
    {"nor by another definition", MAY_LIVE("50"), 900000, 0, DECISION_NOTHING, NEVER, true},
    {"and nobody is asked to end it", MAY_LIVE("50"), 900000, 0, DECISION_NOTHING, NEVER, true,
     .patient = true},
    {"what fails twice is tried once more", SHORT("2"), 200, 0, DECISION_RUN, NEVER, false},
    {"what fails three times is left to others", SHORT("3"), 200, 0, DECISION_NOTHING, 204, true},
    {"of whom the next is first", SHORT("3"), 200, 1, DECISION_RUN, NEVER, false},
    {"and if there are none it is run again", SHORT("3"), 204, 0, DECISION_RUN, NEVER, false},
    {"nor is what somebody runs by hand joined", BY_HAND, 150, 0, DECISION_NOTHING, NEVER, true},
    {"what was scheduled before ends by itself", SCHEDULED, 150, 0, DECISION_NOTHING, NEVER, true},
    {"one of an earlier definition gives way", BEFORE("n1"), 150, 0, DECISION_REPLACE, NEVER,
     false},
    {"here, whatever our rank", BEFORE("n1"), 150, 7, DECISION_REPLACE, NEVER, false},
    {"elsewhere its node sees to that", BEFORE("n2"), 150, 0, DECISION_BLOCKED, NEVER, false},
    {"or is asked for it", BEFORE("n2"), 150, 0, DECISION_REPLACE, NEVER, false, .patient = true},
    {"a pause keeps it", "", 150, 0, DECISION_NOTHING, NEVER, true, .paused = true},
    {"and the next run", NEXT_AT("120"), 150, 0, DECISION_NOTHING, NEVER, true, .paused = true},
    {"and an earlier one", BEFORE("n1"), 150, 0, DECISION_NOTHING, NEVER, true, .paused = true},
    {"where nobody can run it", "", 150, 0, DECISION_NOTHING, NEVER, true, .nobody = true},
    {"what was withdrawn is none", "", 150, 0, DECISION_NOTHING, NEVER, false, .withdrawn = true},
};

static Ledger *ledger_of(const ServiceCell *cell) {
        g_autofree char *text = g_strdup_printf(
            "{'v':1,'mark':0,'from':99,'digest':'%s','schedule':'service','open':[%s]}",
            cell->withdrawn ? "" : "d", cell->entries);
        Ledger *ledger = NULL;

        g_strdelimit(text, "'", '"');
        cr_assert_eq(ledger_decode(text, strlen(text), &ledger), 0, "%s", text);
        return ledger;
}

Test(decision_service, cells) {
        for (size_t i = 0; i < G_N_ELEMENTS(cells); i++) {
                const ServiceCell *cell = &cells[i];
                _cleanup_(ledger_freep) Ledger *ledger = ledger_of(cell);
                const DecisionPause pause = {.since = 1, .until = USEC_INFINITY};
                const DecisionInput input = {
                    .job = "a",
                    .service = true,
                    .ledger = ledger,
                    .self = "n1",
                    .now = SECONDS(cell->now),
                    .rank = cell->rank,
                    .takeover_delay = SECONDS(2),
                    .start_deadline = USEC_INFINITY,
                    .nobody = cell->nobody,
                    .pause = cell->paused ? &pause : NULL,
                    .waited_run = cell->patient ? "50-7" : NULL,
                    .waited_long_enough = cell->patient,
                };
                Decision decision;

                decide_by_mode(&input, &decision);
                cr_expect_eq(decision.verdict, cell->verdict, "%s: %d", cell->title,
                             (int)decision.verdict);
                cr_expect_eq(decision.again,
                             cell->again == NEVER ? USEC_INFINITY : SECONDS(cell->again), "%s",
                             cell->title);
                cr_expect_eq(decision.watch, cell->watch, "%s", cell->title);
                cr_expect_eq(decision.n_skips, 0, "%s", cell->title);
                if (decision.verdict != DECISION_NOTHING)
                        cr_expect_eq(decision.tick, 100, "%s", cell->title);
        }
}

/* Which rank is at its turn first, second and third after so many. */
Test(decision_service, turns_go_round_for_ever) {
        static const struct {
                unsigned short_lived;
                uint32_t turns[4]; /* of rank 0, 1, 2 and 3 */
        } rows[] = {
            {0, {0, 1, 2, 3}},  {1, {0, 1, 2, 3}},      {2, {0, 1, 2, 3}},        {3, {2, 0, 1, 3}},
            {5, {2, 0, 1, 3}},  {6, {1, 2, 0, 3}},      {8, {1, 2, 0, 3}},        {9, {0, 1, 2, 3}},
            {12, {2, 0, 1, 3}}, {900000, {0, 1, 2, 3}}, {UINT_MAX, {2, 0, 1, 3}},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(rows); i++)
                for (uint32_t rank = 0; rank < 4; rank++)
                        cr_expect_eq(decision_service_turn(rank, rows[i].short_lived),
                                     rows[i].turns[rank], "%u, %u", rows[i].short_lived, rank);
}

/* Once another has stood there for long. */
Test(decision_service, patience_is_for_the_run_that_was_waited_for) {
        const ServiceCell cell = {.entries = BEFORE("n2")};
        _cleanup_(ledger_freep) Ledger *ledger = ledger_of(&cell);
        const DecisionInput input = {.service = true,
                                     .ledger = ledger,
                                     .self = "n1",
                                     .now = SECONDS(150),
                                     .waited_run = "50-6",
                                     .waited_long_enough = true};
        Decision decision;

        decide_service(&input, &decision);
        cr_expect_eq(decision.verdict, DECISION_BLOCKED);
        cr_expect_str_eq(decision.blocker->run, "50-7");
}

/* What the job is by now has no ticks, or one every hour. */
static Decision decide_what_was_one(const char *entries, const Schedule *schedule, bool patient) {
        g_autofree char *text =
            g_strdup_printf("{'v':1,'mark':0,'from':99,'digest':'d','schedule':'%s','open':[%s]}",
                            schedule ? "hourly" : "", entries);
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        DecisionInput input = {.job = "a",
                               .schedule = schedule,
                               .self = "n1",
                               .now = SECONDS(150),
                               .start_deadline = SECONDS(600),
                               .waited_run = patient ? "50-7" : NULL,
                               .waited_long_enough = patient};
        Decision decision;

        g_strdelimit(text, "'", '"');
        cr_assert_eq(ledger_decode(text, strlen(text), &ledger), 0, "%s", text);
        input.ledger = ledger;
        decide_by_mode(&input, &decision);
        decision.blocker = NULL; /* it goes with the ledger */
        return decision;
}

/* Its machine may have the old file for ever. */
Test(decision_service, what_was_one_is_ended_where_it_runs) {
        _cleanup_(schedule_freep) Schedule *hourly = NULL;
        const Schedule *schedules[] = {NULL, NULL};

        cr_assert_eq(schedule_new("UTC", &hourly, NULL), 0);
        cr_assert_eq(schedule_add_every(hourly, USEC_PER_HOUR, NULL), 0);
        schedules[1] = hourly;
        for (size_t i = 0; i < G_N_ELEMENTS(schedules); i++) {
                const Schedule *schedule = schedules[i];

                cr_expect_eq(decide_what_was_one(BEFORE("n2"), schedule, false).verdict,
                             DECISION_BLOCKED);
                cr_expect_eq(decide_what_was_one(BEFORE("n2"), schedule, true).verdict,
                             DECISION_REPLACE);
                cr_expect_eq(decide_what_was_one(BEFORE("n1"), schedule, false).verdict,
                             DECISION_REPLACE);
                cr_expect_eq(decide_what_was_one(MAY_LIVE("50"), schedule, true).verdict,
                             DECISION_NOTHING);
                cr_expect_eq(decide_what_was_one(SCHEDULED, schedule, true).verdict,
                             DECISION_NOTHING);
        }
}

Test(decision_service, of_what_has_neither_nothing_is_due) {
        const ServiceCell cell = {.entries = ""};
        _cleanup_(ledger_freep) Ledger *ledger = ledger_of(&cell);
        const DecisionInput input = {.ledger = ledger, .self = "n1", .now = SECONDS(150)};
        Decision decision;

        decide_by_mode(&input, &decision);
        cr_expect_eq(decision.verdict, DECISION_NOTHING);
        cr_expect_not(decision.watch);
}
