/* The recipe of all namings but one. See lock-queue.c. */
#pragma once

#include "lock-place.h"

extern const PlaceRecipe lock_queue_recipe;
