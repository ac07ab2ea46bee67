/* The daemon's own configuration, /etc/jobkeeper/jobkeeper.yaml, as plain data. daemon-file.h reads
 * it, daemon-keys.h has its keys with their defaults. */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "cleanup.h"
#include "clock.h"
#include "mark.h"
#include "windows.h"

#define DAEMON_CONFIG_PATH "/etc/jobkeeper/jobkeeper.yaml"
#define DAEMON_SERVERS_MAX 32
#define DAEMON_LABELS_MAX 64
#define DAEMON_RESOURCES_MAX 256
#define RESOURCE_SLOTS_MAX 1000 /* here and in jobs */

/* How we tell the ZooKeeper servers who we are. */
typedef enum DaemonAuth { DAEMON_AUTH_NONE, DAEMON_AUTH_DIGEST } DaemonAuth;

/* How those who share a resource recognise each other. */
typedef enum DaemonNaming {
        DAEMON_NAMING_CURATOR_RW,
        DAEMON_NAMING_CURATOR_MUTEX,
        DAEMON_NAMING_KAZOO,
        DAEMON_NAMING_SINGLE_NODE,
} DaemonNaming;

/* One entry of `resources:`. */
typedef struct DaemonResource {
        char *name;
        Mark mark;  /* of its name */
        char *path; /* the directory of the contenders; NULL: below the root, as for any other */
        Mark path_mark;
        DaemonNaming naming;
        unsigned slots; /* 0: not said here */
} DaemonResource;

typedef struct DaemonConfig {
        char *servers; /* zookeeper.servers, joined with ','; an IPv6 address without its brackets,
                          as libzookeeper wants it */
        char *root;    /* zookeeper.root: absolute, no trailing '/' */
        usec_t session_timeout;
        usec_t tick_time;
        unsigned sync_limit;
        DaemonAuth auth;
        char *node_name; /* node.name; the host name without its domain, in lower case, where none
                            is given */
        GHashTable *labels; /* name → value, strings; never NULL */
        Windows *windows;   /* in which runs may begin here; NULL: always */
        usec_t heartbeat;
        usec_t fence_budget;
        usec_t kill_slack;
        usec_t takeover_delay;
        usec_t max_skew;
        unsigned max_runs;     /* 0: no limit */
        usec_t drain_timeout;  /* 0: a stop ends what runs at once */
        bool wait_for_clock;   /* until a time server has set it, after a boot */
        GHashTable *resources; /* name → DaemonResource; NULL: none */
        Mark sum_mark; /* of the first key that is set of those that the deadline's sum is made of;
                          without a line where none is */
} DaemonConfig;

DaemonConfig *daemon_config_free(DaemonConfig *config);
DEFINE_CLEANUP(DaemonConfig, daemon_config_free);

DaemonResource *daemon_resource_free(DaemonResource *resource);

/* Return: what `resources` says of a resource, NULL where it says nothing. Borrowed. */
const DaemonResource *daemon_config_resource(const DaemonConfig *config, const char *name);
