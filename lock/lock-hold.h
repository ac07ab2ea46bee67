/* What one does with a place that is held. See lock-hold.c. */
#pragma once

#include "lock-place.h"

/* Steps down from exclusive to shared, or tries again. */
void place_step_down(Place *place);
