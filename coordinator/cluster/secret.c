/* See secret.h. Read with plain system calls into one buffer: anything more comfortable leaves
 * copies behind that nobody wipes. */
#include "secret.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

char *secret_credential_path(void) {
        const char *directory = g_getenv("CREDENTIALS_DIRECTORY");

        return directory && *directory ? g_build_filename(directory, SECRET_CREDENTIAL, NULL)
                                       : NULL;
}

char *secret_free(char *secret) {
        if (secret)
                explicit_bzero(secret, strlen(secret));
        g_free(secret);
        return NULL;
}

const char *secret_stat_fault(const struct stat *st) {
        if (!S_ISREG(st->st_mode))
                return "is not a regular file";
        if (st->st_uid != 0 && st->st_uid != geteuid())
                return "belongs to another user: it must be root's";
        if ((st->st_mode & (S_IRWXO | S_IWGRP | S_IXGRP)) ||
            ((st->st_mode & S_IRGRP) && st->st_gid != 0))
                return "is open to others than its owner: it must have the mode 0600 or 0400";
        return NULL;
}

/* Reads until the buffer is full or the file ends. Return: the number of bytes, or negative errno.
 */
static ssize_t read_into(int fd, char *buffer, size_t size) {
        size_t length = 0;

        while (length < size) {
                ssize_t n = read(fd, buffer + length, size - length);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        break;
                length += (size_t)n;
        }
        return (ssize_t)length;
}

static bool has_control(const char *text, size_t length) {
        for (size_t i = 0; i < length; i++)
                if (g_ascii_iscntrl(text[i]))
                        return true;
        return false;
}

/* Judges what was read, and cuts the line's end off. Return: NULL, or what is wrong. */
static const char *secret_fault(char *text, size_t *length) {
        const char *colon;

        if (*length > SECRET_LENGTH_MAX)
                return "is longer than 1024 bytes";
        if (*length > 0 && text[*length - 1] == '\n')
                (*length)--;
        text[*length] = '\0';
        if (*length == 0)
                return "is empty";
        colon = memchr(text, ':', *length);
        if (!colon || colon == text || !colon[1] || has_control(text, *length))
                return "is not one line of the form USER:PASSWORD";
        return NULL;
}

static char *missing(const char *path) {
        return g_strdup_printf(
            "\"auth\" of \"zookeeper\" is digest, but there is no secret at %s: put USER:PASSWORD "
            "into %s (mode 0600), and restart jobkeeperd",
            path, SECRET_STORED_PATH);
}

/* Return: which file to mend, where the one that was read is systemd's copy of it. */
static const char *origin(const char *path) {
        g_autofree char *copy = secret_credential_path();

        return g_strcmp0(path, copy) == 0 ? " (systemd's copy of " SECRET_STORED_PATH
                                            ": mend that, and restart jobkeeperd)"
                                          : "";
}

int secret_read(const char *path, char **ret_secret, char **ret_fault) {
        char buffer[SECRET_LENGTH_MAX + 2] = "";
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        struct stat st = {0};
        const char *fault;
        size_t length;
        ssize_t n = fd < 0 ? -errno : 0;

        if (n == -ENOENT || n == -ENOTDIR) {
                *ret_fault = missing(path);
                return -ENOENT;
        }
        if (n == 0 && fstat(fd, &st) < 0)
                n = -errno;
        if (n == 0 && !secret_stat_fault(&st))
                n = read_into(fd, buffer, sizeof buffer - 1);
        if (n < 0) {
                *ret_fault = g_strdup_printf("the secret %s for ZooKeeper cannot be read: %s%s",
                                             path, g_strerror((int)-n), origin(path));
                return (int)n;
        }
        length = (size_t)n;
        fault = secret_stat_fault(&st);
        if (!fault)
                fault = secret_fault(buffer, &length);
        if (fault)
                *ret_fault =
                    g_strdup_printf("the secret %s for ZooKeeper %s%s", path, fault, origin(path));
        else {
                (void)prctl(PR_SET_DUMPABLE, 0);
                *ret_secret = g_strndup(buffer, length);
        }
        explicit_bzero(buffer, sizeof buffer);
        return fault ? -EBADMSG : 0;
}
