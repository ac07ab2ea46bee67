/* How to read what is current. See lock-barrier.c. */
#pragma once

#include "zk.h"

/* Part of whoever reads so, and stays where it is. */
typedef struct Barrier {
        ZkCall *call;
        bool passed; /* its answer came: what was asked after it is current */
} Barrier;

/* Sends what makes the answers to later requests of this connection current, in the place of one
 * that is still on its way. Return: as zk_multi(). */
int barrier_send(Barrier *barrier, Zk *zk, const char *path);
void barrier_cancel(Barrier *barrier);
