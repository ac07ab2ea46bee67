/* Waiting for a run to end. */
#pragma once

#include <stdbool.h>

#include "bus-client.h"

/* It was asked how the run ended, `tries` times before, and there is no answer. Return: whether it
 * is to be asked again in a second, which is said the first time. */
bool run_wait_goes_on(BusOutcome outcome, unsigned tries);
/* Says why the result cannot be had. Return: the exit status. */
int run_wait_failed(const BusAnswer *answer, const char *job, const char *run);

/* Waits for as long as it takes, and prints the result, as JSON or a sentence; *ret_answer has it.
 * Return: the exit status where it could not be had, after a word on standard error; else 0. */
int run_wait_and_show(BusAnswer *ret_answer, const char *job, const char *run, bool json);
