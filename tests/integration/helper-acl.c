/* See helper-acl.h. With the client library itself, waiting for its threads. */
#include "helper-acl.h"

#include <criterion/criterion.h>
#include <glib.h>
#include <zookeeper/zookeeper.h>

#define LIMIT_USEC ((guint64)20 * G_USEC_PER_SEC)
/* What a code looks like in a queue, which takes no NULL. */
#define TOKEN(code) GINT_TO_POINTER((code) == ZOK ? 1 : (code))

static void on_session(zhandle_t *handle, int type, int state, const char *path, void *context) {
        GAsyncQueue *answers = context;

        (void)handle;
        (void)path;
        if (type == ZOO_SESSION_EVENT && state == ZOO_CONNECTED_STATE)
                g_async_queue_push(answers, TOKEN(ZOK));
}

static void on_log(const char *line) {
        (void)line;
}

static void on_done(int rc, const void *data) {
        g_async_queue_push((GAsyncQueue *)data, TOKEN(rc));
}

static int await(GAsyncQueue *answers) {
        int token = GPOINTER_TO_INT(g_async_queue_timeout_pop(answers, LIMIT_USEC));

        cr_assert_neq(token, 0, "no answer");
        return token == 1 ? ZOK : token;
}

void acl_set(const char *server, const char *path, int rights) {
        GAsyncQueue *answers = g_async_queue_new();
        struct ACL entry = {.perms = rights, .id = ZOO_ANYONE_ID_UNSAFE};
        struct ACL_vector acl = {.count = 1, .data = &entry};
        zhandle_t *handle = zookeeper_init2(server, on_session, 8000, NULL, answers, 0, on_log);

        cr_assert_not_null(handle);
        cr_assert_eq(await(answers), ZOK);
        cr_assert_eq(zoo_aset_acl(handle, path, -1, &acl, on_done, answers), ZOK);
        cr_assert_eq(await(answers), ZOK, "%s", path);
        cr_assert_eq(zookeeper_close(handle), ZOK);
        g_async_queue_unref(answers);
}
