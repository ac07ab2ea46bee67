/* What `jobkeeper lock` asks of lock/ for a resource that people name, and the secret that it needs
 * towards ZooKeeper where no daemon does the asking. */
#pragma once

#include "daemon-config.h"
#include "lock.h"

/* Fills the request for a resource as this machine's configuration declares it. `slots` 0 and
 * `naming` NULL: as declared there, or the default; a given one must not contradict it. Strings in
 * the request are borrowed from `name` and `config`. Return: NULL; or newly allocated (g_free),
 * what is wrong, as a sentence without a full stop, and *ret_request is untouched. */
char *lock_resource_request(const DaemonConfig *config, const char *name, LockMode mode,
                            unsigned slots, const char *naming, LockRequest *ret_request);

/* Reads the "user:password" for SessionOptions.auth, from $CREDENTIALS_DIRECTORY where it is there,
 * otherwise from the file that the daemon's credential comes from. Return: 0 with *ret_secret (NULL
 * where the configuration asks for none), which is for secret_free() of secret.h, the sooner the
 * better; negative errno with *ret_fault (g_free), a sentence. */
int lock_resource_secret(const DaemonConfig *config, char **ret_secret, char **ret_fault);
