/* See state-file.h. */
#include "state-file.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"

/* So many are kept of one path. */
#define ASIDE_MAX 3

/* Return: a descriptor, or negative errno. */
static int state_file_open(const char *path, size_t most) {
        _cleanup_close_ int fd =
            open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        struct stat st;

        if (fd < 0)
                return errno == ENXIO ? -EBADMSG : -errno; /* a socket */
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -EBADMSG;
        if (st.st_uid != geteuid())
                return -EPERM;
        if ((size_t)st.st_size > most)
                return -EFBIG;
        return g_steal_fd(&fd);
}

/* Return: the number of bytes, `size` at most; negative errno. */
static ssize_t state_file_fill(int fd, char *text, size_t size) {
        size_t done = 0;
        ssize_t n = 1;

        while (done < size && n != 0) {
                n = read(fd, text + done, size - done);
                if (n < 0 && errno != EINTR)
                        return -errno;
                done += n > 0 ? (size_t)n : 0;
        }
        return (ssize_t)done;
}

int state_file_read(const char *path, size_t most, char **ret_text, size_t *ret_size) {
        _cleanup_close_ int fd = state_file_open(path, most);
        g_autofree char *text = NULL;
        struct stat st;
        ssize_t n;

        if (fd < 0)
                return fd;
        if (fstat(fd, &st) < 0)
                return -errno;
        text = g_malloc((size_t)st.st_size + 2);
        n = state_file_fill(fd, text, (size_t)st.st_size + 1);
        if (n < 0)
                return (int)n;
        if ((size_t)n > most)
                return -EFBIG; /* it grows */
        text[n] = '\0';
        if (!ret_size && strlen(text) != (size_t)n)
                return -EBADMSG;
        if (ret_size)
                *ret_size = (size_t)n;
        *ret_text = g_steal_pointer(&text);
        return 0;
}

const char *state_file_fault(int error) {
        switch (error) {
        case -EBADMSG:
                return "is no file that jobkeeper writes";
        case -ELOOP:
                return "is a link";
        case -EPERM:
                return "is another user's";
        case -EACCES:
                return "may not be read";
        case -EFBIG:
                return "is longer than any that jobkeeper writes";
        default:
                return g_strerror(-error);
        }
}

/* Return: 0; -EEXIST: something stands there already; or negative errno. */
static int state_file_move(const char *path, const char *aside) {
        struct stat st;

        if (renameat2(AT_FDCWD, path, AT_FDCWD, aside, RENAME_NOREPLACE) >= 0)
                return 0;
        if (errno != EINVAL) /* not every file system knows that */
                return -errno;
        if (lstat(aside, &st) >= 0)
                return -EEXIST;
        return rename(path, aside) < 0 ? -errno : 0;
}

int state_file_set_aside(const char *path) {
        for (unsigned i = 1; i <= ASIDE_MAX; i++) {
                g_autofree char *number = i > 1 ? g_strdup_printf("-%u", i) : NULL,
                                *aside = g_strconcat(path, ".damaged", number, NULL);
                int r = state_file_move(path, aside);

                if (r != -EEXIST)
                        return r;
        }
        return unlink(path) < 0 ? -errno : 1;
}
