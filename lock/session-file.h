/* The state file: what a restarted process needs to attach to the session of the process before it.
 *
 * A few lines of text, mode 0600 since the password is all that protects the session, replaced
 * atomically. A file from another boot is ignored: clocks start anew then, and every job of that
 * boot is gone.
 */
#pragma once

#include "zk.h"

/* Return: 0; -ENOENT without a file; -ESTALE when it is of another boot; -EBADMSG when it is
 * damaged; negative errno. */
int session_file_load(const char *path, ZkSessionId *ret_session);
/* Return: 0 or negative errno. */
int session_file_save(const char *path, const ZkSessionId *session, usec_t timeout);
/* Return: 0, also without a file, or negative errno. */
int session_file_remove(const char *path);
