/* See daemon-config.h. */
#include "daemon-config.h"

DaemonResource *daemon_resource_free(DaemonResource *resource) {
        if (!resource)
                return NULL;
        g_free(resource->name);
        g_free(resource->path);
        g_free(resource);
        return NULL;
}

const DaemonResource *daemon_config_resource(const DaemonConfig *config, const char *name) {
        return config->resources ? g_hash_table_lookup(config->resources, name) : NULL;
}

DaemonConfig *daemon_config_free(DaemonConfig *config) {
        if (!config)
                return NULL;
        g_free(config->servers);
        g_free(config->root);
        g_free(config->node_name);
        if (config->labels)
                g_hash_table_unref(config->labels);
        if (config->resources)
                g_hash_table_unref(config->resources);
        windows_free(config->windows);
        g_free(config);
        return NULL;
}
