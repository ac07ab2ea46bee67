/* What a znode of ours might hold: anything. The input is read as a ledger, as a run's record, as
 * a member and as the control node. What is taken for one means the same when it is written and
 * read again; and a ledger of whatever content never makes a decision loop, lead into the past, or
 * ask for what cannot be written. */
#include <errno.h>
#include <glib.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "control-pause.h"
#include "control.h"
#include "decision.h"
#include "ensemble-record.h"
#include "expectation.h"
#include "json-line.h"
#include "ledger-change.h"
#include "ledger-skip.h"
#include "ledger.h"
#include "member.h"
#include "placement.h"
#include "run-record.h"
#include "skip-record.h"

#define CHECK(condition)                                                                           \
        do {                                                                                       \
                if (!(condition))                                                                  \
                        __builtin_trap();                                                          \
        } while (0)

#define ROUNDS_MAX 300

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- the control node ---- */

/* What is paused is so until it is resumed, and was so afterwards. */
static void check_pause(const json_t *found) {
        json_t *control = json_deep_copy(found);
        const ControlPause pause = {.said = {(char *)"somebody", (char *)"because", 1}};
        ControlPause was = {0};

        if (control_pause_of(control, "a", USEC_PER_SEC, &was))
                json_decref(control_pause_to_json(&was));
        control_pause_clear(&was);
        if (control_pause(control, "a", USEC_PER_SEC, &pause) == 0) {
                CHECK(control_is_paused(control, "a", USEC_PER_SEC, NULL));
                CHECK(control_resume(control, "a", USEC_PER_SEC));
                CHECK(!control_is_paused(control, "a", USEC_PER_SEC, NULL));
        }
        json_decref(control);
}

/* Draining a node and taking that back leaves what was there. */
static void check_control(const char *data, size_t size) {
        json_t *control = control_parse(data, size), *list;
        const ControlDrain drain = {(char *)"somebody", (char *)"because", 1};
        g_autofree char *before = NULL, *after = NULL;

        if (!control)
                return;
        list = control_drains_to_json(control);
        json_decref(list);
        before = control_encode(control);
        check_pause(control);
        if (before && !control_is_drained(control, "n1", NULL) &&
            json_object_get(control, "drained") && control_drain(control, "n1", &drain) == 0) {
                CHECK(control_is_drained(control, "n1", NULL));
                CHECK(control_undrain(control, "n1"));
                after = control_encode(control);
                CHECK(!after || g_str_equal(before, after) || !json_object_get(control, "drained"));
        }
        json_decref(control);
}

/* ---- which ensemble it is ---- */

#define FUZZ_WORD "0123456789abcdef0123456789abcdef"

/* Whatever is there, a doubt is seen, and an acceptance ends it and is the newest. */
static void check_ensemble(const char *data, size_t size) {
        json_t *record = ensemble_record_parse(data, size), *again, *words = json_array();
        const Statement statement = {(char *)"somebody", (char *)"because", 1};
        Statement read = {0};
        g_autofree char *text = NULL;

        if (record) {
                (void)ensemble_record_is_doubted(record, &read);
                statement_clear(&read);
                ensemble_record_doubt(record, &statement, FUZZ_WORD);
                CHECK(ensemble_record_is_doubted(record, NULL));
                ensemble_record_accept(record, FUZZ_WORD, &statement, NULL);
                CHECK(!ensemble_record_is_doubted(record, NULL));
                CHECK(g_str_equal(ensemble_record_accepted(record, &read), FUZZ_WORD));
                statement_clear(&read);
                ensemble_record_add_words(record, words, 4);
                CHECK(json_array_size(words) <= 4 && ensemble_words_have(words, FUZZ_WORD));
                text = ensemble_record_encode(record);
                again = ensemble_record_parse(text, strlen(text));
                CHECK(again || strlen(text) > JSON_LINE_MAX);
                json_decref(again);
        }
        json_decref(words);
        json_decref(record);
}

/* ---- records and members ---- */

static void check_record(const char *data, size_t size) {
        _cleanup_(run_record_freep) RunRecord *record = NULL, *again = NULL, *copy = NULL;
        g_autofree char *text = NULL, *text_again = NULL, *text_copy = NULL;

        if (run_record_decode(data, size, &record) < 0) {
                CHECK(!record);
                return;
        }
        text = run_record_encode(record);
        if (strlen(text) > JSON_LINE_MAX)
                return;
        CHECK(run_record_decode(text, strlen(text), &again) == 0);
        text_again = run_record_encode(again);
        CHECK(g_str_equal(text, text_again));
        copy = run_record_copy(record);
        text_copy = run_record_encode(copy);
        CHECK(g_str_equal(text, text_copy));
}

static void check_member(const char *data, size_t size) {
        _cleanup_(member_freep) Member *member = NULL, *again = NULL;
        g_autofree char *text = NULL, *text_again = NULL;
        json_t *object, *object_again;

        if (member_decode("n1", data, size, &member) < 0) {
                CHECK(!member);
                return;
        }
        text = member_encode(member);
        if (strlen(text) > JSON_LINE_MAX)
                return;
        CHECK(member_decode("n1", text, strlen(text), &again) == 0);
        text_again = member_encode(again);
        object = json_line_parse(text, strlen(text));
        object_again = json_line_parse(text_again, strlen(text_again));
        CHECK(object && json_equal(object, object_again));
        json_decref(object);
        json_decref(object_again);
}

/* ---- ledgers ---- */

static void check_codec(const Ledger *ledger) {
        _cleanup_(ledger_freep) Ledger *again = NULL, *copy = ledger_copy(ledger);
        g_autofree char *text = ledger_encode(ledger), *text_copy = ledger_encode(copy),
                        *text_again = NULL;

        CHECK(g_str_equal(text, text_copy));
        if (strlen(text) > JSON_LINE_MAX)
                return;
        CHECK(ledger_decode(text, strlen(text), &again) == 0);
        text_again = ledger_encode(again);
        CHECK(g_str_equal(text, text_again));
}

static void check_compact(const Ledger *ledger, const Schedule *schedule) {
        _cleanup_(ledger_freep) Ledger *copy = ledger_copy(ledger);
        guint left;

        ledger_compact(copy, schedule);
        CHECK(ledger_floor(copy) >= ledger_floor(ledger));
        CHECK(copy->open->len <= ledger->open->len);
        left = copy->open->len;
        ledger_compact(copy, schedule);
        CHECK(copy->open->len == left);
}

/* Return: whether one of the skips was written. */
static bool apply_skips(Ledger *ledger, const Schedule *schedule, const Decision *decision) {
        bool any = false;

        for (size_t i = 0; i < decision->n_skips; i++) {
                const DecisionSkip *one = &decision->skips[i];
                const LedgerEntry *entry = NULL;
                bool joined;
                int r = ledger_skip(ledger, schedule, one->from, one->to, one->count, one->why.text,
                                    &entry, &joined);

                CHECK(one->from <= one->to && one->count > 0);
                CHECK(i == 0 || one->from > decision->skips[i - 1].to);
                CHECK(r == 0 || (r == -ENOSPC && ledger->open->len >= LEDGER_OPEN_MAX));
                CHECK(r < 0 || ledger_is_decided(ledger, one->to));
                any |= r == 0;
        }
        ledger_compact(ledger, schedule);
        return any;
}

static void check_claim(Ledger *ledger, const Decision *decision, unsigned beside) {
        _cleanup_(run_record_freep) RunRecord *record = run_record_new("a", "fuzz-1");
        int r;

        CHECK(beside > 1 ? ledger_find_tick(ledger, decision->tick) ||
                               ledger_count_unsettled(ledger) < beside
                         : !ledger_first_claimed(ledger));
        CHECK(ledger_is_claimable(ledger, decision->tick));
        record->tick = decision->tick;
        r = ledger_claim(ledger, record);
        CHECK(r == 0 || r == -EEXIST || ledger->open->len >= LEDGER_OPEN_MAX);
        CHECK(r != -EEXIST || ledger_find_run(ledger, "fuzz-1"));
}

/* Decides again and again, as the daemon would, until there is nothing left to skip. */
static void check_decisions(const Ledger *ledger, DecisionInput *input) {
        _cleanup_(ledger_freep) Ledger *copy = ledger_copy(ledger);
        Decision decision;

        input->ledger = copy;
        for (unsigned round = 0;; round++) {
                int64_t floor = ledger_floor(copy);

                CHECK(round < ROUNDS_MAX);
                decide(input, &decision);
                CHECK(decision.again > input->now);
                CHECK((decision.verdict != DECISION_BLOCKED &&
                       decision.verdict != DECISION_REPLACE) ||
                      decision.blocker);
                if (decision.n_skips == 0 || !apply_skips(copy, input->schedule, &decision))
                        break;
                CHECK(ledger_floor(copy) >= floor);
        }
        if (decision.n_skips == 0 && decision.verdict == DECISION_RUN)
                check_claim(copy, &decision, input->beside);
}

static void check_at(const Ledger *ledger, const Schedule *schedule, usec_t now) {
        static const char *const selves[] = {"n1", "n2"};
        static const usec_t deadlines[] = {0, 600 * USEC_PER_SEC, USEC_INFINITY};

        for (uint32_t i = 0; i < 12; i++) {
                DecisionInput input = {
                    .schedule = schedule,
                    .self = selves[i % G_N_ELEMENTS(selves)],
                    .now = now,
                    .rank = i % (PLACEMENT_RANKS + 1),
                    .takeover_delay = 2 * USEC_PER_SEC,
                    .start_deadline = deadlines[i % G_N_ELEMENTS(deadlines)],
                    .overlap = i % 4,
                    .beside = i % 4 == JOB_OVERLAP_ALLOW  ? JOB_BESIDE_MAX
                              : i % 4 == JOB_OVERLAP_SKIP ? i % 3
                                                          : 1,
                    .catch_up = i / 3 % 3,
                    .waited_run = "10-1",
                    .waited_long_enough = i % 2,
                };

                check_decisions(ledger, &input);
        }
}

/* Whatever it says of successes, there is something to tell, or a later moment to look again. */
static void check_expectation(const Ledger *ledger, usec_t now) {
        for (uint32_t rank = 0; rank <= PLACEMENT_RANKS; rank++) {
                const Expectation found = expectation_judge(&(ExpectationInput){
                    .within = USEC_PER_MINUTE,
                    .since = ledger_without_success_since(ledger),
                    .told = ledger->overdue,
                    .now = now,
                    .rank = rank,
                    .takeover_delay = 2 * USEC_PER_SEC,
                });

                CHECK(found.again > now);
                CHECK(!found.tell || (now > ledger->succeeded && rank < PLACEMENT_RANKS));
        }
}

static Schedule *schedule_of(const char *calendar, unsigned seconds) {
        g_autofree char *message = NULL;
        Schedule *schedule = NULL;

        CHECK(schedule_new("Europe/Berlin", &schedule, &message) == 0);
        CHECK(calendar ? schedule_add_calendar(schedule, calendar, &message) == 0
                       : schedule_add_every(schedule, seconds * USEC_PER_SEC, &message) == 0);
        return schedule;
}

/* What the definition in force owes, by the schedule that the ledger says it has: written piece by
 * piece, as who changes it does, it comes to an end. */
static void check_owed(const Ledger *ledger) {
        _cleanup_(ledger_freep) Ledger *copy = ledger_copy(ledger);
        _cleanup_(schedule_freep) Schedule *schedule = NULL;
        Decision decision = {0};
        size_t n;

        if (ledger_schedule(ledger, &schedule) < 0)
                return;
        for (unsigned round = 0;; round++) {
                CHECK(round < ROUNDS_MAX);
                n = owed_skips("a", copy, schedule, ledger_floor(ledger) + 86400, "changed", NULL,
                               decision.skips);
                decision.n_skips = n;
                if (n == 0 || !apply_skips(copy, schedule, &decision))
                        break;
        }
}

static void check_ledger(const char *data, size_t size) {
        static Schedule *schedules[3]; /* made once: they are the same for every input */
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        usec_t floor;

        if (!schedules[0]) {
                schedules[0] = schedule_of(NULL, 1);
                schedules[1] = schedule_of(NULL, 300);
                schedules[2] = schedule_of("Mon..Fri *-*-* 02:30", 0);
        }
        if (ledger_decode(data, size, &ledger) < 0) {
                CHECK(!ledger);
                return;
        }
        check_codec(ledger);
        check_owed(ledger);
        check_expectation(ledger, 0);
        check_expectation(ledger, 1763700000 * USEC_PER_SEC);
        check_expectation(ledger, USEC_INFINITY - 1);
        floor = (usec_t)ledger_floor(ledger) * USEC_PER_SEC;
        for (size_t i = 0; i < G_N_ELEMENTS(schedules); i++) {
                check_compact(ledger, schedules[i]);
                check_compact(ledger, NULL);
                check_at(ledger, schedules[i], 0);
                check_at(ledger, schedules[i], floor);
                check_at(ledger, schedules[i], floor + 5 * USEC_PER_SEC);
                check_at(ledger, schedules[i], floor + 400 * USEC_PER_SEC);
                check_at(ledger, schedules[i], 1763700000 * USEC_PER_SEC);
                check_at(ledger, schedules[i], USEC_INFINITY - 1);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        check_ledger((const char *)data, size);
        check_record((const char *)data, size);
        check_member((const char *)data, size);
        check_control((const char *)data, size);
        check_ensemble((const char *)data, size);
        return 0;
}
