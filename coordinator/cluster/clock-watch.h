/* The watch on our clock: compares it with the server's when somebody needs to know and nothing
 * else told, and while it is skewed, again and again; says when the clocks come apart, and when
 * they agree again. What a comparison says is kept in the Node, which takes samples from anything
 * that we write. */
#pragma once

#include "node.h"
#include "tree.h"

typedef struct ClockWatch ClockWatch;
/* The clocks came apart, or together again. */
typedef void (*ClockWatchFunc)(bool skewed, void *userdata);

/* Hears of every sample that the node takes. */
ClockWatch *clock_watch_new(Node *node, Tree *tree, ClockWatchFunc changed, void *userdata);
ClockWatch *clock_watch_free(ClockWatch *watch);
DEFINE_CLEANUP(ClockWatch, clock_watch_free);

/* Has a write of ours tell how our clock is, soon: node_clock_sample(). Return: after how long who
 * needs that looks again, and asks again. */
usec_t clock_watch_measure(ClockWatch *watch);
/* Return: whether our clock was compared with the server's lately, and not set since. */
bool clock_watch_is_known(const ClockWatch *watch);
/* Return: whether it is good, too: nothing is dated by any other. */
bool clock_watch_is_good(const ClockWatch *watch);
/* The session is gone, and with it what its server's clock said. */
void clock_watch_reset(ClockWatch *watch);
