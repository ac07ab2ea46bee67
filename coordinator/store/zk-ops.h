/* The operations of one transaction, put together one by one. Paths and data are borrowed until it
 * is sent. */
#pragma once

#include <glib.h>

#include "zk.h"

/* Return: newly allocated (g_array_unref), of ZkOp. */
GArray *zk_ops_new(void);
void zk_ops_add(GArray *ops, ZkOpType type, const char *path, const char *data, int32_t version);
/* As zk_multi(). */
int zk_ops_send(const GArray *ops, Zk *zk, ZkReplyFunc func, void *userdata, ZkCall **ret_call);
/* Return: whether it was the operation at that place for which the transaction failed. */
bool zk_ops_failed_at(const ZkReply *reply, guint op);
