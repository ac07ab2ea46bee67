/* See explanation.h. */
#include "explanation.h"

#include "decision-service.h"

const char *explanation_state_to_string(ExplanationState state) {
        static const char *const words[EXPLAINED_STATE_COUNT] = {
            [EXPLAINED_NO_TICK] = "no-tick",     [EXPLAINED_NOT_OWED] = "not-owed",
            [EXPLAINED_SETTLED] = "settled",     [EXPLAINED_RETRY] = "retry",
            [EXPLAINED_UNDER_WAY] = "under-way", [EXPLAINED_DUE] = "due",
            [EXPLAINED_COMING] = "coming",
        };

        return words[state];
}

void explanation_clear(Explanation *explanation) {
        g_clear_pointer(&explanation->why, g_free);
}

static bool is_a_tick(const DecisionInput *input, int64_t tick) {
        const Schedule *schedule = input->schedule;
        int64_t found;

        if (input->service)
                return tick > 0 && tick == ledger_service_tick(input->ledger);
        return schedule && tick > 0 && schedule_next(schedule, tick - 1, &found) && found == tick;
}

static void explain_no_tick(const Schedule *schedule, int64_t tick, Explanation *explanation) {
        explanation->state = EXPLAINED_NO_TICK;
        if (schedule && !schedule_previous(schedule, tick, &explanation->before))
                explanation->before = 0;
        if (schedule && !schedule_next(schedule, tick, &explanation->after))
                explanation->after = 0;
}

/* What the ledger has of it. Return: whether that is all there is to say. */
static bool explain_by_ledger(const Ledger *ledger, int64_t tick, Explanation *explanation) {
        const LedgerEntry *entry = ledger_find_unsettled(ledger, tick);

        if (!entry)
                entry = ledger_find_tick(ledger, tick);
        explanation->state = EXPLAINED_SETTLED;
        if (!entry && tick <= ledger->mark)
                return true;
        if (!entry && tick <= ledger->from) {
                explanation->state = EXPLAINED_NOT_OWED;
                return true;
        }
        if (!entry)
                return false;
        explanation->run = entry->run;
        explanation->node = entry->node;
        explanation->why = g_strdup(entry->why);
        if (entry->state == RUN_CLAIMED)
                explanation->state = EXPLAINED_UNDER_WAY;
        else if (entry->not_before > 0) {
                explanation->state = EXPLAINED_RETRY;
                explanation->attempt = entry->attempt + 1;
                explanation->when = entry->not_before;
        }
        return true;
}

static const DecisionSkip *find_skip(const Decision *decision, int64_t tick) {
        for (size_t i = 0; i < decision->n_skips; i++) {
                const DecisionSkip *skip = &decision->skips[i];

                if (!skip->gives_up && skip->from <= tick && tick <= skip->to)
                        return skip;
        }
        return NULL;
}

/* What was decided, in words. */
static void explain_verdict(const DecisionInput *input, const Decision *decision, int64_t tick,
                            Explanation *explanation) {
        const LedgerEntry *claimed = ledger_first_claimed(input->ledger);
        const DecisionSkip *skip = find_skip(decision, tick);

        explanation->begins = !skip;
        if (skip)
                explanation->why = g_strdup(skip->why.text);
        else if (decision->verdict == DECISION_RUN && decision->tick != tick)
                explanation->why = g_strdup("an older tick is run before it");
        else if (decision->verdict == DECISION_RUN)
                explanation->when = input->now;
        else if (claimed)
                explanation->why = g_strdup_printf(
                    input->overlap == JOB_OVERLAP_REPLACE
                        ? "it waits for run %s on %s to end, which is stopped for it"
                        : "it waits for run %s on %s to end",
                    claimed->run, claimed->node ? claimed->node : "?");
        else
                explanation->when = decision->again == USEC_INFINITY ? 0 : decision->again;
        if (!skip && input->nobody && !explanation->why)
                explanation->why = g_strdup("no node can run it at present");
}

/* Asks decide_by_mode() in the name of whoever decides it: the owner of the run in the way, or the
 * first candidate. */
static void explain_by_decision(const DecisionInput *input, int64_t tick,
                                Explanation *explanation) {
        const LedgerEntry *claimed = ledger_first_claimed(input->ledger);
        DecisionInput asked = *input;
        Decision decision;

        asked.rank = 0;
        asked.self = claimed && claimed->node ? claimed->node : input->self;
        decide_by_mode(&asked, &decision);
        explain_verdict(&asked, &decision, tick, explanation);
}

/* As it will be when it starts, with what is before it out of the way. */
static void explain_coming(const DecisionInput *input, int64_t tick, Explanation *explanation) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_copy(input->ledger);
        const usec_t start = (usec_t)explanation->start * USEC_PER_SEC;
        _cleanup_(decision_window_freep) DecisionWindow *window =
            decision_window_new(input->schedule, start);
        DecisionInput asked = *input;

        ledger->mark = MAX(ledger->mark, tick - 1);
        asked.ledger = ledger;
        asked.window = window;
        asked.now = start;
        explain_by_decision(&asked, tick, explanation);
        explanation->when = start;
}

/* What waits for its time waits for the end of a pause as well. */
static void explain_pause(const DecisionInput *input, Explanation *explanation) {
        if (!decision_pause_lasts(input->pause) || explanation->why)
                return;
        if (explanation->state == EXPLAINED_RETRY || (input->service && explanation->begins))
                explanation->why =
                    g_strdup_printf("it waits for the end of a pause (%s)", input->pause->why);
}

static void explain_tick(const DecisionInput *input, int64_t tick, Explanation *ret_explanation) {
        if (!is_a_tick(input, tick) && !ledger_find_tick(input->ledger, tick)) {
                explain_no_tick(input->schedule, tick, ret_explanation);
                return;
        }
        ret_explanation->start =
            input->schedule ? schedule_start(input->schedule, input->job, tick) : tick;
        if (explain_by_ledger(input->ledger, tick, ret_explanation))
                return;
        if ((usec_t)ret_explanation->start * USEC_PER_SEC > input->now) {
                ret_explanation->state = EXPLAINED_COMING;
                explain_coming(input, tick, ret_explanation);
                return;
        }
        ret_explanation->state = EXPLAINED_DUE;
        explain_by_decision(input, tick, ret_explanation);
}

void explain(const DecisionInput *input, int64_t tick, Explanation *ret_explanation) {
        *ret_explanation = (Explanation){0};
        explain_tick(input, tick, ret_explanation);
        explain_pause(input, ret_explanation);
}
