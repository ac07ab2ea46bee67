/* Looking at the locks for people: one resource, or all of them, as this machine's configuration
 * declares them. Used by the daemon, which answers Locks(), and by the command where no daemon
 * runs. */
#pragma once

#include <jansson.h>

#include "daemon-config.h"
#include "lock-survey.h"
#include "read-budget.h"

typedef struct LockLook LockLook;

/* `error`: 0 where there is something to report, or negative errno as of a survey. The look may be
 * freed in it. */
typedef void (*LockLookFunc)(LockLook *look, int error, void *userdata);

/* `resource` NULL: all that somebody uses. Return: 0 once sent, then exactly one call of `func`;
 * -ENOTCONN; negative errno. `privileged`: as of lock_report(). `budget`: what its reads are taken
 * from; NULL: from nothing. */
int lock_look_new(Session *session, const DaemonConfig *config, const char *resource,
                  bool privileged, ReadBudget *budget, LockLookFunc func, void *userdata,
                  LockLook **ret_look);
LockLook *lock_look_free(LockLook *look);
DEFINE_CLEANUP(LockLook, lock_look_free);

/* What was seen, once `func` was called without an error (lock-report.h): a new reference, or as a
 * text, of which a little is appended each time. Return: whether there is more. */
json_t *lock_look_report(const LockLook *look);
bool lock_look_write(LockLook *look, GString *text);

/* Return: newly allocated (g_free), what is wrong with the name of a resource to look at, or NULL.
 * Those of jobs, "job:NAME", are looked at as any other. */
char *lock_look_fault(const char *resource);
