/* A real ZooKeeper server for a test: a child process on a free port of 127.0.0.1 with its data in
 * a temporary directory. It dies with the process that started it, and its directory goes with it
 * when it is freed.
 *
 * Starting one takes a second or two of Java, so a program whose tests leave the server alone
 * starts one in main() (see zookeeper_main()) and its tests find the address with
 * zookeeper_shared(); a test that kills or freezes its server has its own.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "cleanup.h"
#include "clock.h"

typedef struct ZooKeeperServer ZooKeeperServer;

/* Sessions of 1 s to a minute: what is to outlive a loaded machine's pauses asks for long ones. */
#define ZOOKEEPER_TICK_MS 500

/* Starts a server and waits until it answers. Aborts the test with the server's log when it does
 * not within 60 s. */
ZooKeeperServer *zookeeper_server_new(unsigned tick_ms);
/* The same with further lines of configuration, which replace ours. */
ZooKeeperServer *zookeeper_server_new_with(unsigned tick_ms, const char *lines);
/* Kills it, if it still runs, and removes its data. */
ZooKeeperServer *zookeeper_server_free(ZooKeeperServer *server);
DEFINE_CLEANUP(ZooKeeperServer, zookeeper_server_free);

/* "127.0.0.1:PORT" */
const char *zookeeper_server_address(const ZooKeeperServer *server);

/* SIGKILL, awaited. The data stays; zookeeper_server_start() brings it back on the same port. */
void zookeeper_server_kill(ZooKeeperServer *server);
void zookeeper_server_start(ZooKeeperServer *server);
/* Removes the data of a server that was killed: started again, it knows no session and no node. */
void zookeeper_server_wipe(ZooKeeperServer *server);
/* Changes the tick and the further lines of one that was killed: started again, it counts with
 * them. */
void zookeeper_server_configure(ZooKeeperServer *server, unsigned tick_ms, const char *lines);
/* SIGSTOP and SIGCONT. */
void zookeeper_server_freeze(ZooKeeperServer *server);
void zookeeper_server_thaw(ZooKeeperServer *server);

/* The parts of a member of an ensemble (helper-ensemble.h): made, launched, awaited. */
ZooKeeperServer *zookeeper_member_new(unsigned tick_ms, unsigned port, unsigned id,
                                      const char *quorum);
void zookeeper_server_launch(ZooKeeperServer *server);
void zookeeper_server_await(ZooKeeperServer *server);
/* Return: the first of `n` free ports of 127.0.0.1 in a row. */
unsigned zookeeper_free_ports(unsigned n);

/* Asks a server by a four-letter word. Return: newly allocated (g_free), its answer, or NULL when
 * it does not answer within 5 s. */
char *zookeeper_ask(const char *address, const char *word);
/* Return: what the server has counted by this name since its start, such as
 * "connection_request_count"; 0 where it does not answer. */
uint64_t zookeeper_server_count(const ZooKeeperServer *server, const char *name);

/* The address of the server that a program's tests share (helper-zookeeper-main.h): in the
 * environment. */
#define ZOOKEEPER_SHARED_VARIABLE "TEST_ZOOKEEPER"
const char *zookeeper_shared(void);

/* How late a timer may be on a loaded machine. */
#define LATE_MAX (400 * USEC_PER_MSEC)

/* Runs the loop until `condition` is true. Return: false when it is not within `limit`. */
bool loop_until(sd_event *event, bool (*condition)(void *userdata), void *userdata, usec_t limit);
/* Runs the loop for so long. Only to see that something does *not* happen. */
void loop_for(sd_event *event, usec_t duration);

/* How many descriptors the process has open. */
unsigned count_descriptors(void);
/* Waits up to 5 s until there are no more than `count`. Return: whether it came to that. */
bool await_descriptors(unsigned count);
