/* The state file: what a restarted process needs to attach to the session of the process before it,
 * and until when that one's locks are certain.
 *
 * A few lines of text, mode 0600 since the password is all that protects the session. A file from
 * another boot is ignored: clocks start anew then, and every job of that boot is gone. So is one of
 * another identity: a session in which another name, or another tree, was used.
 */
#pragma once

#include "zk.h"

typedef struct SessionFile {
        ZkSessionId session;
        usec_t timeout;             /* negotiated; for people */
        usec_t held_until, stop_at; /* D and D - K, CLOCK_BOOTTIME */
} SessionFile;

/* `identity`: one line, NULL is "". Return: 0; -ENOENT without a file; -ESTALE when it is of
 * another boot or identity; -EBADMSG when it is damaged; negative errno. */
int session_file_load(const char *path, const char *identity, SessionFile *ret_file);
/* The same whatever its identity is, for a process that does not know its own. */
int session_file_load_any(const char *path, SessionFile *ret_file);
/* Replaces the file as a whole. Return: 0 or negative errno. */
int session_file_save(const char *path, const char *identity, const SessionFile *file);
/* The same for a file that is there and is of the same session: written in place and never synced,
 * which is fit to be done at every heartbeat. A process that is killed leaves the old text or the
 * new one. Return: 0 or negative errno. */
int session_file_renew(const char *path, const char *identity, const SessionFile *file);
/* Return: 0, also without a file, or negative errno. */
int session_file_remove(const char *path);
