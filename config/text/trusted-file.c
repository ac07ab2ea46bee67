/* See trusted-file.h. */
#include "trusted-file.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* As many as the kernel follows. */
#define LINKS_MAX 40

#define NO_RIGHTS "jobkeeperd has no special rights: the mode must let root read it"

static bool is_ours(const struct stat *st) {
        return st->st_uid == 0 || st->st_uid == geteuid();
}

/* Return: NULL, or newly allocated, why what stands in the directory may not be what its owner put
 * there. In a sticky one the others cannot touch what is not theirs. */
static char *trusted_directory_fault(const char *path, bool sticky_will_do) {
        struct stat st;

        if (stat(path, &st) < 0)
                return NULL; /* whoever opens what is in it is told */
        if (!is_ours(&st))
                return g_strdup_printf("the directory %s belongs to user %u, not to root", path,
                                       (unsigned)st.st_uid);
        if ((st.st_mode & (S_IWGRP | S_IWOTH)) && !(sticky_will_do && (st.st_mode & S_ISVTX)))
                return g_strdup_printf(
                    "the directory %s is writable by others than its owner (mode %04o)", path,
                    (unsigned)st.st_mode & 07777);
        return NULL;
}

char *trusted_place_fault(const char *path) {
        g_autofree char *place = g_strdup(path);

        for (unsigned i = 0; i < LINKS_MAX; i++) {
                g_autofree char *directory = g_path_get_dirname(place), *target = NULL;
                char *fault = trusted_directory_fault(directory, true);
                struct stat st;

                if (fault || lstat(place, &st) < 0)
                        return fault;
                if (!S_ISLNK(st.st_mode))
                        return S_ISDIR(st.st_mode) ? trusted_directory_fault(place, false) : NULL;
                if (!is_ours(&st))
                        return g_strdup_printf("the link %s belongs to user %u, not to root", place,
                                               (unsigned)st.st_uid);
                target = g_file_read_link(place, NULL);
                if (!target)
                        return NULL;
                g_free(place);
                place = g_path_is_absolute(target) ? g_strdup(target)
                                                   : g_build_filename(directory, target, NULL);
        }
        return NULL; /* a circle: whoever opens it is told */
}

/* Return: why it could not be opened. */
static char *open_fault(const char *path, int error) {
        g_autofree char *closed = trusted_file_closed(path, error);
        g_autofree char *target = error == ENOENT ? g_file_read_link(path, NULL) : NULL;

        return target ? g_strdup_printf("is a link to %s, which does not exist", target)
                      : g_strdup_printf("cannot be opened: %s%s", g_strerror(error), closed);
}

/* Return: NULL where it is no link. */
static char *link_fault(const char *path) {
        struct stat st;

        return lstat(path, &st) == 0 && S_ISLNK(st.st_mode) ? trusted_place_fault(path) : NULL;
}

static bool is_dev_null(const struct stat *st) {
        return S_ISCHR(st->st_mode) && st->st_rdev == makedev(1, 3);
}

/* Return: NULL, or why a file like this is refused. */
static char *stat_fault(const struct stat *st, size_t size_max) {
        if (S_ISDIR(st->st_mode))
                return g_strdup("is a directory, not a file");
        if (!S_ISREG(st->st_mode))
                return g_strdup("is not a regular file");
        if (!is_ours(st))
                return g_strdup_printf("belongs to user %u, not to root", (unsigned)st->st_uid);
        if (!(st->st_mode & S_IRUSR)) /* we could open it all the same, being a root with rights */
                return g_strdup_printf("cannot be read by its owner (mode %04o), and so not by "
                                       "jobkeeperd, which has no special rights",
                                       (unsigned)st->st_mode & 07777);
        if (st->st_mode & (S_IWGRP | S_IWOTH))
                return g_strdup_printf("is writable by others than its owner (mode %04o)",
                                       (unsigned)st->st_mode & 07777);
        if ((uint64_t)st->st_size > size_max)
                return g_strdup_printf("is larger than %zu KiB", size_max / 1024);
        return NULL;
}

/* Return: whether root may do this (of a mode of its owner's) by the mode alone. */
static bool mode_lets_root(const struct stat *st, mode_t owner) {
        mode_t needed = is_ours(st) ? owner : owner >> 6;

        return (st->st_mode & needed) == needed;
}

char *trusted_file_closed(const char *path, int error) {
        g_autofree char *directory = g_path_get_dirname(path);
        struct stat st;

        if (error != EACCES)
                return g_strdup("");
        if (stat(path, &st) == 0)
                return mode_lets_root(&st, S_ISDIR(st.st_mode) ? S_IRUSR | S_IXUSR : S_IRUSR)
                           ? g_strdup("")
                           : g_strdup_printf(" (mode %04o; " NO_RIGHTS ")",
                                             (unsigned)st.st_mode & 07777);
        if (stat(directory, &st) < 0 || mode_lets_root(&st, S_IXUSR))
                return g_strdup("");
        return g_strdup_printf(" (mode %04o of the directory %s; " NO_RIGHTS ")",
                               (unsigned)st.st_mode & 07777, directory);
}

/* Reads to the end of the file. Return: 0; -EFBIG when it grew past size_max; negative errno. */
static int read_whole(int fd, size_t size_max, GString *text) {
        for (;;) {
                char buffer[16384];
                ssize_t n = read(fd, buffer, sizeof buffer);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        return 0;
                if (text->len + (size_t)n > size_max)
                        return -EFBIG;
                g_string_append_len(text, buffer, n);
        }
}

/* Opens without waiting for a FIFO's writer. */
static int open_file(const char *path, struct stat *ret_st) {
        int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

        if (fd < 0)
                return -errno;
        if (fstat(fd, ret_st) < 0) {
                int r = -errno;

                (void)close(fd);
                return r;
        }
        return fd;
}

int trusted_file_read(const char *path, size_t size_max, Diagnostics *diagnostics, char **ret_text,
                      size_t *ret_size) {
        g_autoptr(GString) text = g_string_new(NULL);
        g_autofree char *fault = NULL;
        Mark mark = {g_intern_string(path), 0, 0};
        struct stat st = {0};
        _cleanup_close_ int fd = -1;
        int r;

        fd = open_file(path, &st);
        if (fd == -ENOENT && (lstat(path, &st) < 0 || !S_ISLNK(st.st_mode)))
                return -ENOENT;
        fault = fd < 0 ? open_fault(path, -fd) : link_fault(path);
        if (!fault && is_dev_null(&st))
                return TRUSTED_FILE_MASKED;
        if (!fault)
                fault = stat_fault(&st, size_max);
        if (fault) {
                diagnostics_add(diagnostics, &mark, "%s", fault);
                return -EBADMSG;
        }
        r = read_whole(fd, size_max, text);
        if (r < 0) {
                diagnostics_add(diagnostics, &mark, "cannot be read: %s", g_strerror(-r));
                return -EBADMSG;
        }
        *ret_size = text->len;
        *ret_text = g_string_free(g_steal_pointer(&text), FALSE);
        return 0;
}
