/* Waiting in a queue by listing it again. See lock-relist.c. */
#pragma once

#include "lock-place.h"

/* Asks for the queue, with the watch that the place's way of waiting needs. `func` begins with
 * place_list_came(). Return: 0 once sent, negative errno. */
int place_send_list(Place *place, Zk *zk, ZkReplyFunc func);
void place_list_came(Place *place, const ZkReply *reply);
/* From now on it waits so: somebody ahead cannot be watched. */
void place_turn_to_lists(Place *place);
/* Waits for a reason to list again. */
void place_await_list(Place *place);
