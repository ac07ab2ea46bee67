/* See expectation.h. */
#include "expectation.h"

#include <glib.h>

#include "placement.h"

bool expectation_is_overdue(usec_t within, usec_t since, usec_t now) {
        return within != USEC_INFINITY && now > usec_add(since, within);
}

/* Return: when it is due to be told, by the first rank. What was told ahead of our time was told by
 * a clock that was wrong, and what was told before the last success is over. */
static usec_t expectation_due(const ExpectationInput *input) {
        usec_t end = usec_add(usec_add(input->since, input->within), 1);

        if (input->told <= input->since || input->told > usec_add(input->now, EXPECTATION_PAUSE))
                return end;
        return MAX(end, usec_add(input->told, EXPECTATION_REMIND));
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
        expectation.again = expectation.tell ? usec_add(input->now, EXPECTATION_PAUSE) : turn;
        return expectation;
}
