/* See daemon-file.h. */
#include "daemon-file.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "daemon-keys.h"
#include "duration.h"
#include "name.h"
#include "trusted-file.h"

static DaemonConfig *daemon_config_new(void) {
        DaemonConfig *config = g_new0(DaemonConfig, 1);

        config->labels = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        key_table_set_defaults(&daemon_table, config);
        return config;
}

/* Return: newly allocated, the host name without its domain, in lower case. */
static char *default_node_name(void) {
        char name[HOST_NAME_MAX + 1] = "";

        if (gethostname(name, sizeof name - 1) < 0)
                return g_strdup("");
        name[strcspn(name, ".")] = '\0';
        return g_ascii_strdown(name, -1);
}

static void choose_node_name(DaemonConfig *config, const Mark *mark, Diagnostics *diagnostics) {
        const char *fault;

        if (config->node_name)
                return;
        config->node_name = default_node_name();
        fault = name_fault(config->node_name);
        if (fault)
                diagnostics_add(diagnostics, mark,
                                "the host name \"%s\" %s: set \"name\" under \"node\"",
                                config->node_name, fault);
}

/* Return: where to look when the deadline's sum does not come out: the first of its keys that the
 * file sets. */
static Mark find_sum_mark(const YamlNode *root) {
        static const char *const keys[] = {"session-timeout", "fence-budget", "tick-time",
                                           "sync-limit", "heartbeat"};
        const YamlNode *zookeeper = yaml_node_get(root, "zookeeper");

        for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
                const YamlNode *node = yaml_node_get(zookeeper, keys[i]);

                if (!node)
                        node = yaml_node_get(root, keys[i]);
                if (node)
                        return node->mark;
        }
        return (Mark){root->mark.file, 0, 0};
}

/* Checks what one key alone cannot. The whole deadline sum is the session's to check. */
static void check_sums(const DaemonConfig *config, const YamlNode *root, Diagnostics *diagnostics) {
        g_autofree char *slack = NULL, *budget = NULL;
        const YamlNode *place = yaml_node_get(root, "kill-slack");

        if (config->kill_slack < config->fence_budget)
                return;
        if (!place)
                place = yaml_node_get(root, "fence-budget");
        slack = duration_to_string(config->kill_slack);
        budget = duration_to_string(config->fence_budget);
        diagnostics_add(diagnostics, place ? &place->mark : &root->mark,
                        "\"kill-slack\" (%s) must be less than \"fence-budget\" (%s)", slack,
                        budget);
}

/* Whoever answers is given the secret, so nobody is asked by default: the default's port is one
 * that any user of the machine may listen on while no server does. */
static void check_auth(const DaemonConfig *config, const YamlNode *root, Diagnostics *diagnostics) {
        const YamlNode *zookeeper = yaml_node_get(root, "zookeeper");

        if (config->auth == DAEMON_AUTH_NONE || yaml_node_get(zookeeper, "servers"))
                return;
        diagnostics_add(
            diagnostics, &yaml_node_get(zookeeper, "auth")->mark,
            "\"auth\" needs \"servers\": the secret is sent to whoever listens at their "
            "addresses, so none are assumed");
}

/* Return: whether one of the znodes is the other or stands below it. */
static bool paths_nest(const char *a, const char *b) {
        size_t length = MIN(strlen(a), strlen(b));

        return strncmp(a, b, length) == 0 && (!a[length] || a[length] == '/') &&
               (!b[length] || b[length] == '/');
}

/* A directory is of one kind of contenders alone, and has no other children: it lies neither in our
 * own tree nor in another resource's. `others` are those above it in the file. */
static void check_path(const DaemonConfig *config, const DaemonResource *resource,
                       const GPtrArray *others, Diagnostics *diagnostics) {
        if (paths_nest(resource->path, config->root))
                diagnostics_add(diagnostics, &resource->path_mark,
                                "\"path\": %s and the \"root\" of \"zookeeper\", %s, must not be "
                                "the same or contain one another",
                                resource->path, config->root);
        for (guint i = 0; i < others->len; i++) {
                const DaemonResource *other = others->pdata[i];

                if (!paths_nest(resource->path, other->path))
                        continue;
                diagnostics_add(diagnostics, &resource->path_mark,
                                "\"path\": %s and that of resource \"%s\", %s, must not be the "
                                "same or contain one another",
                                resource->path, other->name, other->path);
                return;
        }
}

static void check_paths(const DaemonConfig *config, const YamlNode *root,
                        Diagnostics *diagnostics) {
        g_autoptr(GPtrArray) seen = g_ptr_array_new(); /* DaemonResource, borrowed */
        const YamlNode *node = yaml_node_get(root, "resources");

        if (!config->resources ||
            node->type != YAML_MAPPING) /* of two, the first may be no mapping */
                return;
        for (guint i = 0; i < node->items->len; i++) {
                const YamlPair *pair = node->items->pdata[i];
                DaemonResource *resource = g_hash_table_lookup(config->resources, pair->key->text);

                if (!resource || !resource->path)
                        continue;
                check_path(config, resource, seen, diagnostics);
                g_ptr_array_add(seen, resource);
        }
}

int daemon_config_parse(const char *file, const char *text, size_t size, Diagnostics *diagnostics,
                        DaemonConfig **ret_config) {
        _cleanup_(daemon_config_freep) DaemonConfig *config = daemon_config_new();
        _cleanup_(yaml_node_freep) YamlNode *root = NULL;
        unsigned before = diagnostics_count(diagnostics);
        const YamlNode *name;
        Mark mark;
        int r;

        r = yaml_tree_parse(file, text, size, diagnostics, &root);
        if (r < 0)
                return r;
        if (yaml_node_kind(root) != YAML_KIND_NOTHING)
                key_table_decode(&daemon_table, root, config, diagnostics);
        name = yaml_node_get(yaml_node_get(root, "node"), "name");
        mark = (Mark){root->mark.file, 0, 0};
        if (!name)
                choose_node_name(config, &mark, diagnostics);
        config->sum_mark = find_sum_mark(root);
        check_sums(config, root, diagnostics);
        check_auth(config, root, diagnostics);
        check_paths(config, root, diagnostics);
        if (diagnostics_count(diagnostics) > before)
                return -EBADMSG;
        *ret_config = g_steal_pointer(&config);
        return 0;
}

int daemon_config_load(const char *path, Diagnostics *diagnostics, DaemonConfig **ret_config) {
        g_autofree char *text = NULL;
        size_t size = 0;
        int r;

        r = trusted_file_read(path, YAML_SIZE_MAX, diagnostics, &text, &size);
        if (r < 0 && r != -ENOENT)
                return r;
        return daemon_config_parse(path, text ? text : "", size, diagnostics, ret_config);
}
