/* How far an open tree is open: without "auth", whoever reaches ZooKeeper's port may write what the
 * daemons go by. What this machine can know of that is said as a warning. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Return: newly allocated (g_free), the warning that `others` ("world:anyone") may change the tree
 * that we reach at `server`, HOST:PORT. */
char *openness_warning(const char *others, const char *server);

/* Return: whether something on this machine listens on a TCP port for others than this machine.
 * False where that cannot be found out. */
bool port_is_public(uint16_t port);
