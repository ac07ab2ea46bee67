/* A failure made short: fewer kinds of faults, fewer jobs, less time, and still a broken promise.
 */
#pragma once

#include "cluster.h"

/* `options`: of a cluster that breaks a promise, `rule` (ClusterOutcome). Return: newly allocated,
 * the arguments of simulate that still break that one first. */
char *shrink(const ClusterOptions *options, const char *rule);
