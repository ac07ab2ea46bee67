/* The watches that one server keeps for its clients. See watch-table.c. */
#pragma once

#include "data-tree.h"

typedef struct WatchTable WatchTable;
/* The watches of one connection. */
typedef struct Watcher Watcher;

/* A watch of this one fired. */
typedef void (*WatcherFunc)(ZkWatchEvent event, const char *path, void *userdata);

WatchTable *watch_table_new(void);
/* No watcher may be left. */
WatchTable *watch_table_free(WatchTable *table);
DEFINE_CLEANUP(WatchTable, watch_table_free);

/* `identity`: borrowed, whom the connection has proved to be at that moment. */
Watcher *watcher_new(WatchTable *table, WatcherFunc func, void *userdata);
Watcher *watcher_free(Watcher *watcher);
void watcher_set_identity(Watcher *watcher, const char *identity);

void watcher_add(Watcher *watcher, WatchKind kind, const char *path);
/* Sets watches that another server had, or says at once what has changed since that transaction. */
void watcher_add_again(Watcher *watcher, const Request *request, const DataTree *tree);
/* A node was made, changed, or is about to be freed. */
void watch_table_fire(WatchTable *table, ZkWatchEvent event, const TreeNode *node);
