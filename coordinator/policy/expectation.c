/* See expectation.h. */
#include "expectation.h"

#include <glib.h>

#include "placement.h"

bool expectation_is_overdue(usec_t within, usec_t since, usec_t now) {
        return within != USEC_INFINITY && now > usec_add(since, within);
}

/* What was told ahead of our time was told by a clock that was wrong, and what was told before the
 * last success is over. */
static bool expectation_was_told(const ExpectationInput *input) {
        return input->told > input->since && input->told <= usec_add(input->now, EXPECTATION_PAUSE);
}

/* Return: when it is due to be told, by the first rank. */
static usec_t expectation_due(const ExpectationInput *input) {
        usec_t end = usec_add(usec_add(input->since, input->within), 1);

        return expectation_was_told(input) ? MAX(end, usec_add(input->told, EXPECTATION_REMIND))
                                           : end;
}

Expectation expectation_judge(const ExpectationInput *input) {
        Expectation expectation = {.again = USEC_INFINITY};
        usec_t turn;

        if (input->within == USEC_INFINITY)
                return expectation;
        if (input->rank >= PLACEMENT_RANKS)
                return expectation;
        turn = usec_add(expectation_due(input), input->rank * input->takeover_delay);
        expectation.tell = turn <= input->now;
        expectation.told = expectation_was_told(input);
        if (expectation.tell)
                turn = usec_add(input->now, EXPECTATION_PAUSE);
        else if (expectation.told)
                turn = MIN(turn, usec_add(usec_add(input->now, input->within), 1));
        expectation.again = turn;
        return expectation;
}
