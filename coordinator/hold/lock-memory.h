/* What is remembered of the locks of commands over a restart: a file under the runtime directory,
 * rewritten as a whole. Of locks that are held it has all that is needed to go on: the contenders,
 * the scope, and whether a loss stops it; and it names the directories of those that queue, so that
 * their contenders are swept. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define LOCK_MEMORY_FILE "command-locks.json"

typedef struct LockRecord {
        char *id;
        char *label;          /* the resources' names, for messages */
        char *scope, *cgroup; /* from the moment on when a process is to be attached */
        int pid;              /* that process; 0 where there is none */
        char **directories;   /* of its resources */
        char **paths;         /* of its contenders, once held */
        int64_t token;
        bool go_on;        /* its loss does not stop the command */
        bool ending;       /* about to be given up */
        bool session_over; /* in which it had been: what stands at its paths now is another's */
} LockRecord;

void lock_record_copy(const LockRecord *record, LockRecord *ret_copy);
/* Frees and forgets what the members own. */
void lock_record_clear(LockRecord *record);

/* Writes what is to be known after a restart: LockRecord (borrowed), and paths of directories that
 * are to be swept. Return: whether it could, which is logged where not. */
bool lock_memory_save(const char *path, const GPtrArray *records, const GPtrArray *swept);
/* Reads it. Return: newly allocated LockRecord, those that have an id; g_ptr_array_unref().
 * *ret_swept: newly allocated (g_strfreev), or NULL. */
GPtrArray *lock_memory_load(const char *path, char ***ret_swept);
