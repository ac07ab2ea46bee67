/* A session of the command's own, for what it does where no daemon does it: `jobkeeper lock` and
 * `jobkeeper locks` by themselves. */
#pragma once

#include "daemon-config.h"
#include "session.h"

/* Reads the daemon's configuration; complains of what is wrong, also of a deadline that leaves no
 * time to stop anything: that would be no promise. `path` NULL: the usual place, where no file
 * means the defaults. Return: 0, or negative errno. */
int lock_session_config(const char *path, DaemonConfig **ret_config);

/* Connects as the configuration says. Return: 0; -EACCES when the secret cannot be read (complained
 * of); other negative errno. */
int lock_session_new(sd_event *event, const DaemonConfig *config, SessionEventFunc func,
                     void *userdata, Session **ret_session);
