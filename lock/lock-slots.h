/* How many slots a resource has. See lock-slots.c. */
#pragma once

#include "lock-place.h"

/* For contenders of that kind alone. Asks how many there are. Return: 0 once sent, negative errno.
 */
int place_ask_slots(Place *place, Zk *zk);
/* `alone`: nobody else is in the queue. Return: whether the directory's slots are known and ours;
 * else something was done about it, or the set has failed. */
bool place_slots_agree(Place *place, bool alone);
