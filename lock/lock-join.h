/* What the list of a queue says. See lock-join.c. */
#pragma once

#include "lock-place.h"

/* The queue's PlaceRecipe.listed and .look. */
void place_on_own_list(Place *place, const ZkReply *reply);
void place_look(Place *place, bool present);
