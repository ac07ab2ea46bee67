/* Status: what this node knows, and the ledgers of all jobs, read and put together once for all who
 * ask meanwhile.
 *
 * A fleet has thousands of jobs, and anybody may ask. So there is one report at a time, made in
 * slices, with few reads under way; who asks while it is being made waits for the next one, so that
 * nobody is told what was true before they asked. Where everybody may ask, there is a pause between
 * two reports that grows with what they cost. When ZooKeeper does not answer, the report says what
 * this node knows, and that it is no more than that. */
#pragma once

#include "answer.h"

typedef struct StatusBoard StatusBoard;

StatusBoard *status_board_new(Answers *owner);
/* To be freed after the answers are dropped, and before them. */
StatusBoard *status_board_free(StatusBoard *board);
/* Return: 0 or negative errno with `error` set, as sd-bus wants it. */
int status_board_ask(StatusBoard *board, sd_bus_message *message, sd_bus_error *error);
