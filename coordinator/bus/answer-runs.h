/* The answers about runs: Next, WaitRun, FindRun; and how all answers take records. */
#pragma once

#include "answer.h"

/* Return: 0 or negative errno with `error` set, as sd-bus wants it. */
int answer_next(Answers *owner, sd_bus_message *message, sd_bus_error *error);
int answer_wait_run(Answers *owner, sd_bus_message *message, sd_bus_error *error);
int answer_find_run(Answers *owner, sd_bus_message *message, sd_bus_error *error);

/* Takes a record that was read into the answer's: one that is damaged as unknown, and none where it
 * is not there or all are too long (ANSWER_BYTES_MAX). */
void answer_take_record(Answer *answer, const char *job, const char *run, const ZkReply *reply);
/* The same of the answer's job; `name`: the run. */
void answer_on_record(Answer *answer, const char *name, const ZkReply *reply);
