/* See daemon-window.h. */
#include "daemon-window.h"

#include <errno.h>

#include "daemon-config.h"
#include "window-keys.h"

/* One that never closes is a mistake here, too: who wants no window has none. */
static int daemon_window_add(const char *expression, usec_t length, void *userdata,
                             char **ret_message) {
        Windows *windows = userdata;
        int r = windows_add(windows, expression, "UTC", length, ret_message);

        if (r < 0)
                return r;
        *ret_message = windows_explain_last(windows);
        if (!*ret_message)
                return 0;
        windows_drop_last(windows);
        return -ERANGE;
}

void daemon_window_take(const Key *key, const YamlNode *node, void *target,
                        Diagnostics *diagnostics) {
        DaemonConfig *config = target;

        (void)key;
        config->windows = windows_free(config->windows); /* of a key that stands there twice */
        if (node->items->len == 0)
                return;
        config->windows = windows_new();
        window_keys_read(node, daemon_window_add, config->windows, diagnostics);
}
