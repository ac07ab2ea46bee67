/* Making a directory that is not there. See lock-make.c. */
#pragma once

#include "lock-place.h"

/* A creation found no directory: calls `again`, which sends what makes it in the same flight as the
 * creation, unless that was tried too often. */
void place_on_directory_missing(Place *place, int (*again)(Place *place));
/* Sends the creation of the directory, where a creation found none. Return: 0, negative errno. */
int place_make_directory(Place *place, Zk *zk);
