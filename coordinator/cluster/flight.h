/* A flight: several requests that leave together and whose answers are worth something only
 * together.
 *
 * Each answer goes to its own function as it comes; when the last one was given out, the flight's
 * owner is told once how they went as a whole. Freeing the flight cancels what has not been
 * answered; its owner may do that in the function that is told, and only there or later. */
#pragma once

#include "zk.h"

typedef struct Flight Flight;
/* `code` is ZK_OK when every answer says what is the case (that there is no such node, or one
 * already, is an answer); otherwise ZK_CLOSED when the session is over, ZK_UNKNOWN when an answer
 * was lost, or else the first refusal. */
typedef void (*FlightFunc)(ZkCode code, void *userdata);

/* Return: newly allocated. `zk` may be NULL: then nothing leaves, which flight_depart() says. */
Flight *flight_new(Zk *zk, FlightFunc func, void *userdata);
Flight *flight_free(Flight *flight);
DEFINE_CLEANUP(Flight, flight_free);

/* Send a request; `func` is given its answer. NULL: only the flight's outcome matters. */
void flight_get(Flight *flight, const char *path, ZkReplyFunc func, void *userdata);
void flight_exists(Flight *flight, const char *path, ZkReplyFunc func, void *userdata);
void flight_get_children(Flight *flight, const char *path, ZkReplyFunc func, void *userdata);
/* As flight_get(), of what the rest is worth something without: that the server does not let us
 * read it is an answer, too. */
void flight_try_get(Flight *flight, const char *path, ZkReplyFunc func, void *userdata);
/* As flight_get(), with a watch on the data (see zk_get()). */
void flight_watch(Flight *flight, const char *path, ZkReplyFunc func, void *userdata,
                  ZkWatchFunc watch_func, ZkWatch **ret_watch);
void flight_sync(Flight *flight, const char *path);
/* A write that changes nothing, and of which any answer will do: what is read after it is current
 * even where a leader was cut off from the other servers and does not know it yet. */
void flight_write_nothing(Flight *flight, const char *path);

/* All have been sent. Return: 0 when the owner will be told, never from inside this call; negative
 * errno when one could not be sent: then free the flight. -ENODATA when nothing was. */
int flight_depart(Flight *flight);
