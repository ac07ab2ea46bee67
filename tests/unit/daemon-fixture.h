/* A whole daemon in this process, with a server that answers when the test wants (small-server.h)
 * a service manager in which runs end when the test wants (service-manager.h), and a fence that is
 * there (fence-stand-in.h). */
#pragma once

#include "coordinator.h"
#include "service-manager.h"
#include "small-server.h"
#include "temporary-tree.h"

#define LIMIT (10 * USEC_PER_SEC)

extern char *root;
extern sd_event *event;
extern Coordinator *coordinator; /* NULL: no daemon runs */

/* For a test suite's .init and .fini: everything but the daemon. */
void setup(void);
void teardown(void);

/* Job "a" (jobs.d/a.yaml): these keys, indented by four spaces. */
void write_job(const char *keys);
void write_job_named(const char *job, const char *keys);

/* Starts the daemon and connects its session: a new one, or that of the process before it. */
void open_daemon(void);
void open_daemon_again(void);
/* The process is gone, and nobody was told; its session lives on. */
void close_daemon(void);

/* Job "a" in the files: it is due then, and once. `keys` are further ones. */
void write_job_due_at(int64_t tick, const char *keys);
/* Starts the daemon with job "a", which is due once: soon, but after the daemon has made its
 * ledger. Return: the tick. */
int64_t due_soon(const char *keys);

/* Return: whether a run of ours has started and goes on. For await(). */
bool a_run_goes_on(void);

/* Reads the job files again, and waits until every job is as they say. */
void reload(void);

/* One round: the server answers, the loop turns once. */
void turn(void);
/* Rounds until it holds; fails, saying `what`, when that takes longer than LIMIT. */
void await(bool (*condition)(void), const char *what);
void await_within(bool (*condition)(void), const char *what, usec_t limit);
void serve_for(usec_t span);
/* Rounds until nothing has been asked of the server in several of them, one after the other. */
void await_quiet(void);
/* Return: how many records of runs of job "a" say this. */
unsigned records_that_say(const char *text);
