/* One request: what it says, how the library is told, and its answer.
 *
 * Telling is one call into the library with a ZkSending as its context, and the answer one
 * completion on the library's thread that copies what it is given into the queue. A request may
 * wait before it is told (zk-request.c), so what it says can be copied.
 */
#include <errno.h>
#include <string.h>

#include "zk-send.h"

/* What an answer that cannot be read says: as much as one that was lost. */
#define ANSWER_DAMAGED ZCONNECTIONLOSS
/* So much of whom an ACL names is shown. */
#define ACL_ID_MAX 100

static int op_data_length(const char *data) {
        return data ? (int)strlen(data) : -1;
}

/* Return: 0 or -EINVAL. */
static int op_create_mode(unsigned flags, int *ret_mode) {
        switch (flags) {
        case 0:
                *ret_mode = ZOO_PERSISTENT;
                return 0;
        case ZK_CREATE_EPHEMERAL:
                *ret_mode = ZOO_EPHEMERAL;
                return 0;
        case ZK_CREATE_SEQUENTIAL:
                *ret_mode = ZOO_PERSISTENT_SEQUENTIAL;
                return 0;
        case ZK_CREATE_EPHEMERAL | ZK_CREATE_SEQUENTIAL:
                *ret_mode = ZOO_EPHEMERAL_SEQUENTIAL;
                return 0;
        case ZK_CREATE_CONTAINER:
                *ret_mode = ZOO_CONTAINER;
                return 0;
        default:
                return -EINVAL;
        }
}

/* Return: whether a name of that length, the last of its path or not, is one. A sequential one gets
 * its number yet. */
static bool name_is_sound(const char *name, size_t length, bool numbered) {
        bool dots = (length == 1 && name[0] == '.') || (length == 2 && memcmp(name, "..", 2) == 0);

        for (size_t i = 0; i < length; i++)
                if (name[i] > 0 && name[i] < 0x1f)
                        return false;
        return numbered || (length > 0 && !dots);
}

/* As the library has it (isValidPath()). */
static bool path_is_sound(const char *path, bool sequential) {
        if (!path || path[0] != '/')
                return false;
        if (path[1] == '\0')
                return true;
        for (const char *name = path + 1, *end;; name = end + 1) {
                end = strchrnul(name, '/');
                if (!name_is_sound(name, (size_t)(end - name), sequential && *end == '\0'))
                        return false;
                if (*end == '\0')
                        return true;
        }
}

/* Return: whether the library survives it in a multi: it ends the process, and not the request,
 * where a path is malformed or a container is to be made. */
static bool op_is_sound(const ZkOp *op) {
        bool sequential = op->type == ZK_OP_CREATE && (op->flags & ZK_CREATE_SEQUENTIAL);
        int mode;

        if (op->type == ZK_OP_CREATE &&
            (op_create_mode(op->flags, &mode) < 0 || mode == ZOO_CONTAINER))
                return false;
        return op->type <= ZK_OP_DELETE && path_is_sound(op->path, sequential);
}

int zk_request_check(const ZkRequest *request) {
        int mode;

        if (request->type == ZK_REQUEST_CREATE)
                return op_create_mode(request->flags, &mode);
        if (request->type != ZK_REQUEST_MULTI)
                return 0;
        for (size_t i = 0; i < request->n_ops; i++)
                if (!op_is_sound(&request->ops[i]))
                        return -EINVAL;
        return request->n_ops > 0 ? 0 : -EINVAL;
}

ZkRequest *zk_request_copy(const ZkRequest *request) {
        ZkRequest *copy = g_memdup2(request, sizeof(*request));
        ZkOp *ops = g_memdup2(request->ops, request->n_ops * sizeof(*request->ops));

        copy->path = g_strdup(request->path);
        copy->data = g_strdup(request->data);
        for (size_t i = 0; i < request->n_ops; i++) {
                ops[i].path = g_strdup(request->ops[i].path);
                ops[i].data = g_strdup(request->ops[i].data);
        }
        copy->ops = ops;
        return copy;
}

ZkRequest *zk_request_free(ZkRequest *request) {
        if (!request)
                return NULL;
        for (size_t i = 0; i < request->n_ops; i++) {
                g_free((char *)request->ops[i].path);
                g_free((char *)request->ops[i].data);
        }
        g_free((ZkOp *)request->ops);
        g_free((char *)request->path);
        g_free((char *)request->data);
        g_free(request);
        return NULL;
}

void zk_sending_init(ZkSending *sending, const ZkRequest *request) {
        sending->n_ops = request->n_ops;
        if (request->n_ops == 0)
                return;
        sending->op_results = g_new0(zoo_op_result_t, request->n_ops);
        sending->op_stats = g_new0(struct Stat, request->n_ops);
}

void zk_sending_clear(ZkSending *sending) {
        (void)zk_request_free(sending->waiting);
        g_free(sending->op_results);
        g_free(sending->op_stats);
}

/* Completions, on the library's thread. */

static ZkItem *call_item_new(int rc, const void *data) {
        ZkItem *item = zk_item_new(ZK_ITEM_REPLY);

        item->code = rc;
        item->call = (ZkCall *)data;
        return item;
}

static const ZkSending *item_sending(const ZkItem *item) {
        return (const ZkSending *)(const void *)item->call;
}

static void call_post(ZkItem *item) {
        zk_post(item_sending(item)->queue, item);
}

static void call_on_void(int rc, const void *data) {
        call_post(call_item_new(rc, data));
}

static void call_on_string(int rc, const char *value, const void *data) {
        call_post(call_item_new(rc, data));
}

static void call_on_string_stat(int rc, const char *string, const struct Stat *stat,
                                const void *data) {
        ZkItem *item = call_item_new(rc, data);

        item->text = g_strdup(string);
        if (stat)
                zk_stat_copy(stat, &item->stat);
        call_post(item);
}

static void call_on_stat(int rc, const struct Stat *stat, const void *data) {
        ZkItem *item = call_item_new(rc, data);

        if (stat)
                zk_stat_copy(stat, &item->stat);
        call_post(item);
}

static void call_on_data(int rc, const char *value, int value_len, const struct Stat *stat,
                         const void *data) {
        ZkItem *item = call_item_new(rc, data);

        if (rc == ZOK) {
                item->data_size = value && value_len > 0 ? (size_t)value_len : 0;
                item->data = g_malloc0(item->data_size + 1);
                if (item->data_size > 0)
                        memcpy(item->data, value, item->data_size);
        }
        if (stat)
                zk_stat_copy(stat, &item->stat);
        call_post(item);
}

/* The library hands on what it made of an answer, also when it could not read it to its end: names
 * are missing then. No server says such a thing; whoever does in its place is not believed, and the
 * question is asked again. */
static bool children_are_whole(const struct String_vector *strings) {
        if (!strings || strings->count < 0 || (strings->count > 0 && !strings->data))
                return false;
        for (int32_t i = 0; i < strings->count; i++)
                if (!strings->data[i])
                        return false;
        return true;
}

/* Likewise. */
static bool acl_is_whole(const struct ACL_vector *acl) {
        if (!acl || acl->count < 0 || (acl->count > 0 && !acl->data))
                return false;
        for (int32_t i = 0; i < acl->count; i++)
                if (!acl->data[i].id.scheme || !acl->data[i].id.id)
                        return false;
        return true;
}

static void call_on_children(int rc, const struct String_vector *strings, const struct Stat *stat,
                             const void *data) {
        ZkItem *item = call_item_new(rc, data);

        if (rc == ZOK && !children_are_whole(strings)) {
                item->code = ANSWER_DAMAGED;
        } else if (rc == ZOK) {
                item->n_children = (size_t)strings->count;
                item->children = g_new0(char *, item->n_children + 1);
                for (size_t i = 0; i < item->n_children; i++)
                        item->children[i] = g_strdup(strings->data[i]);
        }
        if (stat)
                zk_stat_copy(stat, &item->stat);
        call_post(item);
}

/* Return: whether it may stand in a sentence, and in a command that people are told to type. */
static bool acl_is_readable(const char *text) {
        return strspn(text, G_CSET_A_2_Z G_CSET_a_2_z G_CSET_DIGITS "-_.@/:=,") == strlen(text);
}

/* Whom an entry of an ACL lets in, for people. A digest's hash is nobody's business. What is not
 * plain was put there to be read as something else. */
static void acl_append_other(GString *others, const struct Id *id) {
        const char *colon = strcmp(id->scheme, "digest") == 0 ? strchr(id->id, ':') : NULL;
        g_autofree char *name = g_strndup(id->id, colon ? (size_t)(colon - id->id) : ACL_ID_MAX);

        if (others->len > 0)
                g_string_append(others, ", ");
        if (acl_is_readable(id->scheme) && acl_is_readable(name) && strlen(name) < ACL_ID_MAX)
                g_string_append_printf(others, "%s:%s", id->scheme, name);
        else
                g_string_append(others, "somebody (unreadable id)");
}

static bool acl_entry_is_ours(const char *identity, const struct Id *id) {
        return identity && strcmp(id->scheme, "digest") == 0 && strcmp(id->id, identity) == 0;
}

static void call_on_acl(int rc, struct ACL_vector *acl, struct Stat *stat, const void *data) {
        const int change = ZOO_PERM_ALL & ~ZOO_PERM_READ;
        g_autoptr(GString) others = g_string_new(NULL);
        ZkItem *item = call_item_new(rc, data);

        if (rc == ZOK && !acl_is_whole(acl))
                item->code = rc = ANSWER_DAMAGED;
        for (int32_t i = 0; rc == ZOK && i < acl->count; i++)
                if ((acl->data[i].perms & change) &&
                    !acl_entry_is_ours(item_sending(item)->identity, &acl->data[i].id))
                        acl_append_other(others, &acl->data[i].id);
        item->others = g_string_free(g_steal_pointer(&others), FALSE);
        if (stat)
                zk_stat_copy(stat, &item->stat);
        call_post(item);
}

void zk_send_back(ZkSending *sending, int error) {
        zk_queue_expect(sending->queue);
        call_post(call_item_new(error, sending));
}

/* The requests themselves. */

/* Who may do what with a node of ours: everybody, or who knows the same secret. */
static const struct ACL_vector *sending_acl(const ZkSending *sending) {
        return sending->identity ? &ZOO_CREATOR_ALL_ACL : &ZOO_OPEN_ACL_UNSAFE;
}

static int send_create(zhandle_t *handle, const ZkRequest *request, ZkSending *sending) {
        int mode;

        if (op_create_mode(request->flags, &mode) < 0)
                return ZBADARGUMENTS;
        return zoo_acreate2(handle, request->path, request->data, op_data_length(request->data),
                            sending_acl(sending), mode, call_on_string_stat, sending);
}

/* Turns one of our operations into the library's. Return: false when it is none. */
static bool op_init(const ZkSending *sending, zoo_op_t *op, const ZkOp *ours, struct Stat *stat) {
        int mode;

        switch (ours->type) {
        case ZK_OP_CHECK:
                zoo_check_op_init(op, ours->path, ours->version);
                return true;
        case ZK_OP_CREATE:
                if (op_create_mode(ours->flags, &mode) < 0)
                        return false;
                zoo_create_op_init(op, ours->path, ours->data, op_data_length(ours->data),
                                   sending_acl(sending), mode, NULL, 0);
                return true;
        case ZK_OP_SET:
                zoo_set_op_init(op, ours->path, ours->data, op_data_length(ours->data),
                                ours->version, stat);
                return true;
        case ZK_OP_DELETE:
                zoo_delete_op_init(op, ours->path, ours->version);
                return true;
        }
        return false;
}

static int send_multi(zhandle_t *handle, const ZkRequest *request, ZkSending *sending) {
        g_autofree zoo_op_t *ops = g_new0(zoo_op_t, request->n_ops);

        /* Its thread may have seen the session's end, of which the loop has not heard yet. The
         * library would find that out halfway and forget to free what it has made by then. */
        if (is_unrecoverable(handle))
                return ZINVALIDSTATE;
        for (size_t i = 0; i < request->n_ops; i++)
                if (!op_init(sending, &ops[i], &request->ops[i], &sending->op_stats[i]))
                        return ZBADARGUMENTS;
        return zoo_amulti(handle, (int)request->n_ops, ops, sending->op_results, call_on_void,
                          sending);
}

int zk_send(zhandle_t *handle, const ZkRequest *request, ZkSending *sending) {
        watcher_fn watcher = sending->watched ? zk_on_watch : NULL;

        switch (request->type) {
        case ZK_REQUEST_CREATE:
                return send_create(handle, request, sending);
        case ZK_REQUEST_DELETE:
                return zoo_adelete(handle, request->path, request->version, call_on_void, sending);
        case ZK_REQUEST_SET:
                return zoo_aset(handle, request->path, request->data, op_data_length(request->data),
                                request->version, call_on_stat, sending);
        case ZK_REQUEST_SYNC:
                return zoo_async(handle, request->path, call_on_string, sending);
        case ZK_REQUEST_GET:
                return zoo_awget(handle, request->path, watcher, sending->watched, call_on_data,
                                 sending);
        case ZK_REQUEST_EXISTS:
                return zoo_awexists(handle, request->path, watcher, sending->watched, call_on_stat,
                                    sending);
        case ZK_REQUEST_GET_CHILDREN:
                return zoo_awget_children2(handle, request->path, watcher, sending->watched,
                                           call_on_children, sending);
        case ZK_REQUEST_GET_ACL:
                return zoo_aget_acl(handle, request->path, call_on_acl, sending);
        case ZK_REQUEST_MULTI:
                return send_multi(handle, request, sending);
        }
        return ZBADARGUMENTS;
}
