/* A TCP proxy in the test's own loop, between clients and their server. It knows how ZooKeeper
 * frames what is said: it counts what clients ask, and on order it loses or spoils just one request
 * or just one answer. So a request is taken by the server whose answer never comes.
 *
 * Requests about the root are the session's heartbeats (session-beat.c), and those of tests that
 * wait for one (world_settle()): they, pings and the end of a session are counted nowhere.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "cleanup.h"

typedef struct Proxy Proxy;

/* Of ZooKeeper's protocol (ZooDefs.OpCode). */
typedef enum Opcode {
        OPCODE_DELETE = 2,
        OPCODE_EXISTS = 3,
        OPCODE_GET = 4,
        OPCODE_SET = 5,
        OPCODE_GET_ACL = 6,
        OPCODE_SYNC = 9,
        OPCODE_LIST = 12, /* getChildren2 */
        OPCODE_MULTI = 14,
        OPCODE_CREATE = 15, /* create2 */
        OPCODE_CREATE_CONTAINER = 19,
        OPCODE_SET_WATCHES = 101,
        OPCODE_SET_WATCHES2 = 105,
        OPCODE_MAX = 127,
} Opcode;

typedef enum ProxyFate {
        PROXY_CUT_BEFORE,   /* the server never sees it: the connection is cut instead */
        PROXY_LOSE_ANSWER,  /* the server takes it; the connection is cut instead of the answer */
        PROXY_STAY_SILENT,  /* the server takes it; from its answer on, nothing of the server passes
                               on this connection. The client's library gives up (-7) after 2/3 of
                               the session's timeout */
        PROXY_TEAR_ANSWER,  /* half of its answer passes, then the connection is cut */
        PROXY_SPOIL_ANSWER, /* its answer comes as if to another request, for which the client's
                               library gives up (-2) */
        PROXY_NULL_ANSWER,  /* the first text of its answer, a list or an ACL that is not empty, has
                               the length -1, as no server would say it */
} ProxyFate;

/* Listens on a free port of 127.0.0.1 and connects each client to `target` ("127.0.0.1:PORT"). */
Proxy *proxy_new(sd_event *event, const char *target);
/* The same, on another address of this machine. The client's library takes two servers on one
 * address for the same when its list of servers is changed. */
Proxy *proxy_new_at(sd_event *event, const char *host, const char *target);
Proxy *proxy_free(Proxy *proxy);
DEFINE_CLEANUP(Proxy, proxy_free);

/* "HOST:PORT" */
const char *proxy_address(const Proxy *proxy);
/* From now on the server's bytes are thrown away; connections made later are not affected. */
void proxy_mute(Proxy *proxy);
/* Ends all connections. */
void proxy_cut(Proxy *proxy);
/* Whether new connections are taken; those that are not are closed at once. */
void proxy_admit(Proxy *proxy, bool admit);
/* Where connections made later lead. */
void proxy_retarget(Proxy *proxy, const char *target);
/* Connections made later are told this session timeout, where the server grants a longer one; 0:
 * what it grants. */
void proxy_grant(Proxy *proxy, unsigned timeout_ms);

/* What becomes of the next `times` requests of that kind. One order at a time, and one such request
 * at a time in each connection. */
void proxy_order(Proxy *proxy, Opcode opcode, ProxyFate fate, unsigned times);
/* How many are still to come; 0 without an order. */
unsigned proxy_ordered(const Proxy *proxy);

/* Since proxy_reset_counts(), and up to the first sync of PROXY_MARK, which a client sends to say
 * "so far". All connections together. */
#define PROXY_MARK "/mark"
void proxy_reset_counts(Proxy *proxy);
unsigned proxy_count(const Proxy *proxy, Opcode opcode);
/* Requests of any kind. */
unsigned proxy_total(const Proxy *proxy);
/* delete, set, multi, and creates of any kind */
unsigned proxy_writes(const Proxy *proxy);
/* Events of watches. */
unsigned proxy_notifications(const Proxy *proxy);
size_t proxy_bytes_asked(const Proxy *proxy);
size_t proxy_bytes_answered(const Proxy *proxy);
/* "create2 1, delete 3": for messages. Newly allocated (g_free). */
char *proxy_describe(const Proxy *proxy);

/* Sessions' connect requests that were forwarded, ever. */
unsigned proxy_connects(const Proxy *proxy);
/* Heartbeats that were writes (session-beat.c), ever. */
unsigned proxy_proofs(const Proxy *proxy);
