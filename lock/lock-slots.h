/* How many slots a resource has. See lock-slots.c. */
#pragma once

#include "lock-place.h"

/* For contenders of that kind alone. Asks how many there are. Return: 0 once sent, negative errno.
 */
int place_ask_slots(Place *place, Zk *zk);
/* Return: whether there is an answer to come that may change how many there are. */
bool place_awaits_slots(const Place *place);
/* Connected again: what was lost is asked again. */
void place_retry_slots(Place *place);
/* `alone`: nobody else is in the queue. Return: whether the directory's slots are known and ours;
 * else something was done about it, or the set has failed. */
bool place_slots_agree(Place *place, bool alone);
/* Our contender is gone with its directory, which said another number: makes it with ours. */
void place_begin_anew(Place *place);
