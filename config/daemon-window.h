/* `window` of `node`: the stretches of time in which runs may begin on this machine. */
#pragma once

#include "key.h"

/* The `take` of that key, into DaemonConfig.windows. An expression that names no time zone is read
 * in UTC, as that of a job is where nothing else is said: a machine's own zone is nobody's. */
void daemon_window_take(const Key *key, const YamlNode *node, void *target,
                        Diagnostics *diagnostics);
