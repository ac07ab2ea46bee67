/* How to read what is current. See lock-barrier.c. */
#pragma once

#include "zk.h"

/* Sends what makes the answers to later requests of this connection current. Return: as zk_multi().
 */
int barrier_send(Zk *zk, const char *path, ZkReplyFunc func, void *userdata, ZkCall **ret_call);
/* Return: whether that answer is one: what follows it is current. */
bool barrier_is_done(const ZkReply *reply);
