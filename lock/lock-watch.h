/* Waiting in a queue: the nodes that a place keeps an eye on. See lock-watch.c. */
#pragma once

#include "lock-place.h"

/* Asks about our own contender, and watches it. */
void place_watch_self(Place *place);
/* Return: whether our own contender is known to stand, and a watch will tell when it does not;
 * else that is asked for. */
bool place_self_stands(Place *place);
/* Sees to it that the nearest ahead are watched. */
void place_watch_ahead(Place *place);
/* All is listed anew: a mark whose answer was lost is of no use. */
void place_drop_lost_mark(Place *place);
/* Connected again: what was lost is asked again. */
void place_retry_sights(Place *place);
