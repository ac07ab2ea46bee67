/* What is remembered of the locks of commands over a restart: a file for each below the runtime
 * directory, so that what changes of one costs the same however many there are. Of a lock that is
 * held it has all that is needed to go on: the contenders, the scope, and whether a loss stops it;
 * of one that is queued for, or over, it names the directories in which contenders of it may stand,
 * so that they are swept, and the scope of a command that goes on without it. */
#pragma once

#include <glib.h>
#include <stdbool.h>
#include <stdint.h>

#define LOCK_MEMORY_DIRECTORY "command-locks"
#define LOCK_MEMORY_OF_ALL "command-locks.json" /* the file of all, as versions before wrote it */

typedef struct LockRecord {
        char *id;             /* also the file's name: a valid name */
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
/* Return: whether it is of a lock that is held. */
bool lock_record_is_held(const LockRecord *record);

/* Writes what is to be known after a restart. Return: NULL; or why it could not, a sentence for
 * people, which is logged as well; the caller's. */
char *lock_memory_save(const char *runtime_dir, const LockRecord *record);
/* Nothing is to be known of it any more. */
void lock_memory_remove(const char *runtime_dir, const char *id);
/* Return: newly allocated LockRecord, each id once; g_ptr_array_unref(). */
GPtrArray *lock_memory_load(const char *runtime_dir);
/* The same, for the process that goes on with them: what stands in the file of all gets files of
 * its own, and what a process that was killed had not written to the end is deleted. */
GPtrArray *lock_memory_take_over(const char *runtime_dir);
