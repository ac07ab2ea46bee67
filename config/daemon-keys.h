/* The key table of the daemon's configuration. */
#pragma once

#include "daemon-config.h"
#include "key.h"

extern const KeyTable daemon_table; /* decodes into DaemonConfig */
