/* The library's requests: what the port may ask, as zookeeper.h declares it. */
#include <string.h>
#include <zookeeper/proto.h>

#include "library-inside.h"

uint64_t library_next_xid(void) {
        static uint64_t last; /* in one process of the machine, of all that are simulated */

        return ++last;
}

void completion_free(void *data) {
        Completion *completion = data;

        if (!completion)
                return;
        g_free(completion->registration.path);
        g_free(completion->stats);
        g_free(completion);
}

/* isValidPath(): with a sequence number behind it, the last name is any. */
static bool path_is_valid(const char *path, bool sequence) {
        if (!path || path[0] != '/')
                return false;
        if (path[1] == '\0')
                return true;
        for (const char *part = path; *part;) {
                const char *name = part + 1;
                size_t n = strcspn(name, "/");
                bool numbered = sequence && name[n] == '\0';

                if (!numbered && (n == 0 || (n == 1 && name[0] == '.') ||
                                  (n == 2 && memcmp(name, "..", 2) == 0)))
                        return false;
                for (size_t i = 0; i < n; i++)
                        if (name[i] > 0 && name[i] < 0x1f)
                                return false;
                part = name + n;
        }
        return true;
}

/* Takes the request over. */
static Completion *library_ask(zhandle_t *handle, Request *request, CompletionType type,
                               const void *data) {
        Completion *completion = g_new0(Completion, 1);

        request->xid = library_next_xid();
        completion->type = type;
        completion->xid = request->xid;
        completion->asked = world_now(network_world(host_network(handle->host)));
        completion->data = data;
        g_queue_push_tail(&handle->completions, completion);
        library_send(handle, request);
        return completion;
}

static int library_check(const zhandle_t *handle, const char *path) {
        if (!path_is_valid(path, false))
                return ZBADARGUMENTS;
        return library_is_over(handle) || process_is_over(handle->process) ? ZINVALIDSTATE : ZOK;
}

/* ---- writes ---- */

static unsigned flags_from_mode(int mode) {
        if (mode == ZOO_CONTAINER)
                return ZK_CREATE_CONTAINER;
        return ((mode & ZOO_EPHEMERAL) ? ZK_CREATE_EPHEMERAL : 0) |
               ((mode & ZOO_SEQUENCE) ? ZK_CREATE_SEQUENTIAL : 0);
}

static bool acl_is_creators(const struct ACL_vector *acl) {
        return acl->count > 0 && strcmp(acl->data[0].id.scheme, "auth") == 0;
}

int zoo_acreate2(zhandle_t *zh, const char *path, const char *value, int valuelen,
                 const struct ACL_vector *acl, int mode, string_stat_completion_t completion,
                 const void *data) {
        const ZkOp op = {.type = ZK_OP_CREATE,
                         .path = path,
                         .data = valuelen >= 0 ? value : NULL,
                         .flags = flags_from_mode(mode)};
        Request *request;

        if (!path_is_valid(path, mode & ZOO_SEQUENCE))
                return ZBADARGUMENTS;
        if (library_is_over(zh) || process_is_over(zh->process))
                return ZINVALIDSTATE;
        request = request_new_write(REQUEST_CREATE, &op, 1);
        request->creator_only = acl_is_creators(acl);
        library_ask(zh, request, COMPLETION_STRING_STAT, data)->on_string_stat = completion;
        return ZOK;
}

int zoo_adelete(zhandle_t *zh, const char *path, int version, void_completion_t completion,
                const void *data) {
        const ZkOp op = {.type = ZK_OP_DELETE, .path = path, .version = version};
        int r = library_check(zh, path);

        if (r == ZOK)
                library_ask(zh, request_new_write(REQUEST_DELETE, &op, 1), COMPLETION_VOID, data)
                    ->on_void = completion;
        return r;
}

int zoo_aset(zhandle_t *zh, const char *path, const char *buffer, int buflen, int version,
             stat_completion_t completion, const void *data) {
        const ZkOp op = {.type = ZK_OP_SET,
                         .path = path,
                         .data = buflen >= 0 ? buffer : NULL,
                         .version = version};
        int r = library_check(zh, path);

        if (r == ZOK)
                library_ask(zh, request_new_write(REQUEST_SET, &op, 1), COMPLETION_STAT, data)
                    ->on_stat = completion;
        return r;
}

/* Return: false: the library has no such operation, or not of such a path. */
static bool op_from_theirs(const zoo_op_t *theirs, ZkOp *ret) {
        /* The real one does not know it either, and dies of the answer. */
        g_assert_cmpint(theirs->type, !=, ZOO_CREATE_CONTAINER_OP);
        switch (theirs->type) {
        case ZOO_CREATE_OP:
                *ret =
                    (ZkOp){.type = ZK_OP_CREATE,
                           .path = theirs->create_op.path,
                           .data = theirs->create_op.datalen >= 0 ? theirs->create_op.data : NULL,
                           .flags = flags_from_mode(theirs->create_op.flags)};
                return path_is_valid(ret->path, theirs->create_op.flags & ZOO_SEQUENCE);
        case ZOO_DELETE_OP:
                *ret = (ZkOp){.type = ZK_OP_DELETE,
                              .path = theirs->delete_op.path,
                              .version = theirs->delete_op.version};
                break;
        case ZOO_SETDATA_OP:
                *ret = (ZkOp){.type = ZK_OP_SET,
                              .path = theirs->set_op.path,
                              .data = theirs->set_op.datalen >= 0 ? theirs->set_op.data : NULL,
                              .version = theirs->set_op.version};
                break;
        case ZOO_CHECK_OP:
                *ret = (ZkOp){.type = ZK_OP_CHECK,
                              .path = theirs->check_op.path,
                              .version = theirs->check_op.version};
                break;
        default:
                return false;
        }
        return path_is_valid(ret->path, false);
}

int zoo_amulti(zhandle_t *zh, int count, const zoo_op_t *ops, zoo_op_result_t *results,
               void_completion_t completion, const void *data) {
        g_autofree ZkOp *ours = g_new0(ZkOp, (gsize)count);
        bool creators = false;
        Completion *waiting;
        Request *request;

        if (library_is_over(zh) || process_is_over(zh->process))
                return ZINVALIDSTATE;
        for (int i = 0; i < count; i++) {
                if (!op_from_theirs(&ops[i], &ours[i]))
                        return ZBADARGUMENTS;
                if (ours[i].type == ZK_OP_CREATE)
                        creators |= acl_is_creators(ops[i].create_op.acl);
        }
        request = request_new_write(REQUEST_MULTI, ours, (size_t)count);
        request->creator_only = creators;
        waiting = library_ask(zh, request, COMPLETION_VOID, data);
        waiting->on_void = completion;
        waiting->results = results;
        waiting->n_results = (size_t)count;
        waiting->stats = g_new0(struct Stat *, (gsize)count);
        for (int i = 0; i < count; i++)
                if (ops[i].type == ZOO_SETDATA_OP)
                        waiting->stats[i] = ops[i].set_op.stat;
        return ZOK;
}

/* ---- reads ---- */

static Completion *library_ask_watched(zhandle_t *handle, RequestType type, const char *path,
                                       const WatchRegistration *registration,
                                       CompletionType completion_type, const void *data) {
        Request *request = request_new(type, path);
        Completion *completion;

        request->watch = registration->watcher;
        completion = library_ask(handle, request, completion_type, data);
        completion->registration = *registration;
        completion->registration.path = g_strdup(path);
        return completion;
}

int zoo_awget(zhandle_t *zh, const char *path, watcher_fn watcher, void *watcherCtx,
              data_completion_t completion, const void *data) {
        const WatchRegistration registration = {watcher, watcherCtx, WATCH_DATA, NULL};
        int r = library_check(zh, path);

        if (r == ZOK)
                library_ask_watched(zh, REQUEST_GET, path, &registration, COMPLETION_DATA, data)
                    ->on_data = completion;
        return r;
}

int zoo_awexists(zhandle_t *zh, const char *path, watcher_fn watcher, void *watcherCtx,
                 stat_completion_t completion, const void *data) {
        const WatchRegistration registration = {watcher, watcherCtx, WATCH_EXISTS, NULL};
        int r = library_check(zh, path);

        if (r == ZOK)
                library_ask_watched(zh, REQUEST_EXISTS, path, &registration, COMPLETION_STAT, data)
                    ->on_stat = completion;
        return r;
}

int zoo_awget_children2(zhandle_t *zh, const char *path, watcher_fn watcher, void *watcherCtx,
                        strings_stat_completion_t completion, const void *data) {
        const WatchRegistration registration = {watcher, watcherCtx, WATCH_CHILDREN, NULL};
        int r = library_check(zh, path);

        if (r == ZOK)
                library_ask_watched(zh, REQUEST_CHILDREN, path, &registration,
                                    COMPLETION_STRINGS_STAT, data)
                    ->on_strings_stat = completion;
        return r;
}

int zoo_aget_acl(zhandle_t *zh, const char *path, acl_completion_t completion, const void *data) {
        int r = library_check(zh, path);

        if (r == ZOK)
                library_ask(zh, request_new(REQUEST_ACL, path), COMPLETION_ACL, data)->on_acl =
                    completion;
        return r;
}

int zoo_async(zhandle_t *zh, const char *path, string_completion_t completion, const void *data) {
        int r = library_check(zh, path);

        if (r == ZOK)
                library_ask(zh, request_new(REQUEST_SYNC, path), COMPLETION_STRING, data)
                    ->on_string = completion;
        return r;
}
