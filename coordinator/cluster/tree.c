/* See tree.h. Once the ensemble is trusted all requests leave in one flight: a session's requests
 * are served in order, so the reads at the end see what the creates before them made. */
#include "tree.h"

#include <string.h>

#include "control.h"
#include "log.h"
#include "message-id.h"
#include "openness.h"
#include "paths.h"
#include "timer.h"

#define RETRY_DELAY (5 * USEC_PER_SEC)
#define REPAIR_DELAY (1 * USEC_PER_SEC)

struct Tree {
        const Node *node; /* weak */
        const TreeEvents *events;
        void *userdata;
        Trust *trust;
        GPtrArray *calls; /* TreeCall: creates and questions for rights on their way */
        ZkCall *version_call, *control_call;
        ZkWatch *control_watch;
        sd_event_source *retry;
        unsigned pending;
        bool failed; /* an answer was lost, or a create was refused */
        bool done, version_good;
        bool is_missed; /* something of the layout was there, and is not any more */
        int32_t control_version;
        DrainView *drain_view;
        char *fault, *warning;
};

typedef struct TreeCall {
        Tree *tree; /* weak: owns us */
        char *path;
        ZkCall *call;
} TreeCall;

static void tree_call_free(void *data) {
        TreeCall *item = data;

        zk_call_free(item->call);
        g_free(item->path);
        g_free(item);
}

static void tree_on_trusted(void *userdata);
static void tree_on_doubted(void *userdata);
static void tree_on_refused(void *userdata);

Tree *tree_new(const Node *node, const TreeEvents *events, void *userdata) {
        static const TrustEvents trust_events = {
            .trusted = tree_on_trusted, .doubted = tree_on_doubted, .refused = tree_on_refused};
        Tree *tree = g_new0(Tree, 1);

        tree->node = node;
        tree->drain_view = drain_view_new(node);
        tree->events = events;
        tree->userdata = userdata;
        tree->trust = trust_new(node, &trust_events, tree);
        tree->calls = g_ptr_array_new_with_free_func(tree_call_free);
        return tree;
}

static void tree_cancel(Tree *tree) {
        g_ptr_array_set_size(tree->calls, 0);
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
        g_ptr_array_unref(tree->calls);
        trust_free(tree->trust);
        drain_view_free(tree->drain_view);
        g_free(tree->fault);
        g_free(tree->warning);
        g_free(tree);
        return NULL;
}

void tree_reset(Tree *tree) {
        tree_cancel(tree);
        trust_reset(tree->trust);
        tree->done = tree->version_good = false;
}

void tree_suspend(Tree *tree) {
        trust_suspend(tree->trust);
}

void tree_look_again(Tree *tree) {
        trust_look(tree->trust);
}

const Trust *tree_trust(const Tree *tree) {
        return tree->trust;
}

const char *tree_held_back(const Tree *tree) {
        if (trust_is_doubted(tree->trust))
                return trust_fault(tree->trust);
        return trust_is_given(tree->trust)
                   ? NULL
                   : "whether ZooKeeper is as it was before is being looked at";
}

bool tree_is_done(const Tree *tree) {
        return tree->done;
}

int32_t tree_control_version(const Tree *tree) {
        return tree->control_version;
}

const DrainView *tree_drain_view(const Tree *tree) {
        return tree->drain_view;
}

const char *tree_fault(const Tree *tree) {
        return tree->fault ? tree->fault : trust_fault(tree->trust);
}

static void tree_set_fault(Tree *tree, const char *message_id, char *sentence) {
        if (g_strcmp0(tree->fault, sentence) != 0)
                log_error(&(LogAbout){.message_id = message_id}, "%s", sentence);
        g_free(tree->fault);
        tree->fault = sentence;
}

const char *tree_warning(const Tree *tree) {
        return tree->warning ? tree->warning : "";
}

static void tree_set_warning(Tree *tree, char *sentence) {
        if (sentence && g_strcmp0(tree->warning, sentence) != 0)
                log_warning(&(LogAbout){.message_id = MESSAGE_OPEN_TREE}, "%s", sentence);
        g_free(tree->warning);
        tree->warning = sentence;
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
        tree->events->done(tree->userdata);
}

/* Others may change what we trust. Without "auth" that is so by choice, and people are told; with
 * it, whoever made the node before us, or changed its rights since, would go on deciding what is
 * run. */
static void tree_take_others(Tree *tree, const char *path, const char *others) {
        const DaemonConfig *config = tree->node->config;
        Zk *zk = session_zk(tree->node->session);
        bool open = others && *others;

        if (g_str_equal(path, config->root))
                tree_set_warning(tree, open && config->auth == DAEMON_AUTH_NONE && zk
                                           ? openness_warning(others, zk_server(zk))
                                           : NULL);
        if (!open || config->auth == DAEMON_AUTH_NONE || tree->failed)
                return;
        tree->failed = true;
        tree_set_fault(
            tree, MESSAGE_OPEN_TREE,
            g_strdup_printf("%s in ZooKeeper can be changed by %s, although \"auth\" is set; "
                            "nothing is run until \"addauth digest USER:PASSWORD\" and "
                            "\"setAcl -R %s auth::cdrwa\" in ZooKeeper's zkCli.sh (Debian: "
                            "/usr/share/zookeeper/bin/zkCli.sh) have closed it",
                            path, others, config->root));
}

static void tree_on_rights(const ZkReply *reply, void *userdata) {
        TreeCall *item = userdata;
        Tree *tree = item->tree;

        item->call = NULL;
        if (reply->code == ZK_OK)
                tree_take_others(tree, item->path, reply->others);
        /* Whoever may not even read the rights is told by the creates. */
        else if (reply->code != ZK_NO_AUTH)
                tree->failed = true;
        tree_answered(tree);
}

/* What may be wrong where we are refused. */
static char *tree_refusal(const DaemonConfig *config) {
        return g_strdup_printf(
            "%s: no permission to create nodes there; %s", config->root,
            config->auth == DAEMON_AUTH_NONE
                ? "if it was made by machines with a secret, this one needs \"auth: digest\" and "
                  "the "
                  "same secret"
                : "the secret of this machine may not be the one that it was made with: "
                  "/etc/credstore/jobkeeper.zookeeper-auth");
}

static void tree_on_created(const ZkReply *reply, void *userdata) {
        TreeCall *item = userdata;
        Tree *tree = item->tree;

        item->call = NULL;
        if (reply->code == ZK_NO_AUTH)
                tree_set_fault(tree, MESSAGE_FOREIGN_DATA, tree_refusal(tree->node->config));
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
                    g_strdup_printf("%s/version: unknown layout for jobkeeper " JOBKEEPER_VERSION
                                    " (expected %d); no jobs are run until it matches",
                                    tree->node->config->root, TREE_LAYOUT_VERSION));
        tree_answered(tree);
}

static void tree_on_control_changed(ZkWatchEvent event, const char *path, void *userdata) {
        tree_refresh_control(userdata);
}

/* What is claimed from now on is claimed by who knows what stands there. */
static void tree_take_control(Tree *tree, const ZkReply *reply) {
        bool drained, paused;

        tree->control_version = reply->stat.version;
        drained = drain_view_take(tree->drain_view, reply->data, reply->data_size, &paused);
        if (paused && tree->done)
                tree->events->paused(tree->userdata);
        if (drained && tree->done)
                tree->events->drained(tree->userdata);
}

/* Whoever was drained by it stays so: nobody has taken that back. */
static void tree_miss_control(Tree *tree) {
        g_autofree char *path = path_control(tree->node->config->root);

        if (tree->done)
                log_warning(&(LogAbout){.message_id = MESSAGE_FOREIGN_DATA},
                            "%s was deleted: it is made again with what was last read of it", path);
        tree_repair(tree);
}

static void tree_on_control(const ZkReply *reply, void *userdata) {
        Tree *tree = userdata;

        tree->control_call = NULL;
        if (reply->code == ZK_OK)
                tree_take_control(tree, reply);
        else
                tree->failed = true;
        if (reply->code == ZK_NO_NODE)
                tree_miss_control(tree);
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

/* Many claims may be answered so at a time. */
void tree_control_is_stale(Tree *tree) {
        if (!tree->control_call)
                tree_refresh_control(tree);
}

static TreeCall *tree_call_new(Tree *tree, char *path) {
        TreeCall *item = g_new0(TreeCall, 1);

        item->tree = tree;
        item->path = path;
        g_ptr_array_add(tree->calls, item);
        return item;
}

static void tree_create_as(Tree *tree, char *path, const char *data, int flags) {
        TreeCall *item = tree_call_new(tree, path);

        if (zk_create(session_zk(tree->node->session), path, data, flags, tree_on_created, item,
                      &item->call) < 0)
                tree->failed = true;
        else
                tree->pending++;
}

static void tree_create(Tree *tree, char *path, const char *data) {
        tree_create_as(tree, path, data, 0);
}

static void tree_ask_rights(Tree *tree, const char *path) {
        TreeCall *item = tree_call_new(tree, g_strdup(path));

        if (zk_get_acl(session_zk(tree->node->session), path, tree_on_rights, item, &item->call) <
            0)
                tree->failed = true;
        else
                tree->pending++;
}

/* Creates "/a", "/a/b" of "/a/b/c" and at last the whole. */
static void tree_create_with_parents(Tree *tree, const char *path) {
        for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/'))
                tree_create(tree, g_strndup(path, (gsize)(slash - path)), "");
        tree_create(tree, g_strdup(path), "");
}

/* Makes the layout, where somebody deleted the control node with what was last read of it, and asks
 * who else may change it. */
static void tree_create_all(Tree *tree) {
        const DaemonConfig *config = tree->node->config;
        const json_t *control = drain_view_control(tree->drain_view);
        g_autofree char *version_data = g_strdup_printf("%d", TREE_LAYOUT_VERSION),
                        *control_data = control ? control_encode(control) : NULL;
        guint first;

        tree_create_with_parents(tree, config->root);
        first = tree->calls->len - 1; /* what is above the root is not ours */
        tree_create(tree, path_version(config->root), version_data);
        tree_create(tree, path_control(config->root), control_data ? control_data : "{}");
        tree_create(tree, path_nodes(config->root), "");
        tree_create(tree, path_locks(config->root), "");
        tree_create(tree, path_jobs(config->root), "");
        tree_create(tree, path_open(config->root), "");
        tree_create(tree, path_open_node(config->root, config->node_name), "");
        tree_create(tree, path_requests(config->root), "");
        tree_create(tree, path_meetings(config->root), "");
        tree_create(tree, path_rolls(config->root), "");
        tree_create(tree, path_sessions(config->root), "");
        for (guint i = first, end = tree->calls->len; i < end; i++)
                tree_ask_rights(tree, ((TreeCall *)tree->calls->pdata[i])->path);
        /* It is there before we are a member, so before anything is claimed. */
        tree_create_as(
            tree, path_session(config->root, config->node_name, session_id(tree->node->session)),
            "", ZK_CREATE_EPHEMERAL);
}

void tree_start(Tree *tree) {
        tree_reset(tree);
        trust_look(tree->trust);
}

/* Makes what is missing, and reads it all. */
static void tree_begin(Tree *tree) {
        g_autofree char *version = path_version(tree->node->config->root);

        tree_cancel(tree);
        tree->version_good = false;
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

static void tree_on_trusted(void *userdata) {
        Tree *tree = userdata;

        if (!tree->done) {
                tree_begin(tree);
                return;
        }
        if (tree->is_missed) {
                tree->is_missed = false;
                tree_cancel(tree);
                tree_create_all(tree);
                tree_read_control(tree);
        }
        tree->events->looked(tree->userdata);
}

static void tree_on_doubted(void *userdata) {
        const Tree *tree = userdata;

        tree->events->doubted(tree->userdata);
}

static void tree_on_refused(void *userdata) {
        Tree *tree = userdata;

        tree_set_fault(tree, MESSAGE_FOREIGN_DATA, tree_refusal(tree->node->config));
}

static void tree_on_retry(void *userdata) {
        Tree *tree = userdata;

        if (!session_zk(tree->node->session))
                return;
        tree->is_missed = tree->done;
        trust_look(tree->trust);
}

void tree_repair(Tree *tree) {
        if (tree->done)
                tree_retry_in(tree, REPAIR_DELAY);
}
