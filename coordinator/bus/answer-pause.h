/* The answers about paused jobs: Pause, Resume. */
#pragma once

#include "answer.h"

/* Return: 0 or negative errno with `error` set, as sd-bus wants it. */
int answer_pause(Answers *owner, sd_bus_message *message, sd_bus_error *error);
int answer_resume(Answers *owner, sd_bus_message *message, sd_bus_error *error);

/* Return: why nothing of the job begins, as people have it: a sentence, newly allocated; NULL where
 * it is not paused. */
char *answer_pause_refusal(const View *view, const char *job);
