/* Following a run: what it writes is printed while it runs, until its result is known. */
#pragma once

#include "cleanup.h"

typedef struct RunFollow RunFollow;

/* Before the run is asked for: whether this machine's journal can be followed. Return: the exit
 * status, after a word on standard error where it cannot; else 0 with *ret_follow. */
int run_follow_open(RunFollow **ret_follow);
RunFollow *run_follow_free(RunFollow *follow);
DEFINE_CLEANUP(RunFollow, run_follow_free);

/* What it writes goes to standard output as it is, all else to standard error. Return: the exit
 * status, as run_exit() has it. Ctrl-C ends the command, not the run. */
int run_follow(RunFollow *follow, const char *job, const char *run);
