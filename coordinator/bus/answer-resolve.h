/* The answer about a run whose end a person knows: Resolve. */
#pragma once

#include "answer.h"

/* Return: 0 or negative errno with `error` set, as sd-bus wants it. */
int answer_resolve(Answers *owner, sd_bus_message *message, sd_bus_error *error);
