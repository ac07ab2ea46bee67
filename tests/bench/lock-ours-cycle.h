/* Acquire and release, alone: apart from lock-ours.c because it listens to the port. */
#pragma once

#include "bench.h"

json_t *ours_cycle(Bench *bench, char **words);
/* `path` split at its last slash. The returned directory is newly allocated, *ret_resource points
 * into `path`. */
char *ours_split(const char *path, const char **ret_resource);
