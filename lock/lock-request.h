/* What may be asked for. Pure. */
#pragma once

#include "contender.h"
#include "lock.h"

/* Return: 0; -EINVAL for a resource or a path that can be none, or where the naming has nothing of
 * the sort. */
int lock_request_check(const LockRequest *request, ContenderKind *ret_kind);
/* Return: newly allocated (g_free), its directory. */
char *lock_request_directory(const LockRequest *request, const char *parent);
/* Takes the path of a contender that was made before apart. Return: newly allocated (g_free), its
 * directory; NULL when it is no contender's. */
char *lock_request_parse(const char *path, Contender *ret_contender);
