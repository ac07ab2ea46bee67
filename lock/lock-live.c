/* So that a sweep, or the giving up of what was adopted, spares what somebody in this process holds
 * or waits with. */
#include "lock-live.h"

#include <glib.h>
#include <string.h>

#define LIVE_NODES "lock-nodes"

static void live_destroy(gpointer nodes) {
        g_ptr_array_unref(nodes);
}

void live_add(Session *session, const LiveNode *node) {
        GData **data = session_data(session);
        GPtrArray *nodes = g_datalist_get_data(data, LIVE_NODES);

        if (!nodes) {
                nodes = g_ptr_array_new();
                g_datalist_set_data_full(data, LIVE_NODES, nodes, live_destroy);
        }
        g_ptr_array_add(nodes, (gpointer)node);
}

void live_remove(Session *session, const LiveNode *node) {
        GPtrArray *nodes = g_datalist_get_data(session_data(session), LIVE_NODES);

        if (nodes)
                g_ptr_array_remove_fast(nodes, (gpointer)node);
}

bool live_owns(Session *session, const char *path) {
        const GPtrArray *nodes = g_datalist_get_data(session_data(session), LIVE_NODES);

        for (guint i = 0; nodes && i < nodes->len; i++) {
                const LiveNode *node = nodes->pdata[i];
                size_t length = strlen(node->directory);

                if (node->naming != LOCK_NAMING_SINGLE_NODE && /* whose name tells nothing */
                    strncmp(path, node->directory, length) == 0 && path[length] == '/' &&
                    strstr(path + length, node->uuid))
                        return true;
        }
        return false;
}

/* It is told by its czxid, and by its uuid until that is known. A set that does not know whether
 * it made one may have made this one, if that says nothing. */
static bool node_is_single(const LiveNode *node, const char *uuid, int64_t czxid) {
        if (node->czxid != 0)
                return node->czxid == czxid;
        return uuid ? strcmp(node->uuid, uuid) == 0 : node->unsure;
}

bool live_owns_single(Session *session, const char *directory, const char *uuid, int64_t czxid,
                      const LiveNode *except) {
        const GPtrArray *nodes = g_datalist_get_data(session_data(session), LIVE_NODES);

        for (guint i = 0; nodes && i < nodes->len; i++) {
                const LiveNode *node = nodes->pdata[i];

                if (node != except && node->naming == LOCK_NAMING_SINGLE_NODE &&
                    strcmp(node->directory, directory) == 0 && node_is_single(node, uuid, czxid))
                        return true;
        }
        return false;
}
