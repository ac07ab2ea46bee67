/* Reading the daemon's configuration. A missing file means the defaults; unknown keys, wrong types
 * and what is not supported yet are errors with their mark. */
#pragma once

#include <stddef.h>

#include "daemon-config.h"
#include "diagnostics.h"

/* Loads `path`. With errors, *ret_config is NULL and `diagnostics` has them all.
 * Return: 0 (also for a missing file); -EBADMSG when there were errors; other negative errno on a
 * fault of the system. */
int daemon_config_load(const char *path, Diagnostics *diagnostics, DaemonConfig **ret_config);
int daemon_config_parse(const char *file, const char *text, size_t size, Diagnostics *diagnostics,
                        DaemonConfig **ret_config);
