/* Making a directory that is not there: in the same flight as the next creation in it. */
#include "lock-make.h"

#include <glib.h>
#include <string.h>

/* A directory that vanishes again each time we made it, as an empty container may: somebody works
 * against us. */
#define ATTEMPTS_MAX 10

static void making_on_made(const ZkReply *reply, void *userdata) {
        Making *making = userdata;

        making->call = NULL;
        making->made = reply->code;
        if (reply->code == ZK_UNIMPLEMENTED)
                making->no_containers = true;
}

/* From the second time on its parents are made too. Only the last one's answer matters, and what
 * keeps another one from being sent keeps the last one from it as well. */
int making_send(Making *making, Zk *zk, const char *directory, const char *data, bool persistent) {
        bool container = !persistent && !making->no_containers;

        if (making->attempts == 0)
                return 0;
        for (const char *slash = strchr(directory + 1, '/'); slash && making->attempts > 1;
             slash = strchr(slash + 1, '/')) {
                g_autofree char *parent = g_strndup(directory, (gsize)(slash - directory));

                (void)zk_create(zk, parent, "", 0, NULL, NULL, NULL);
        }
        making_cancel(making);
        return zk_create(zk, directory, data, container ? ZK_CREATE_CONTAINER : 0, making_on_made,
                         making, &making->call);
}

const char *making_on_missing(Making *making) {
        bool in_vain = making->attempts > 1 && making->made != ZK_OK &&
                       making->made != ZK_NODE_EXISTS && making->made != ZK_NO_NODE &&
                       making->made != ZK_UNIMPLEMENTED && making->made != ZK_UNKNOWN;

        if (in_vain)
                return zk_code_to_string(making->made);
        return ++making->attempts > ATTEMPTS_MAX ? "it vanishes again each time" : NULL;
}

void making_cancel(Making *making) {
        making->call = zk_call_free(making->call);
}
