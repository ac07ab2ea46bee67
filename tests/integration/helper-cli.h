/* Running the built `jobkeeper` from tests: its output is kept, its end is awaited with a time
 * limit. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "cleanup.h"
#include "clock.h"

typedef struct CliRun {
        pid_t pid;    /* 0 once it has ended */
        int out, err; /* files in memory */
        int status;   /* as the shell would say it: 128 + signal */
} CliRun;

/* Starts `jobkeeper ARGUMENTS…` with `environment` ("NAME=value", NULL-terminated, may be NULL)
 * added to ours. Standard input is /dev/null. */
CliRun *cli_start(const char *const *arguments, const char *const *environment);
CliRun *cli_run_free(CliRun *run); /* kills it if it has not ended */
DEFINE_CLEANUP(CliRun, cli_run_free);

/* Return: its exit status; the test fails when it has not ended after `limit`. */
int cli_wait(CliRun *run, usec_t limit);

/* Return: newly allocated (g_free), what it has written so far. */
char *cli_out(const CliRun *run);
char *cli_err(const CliRun *run);

/* Waits until `text` stands in its standard output (or error). Return: false when it does not
 * within `limit`. */
bool cli_wait_for_out(const CliRun *run, const char *text, usec_t limit);
bool cli_wait_for_err(const CliRun *run, const char *text, usec_t limit);

/* Starts it, waits for its end at most 30 s. */
#define cli_run(environment, ...)                                                                  \
        cli_run_to_end((const char *const[]){__VA_ARGS__, NULL}, (environment))
CliRun *cli_run_to_end(const char *const *arguments, const char *const *environment);

/* Runs it to its end, and checks how it ends and what it has written; NULL: anything. */
void cli_expect(int status, const char *out, const char *err, const char *const *arguments);
