/* The answers that ask the cluster for a run of a job: Run, RunOn, and Rerun, which asks for a
 * further attempt of a settled tick. */
#pragma once

#include "answer.h"

/* Return: 0 or negative errno with `error` set, as sd-bus wants it. */
int answer_run(Answers *owner, sd_bus_message *message, sd_bus_error *error);
int answer_run_on(Answers *owner, sd_bus_message *message, sd_bus_error *error);
int answer_rerun(Answers *owner, sd_bus_message *message, sd_bus_error *error);
