/* The answer to History: what stands of a job's runs, the newest first. */
#pragma once

#include "answer.h"

/* Return: 0 or negative errno with `error` set, as sd-bus wants it. */
int answer_history(Answers *owner, sd_bus_message *message, sd_bus_error *error);
