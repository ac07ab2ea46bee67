/* See decision-service.h. */
#include "decision-service.h"

#include "placement.h"

static bool service_is_here(const DecisionInput *input, const LedgerEntry *run) {
        return run && g_strcmp0(run->node, input->self) == 0;
}

/* Return: from when on the next run may begin; USEC_INFINITY: none may. One that is further off
 * than any pause is so by a servers' clock that was wrong when the one before it ended. */
static usec_t service_begin(const DecisionInput *input, int64_t tick) {
        const LedgerEntry *before = ledger_find_tick(input->ledger, tick);

        if (!before)
                return (usec_t)tick * USEC_PER_SEC;
        if (!before->not_before)
                return USEC_INFINITY;
        return before->not_before > usec_add(input->now, DECISION_PAUSE_MAX) ? input->now
                                                                             : before->not_before;
}

uint32_t decision_service_turn(uint32_t rank, unsigned short_lived) {
        uint32_t rounds = short_lived / DECISION_SERVICE_TRIES % DECISION_SERVICE_RANKS;

        return rank < DECISION_SERVICE_RANKS
                   ? (rank + DECISION_SERVICE_RANKS - rounds) % DECISION_SERVICE_RANKS
                   : rank;
}

/* Return: by how much later than the first of us we may begin it. */
static usec_t service_patience(const DecisionInput *input, int64_t tick) {
        const LedgerEntry *before = ledger_find_tick(input->ledger, tick);

        return decision_service_turn(input->rank, before ? before->short_lived : 0) *
               input->takeover_delay;
}

/* A run stands in the way. */
static void decide_beside_run(const DecisionInput *input, Decision *decision,
                              const LedgerEntry *run, int64_t tick) {
        bool patient = input->waited_long_enough && g_strcmp0(run->run, input->waited_run) == 0;

        /* Nobody has what may be alive, so nobody can be asked to end it. */
        if (!ledger_is_of_earlier_service(input->ledger, run) || ledger_may_be_alive(run))
                return;
        decision->verdict =
            service_is_here(input, run) || patient ? DECISION_REPLACE : DECISION_BLOCKED;
        decision->tick = tick;
        decision->blocker = run;
        decision->watch = false;
}

void decide_service(const DecisionInput *input, Decision *ret) {
        int64_t tick = ledger_service_tick(input->ledger);
        const LedgerEntry *run = ledger_first_claimed(input->ledger);
        usec_t turn;

        *ret = (Decision){.verdict = DECISION_NOTHING, .again = USEC_INFINITY};
        if (!tick || (input->rank >= DECISION_SERVICE_RANKS && !service_is_here(input, run)))
                return;
        ret->watch = true;
        if (decision_pause_lasts(input->pause) || input->nobody)
                return;
        if (run) {
                decide_beside_run(input, ret, run, tick);
                return;
        }
        turn = usec_add(service_begin(input, tick), service_patience(input, tick));
        if (turn > input->now) {
                ret->again = turn;
                return;
        }
        ret->verdict = DECISION_RUN;
        ret->tick = tick;
        ret->watch = false;
}

/* Where nothing else is to be done about the job now. Whoever has it would keep all else from
 * beginning for as long as its file is the old one. */
static void decide_of_earlier_service(const DecisionInput *input, Decision *decision) {
        const LedgerEntry *run = ledger_first_claimed(input->ledger);

        if (run && input->rank < PLACEMENT_RANKS && !decision_pause_lasts(input->pause) &&
            decision->verdict == DECISION_NOTHING && decision->n_skips == 0)
                decide_beside_run(input, decision, run, run->tick);
}

void decide_by_mode(const DecisionInput *input, Decision *ret) {
        if (input->service) {
                decide_service(input, ret);
                return;
        }
        if (input->schedule)
                decide(input, ret);
        else
                *ret = (Decision){.verdict = DECISION_NOTHING, .again = USEC_INFINITY};
        decide_of_earlier_service(input, ret);
}
