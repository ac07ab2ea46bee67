/* What the library makes of answers and events: calls of completions and watchers.
 *
 * A watch is kept from the moment its request's answer says that it was set. The library knows a
 * path and who wants to know, and of these each once. An event of a node is for those who asked for
 * its data and for its existence, a deletion besides for those who asked for its children. */
#include "library-inside.h"

#include <string.h>

static int path_compare(const void *one, const void *other, void *userdata) {
        (void)userdata;
        return strcmp(one, other);
}

static void watches_drop(void *watches) {
        g_array_unref(watches);
}

GTree *library_watches_new(void) {
        return g_tree_new_full(path_compare, NULL, g_free, watches_drop);
}

/* ---- watches ---- */

/* activateWatcher(). */
static void library_activate(const zhandle_t *handle, const WatchRegistration *registration,
                             int error) {
        const LibraryWatch watch = {registration->watcher, registration->context};
        WatchKind kind = registration->kind;
        GArray *watches;

        if (kind == WATCH_EXISTS && error == ZOK)
                kind = WATCH_DATA;
        else if (error != ZOK && !(kind == WATCH_EXISTS && error == ZNONODE))
                return;
        if (!watch.watcher)
                return;
        watches = g_tree_lookup(handle->watches[kind], registration->path);
        if (!watches) {
                watches = g_array_new(FALSE, FALSE, sizeof(LibraryWatch));
                g_tree_insert(handle->watches[kind], g_strdup(registration->path), watches);
        }
        for (guint i = 0; i < watches->len; i++)
                if (g_array_index(watches, LibraryWatch, i).context == watch.context)
                        return;
        g_array_prepend_val(watches, watch);
}

static void library_collect(const zhandle_t *handle, WatchKind kind, const char *path,
                            GArray *collected) {
        GArray *watches = g_tree_lookup(handle->watches[kind], path);

        for (guint i = 0; watches && i < watches->len; i++) {
                const LibraryWatch watch = g_array_index(watches, LibraryWatch, i);
                bool known = false;

                for (guint j = 0; j < collected->len; j++)
                        known |= g_array_index(collected, LibraryWatch, j).context == watch.context;
                if (!known)
                        g_array_prepend_val(collected, watch);
        }
        g_tree_remove(handle->watches[kind], path);
}

/* collectWatchers(), deliverWatchers(). */
void library_fire(zhandle_t *handle, const Answer *event) {
        g_autoptr(GArray) collected = g_array_new(FALSE, FALSE, sizeof(LibraryWatch));
        int types[] = {[ZK_WATCH_CREATED] = ZOO_CREATED_EVENT,
                       [ZK_WATCH_DELETED] = ZOO_DELETED_EVENT,
                       [ZK_WATCH_CHANGED] = ZOO_CHANGED_EVENT,
                       [ZK_WATCH_CHILDREN] = ZOO_CHILD_EVENT};

        if (event->event != ZK_WATCH_CHILDREN) {
                library_collect(handle, WATCH_DATA, event->path, collected);
                library_collect(handle, WATCH_EXISTS, event->path, collected);
        }
        if (event->event == ZK_WATCH_CHILDREN || event->event == ZK_WATCH_DELETED)
                library_collect(handle, WATCH_CHILDREN, event->path, collected);
        for (guint i = 0; i < collected->len; i++) {
                const LibraryWatch *watch = &g_array_index(collected, LibraryWatch, i);

                watch->watcher(handle, types[event->event], handle->state, event->path,
                               watch->context);
        }
}

static gboolean collect_path(void *path, void *value, void *userdata) {
        (void)value;
        g_ptr_array_add(userdata, g_strdup(path));
        return FALSE;
}

Request *library_watches_request(const zhandle_t *handle) {
        Request *request = request_new(REQUEST_SET_WATCHES, NULL);
        guint n = 0;

        request->zxid = handle->zxid;
        for (size_t kind = 0; kind < WATCH_KINDS; kind++) {
                request->watches[kind] = g_ptr_array_new_with_free_func(g_free);
                g_tree_foreach(handle->watches[kind], collect_path, request->watches[kind]);
                n += request->watches[kind]->len;
        }
        return n > 0 ? request : request_unref(request);
}

/* ---- completions ---- */

/* `behind`: of an operation of a multi. */
static int error_from_code(ZkCode code, bool behind) {
        switch (code) {
        case ZK_OK:
                return ZOK;
        case ZK_NO_NODE:
                return ZNONODE;
        case ZK_NODE_EXISTS:
                return ZNODEEXISTS;
        case ZK_BAD_VERSION:
                return ZBADVERSION;
        case ZK_NOT_EMPTY:
                return ZNOTEMPTY;
        case ZK_NO_AUTH:
                return ZNOAUTH;
        case ZK_NO_CHILDREN_FOR_EPHEMERALS:
                return ZNOCHILDRENFOREPHEMERALS;
        case ZK_UNIMPLEMENTED:
                return ZUNIMPLEMENTED;
        case ZK_CLOSED:
                return ZSESSIONEXPIRED;
        case ZK_UNKNOWN:
                return behind ? ZRUNTIMEINCONSISTENCY : ZSESSIONMOVED;
        case ZK_ROLLED_BACK:
        case ZK_FAULT:
                break;
        }
        return ZBADARGUMENTS;
}

static void stat_from_ours(const ZkStat *ours, struct Stat *ret) {
        *ret = (struct Stat){
            .czxid = ours->czxid,
            .mzxid = ours->mzxid,
            .ctime = ours->ctime_ms,
            .mtime = ours->mtime_ms,
            .version = ours->version,
            .cversion = ours->cversion,
            .ephemeralOwner = ours->ephemeral_owner,
            .dataLength = ours->data_length,
            .numChildren = ours->num_children,
            .pzxid = ours->pzxid,
        };
}

/* deserialize_multi(). */
static void complete_multi(const Completion *completion, const Answer *answer, int error) {
        for (size_t i = 0; i < completion->n_results; i++) {
                const ZkOpResult *result =
                    answer && i < answer->n_results ? &answer->results[i] : NULL;

                completion->results[i].err = result ? error_from_code(result->code, true) : error;
                completion->results[i].stat = completion->stats[i];
                if (completion->stats[i] && result)
                        stat_from_ours(&result->stat, completion->stats[i]);
        }
        completion->on_void(error, completion->data);
}

static void complete_data(const Completion *completion, const Answer *answer, int error,
                          struct Stat *stat) {
        const char *data = answer ? answer->data : NULL;

        completion->on_data(error, data, data ? (int)strlen(data) : -1, stat, completion->data);
}

static void complete_strings(const Completion *completion, const Answer *answer, int error,
                             struct Stat *stat) {
        struct String_vector strings = {0};

        if (!stat) {
                completion->on_strings_stat(error, NULL, NULL, completion->data);
                return;
        }
        strings.data = answer->children;
        strings.count = (int32_t)g_strv_length(answer->children);
        completion->on_strings_stat(error, &strings, stat, completion->data);
}

static void complete_acl(const Completion *completion, const Answer *answer, int error,
                         struct Stat *stat) {
        struct ACL entry = {.perms = ZOO_PERM_ALL, .id = ZOO_ANYONE_ID_UNSAFE};
        struct ACL_vector acl = {1, &entry};
        char digest[] = "digest";

        if (stat && answer->acl)
                entry.id = (struct Id){digest, answer->acl};
        completion->on_acl(error, stat ? &acl : NULL, stat, completion->data);
}

/* NULL answer: it was lost. */
static void completion_call(const Completion *completion, const Answer *answer, int error) {
        struct Stat there, *stat = NULL;

        if (answer && error == ZOK) {
                stat_from_ours(&answer->stat, &there);
                stat = &there;
        }
        switch (completion->type) {
        case COMPLETION_VOID:
                if (completion->n_results > 0)
                        complete_multi(completion, answer, error);
                else
                        completion->on_void(error, completion->data);
                break;
        case COMPLETION_STRING:
                completion->on_string(error, NULL, completion->data);
                break;
        case COMPLETION_STRING_STAT:
                completion->on_string_stat(error, stat ? answer->path : NULL, stat,
                                           completion->data);
                break;
        case COMPLETION_STAT:
                completion->on_stat(error, stat, completion->data);
                break;
        case COMPLETION_DATA:
                complete_data(completion, answer, error, stat);
                break;
        case COMPLETION_STRINGS_STAT:
                complete_strings(completion, answer, error, stat);
                break;
        case COMPLETION_ACL:
                complete_acl(completion, answer, error, stat);
                break;
        }
}

/* What shows that the session lives. */
static void library_tell_watcher(const zhandle_t *handle, const Completion *completion, int error) {
        const EnsembleWatcher *watcher = ensemble_watcher(handle->ensemble);
        bool sync = completion->type == COMPLETION_STRING,
             write = completion->type == COMPLETION_VOID && completion->n_results > 0;

        if (watcher->answered && error == ZOK && (sync || write))
                watcher->answered(host_name(handle->host), handle->id.client_id, write,
                                  completion->asked, watcher->userdata);
}

bool library_answer(zhandle_t *handle, Answer *message) {
        _cleanup_(answer_freep) Answer *answer = message;
        Completion *completion;
        int error = error_from_code(answer->code, false);

        if (handle->saying_goodbye && !handle->completions.head) {
                handle->saying_goodbye = false;
                return true;
        }
        completion = g_queue_pop_head(&handle->completions);
        if (!completion || completion->xid != answer->xid) {
                if (completion)
                        g_queue_push_head(&handle->completions, completion);
                return false;
        }
        if (answer->zxid > 0)
                handle->zxid = answer->zxid;
        library_activate(handle, &completion->registration, error);
        library_tell_watcher(handle, completion, error);
        completion_call(completion, answer, error);
        completion_free(completion);
        return true;
}

/* free_completions(). */
void library_fail(zhandle_t *handle, int error) {
        Completion *completion;
        Request *request;

        while ((request = g_queue_pop_head(&handle->unsent)))
                (void)request_unref(request);
        while ((completion = g_queue_pop_head(&handle->completions))) {
                completion_call(completion, NULL, error);
                completion_free(completion);
        }
}
