/* The key table of the daemon's configuration. */
#pragma once

#include "daemon-config.h"
#include "key.h"

extern const KeyTable daemon_table; /* decodes into DaemonConfig */

/* Return: the naming as people write it: "curator-rw". And back: -EINVAL for other words. */
const char *daemon_naming_to_string(DaemonNaming naming);
int daemon_naming_from_string(const char *word, DaemonNaming *ret_naming);
