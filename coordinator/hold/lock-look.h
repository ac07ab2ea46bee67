/* Looking at the locks for people: one resource, or all of them, as this machine's configuration
 * declares them. Used by the daemon, which answers Locks(), and by the command where no daemon
 * runs. */
#pragma once

#include <jansson.h>

#include "daemon-config.h"
#include "lock-survey.h"

typedef struct LockLook LockLook;

/* `error`: 0 with `report` (lock-report.h; the callee's to free), or negative errno as of a survey
 * and NULL. The look may be freed in it. */
typedef void (*LockLookFunc)(LockLook *look, int error, json_t *report, void *userdata);

/* `resource` NULL: all that somebody uses. Return: 0 once sent, then exactly one call of `func`;
 * -ENOTCONN; negative errno. `privileged`: as of lock_report(). */
int lock_look_new(Session *session, const DaemonConfig *config, const char *resource,
                  bool privileged, LockLookFunc func, void *userdata, LockLook **ret_look);
LockLook *lock_look_free(LockLook *look);
DEFINE_CLEANUP(LockLook, lock_look_free);

/* Return: newly allocated (g_free), what is wrong with the name of a resource to look at, or NULL.
 * Those of jobs, "job:NAME", are looked at as any other. */
char *lock_look_fault(const char *resource);
