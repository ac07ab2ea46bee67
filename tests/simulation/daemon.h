/* jobkeeperd on a simulated machine: one process, from its start to its end. What main-daemon.c
 * does on a real one, without the bus: the coordinator, signals, and the loop; or what sees to runs
 * where there can be no coordinator. */
#pragma once

#include "coordinator.h"
#include "process.h"

typedef struct Daemon Daemon;

typedef enum DaemonSignal {
        DAEMON_TERMINATE, /* SIGTERM */
        DAEMON_INTERRUPT, /* SIGINT */
        DAEMON_RELOAD,    /* SIGHUP */
        DAEMON_SIGNALS,
} DaemonSignal;

/* The process has ended by itself. Not from inside: the daemon may be freed. */
typedef void (*DaemonFunc)(int code, void *userdata);

/* Starts it. Below the machine's directory are jobkeeper.yaml, etc/, run/ and state/. A start that
 * fails ends by itself, at once or when nothing is left that must not go on. */
Daemon *daemon_new(Machine *machine, DaemonFunc ended, void *userdata);
/* A process that still runs is killed: nobody hears of it, and no file changes. */
Daemon *daemon_free(Daemon *daemon);
DEFINE_CLEANUP(Daemon, daemon_free);

/* Return: whether its start has failed, and it sees to what the process before it left. */
bool daemon_is_failing(const Daemon *daemon);

void daemon_signal(Daemon *daemon, DaemonSignal signal);
/* Somebody asks it for a run, and does not wait for the answer. */
void daemon_request(Daemon *daemon, const char *job);
/* Likewise, that a run be stopped on the node that runs it. */
void daemon_request_stop(Daemon *daemon, const char *job, const char *run, const char *node);
/* SIGSTOP and SIGCONT. */
void daemon_hang(Daemon *daemon);
void daemon_go_on(Daemon *daemon);

Process *daemon_process(const Daemon *daemon);
/* Return: NULL once it has ended, and where its start has failed. For who looks, and changes
 * nothing. */
const Coordinator *daemon_coordinator(const Daemon *daemon);
