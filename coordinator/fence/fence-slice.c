/* See fence-slice.h. */
#include "fence-slice.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cleanup.h"

#define EVENTS_SIZE 256 /* the kernel writes two lines of some ten bytes */

bool fence_events_populated(const char *text, size_t size) {
        static const char empty[] = "populated 0";

        for (const char *line = text, *end = text + size; line < end;) {
                const char *newline = memchr(line, '\n', (size_t)(end - line));

                if (!newline)
                        break;
                if ((size_t)(newline - line) == strlen(empty) &&
                    memcmp(line, empty, strlen(empty)) == 0)
                        return false;
                line = newline + 1;
        }
        return true;
}

/* Return: a descriptor or negative errno. */
static int slice_open(const FenceSlice *slice, const char *file, int flags) {
        char path[PATH_MAX];
        int n = snprintf(path, sizeof path, "%s/%s", slice->path, file);
        int fd;

        if (n < 0 || (size_t)n >= sizeof path)
                return -ENAMETOOLONG;
        fd = open(path, flags | O_CLOEXEC | O_NOCTTY);
        return fd >= 0 ? fd : -errno;
}

/* Return: 0, 1 or negative errno. */
static int slice_read(int events) {
        char text[EVENTS_SIZE];
        ssize_t n = pread(events, text, sizeof text, 0);

        return n >= 0 ? fence_events_populated(text, (size_t)n) : -errno;
}

void fence_slice_unwatch(FenceSlice *slice) {
        close_fdp(&slice->events);
}

void fence_slice_watch(FenceSlice *slice) {
        if (slice->events < 0)
                slice->events = slice_open(slice, "cgroup.events", O_RDONLY);
        if (slice->events < 0)
                slice->events = -1;
}

bool fence_slice_populated(FenceSlice *slice) {
        _cleanup_close_ int once = -1;
        int r;

        if (slice->events >= 0) {
                r = slice_read(slice->events);
                if (r >= 0)
                        return r;
                fence_slice_unwatch(slice); /* of a cgroup that was removed; there may be another */
        }
        once = slice_open(slice, "cgroup.events", O_RDONLY);
        if (once < 0)
                return once != -ENOENT;
        r = slice_read(once);
        return r >= 0 ? r : r != -ENODEV;
}

bool fence_slice_may_kill(const FenceSlice *slice) {
        _cleanup_close_ int fd = slice_open(slice, "cgroup.kill", O_WRONLY);

        return fd >= 0;
}

int fence_slice_kill(const FenceSlice *slice) {
        _cleanup_close_ int fd = slice_open(slice, "cgroup.kill", O_WRONLY);

        if (fd < 0)
                return fd;
        return write(fd, "1", 1) == 1 ? 0 : -errno;
}
