/* See daemon-keys.h. The order is that of the manual. */
#include "daemon-keys.h"

#include <errno.h>
#include <string.h>

#include "daemon-window.h"
#include "name.h"
#include "server-address.h"
#include "window-keys.h"

#define LABEL_LENGTH_MAX 100
#define ROOT_LENGTH_MAX 200
#define SERVER_ROOT "/zookeeper"

/* Adds a server to the list in libzookeeper's form. */
static void add_server(GString *servers, const YamlNode *node, const char *server,
                       Diagnostics *diagnostics) {
        const char *fault = server_address_fault(server);

        if (fault) {
                diagnostics_add(diagnostics, &node->mark, "server \"%s\" %s", server, fault);
                return;
        }
        if (servers->len > 0)
                g_string_append_c(servers, ',');
        for (; *server; server++)
                if (*server != '[' && *server != ']')
                        g_string_append_c(servers, *server);
}

static void take_servers(const Key *key, const YamlNode *node, void *target,
                         Diagnostics *diagnostics) {
        g_autoptr(GString) joined = g_string_new(NULL);
        g_auto(GStrv) words = NULL;
        DaemonConfig *config = target;
        guint count;

        if (node->type == YAML_LIST) {
                count = node->items->len;
                for (guint i = 0; i < count; i++) {
                        const YamlNode *item = node->items->pdata[i];

                        add_server(joined, item, item->text, diagnostics);
                }
        } else {
                words = g_strsplit(node->text, ",", -1);
                count = g_strv_length(words);
                for (char **word = words; *word; word++)
                        add_server(joined, node, g_strstrip(*word), diagnostics);
        }
        if (count == 0)
                diagnostics_add(diagnostics, &node->mark, "\"%s\" is empty", key->name);
        if (count > DAEMON_SERVERS_MAX)
                diagnostics_add(diagnostics, &node->mark, "\"%s\" has more than %d entries",
                                key->name, DAEMON_SERVERS_MAX);
        g_free(config->servers);
        config->servers = g_string_free(g_steal_pointer(&joined), FALSE);
}

/* Return: what is wrong with the path of a znode, as a sentence fragment; or NULL. */
static const char *root_fault(const char *path) {
        const char *fault = path_fault(path);

        if (fault)
                return fault;
        if (!path[1])
                return "must be a znode below \"/\"";
        if (strlen(path) > ROOT_LENGTH_MAX)
                return "is longer than 200 bytes";
        if (g_str_has_suffix(path, "/") || strstr(path, "//"))
                return "may not end with \"/\" or have an empty part";
        if (g_str_equal(path, SERVER_ROOT) || g_str_has_prefix(path, SERVER_ROOT "/"))
                return "belongs to ZooKeeper itself";
        return NULL;
}

static const char *label_fault(const char *text) {
        if (!*text)
                return "is empty";
        if (strlen(text) > LABEL_LENGTH_MAX)
                return "is longer than 100 bytes";
        return line_fault(text);
}

static void take_labels(const Key *key, const YamlNode *node, void *target,
                        Diagnostics *diagnostics) {
        DaemonConfig *config = target;

        for (guint i = 0; i < node->items->len; i++) {
                const YamlPair *pair = node->items->pdata[i];
                const char *fault = name_fault(pair->key->text);

                if (fault)
                        diagnostics_add(diagnostics, &pair->key->mark, "label \"%s\" %s",
                                        pair->key->text, fault);
                g_hash_table_insert(config->labels, g_strdup(pair->key->text),
                                    g_strdup(pair->value->text));
        }
        if (node->items->len > DAEMON_LABELS_MAX)
                diagnostics_add(diagnostics, &node->mark, "\"%s\" has more than %d entries",
                                key->name, DAEMON_LABELS_MAX);
}

#define SERVER_PATTERN "[^ ,/]+:[1-9][0-9]{0,4}"

static const Key text_entry = {.name = "text", .forms = KEY_TEXT};
static const Key server_entry = {
    .name = "server", .forms = KEY_TEXT, .pattern = "^" SERVER_PATTERN "$"};
static const Key label_entry = {.name = "value", .forms = KEY_LITERAL, .fault = label_fault};

static void daemon_resource_destroy(gpointer data) {
        daemon_resource_free(data);
}

/* Only the first naming knows slots. */
static void daemon_resource_check_slots(const DaemonResource *resource, const YamlNode *node,
                                        Diagnostics *diagnostics) {
        const YamlNode *slots = yaml_node_get(node, "slots");

        if (resource->slots > 1 && resource->naming != DAEMON_NAMING_CURATOR_RW)
                diagnostics_add(diagnostics, &slots->mark,
                                "\"slots\" and \"naming: %s\" cannot be used together",
                                daemon_naming_to_string(resource->naming));
}

static void take_resources(const Key *key, const YamlNode *node, void *target,
                           Diagnostics *diagnostics) {
        GHashTable *resources =
            g_hash_table_new_full(g_str_hash, g_str_equal, NULL, daemon_resource_destroy);
        DaemonConfig *config = target;

        for (guint i = 0; i < node->items->len; i++) {
                const YamlPair *pair = node->items->pdata[i];
                const char *fault = resource_name_fault(pair->key->text);
                g_autofree char *label =
                    g_strdup_printf("\"%s\" of \"%s\"", pair->key->text, key->name);
                DaemonResource *resource = g_new0(DaemonResource, 1);

                if (fault)
                        diagnostics_add(diagnostics, &pair->key->mark, "resource \"%s\" %s",
                                        pair->key->text, fault);
                resource->name = g_strdup(pair->key->text);
                resource->mark = pair->key->mark;
                if (key_decode(key->entry, label, pair->value, resource, diagnostics))
                        daemon_resource_check_slots(resource, pair->value, diagnostics);
                g_hash_table_replace(resources, resource->name, resource);
        }
        if (node->items->len > DAEMON_RESOURCES_MAX)
                diagnostics_add(diagnostics, &node->mark, "\"%s\" has more than %d entries",
                                key->name, DAEMON_RESOURCES_MAX);
        if (config->resources)
                g_hash_table_unref(config->resources);
        config->resources = resources;
}

static const KeyChoice naming_choices[] = {{"curator-rw", DAEMON_NAMING_CURATOR_RW},
                                           {"curator-mutex", DAEMON_NAMING_CURATOR_MUTEX},
                                           {"kazoo", DAEMON_NAMING_KAZOO},
                                           {"single-node", DAEMON_NAMING_SINGLE_NODE},
                                           {NULL}};

const char *daemon_naming_to_string(DaemonNaming naming) {
        for (const KeyChoice *choice = naming_choices; choice->name; choice++)
                if (choice->value == (int)naming)
                        return choice->name;
        g_assert_not_reached();
}

int daemon_naming_from_string(const char *word, DaemonNaming *ret_naming) {
        for (const KeyChoice *choice = naming_choices; choice->name; choice++) {
                if (!g_str_equal(choice->name, word))
                        continue;
                *ret_naming = (DaemonNaming)choice->value;
                return 0;
        }
        return -EINVAL;
}

static const Key resource_keys[] = {
    {
        .name = "path",
        .forms = KEY_TEXT,
        .fault = root_fault,
        KEY_FIELD(DaemonResource, path),
        KEY_MARK_FIELD(DaemonResource, path_mark),
        .documentation =
            "The znode below which the contenders are, if not a znode of jobkeeper's own.",
    },
    {
        .name = "naming",
        .forms = KEY_CHOICE,
        .fallback = "curator-rw",
        .choices = naming_choices,
        KEY_FIELD(DaemonResource, naming),
        .documentation =
            "The lock recipe: that of jobkeeper and Curator's InterProcessReadWriteLock, Curator's "
            "InterProcessMutex, kazoo's, or a single node.",
    },
    {
        .name = "slots",
        .forms = KEY_INTEGER,
        .min = 1,
        .max = RESOURCE_SLOTS_MAX,
        KEY_FIELD(DaemonResource, slots),
        .documentation = "The number of holders at a time; if unset, as the jobs say.",
    },
    {NULL},
};
static const KeyTable resource_table = {"a resource", resource_keys};
static const Key resource_entry = {
    .name = "resource", .forms = KEY_TABLE, .table = &resource_table};

static const KeyChoice auth_choices[] = {{"digest", DAEMON_AUTH_DIGEST}, {NULL}};

static const Key zookeeper_keys[] = {
    {
        .name = "servers",
        .forms = KEY_TEXT | KEY_LIST,
        .fallback = "127.0.0.1:2181",
        .entry = &server_entry,
        .pattern = "^[ \\t]*" SERVER_PATTERN "([ \\t]*,[ \\t]*" SERVER_PATTERN ")*[ \\t]*$",
        .take = take_servers,
        KEY_FIELD(DaemonConfig, servers),
        .documentation = "The ZooKeeper servers, as HOST:PORT: a list, or a text with commas.",
    },
    {
        .name = "root",
        .forms = KEY_TEXT,
        .fallback = "/jobkeeper",
        .fault = root_fault,
        KEY_FIELD(DaemonConfig, root),
        .documentation = "The znode below which jobkeeper keeps all its data.",
    },
    {
        .name = "session-timeout",
        .forms = KEY_DURATION,
        .fallback = "30s",
        .min = USEC_PER_SEC,
        .max = 10 * USEC_PER_MINUTE,
        KEY_FIELD(DaemonConfig, session_timeout),
        .documentation = "The session timeout to request from the servers.",
    },
    {
        .name = "tick-time",
        .forms = KEY_DURATION,
        .fallback = "2s",
        .min = 50 * USEC_PER_MSEC,
        .max = USEC_PER_MINUTE,
        KEY_FIELD(DaemonConfig, tick_time),
        .documentation = "tickTime, as configured on the servers.",
    },
    {
        .name = "sync-limit",
        .forms = KEY_INTEGER,
        .fallback = "5",
        .min = 1,
        .max = 100,
        KEY_FIELD(DaemonConfig, sync_limit),
        .documentation = "syncLimit, as configured on the servers.",
    },
    {
        .name = "auth",
        .forms = KEY_CHOICE,
        .choices = auth_choices,
        .needs = "servers",
        KEY_FIELD(DaemonConfig, auth),
        .documentation = "How to authenticate to the servers; if unset, not at all.",
    },
    KEY_RESERVED("tls", KEY_MAPPING, "{}", "Certificates for TLS connections to the servers.",
                 .entry = &text_entry),
    {NULL},
};
static const KeyTable zookeeper_table = {"\"zookeeper\"", zookeeper_keys};

static const Key node_keys[] = {
    {
        .name = "name",
        .forms = KEY_LITERAL,
        .fault = name_fault,
        KEY_FIELD(DaemonConfig, node_name),
        .documentation =
            "The name of this node in the cluster; if unset, the host name without its domain.",
    },
    {
        .name = "labels",
        .forms = KEY_MAPPING,
        .flags = KEY_NAMES,
        .fallback = "{}",
        .entry = &label_entry,
        .take = take_labels,
        .documentation = "Labels of this node, which \"nodes\" of a job can match.",
    },
    {
        .name = "window",
        .forms = KEY_TABLE | KEY_LIST,
        .fallback = "[]",
        .entry = &window_entry,
        .table = &window_table,
        .take = daemon_window_take,
        .documentation = "When runs may begin on this node: a stretch of time, or a list of them. "
                         "If empty, always.",
    },
    {NULL},
};
static char *node_advice(const YamlPair *pair) {
        if (!g_str_equal(pair->key->text, "timezone"))
                return NULL;
        return g_strdup("\"from\" of \"window\" names its zone itself, as in \"Sat 22:00 "
                        "Europe/Berlin\"");
}

static const KeyTable node_table = {"\"node\"", node_keys, node_advice};

static const Key daemon_keys[] = {
    {
        .name = "zookeeper",
        .forms = KEY_TABLE,
        .table = &zookeeper_table,
        .documentation = "The connection to ZooKeeper.",
    },
    {
        .name = "node",
        .forms = KEY_TABLE,
        .table = &node_table,
        .documentation = "This machine as a node of the cluster.",
    },
    {
        .name = "heartbeat",
        .forms = KEY_DURATION,
        .fallback = "1s",
        .min = 50 * USEC_PER_MSEC,
        .max = USEC_PER_MINUTE,
        KEY_FIELD(DaemonConfig, heartbeat),
        .documentation = "How often the session is checked.",
    },
    {
        .name = "fence-budget",
        .forms = KEY_DURATION,
        .fallback = "8s",
        .min = 100 * USEC_PER_MSEC,
        .max = 5 * USEC_PER_MINUTE,
        KEY_FIELD(DaemonConfig, fence_budget),
        .documentation = "How long before the deadline the stopping of runs begins.",
    },
    {
        .name = "kill-slack",
        .forms = KEY_DURATION,
        .fallback = "2s",
        .min = 10 * USEC_PER_MSEC,
        .max = USEC_PER_MINUTE,
        KEY_FIELD(DaemonConfig, kill_slack),
        .documentation = "The part of fence-budget that is reserved for SIGKILL and the kernel.",
    },
    {
        .name = "takeover-delay",
        .forms = KEY_DURATION,
        .fallback = "2s",
        .min = 10 * USEC_PER_MSEC,
        .max = 5 * USEC_PER_MINUTE,
        KEY_FIELD(DaemonConfig, takeover_delay),
        .documentation = "How much later than the previous one each candidate looks at a tick.",
    },
    {
        .name = "max-skew",
        .forms = KEY_DURATION,
        .fallback = "2s",
        .min = 10 * USEC_PER_MSEC,
        .max = 5 * USEC_PER_MINUTE,
        KEY_FIELD(DaemonConfig, max_skew),
        .documentation =
            "The largest difference from the servers' clock at which ticks are started.",
    },
    {
        .name = "max-runs",
        .forms = KEY_INTEGER,
        .fallback = "0",
        .max = 10000,
        KEY_FIELD(DaemonConfig, max_runs),
        .documentation = "The number of runs at a time on this node; 0 for no limit.",
    },
    {
        .name = "drain-timeout",
        .forms = KEY_DURATION,
        .fallback = "10min",
        .max = USEC_PER_DAY,
        KEY_FIELD(DaemonConfig, drain_timeout),
        .documentation =
            "How long a stopping daemon waits for its runs to end by themselves; 0: not at all.",
    },
    {
        .name = "wait-for-clock",
        .forms = KEY_SWITCH,
        .fallback = "yes",
        KEY_FIELD(DaemonConfig, wait_for_clock),
        .documentation = "Whether nothing is started after a boot until the clock is synchronised.",
    },
    {
        .name = "resources",
        .forms = KEY_MAPPING,
        .flags = KEY_BY_TAKE | KEY_NAMES,
        .fallback = "{}",
        .entry = &resource_entry,
        .take = take_resources,
        .documentation = "Locks that are shared with other programs or have several slots.",
    },
    {NULL},
};

static char *daemon_advice(const YamlPair *pair) {
        if (!g_str_equal(pair->key->text, "jobs"))
                return NULL;
        return g_strdup("jobs stand in files of their own, /etc/jobkeeper/jobs.d/NAME.yaml");
}

const KeyTable daemon_table = {"the configuration", daemon_keys, daemon_advice};
