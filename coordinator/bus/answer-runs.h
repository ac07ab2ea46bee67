/* The answers about runs: History, Next, Run, WaitRun. */
#pragma once

#include "answer.h"

/* Return: 0 or negative errno with `error` set, as sd-bus wants it. */
int answer_history(Answers *owner, sd_bus_message *message, sd_bus_error *error);
int answer_next(Answers *owner, sd_bus_message *message, sd_bus_error *error);
int answer_run(Answers *owner, sd_bus_message *message, sd_bus_error *error);
int answer_wait_run(Answers *owner, sd_bus_message *message, sd_bus_error *error);
