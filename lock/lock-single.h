/* The older recipe, without a queue. See lock-single.c. */
#pragma once

#include "lock-place.h"

extern const PlaceRecipe lock_single_recipe;
