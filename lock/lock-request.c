/* See lock-request.h. */
#include "lock-request.h"

#include <errno.h>
#include <glib.h>
#include <string.h>

#include "lock-data.h"

/* Whatever ZooKeeper takes for the name of one znode, and a person can read. */
static bool resource_is_valid(const char *resource) {
        if (!resource || !*resource || strlen(resource) > LOCK_RESOURCE_LENGTH_MAX ||
            strchr(resource, '/') || g_str_equal(resource, ".") || g_str_equal(resource, ".."))
                return false;
        for (const char *c = resource; *c; c++)
                if (g_ascii_iscntrl(*c))
                        return false;
        return g_utf8_validate(resource, -1, NULL);
}

/* Two ways to write one directory would be two resources to us. */
static bool path_is_valid(const char *path) {
        return !path ||
               (path[0] == '/' && path[1] && !g_str_has_suffix(path, "/") && !strstr(path, "//"));
}

int lock_request_check(const LockRequest *request, ContenderKind *ret_kind) {
        ContenderKind kind = request->mode == LOCK_SHARED ? CONTENDER_READER : CONTENDER_WRITER;
        g_autofree char *prefix = NULL;

        if (!resource_is_valid(request->resource) || !path_is_valid(request->path))
                return -EINVAL;
        if (request->slots > 1) {
                if (request->mode == LOCK_SHARED)
                        return -EINVAL;
                kind = CONTENDER_SLOT;
        }
        if (request->naming == LOCK_NAMING_SINGLE_NODE) {
                if (kind != CONTENDER_WRITER)
                        return -EINVAL;
        } else {
                prefix = contender_prefix(request->naming, kind, "");
                if (!prefix)
                        return -EINVAL;
        }
        *ret_kind = kind;
        return 0;
}

char *lock_request_directory(const LockRequest *request, const char *parent) {
        return request->path ? g_strdup(request->path)
                             : g_strconcat(strcmp(parent, "/") == 0 ? "" : parent, "/",
                                           request->resource, NULL);
}

char *lock_request_parse(const char *path, Contender *ret_contender) {
        const char *slash = path[0] == '/' ? strrchr(path, '/') : NULL;

        if (!slash || slash == path)
                return NULL;
        contender_parse(slash + 1, ret_contender);
        if (strcmp(slash + 1, SINGLE_NODE_NAME) == 0) {
                ret_contender->naming = LOCK_NAMING_SINGLE_NODE;
                ret_contender->kind = CONTENDER_WRITER;
                ret_contender->may_leave_twin = false;
        } else if (ret_contender->kind == CONTENDER_FOREIGN) {
                return NULL;
        }
        return g_strndup(path, (gsize)(slash - path));
}
