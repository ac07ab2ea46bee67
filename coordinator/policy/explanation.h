/* Why a tick of a job is run, was run, or is not: what the ledger says of it, and where that says
 * nothing yet, what decide() answers. So what people are told is the decision's own word, and no
 * second opinion beside it. Pure.
 *
 * Of a tick that is due the answer is that of the first candidate, or of the node whose run stands
 * in the way: it is one of these that decides. Of one that is to come, the answer is what would be
 * decided when it starts, were all before it decided and everything else as it is now.
 */
#pragma once

#include "decision.h"

typedef enum ExplanationState {
        EXPLAINED_NO_TICK,   /* the schedule has no such tick */
        EXPLAINED_NOT_OWED,  /* it was due before the definition in force was */
        EXPLAINED_SETTLED,   /* decided and over: its records say how, while they stand */
        EXPLAINED_UNDER_WAY, /* claimed: `run` on `node` */
        EXPLAINED_RETRY,     /* the next attempt follows at `when` */
        EXPLAINED_DUE,       /* nobody has decided it yet */
        EXPLAINED_COMING,    /* it starts later */
        EXPLAINED_STATE_COUNT,
} ExplanationState;

typedef struct Explanation {
        ExplanationState state;
        int64_t start;         /* the second at which it is to start; 0: no tick */
        char *why;             /* a part of a sentence; NULL: nothing beyond the state */
        bool begins;           /* due or coming: it is run, or waits to be; not skipped */
        const char *run;       /* borrowed from the ledger, as `node`; or NULL */
        const char *node;      /* that has claimed it */
        unsigned attempt;      /* of a retry: which one follows */
        usec_t when;           /* CLOCK_REALTIME; 0: not known */
        int64_t before, after; /* of no tick: the nearest ones; 0: there is none */
} Explanation;

/* Return: the constant word. */
const char *explanation_state_to_string(ExplanationState state);

/* Explains `tick` by `input`, as decide() would be asked, whose rank and self do not count.
 * explanation_clear() frees what it holds. */
void explain(const DecisionInput *input, int64_t tick, Explanation *ret_explanation);
void explanation_clear(Explanation *explanation);
