/* The secret of `zookeeper.auth: digest`: "user:password" on one line, in a credential of the
 * service manager's. It is in no argument list, no environment, no configuration and no log. The
 * session keeps it, for every reconnect: so a process that has read it leaves no core file. */
#pragma once

#include <sys/stat.h>

#include "cleanup.h"

#define SECRET_CREDENTIAL "zookeeper-auth"
/* Where the service manager looks for it, as the unit file says. */
#define SECRET_STORED_PATH "/etc/credstore/jobkeeper.zookeeper-auth"
#define SECRET_LENGTH_MAX 1024

/* Return: newly allocated (g_free), where the service manager has put the credential for us; NULL
 * when it has not started us or has handed us none at all. The file may be missing. */
char *secret_credential_path(void);

/* Reads the secret. Return: 0 with *ret_secret, without the line's end (secret_free()); negative
 * errno with *ret_fault (g_free), one sentence that never has the secret in it. From a success on
 * the process is not dumped (PR_SET_DUMPABLE). */
int secret_read(const char *path, char **ret_secret, char **ret_fault);

/* Return: NULL, or why a file like this is no place for a secret. The service manager's own may be
 * readable for the group root. */
const char *secret_stat_fault(const struct stat *st);

/* Wipes and frees. Return: always NULL. */
char *secret_free(char *secret);
DEFINE_CLEANUP(char, secret_free);
