/* See tree.h. All requests leave in one flight: a session's requests are served in order, so the
 * reads at the end see what the creates before them made. */
#include "tree.h"

#include <string.h>

#include "log.h"
#include "message-id.h"
#include "paths.h"

#define RETRY_DELAY (5 * USEC_PER_SEC)
#define REPAIR_DELAY (1 * USEC_PER_SEC)

struct Tree {
        Coordinator *coordinator; /* weak: owns us */
        GPtrArray *creates;       /* TreeCreate: the creates on their way */
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

Tree *tree_new(Coordinator *coordinator) {
        Tree *tree = g_new0(Tree, 1);

        tree->coordinator = coordinator;
        tree->creates = g_ptr_array_new_with_free_func(tree_create_free);
        return tree;
}

static void cancel(Tree *tree) {
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
        cancel(tree);
        g_ptr_array_unref(tree->creates);
        g_free(tree->fault);
        g_free(tree);
        return NULL;
}

void tree_reset(Tree *tree) {
        cancel(tree);
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

static void set_fault(Tree *tree, const char *message_id, char *sentence) {
        if (g_strcmp0(tree->fault, sentence) != 0)
                log_error(&(LogAbout){.message_id = message_id}, "%s", sentence);
        g_free(tree->fault);
        tree->fault = sentence;
}

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata);

static void retry_in(Tree *tree, usec_t delay) {
        if (!tree->retry)
                (void)sd_event_add_time_relative(tree->coordinator->event, &tree->retry,
                                                 CLOCK_MONOTONIC, delay, USEC_PER_MSEC, on_retry,
                                                 tree);
}

/* An answer came. When it was the last one: the tree is done, or was not to be had for now. */
static void answered(Tree *tree) {
        if (--tree->pending > 0 || tree->done)
                return;
        if (tree->failed || !tree->version_good) {
                retry_in(tree, RETRY_DELAY);
                return;
        }
        tree->done = true;
        g_clear_pointer(&tree->fault, g_free);
        coordinator_tree_done(tree->coordinator);
}

static void on_created(const ZkReply *reply, void *userdata) {
        TreeCreate *item = userdata;
        Tree *tree = item->tree;

        item->call = NULL;
        if (reply->code == ZK_NO_AUTH)
                set_fault(
                    tree, MESSAGE_FOREIGN_DATA,
                    g_strdup_printf("%s: ZooKeeper refuses us the right to create nodes there",
                                    tree->coordinator->config->root));
        if (reply->code != ZK_OK && reply->code != ZK_NODE_EXISTS)
                tree->failed = true;
        answered(tree);
}

static void on_version(const ZkReply *reply, void *userdata) {
        Tree *tree = userdata;

        tree->version_call = NULL;
        if (reply->code != ZK_OK)
                tree->failed = true;
        else if (g_ascii_strtoull(reply->data ? reply->data : "", NULL, 10) == TREE_LAYOUT_VERSION)
                tree->version_good = true;
        else
                set_fault(tree, MESSAGE_FOREIGN_DATA,
                          g_strdup_printf(
                              "%s/version: this is not a layout that jobkeeper " JOBKEEPER_VERSION
                              " knows (wanted %d); nothing is run until it is",
                              tree->coordinator->config->root, TREE_LAYOUT_VERSION));
        answered(tree);
}

static void on_control_changed(ZkWatchEvent event, const char *path, void *userdata) {
        tree_refresh_control(userdata);
}

static void on_control(const ZkReply *reply, void *userdata) {
        Tree *tree = userdata;

        tree->control_call = NULL;
        if (reply->code == ZK_OK)
                tree->control_version = reply->stat.version;
        else
                tree->failed = true;
        if (reply->code == ZK_NO_NODE)
                tree_repair(tree);
        answered(tree);
}

static void read_control(Tree *tree) {
        g_autofree char *path = path_control(tree->coordinator->config->root);

        tree->control_call = zk_call_free(tree->control_call);
        tree->control_watch = zk_watch_free(tree->control_watch);
        if (zk_get(session_zk(tree->coordinator->session), path, on_control, tree,
                   &tree->control_call, on_control_changed, tree, &tree->control_watch) < 0)
                tree->failed = true;
        else
                tree->pending++;
}

void tree_refresh_control(Tree *tree) {
        if (!session_zk(tree->coordinator->session))
                return;
        if (tree->control_call) /* its answer does not count any more */
                tree->pending--;
        read_control(tree);
}

static void create(Tree *tree, char *path, const char *data) {
        TreeCreate *item = g_new0(TreeCreate, 1);

        item->tree = tree;
        g_ptr_array_add(tree->creates, item);
        if (zk_create(session_zk(tree->coordinator->session), path, data, 0, on_created, item,
                      &item->call) < 0)
                tree->failed = true;
        else
                tree->pending++;
        g_free(path);
}

/* Creates "/a", "/a/b" of "/a/b/c" and at last the whole. */
static void create_with_parents(Tree *tree, const char *path) {
        for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/'))
                create(tree, g_strndup(path, (gsize)(slash - path)), "");
        create(tree, g_strdup(path), "");
}

static void create_all(Tree *tree) {
        const DaemonConfig *config = tree->coordinator->config;
        g_autofree char *version_data = g_strdup_printf("%d", TREE_LAYOUT_VERSION);

        create_with_parents(tree, config->root);
        create(tree, path_version(config->root), version_data);
        create(tree, path_control(config->root), "{}");
        create(tree, path_nodes(config->root), "");
        create(tree, path_locks(config->root), "");
        create(tree, path_jobs(config->root), "");
        create(tree, path_open(config->root), "");
        create(tree, path_open_node(config->root, config->node_name), "");
        create(tree, path_requests(config->root), "");
}

void tree_start(Tree *tree) {
        g_autofree char *version = path_version(tree->coordinator->config->root);

        tree_reset(tree);
        create_all(tree);
        if (zk_get(session_zk(tree->coordinator->session), version, on_version, tree,
                   &tree->version_call, NULL, NULL, NULL) < 0)
                tree->failed = true;
        else
                tree->pending++;
        read_control(tree);
        if (tree->pending == 0)
                retry_in(tree, RETRY_DELAY);
}

static int on_retry(sd_event_source *source, uint64_t usec, void *userdata) {
        Tree *tree = userdata;

        tree->retry = sd_event_source_disable_unref(tree->retry);
        if (!session_zk(tree->coordinator->session))
                return 0;
        if (!tree->done) {
                tree_start(tree);
                return 0;
        }
        cancel(tree);
        create_all(tree);
        read_control(tree);
        return 0;
}

void tree_repair(Tree *tree) {
        if (tree->done)
                retry_in(tree, REPAIR_DELAY);
}
