/* See session-file.h. The format is fixed lines rather than JSON, because this floor has no JSON
 * library and three values need none:
 *
 *   jobkeeper session 1
 *   boot 6d1f...           /proc/sys/kernel/random/boot_id
 *   id 0x1000000a5f40000
 *   password 0f...         32 hexadecimal digits
 *   timeout 30000          negotiated, ms; for people
 */
#include "session-file.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define FORMAT                                                                                     \
        "jobkeeper session 1\n"                                                                    \
        "boot %s\n"                                                                                \
        "id 0x%" PRIx64 "\n"                                                                       \
        "password %s\n"                                                                            \
        "timeout %" PRIu64 "\n"
#define FILE_BYTES_MAX 4096
#define BOOT_ID_PATH "/proc/sys/kernel/random/boot_id"
#define PASSWORD_BYTES G_SIZEOF_MEMBER(ZkSessionId, password)
#define PASSWORD_DIGITS (2 * PASSWORD_BYTES)

/* Reads a small file whole. Return: 0 or negative errno; -EBADMSG when it is not small, or has NULs
 * inside. */
static int read_small(const char *path, char **ret_text) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        g_autofree char *text = g_malloc0(FILE_BYTES_MAX + 1);
        ssize_t n;

        if (fd < 0)
                return -errno;
        n = read(fd, text, FILE_BYTES_MAX);
        if (n < 0)
                return -errno;
        if (n == FILE_BYTES_MAX || strlen(text) != (size_t)n)
                return -EBADMSG;
        *ret_text = g_steal_pointer(&text);
        return 0;
}

static int boot_id(char **ret_boot) {
        int r = read_small(BOOT_ID_PATH, ret_boot);

        if (r >= 0)
                g_strstrip(*ret_boot);
        return r;
}

static char *password_to_hex(const char *password) {
        char *hex = g_malloc(PASSWORD_DIGITS + 1);

        for (size_t i = 0; i < PASSWORD_BYTES; i++)
                (void)snprintf(hex + 2 * i, 3, "%02x", (unsigned char)password[i]);
        return hex;
}

static bool password_from_hex(const char *hex, char *ret_password) {
        if (strlen(hex) != PASSWORD_DIGITS)
                return false;
        for (size_t i = 0; i < PASSWORD_BYTES; i++) {
                int high = g_ascii_xdigit_value(hex[2 * i]),
                    low = g_ascii_xdigit_value(hex[2 * i + 1]);

                if (high < 0 || low < 0)
                        return false;
                ret_password[i] = (char)(high << 4 | low);
        }
        return true;
}

/* Return: what follows "KEY " on the given line, or NULL. */
static const char *value_of(char **lines, unsigned line, const char *key) {
        size_t length = strlen(key);

        if (line >= g_strv_length(lines) || !g_str_has_prefix(lines[line], key) ||
            lines[line][length] != ' ')
                return NULL;
        return lines[line] + length + 1;
}

static int parse(const char *text, const char *boot, ZkSessionId *ret_session) {
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        const char *of_boot = value_of(lines, 1, "boot"), *id = value_of(lines, 2, "id"),
                   *password = value_of(lines, 3, "password");
        ZkSessionId session = {0};
        guint64 number;

        if (g_strcmp0(lines[0], "jobkeeper session 1") != 0 || !of_boot || !id || !password)
                return -EBADMSG;
        if (g_strcmp0(of_boot, boot) != 0)
                return -ESTALE;
        if (!g_str_has_prefix(id, "0x") ||
            !g_ascii_string_to_unsigned(id + 2, 16, 1, G_MAXUINT64, &number, NULL) ||
            !password_from_hex(password, session.password))
                return -EBADMSG;
        session.id = (int64_t)number;
        *ret_session = session;
        return 0;
}

int session_file_load(const char *path, ZkSessionId *ret_session) {
        g_autofree char *text = NULL, *boot = NULL;
        int r;

        r = read_small(path, &text);
        if (r < 0)
                return r;
        r = boot_id(&boot);
        if (r < 0)
                return r;
        return parse(text, boot, ret_session);
}

static int write_all(int fd, const char *text) {
        size_t length = strlen(text);

        while (length > 0) {
                ssize_t n = write(fd, text, length);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                text += n;
                length -= (size_t)n;
        }
        return fsync(fd) < 0 ? -errno : 0;
}

int session_file_save(const char *path, const ZkSessionId *session, usec_t timeout) {
        g_autofree char *temporary = g_strconcat(path, ".new", NULL), *boot = NULL, *text = NULL,
                        *password = password_to_hex(session->password);
        _cleanup_close_ int fd = -1;
        int r;

        r = boot_id(&boot);
        if (r < 0)
                return r;
        text =
            g_strdup_printf(FORMAT, boot, (uint64_t)session->id, password, timeout / USEC_PER_MSEC);

        /* A leftover may have another mode or owner. */
        if (unlink(temporary) < 0 && errno != ENOENT)
                return -errno;
        fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return -errno;
        r = write_all(fd, text);
        if (r >= 0 && rename(temporary, path) < 0)
                r = -errno;
        if (r < 0)
                (void)unlink(temporary);
        return r;
}

int session_file_remove(const char *path) {
        return unlink(path) < 0 && errno != ENOENT ? -errno : 0;
}
