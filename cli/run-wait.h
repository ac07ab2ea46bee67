/* Waiting for a run to end. */
#pragma once

#include <stdbool.h>

#include "bus-client.h"

/* Waits for as long as it takes, and prints the result, as JSON or a sentence; *ret_answer has it.
 * Return: the exit status where it could not be had, after a word on standard error; else 0. */
int run_wait_and_show(BusAnswer *ret_answer, const char *job, const char *run, bool json);
