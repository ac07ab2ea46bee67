/* The way between a client and the small server (small-server.h) in a time that the test makes: a
 * request arrives there after a delay and in the order in which it was sent, its answer and what
 * its watches see arrive here likewise, and a connection may break on either way. */
#pragma once

#include "small-server.h"

typedef struct Wire Wire;

typedef struct WireParts {
        usec_t (*now)(void *userdata);
        /* Return: how long what is sent now takes. */
        usec_t (*delay)(void *userdata);
        /* A request is at the server. Return: what becomes of it; SERVER_KEEP is none. */
        ServerWay (*way)(const ZkCall *call, void *userdata);
        void *userdata;
} WireParts;

/* The parts are copied. */
Wire *wire_new(Zk *zk, const WireParts *parts);
/* The client is gone, and has cancelled all: what it sent arrives nowhere any more. */
Wire *wire_free(Wire *wire);

/* Takes what was asked since. */
void wire_collect(Wire *wire);
/* Return: when the next thing arrives, there or here; USEC_INFINITY: nothing is on its way. */
usec_t wire_next(const Wire *wire);
/* That arrives. */
void wire_step(Wire *wire);
/* Return: whether a request is on its way. */
bool wire_has_requests(const Wire *wire);
/* The next request arrives, now. */
void wire_arrive(Wire *wire);
