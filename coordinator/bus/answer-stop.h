/* The answer about a run that is to be stopped: Stop. */
#pragma once

#include "answer.h"

/* Return: 0 or negative errno with `error` set, as sd-bus wants it. */
int answer_stop(Answers *owner, sd_bus_message *message, sd_bus_error *error);
