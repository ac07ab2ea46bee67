/* See tree.h. All requests leave in one flight: a session's requests are served in order, so the
 * reads at the end see what the creates before them made. */
#include "tree.h"

#include <string.h>

#include "log.h"
#include "message-id.h"
#include "paths.h"
#include "timer.h"

#define RETRY_DELAY (5 * USEC_PER_SEC)
#define REPAIR_DELAY (1 * USEC_PER_SEC)

struct Tree {
        const Node *node; /* weak */
        TreeFunc done_func;
        void *userdata;
        GPtrArray *creates; /* TreeCreate: the creates on their way */
        ZkCall *version_call, *control_call;
        ZkWatch *control_watch;
        sd_event_source *retry;
        unsigned pending;
        bool failed; /* an answer was lost, or a create was refused */
        bool done, version_good;
        int32_t control_version;
        char *fault;
};

typedef struct TreeCreate {
        Tree *tree; /* weak: owns us */
        ZkCall *call;
} TreeCreate;

static void tree_create_free(void *data) {
        TreeCreate *item = data;

        zk_call_free(item->call);
        g_free(item);
}

Tree *tree_new(const Node *node, TreeFunc done, void *userdata) {
        Tree *tree = g_new0(Tree, 1);

        tree->node = node;
        tree->done_func = done;
        tree->userdata = userdata;
        tree->creates = g_ptr_array_new_with_free_func(tree_create_free);
        return tree;
}

static void tree_cancel(Tree *tree) {
        g_ptr_array_set_size(tree->creates, 0);
        tree->version_call = zk_call_free(tree->version_call);
        tree->control_call = zk_call_free(tree->control_call);
        tree->control_watch = zk_watch_free(tree->control_watch);
        tree->retry = sd_event_source_disable_unref(tree->retry);
        tree->pending = 0;
        tree->failed = false;
}

Tree *tree_free(Tree *tree) {
        if (!tree)
                return NULL;
        tree_cancel(tree);
        g_ptr_array_unref(tree->creates);
        g_free(tree->fault);
        g_free(tree);
        return NULL;
}

void tree_reset(Tree *tree) {
        tree_cancel(tree);
        tree->done = tree->version_good = false;
}

bool tree_is_done(const Tree *tree) {
        return tree->done;
}

int32_t tree_control_version(const Tree *tree) {
        return tree->control_version;
}

const char *tree_fault(const Tree *tree) {
        return tree->fault ? tree->fault : "";
}

static void tree_set_fault(Tree *tree, const char *message_id, char *sentence) {
        if (g_strcmp0(tree->fault, sentence) != 0)
                log_error(&(LogAbout){.message_id = message_id}, "%s", sentence);
        g_free(tree->fault);
        tree->fault = sentence;
}

static void tree_on_retry(void *userdata);

static void tree_retry_in(Tree *tree, usec_t delay) {
        if (!tree->retry)
                (void)timer_in(tree->node->event, &tree->retry, delay, tree_on_retry, tree);
}

/* An answer came. When it was the last one: the tree is done, or was not to be had for now. */
static void tree_answered(Tree *tree) {
        if (--tree->pending > 0 || tree->done)
                return;
        if (tree->failed || !tree->version_good) {
                tree_retry_in(tree, RETRY_DELAY);
                return;
        }
        tree->done = true;
        g_clear_pointer(&tree->fault, g_free);
        tree->done_func(tree->userdata);
}

static void tree_on_created(const ZkReply *reply, void *userdata) {
        TreeCreate *item = userdata;
        Tree *tree = item->tree;

        item->call = NULL;
        if (reply->code == ZK_NO_AUTH)
                tree_set_fault(
                    tree, MESSAGE_FOREIGN_DATA,
                    g_strdup_printf("%s: ZooKeeper refuses us the right to create nodes there",
                                    tree->node->config->root));
        if (reply->code != ZK_OK && reply->code != ZK_NODE_EXISTS)
                tree->failed = true;
        tree_answered(tree);
}

static void tree_on_version(const ZkReply *reply, void *userdata) {
        Tree *tree = userdata;

        tree->version_call = NULL;
        if (reply->code != ZK_OK)
                tree->failed = true;
        else if (g_ascii_strtoull(reply->data ? reply->data : "", NULL, 10) == TREE_LAYOUT_VERSION)
                tree->version_good = true;
        else
                tree_set_fault(
                    tree, MESSAGE_FOREIGN_DATA,
                    g_strdup_printf(
                        "%s/version: this is not a layout that jobkeeper " JOBKEEPER_VERSION
                        " knows (wanted %d); nothing is run until it is",
                        tree->node->config->root, TREE_LAYOUT_VERSION));
        tree_answered(tree);
}

static void tree_on_control_changed(ZkWatchEvent event, const char *path, void *userdata) {
        tree_refresh_control(userdata);
}

static void tree_on_control(const ZkReply *reply, void *userdata) {
        Tree *tree = userdata;

        tree->control_call = NULL;
        if (reply->code == ZK_OK)
                tree->control_version = reply->stat.version;
        else
                tree->failed = true;
        if (reply->code == ZK_NO_NODE)
                tree_repair(tree);
        tree_answered(tree);
}

static void tree_read_control(Tree *tree) {
        g_autofree char *path = path_control(tree->node->config->root);

        tree->control_call = zk_call_free(tree->control_call);
        tree->control_watch = zk_watch_free(tree->control_watch);
        if (zk_get(session_zk(tree->node->session), path, tree_on_control, tree,
                   &tree->control_call, tree_on_control_changed, tree, &tree->control_watch) < 0)
                tree->failed = true;
        else
                tree->pending++;
}

void tree_refresh_control(Tree *tree) {
        if (!session_zk(tree->node->session))
                return;
        if (tree->control_call) /* its answer does not count any more */
                tree->pending--;
        tree_read_control(tree);
}

static void tree_create(Tree *tree, char *path, const char *data) {
        TreeCreate *item = g_new0(TreeCreate, 1);

        item->tree = tree;
        g_ptr_array_add(tree->creates, item);
        if (zk_create(session_zk(tree->node->session), path, data, 0, tree_on_created, item,
                      &item->call) < 0)
                tree->failed = true;
        else
                tree->pending++;
        g_free(path);
}

/* Creates "/a", "/a/b" of "/a/b/c" and at last the whole. */
static void tree_create_with_parents(Tree *tree, const char *path) {
        for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/'))
                tree_create(tree, g_strndup(path, (gsize)(slash - path)), "");
        tree_create(tree, g_strdup(path), "");
}

static void tree_create_all(Tree *tree) {
        const DaemonConfig *config = tree->node->config;
        g_autofree char *version_data = g_strdup_printf("%d", TREE_LAYOUT_VERSION);

        tree_create_with_parents(tree, config->root);
        tree_create(tree, path_version(config->root), version_data);
        tree_create(tree, path_control(config->root), "{}");
        tree_create(tree, path_nodes(config->root), "");
        tree_create(tree, path_locks(config->root), "");
        tree_create(tree, path_jobs(config->root), "");
        tree_create(tree, path_open(config->root), "");
        tree_create(tree, path_open_node(config->root, config->node_name), "");
        tree_create(tree, path_requests(config->root), "");
}

void tree_start(Tree *tree) {
        g_autofree char *version = path_version(tree->node->config->root);

        tree_reset(tree);
        tree_create_all(tree);
        if (zk_get(session_zk(tree->node->session), version, tree_on_version, tree,
                   &tree->version_call, NULL, NULL, NULL) < 0)
                tree->failed = true;
        else
                tree->pending++;
        tree_read_control(tree);
        if (tree->pending == 0)
                tree_retry_in(tree, RETRY_DELAY);
}

static void tree_on_retry(void *userdata) {
        Tree *tree = userdata;

        if (!session_zk(tree->node->session))
                return;
        if (!tree->done) {
                tree_start(tree);
                return;
        }
        tree_cancel(tree);
        tree_create_all(tree);
        tree_read_control(tree);
}

void tree_repair(Tree *tree) {
        if (tree->done)
                tree_retry_in(tree, REPAIR_DELAY);
}
