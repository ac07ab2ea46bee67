/* Waiting until a unit's cgroup is empty. Only then has everything that a run started ended,
 * whatever PID 1 says of the unit.
 *
 * "Empty" is `populated 0` in cgroup.events, or that the directory is gone. The kernel tells of a
 * change through inotify; a slow poll stands behind it, for watches that could not be set.
 */
#pragma once

#include <stdbool.h>
#include <systemd/sd-event.h>

#include "cleanup.h"
#include "clock.h"

#define CGROUP_POLL_PERIOD (250 * USEC_PER_MSEC)

typedef struct CgroupWatch CgroupWatch;
typedef void (*CgroupFunc)(void *userdata);

/* Finds where the unified hierarchy is mounted (hybrid set-ups have it one level down). Return: 0,
 * -EOPNOTSUPP when there is none. */
int cgroup_root_find(char **ret_root);

/* Return: the cgroup in which PID 1 places a service: "/system.slice/system-jobkeeper.slice/NAME"
 * for system-jobkeeper.slice. */
char *cgroup_path_of_unit(const char *slice, const char *name);

/* Return: whether a process lives in `path` (as in a unit's ControlGroup property) or below; one
 * that does not exist is empty; a file that cannot be read counts as populated, because "empty"
 * lets go of locks. */
bool cgroup_is_populated(const char *root, const char *path);

/* Sends a signal to every process in `path` itself; SIGKILL to all below it as well, and so that
 * none that is just being forked escapes, where the kernel can do that. The root is never
 * signalled. Needs the right to. */
void cgroup_signal(const char *root, const char *path, int signal);

/* Calls func once, from the loop, when the cgroup is empty. Return: 0 or negative errno. */
int cgroup_watch_new(sd_event *event, const char *root, const char *path, CgroupFunc func,
                     void *userdata, CgroupWatch **ret_watch);
/* Where the kernel tells of changes it looks for itself that seldom, and soon after each change;
 * else each CGROUP_POLL_PERIOD. */
void cgroup_watch_set_period(CgroupWatch *watch, usec_t period);
CgroupWatch *cgroup_watch_free(CgroupWatch *watch);
DEFINE_CLEANUP(CgroupWatch, cgroup_watch_free);
