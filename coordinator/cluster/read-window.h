/* Reads of which there can be any number (people's questions, what anybody put into a directory),
 * at most so many at a time: a heartbeat waits behind no more than these. First come, first served.
 * A read that nobody waits for any more keeps its place until the server has answered it. */
#pragma once

#include <glib.h>

#include "node.h"
#include "read-budget.h"

#define READ_WINDOW_SIZE 64

typedef struct ReadWindow ReadWindow;
typedef struct WindowedRead WindowedRead;

typedef enum ReadKind {
        READ_DATA,
        READ_CHILDREN,
} ReadKind;

/* Reads in the node's session; both live longer than the window. The reads are taken from the
 * budget; NULL: from none. */
ReadWindow *read_window_new(const Node *node, ReadBudget *budget);
ReadWindow *read_window_free(ReadWindow *window);
DEFINE_CLEANUP(ReadWindow, read_window_free);

/* Reads when it is the turn of this one. `func` is called exactly once, never from inside, unless
 * the read is freed before. Return: the read, to be freed before the window; NULL: it cannot be
 * sent, there is no session. */
WindowedRead *read_window_add(ReadWindow *window, ReadKind kind, const char *path, ZkReplyFunc func,
                              void *userdata);
WindowedRead *windowed_read_free(WindowedRead *item);

/* The session is lost: every read that waits is answered ZK_CLOSED. */
void read_window_lost(ReadWindow *window);
