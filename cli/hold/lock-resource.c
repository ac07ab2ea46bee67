/* See lock-resource.h. */
#include "lock-resource.h"

#include <unistd.h>

#include "daemon-keys.h"
#include "resource.h"
#include "secret.h"

char *lock_resource_request(const DaemonConfig *config, const char *name, LockMode mode,
                            unsigned slots, const char *naming, LockRequest *ret_request) {
        LockRequest request = {0};
        DaemonNaming wanted = DAEMON_NAMING_CURATOR_RW;
        char *fault = NULL;

        if (naming && daemon_naming_from_string(naming, &wanted) < 0)
                return g_strdup_printf(
                    "\"%s\" is not a naming: use curator-rw, curator-mutex, kazoo or single-node",
                    naming);
        fault = resource_contradiction(config, name, mode, slots, naming ? &wanted : NULL);
        if (fault)
                return fault;
        resource_request(config, name, mode, slots, naming ? &wanted : NULL, &request);
        *ret_request = request;
        return NULL;
}

int lock_resource_secret(const DaemonConfig *config, char **ret_secret, char **ret_fault) {
        g_autofree char *credential = NULL;

        if (config->auth == DAEMON_AUTH_NONE) {
                *ret_secret = NULL;
                return 0;
        }
        credential = secret_credential_path();
        if (credential && access(credential, F_OK) < 0) /* of a service that has other ones */
                g_clear_pointer(&credential, g_free);
        return secret_read(credential ? credential : SECRET_STORED_PATH, ret_secret, ret_fault);
}
