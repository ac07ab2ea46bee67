/* Whether this node is drained, as the control node in ZooKeeper, last read, says. Where that
 * cannot be read, what was last read holds, and where nothing was read ever, nothing may begin. */
#pragma once

#include <jansson.h>

#include "node.h"

typedef struct DrainView DrainView;

DrainView *drain_view_new(const Node *node);
DrainView *drain_view_free(DrainView *view);
DEFINE_CLEANUP(DrainView, drain_view_free);

/* The data as just read. Return: whether it says something else of this node now; *ret_paused: of
 * what is paused. */
bool drain_view_take(DrainView *view, const char *data, size_t size, bool *ret_paused);
/* Return: why nothing may begin here, a sentence; NULL where something may. */
const char *drain_view_closed(const DrainView *view);
/* Return: what was read last, borrowed; NULL where nothing could be. */
const json_t *drain_view_control(const DrainView *view);
/* Return: what is wrong with the control node, a sentence; "" when nothing is. */
const char *drain_view_fault(const DrainView *view);
