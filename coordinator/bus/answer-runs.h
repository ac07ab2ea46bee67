/* The answers about runs: History, Next, WaitRun. */
#pragma once

#include "answer.h"

/* Return: 0 or negative errno with `error` set, as sd-bus wants it. */
int answer_history(Answers *owner, sd_bus_message *message, sd_bus_error *error);
int answer_next(Answers *owner, sd_bus_message *message, sd_bus_error *error);
int answer_wait_run(Answers *owner, sd_bus_message *message, sd_bus_error *error);
int answer_find_run(Answers *owner, sd_bus_message *message, sd_bus_error *error);

/* Takes a record that was read, named `name`, into the answer's: one that is damaged as unknown,
 * and none where it is not there or all are too long (ANSWER_BYTES_MAX). */
void answer_on_record(Answer *answer, const char *name, const ZkReply *reply);
