/* A failure made short: fewer kinds of faults, fewer jobs, less time, and still a broken promise.
 */
#pragma once

#include "cluster.h"

/* `options`: of a cluster that breaks a promise. Return: newly allocated, the arguments of simulate
 * that still do. */
char *shrink(const ClusterOptions *options);
