/* For tests that look at the wire: a world whose clients[0] talks to the server and looks on, and
 * whose others talk through a proxy each. */
#pragma once

#include "helper-lock.h"
#include "helper-proxy.h"

typedef struct Wire {
        World world;
        Proxy *proxies[WORLD_CLIENTS]; /* of clients[1] and on */
} Wire;

/* At `server`, clients[0] to clients[n - 1]. */
void wire_open(Wire *wire, const char *server, size_t n, usec_t timeout);
/* Checks as world_close() does. */
void wire_close(Wire *wire);
Session *wire_session(const Wire *wire, size_t index);
/* Makes the resource, so that what follows is one create and one list. */
void wire_prepare(Wire *wire, const char *resource);
/* Holds the resource in clients[index]. */
void wire_hold(Wire *wire, Holder *holder, size_t index, const char *resource);
/* Queues in clients[index] and waits until that one stands, with its watches. `before` others stand
 * there already. */
void wire_queue(Wire *wire, Holder *holder, size_t index, const char *resource, size_t before);
/* Sends what was sent before and forgets what was counted, of all clients. */
void wire_reset_counts(Wire *wire);
/* Asserts that there is one contender in the resource, and that it is this holder's, known by its
 * path and token. */
void wire_assert_alone(Wire *wire, const Holder *holder, const char *resource);
/* Waits until what the proxy was ordered to do has been done (proxy_order). */
void wire_await_order(Wire *wire, size_t index);
/* Waits until the proxy counted so many of these. */
void wire_await_count(Wire *wire, size_t index, Opcode opcode, unsigned count);
