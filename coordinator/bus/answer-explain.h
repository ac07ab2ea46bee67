/* The answer to why a tick is run, was run, or is not: Explain. */
#pragma once

#include "answer.h"

/* Return: 0 or negative errno with `error` set, as sd-bus wants it. */
int answer_explain(Answers *owner, sd_bus_message *message, sd_bus_error *error);

/* For answers that go by the same: reads, of the answer's job and tick, what is decided of it (into
 * its `ticks`, as Explain() has it) and its records. */
void answer_explain_read(Answer *answer);
/* That is done. Return: whether it was all read; otherwise it is answered so. */
bool answer_explain_was_read(Answer *answer);
