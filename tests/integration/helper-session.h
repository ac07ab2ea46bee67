/* A session against a real server, and what its owner was told: for the tests of sessions. */
#pragma once

#include <glib.h>

#include "helper-zookeeper.h"
#include "session.h"

#define SESSION_LIMIT (50 * USEC_PER_SEC)
#define SESSION_TICK ((usec_t)ZOOKEEPER_TICK_MS * USEC_PER_MSEC)
/* With a timeout of 4 s: 4 - 1 - 0.1 - 0.04 - 0.7 = 2.16 s until LOST, a second less until STOP;
 * for tests that wait for these. */
#define SESSION_SHORT (4 * USEC_PER_SEC)
/* 8.1 s until LOST. */
#define SESSION_LONG (10 * USEC_PER_SEC)

/* For servers that are started anew meanwhile, which takes a loaded machine long. */
#define SESSION_PATIENT USEC_PER_MINUTE

extern const DeadlineRule session_rule;

typedef struct Peer {
        sd_event *event;
        Session *session;
        SessionEvent events[64];
        usec_t times[64]; /* CLOCK_BOOTTIME */
        size_t n_events;
        bool free_in_event;
        GString *log;
        char *directory, *file;
        const char *identity;
        usec_t fence_budget; /* 0: as in session_rule */
        unsigned descriptors;
} Peer;

void peer_prepare(Peer *peer);
/* Begins a session, and forgets the events of the one before it. */
void peer_start(Peer *peer, const char *servers, usec_t timeout);
/* Closes the session and frees it. */
void peer_stop(Peer *peer);
/* Frees everything. Asserts that no file and no descriptor is left. */
void peer_clear(Peer *peer);

/* Return: whether it was told so, now or before. */
bool peer_was_told(const Peer *peer, SessionEvent event);
/* Waits until it was told so. Return: false when it was not. */
bool peer_await(Peer *peer, SessionEvent event);
/* Asserts that it is told so at `at`, CLOCK_BOOTTIME: not before, and before a timer of the same
 * loop that is due a moment later. So it does not matter how late a loaded machine is. */
void peer_await_at(Peer *peer, SessionEvent event, usec_t at);
/* The same where it may come sooner. */
void peer_await_before(Peer *peer, SessionEvent event, usec_t at);
unsigned peer_count(const Peer *peer, SessionEvent event);
/* Waits until heartbeats have moved the deadline by more than that. Return: false when they have
 * not. */
bool peer_await_beats(Peer *peer, usec_t by);
/* Freezes the server once a heartbeat has moved the deadline, so that it is not the first one that
 * is looked at. Return: when the locks are lost, which does not move any more. */
usec_t peer_freeze(Peer *peer, ZooKeeperServer *server);
/* How often `text` is in the log. */
unsigned peer_count_lines(const Peer *peer, const char *text);

/* Return: a ZkCode. */
int peer_create_ephemeral(Peer *peer, const char *path);
int peer_exists(Peer *peer, const char *path);
/* Waits until the server knows so many sessions: that with which ours asked for the servers' tick
 * is closed beside CONNECTED. */
void peer_await_sessions(Peer *peer, const ZooKeeperServer *server, unsigned n_sessions);
