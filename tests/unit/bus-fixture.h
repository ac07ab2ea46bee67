/* A bus of the test's own, for a whole daemon (daemon-fixture.h), and those who ask on it. */
#pragma once

#include <jansson.h>
#include <systemd/sd-bus.h>

#include "bus-interface.h"
#include "daemon-fixture.h"

extern sd_bus *bus; /* who asks, unless the test says otherwise */
extern char *said;  /* the last answer, or "ERROR: message"; NULL: none since the last question */
extern unsigned n_said; /* how many there were */

/* For a test suite's .init and .fini: everything but the daemon. */
void setup_bus(void);
void teardown_bus(void);

/* The bus is gone, with all its connections, and comes back where it was. */
void bus_end(void);
void bus_begin(void);
/* The bus goes by these <policy> elements from now on; NULL: everybody may do everything. */
void bus_set_policy(const char *policy);
/* One more who asks; sd_bus_flush_close_unref(). */
sd_bus *another_caller(void);

/* Asks the daemon, with arguments as of sd_bus_call_method(), and forgets the last answer: under
 * the name that is for all; or somebody else asks, or under another name. */
void ask(const char *method, const char *types, ...);
void ask_as(sd_bus *caller, const char *name, const char *method, const char *types, ...);
/* Waits for the answer to the last question, which must have this in it. */
void expect_said(const char *part);
/* The same for an answer that is JSON. Return: a new reference. */
json_t *expect_json(void);
bool is_said(void);

/* Starts the daemon, and waits until it is ready and can be asked. */
void open_daemon_on_bus(void);
/* The same with job "a", which is due every hour. */
void open_hourly_on_bus(void);
/* Waits until it can be asked. */
void await_daemon_on_bus(void);
/* The record of a run stands in ZooKeeper, with `more` members (",\"name\":value"). */
void record_stands(const char *job, const char *run, const char *more);
