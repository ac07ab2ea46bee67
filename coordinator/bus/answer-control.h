/* What the answers that change the control node have in common. */
#pragma once

#include "answer.h"

/* Return: 0 where it may be asked for; or negative errno with `error` set. */
int answer_control_admit(const View *view, sd_bus_error *error);
/* It could not be changed. `no_room`: a sentence, for -ENOSPC. */
void answer_control_failed(Answer *answer, int error, const char *no_room);
/* Return: the person, as the caller says, on this node; newly allocated. */
char *answer_control_person(const View *view, const char *who);
