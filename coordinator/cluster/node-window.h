/* The window of this node (`window` of `node`), by its own clock: outside of it nothing begins
 * here, and what runs goes on.
 *
 * There is one timer, at the next edge. It goes with the clock when that is set ahead; where the
 * clock was set back past an edge, whoever asks next is told by the clock all the same, and the
 * rest follows on the next turn of the loop. Each change is logged once. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "node.h"

typedef struct NodeWindow NodeWindow;
/* It opened or closed, or closes until another time. */
typedef void (*NodeWindowFunc)(void *userdata);

NodeWindow *node_window_new(const Node *node, NodeWindowFunc changed, void *userdata);
NodeWindow *node_window_free(NodeWindow *window);
DEFINE_CLEANUP(NodeWindow, node_window_free);

/* Return: why nothing begins here now, a sentence, borrowed until the loop runs; NULL: by the clock
 * something may. */
const char *node_window_closed(NodeWindow *window);
/* Return: what was told of it last, as Member.outside. */
int64_t node_window_outside(const NodeWindow *window);
