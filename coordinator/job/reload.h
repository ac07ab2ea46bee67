/* The files of this node, as the daemon begins and whenever it is asked to read them again.
 *
 * Job files are read on a thread (job-loader.h), and then taken: what is new at once, what was
 * there before some at a turn of the loop. Until its turn a job is what it was. What a broken file
 * has keeps its last good definition.
 */
#pragma once

#include "inventory.h"
#include "jobset.h"

typedef struct Reload Reload;
/* Every job is as the files say. */
typedef void (*ReloadFunc)(void *userdata);

typedef struct ReloadParts {
        const Node *node;
        JobSet *jobset;
        Inventory *inventory;
        const char *config_path; /* copied */
        const char *prefix;      /* of the job directories; "" on a real system */
} ReloadParts;

/* The parts live longer than it. Return: 0 or negative errno. */
int reload_new(const ReloadParts *parts, ReloadFunc done, void *userdata, Reload **ret_reload);
Reload *reload_free(Reload *reload);
DEFINE_CLEANUP(Reload, reload_free);

/* Reads the daemon's configuration and logs what is wrong with it. Return: 0, -EBADMSG or another
 * negative errno. */
int reload_read_config(const char *path, DaemonConfig **ret_config);
/* Reads the job files as the daemon begins. Return: 0, or negative errno (logged). */
int reload_begin(Reload *reload);
/* Reads them again. */
void reload_again(Reload *reload);
/* Return: whether that is under way. */
bool reload_is_busy(const Reload *reload);
/* Return: the most jobs that were taken at one turn so far. */
unsigned reload_longest_turn(const Reload *reload);
