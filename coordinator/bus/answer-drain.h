/* The answers about drained nodes: Drain, Undrain, Drained. */
#pragma once

#include "answer.h"

/* Return: 0 or negative errno with `error` set, as sd-bus wants it. */
int answer_drain(Answers *owner, sd_bus_message *message, sd_bus_error *error);
int answer_undrain(Answers *owner, sd_bus_message *message, sd_bus_error *error);
int answer_drained(Answers *owner, sd_bus_message *message, sd_bus_error *error);
