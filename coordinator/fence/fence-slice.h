/* The cgroup in which everything fenced lives: whether anything does, and its end.
 *
 * The files belong to root, and whoever has root's uid may write them without any capability.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

typedef struct FenceSlice {
        const char *path; /* borrowed: the cgroup's directory */
        int events;       /* its cgroup.events while that is watched, else -1 */
} FenceSlice;

/* What stands in a cgroup.events of `size` bytes. Return: false only where it says that nothing
 * lives; what cannot be understood may hide something that does. */
bool fence_events_populated(const char *text, size_t size);

/* Return: whether anything lives in it: not where there is no such cgroup, and yes where it cannot
 * be read. */
bool fence_slice_populated(FenceSlice *slice);
/* From here on `events` is a descriptor that is POLLPRI when that may have changed since it was
 * last asked for; or -1 where it can only be asked for again. */
void fence_slice_watch(FenceSlice *slice);
void fence_slice_unwatch(FenceSlice *slice);

/* Return: whether it could be killed from here. */
bool fence_slice_may_kill(const FenceSlice *slice);
/* Return: 0 once the kernel kills everything in it, with what is being forked; negative errno. */
int fence_slice_kill(const FenceSlice *slice);
