/* What the answers have in common that ask ZooKeeper, and above all those that change the control
 * node. */
#pragma once

#include "answer.h"

/* Return: 0 where it may be asked for; or negative errno with `error` set. */
int answer_control_admit(const View *view, sd_bus_error *error);
/* There is no such job here: sets `error`, which names one that is nearly called so; of mode
 * each-node, how it is called and where it is. Return: negative errno. */
int answer_control_no_such_job(const View *view, sd_bus_error *error, const char *job);
/* The same, where anybody may have asked: of many jobs none is named then, which takes long. */
int answer_control_no_job_of_anybody(const Answers *owner, sd_bus_error *error, const char *job);
/* The same as the answer, without a name that is near; `more` follows where there is none at all.
 */
void answer_control_no_job(Answer *answer, const char *more);
/* Return: the member that was probably meant, borrowed until the loop runs; NULL when none is near.
 */
const char *answer_control_nearest_node(const View *view, const char *node);
/* It could not be changed. `no_room`: a sentence, for -ENOSPC. */
void answer_control_failed(Answer *answer, int error, const char *no_room);
/* Return: the person, as the caller says, on this node; newly allocated. */
char *answer_control_person(const View *view, const char *who);
