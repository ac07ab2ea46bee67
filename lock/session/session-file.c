/* See session-file.h. The format is fixed lines rather than JSON, because every value has a fixed
 * width then, and the deadline can be moved in place:
 *
 *   jobkeeper session 2
 *   boot 6d1f...           the boot id
 *   identity n1 /jobkeeper whatever the owner says
 *   id 0x01000000a5f40000
 *   password 0f...         32 hexadecimal digits
 *   timeout 30000          negotiated, ms; for people
 *   held-until 812345678   D, microseconds on CLOCK_BOOTTIME (these three with leading zeros)
 *   stop-at 804345678      D - K
 *   check 0x85944171f73967e8  text_sum() of all before it: who reads while it is being moved sees
 * it
 *
 * The launch step of a run (coordinator/launch/) reads id and stop-at as well. Not boot: in a
 * container the boot's id may be another one for a process that has a /proc of its own.
 */
#include "session-file.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-id128.h>

#include "clock.h"
#include "state-file.h"
#include "sum.h"

#define MAGIC "jobkeeper session 2"
#define NUMBER "%020" PRIu64
#define FORMAT                                                                                     \
        MAGIC "\n"                                                                                 \
              "boot %s\n"                                                                          \
              "identity %s\n"                                                                      \
              "id 0x%016" PRIx64 "\n"                                                              \
              "password %s\n"                                                                      \
              "timeout " NUMBER "\n"                                                               \
              "held-until " NUMBER "\n"                                                            \
              "stop-at " NUMBER "\n"
#define FILE_BYTES_MAX 4096
#define FILE_TIMEOUT_MAX USEC_PER_DAY /* no server grants as much */
#define PASSWORD_BYTES G_SIZEOF_MEMBER(ZkSessionId, password)
#define PASSWORD_DIGITS (2 * PASSWORD_BYTES)

static int boot_id(char ret_boot[static SD_ID128_STRING_MAX]) {
        sd_id128_t boot;
        int r = sd_id128_get_boot(&boot);

        if (r >= 0)
                (void)sd_id128_to_string(boot, ret_boot);
        return r;
}

static void password_to_hex(const char *password, char ret_hex[static PASSWORD_DIGITS + 1]) {
        for (size_t i = 0; i < PASSWORD_BYTES; i++)
                (void)snprintf(ret_hex + 2 * i, 3, "%02x", (unsigned char)password[i]);
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

/* Return: what follows "KEY " on the given line; "" when it does not begin so. */
static const char *file_value(char **lines, unsigned line, const char *key) {
        size_t length = strlen(key);

        if (line >= g_strv_length(lines) || !g_str_has_prefix(lines[line], key) ||
            lines[line][length] != ' ')
                return "";
        return lines[line] + length + 1;
}

static bool file_take_number(char **lines, unsigned line, const char *key, usec_t *ret_value) {
        guint64 number = 0;

        if (!g_ascii_string_to_unsigned(file_value(lines, line, key), 10, 0, G_MAXUINT64, &number,
                                        NULL))
                return false;
        *ret_value = number;
        return true;
}

static bool file_take_session(char **lines, ZkSessionId *ret_session) {
        const char *id = file_value(lines, 3, "id");
        guint64 number = 0;

        if (!g_str_has_prefix(id, "0x") ||
            !g_ascii_string_to_unsigned(id + 2, 16, 1, G_MAXUINT64, &number, NULL) ||
            !password_from_hex(file_value(lines, 4, "password"), ret_session->password))
                return false;
        ret_session->id = (int64_t)number;
        return true;
}

/* Return: whether it is what was written: a version before wrote no sum. */
static bool file_is_whole(const char *text, char **lines) {
        const char *last = g_strv_length(lines) > 8 ? lines[8] : "", *check;
        guint64 sum = 0;

        if (!*last)
                return true;
        check = file_value(lines, 8, "check");
        return g_str_has_prefix(check, "0x") &&
               g_ascii_string_to_unsigned(check + 2, 16, 0, G_MAXUINT64, &sum, NULL) &&
               sum == text_sum(text, (size_t)(strstr(text, "\ncheck ") + 1 - text));
}

/* Return: whether a session can be certain for so long: its whole time-out from now. */
static bool file_is_possible(const SessionFile *file) {
        return file->stop_at <= file->held_until &&
               file->held_until <= usec_add(clock_boottime(), file->timeout);
}

/* `identity`: NULL is any. */
static int file_parse(const char *text, const char *boot, const char *identity,
                      SessionFile *ret_file) {
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        SessionFile file = {0};

        if (g_strcmp0(lines[0], MAGIC) != 0 || !*file_value(lines, 1, "boot"))
                return -EBADMSG;
        if (strcmp(file_value(lines, 1, "boot"), boot) != 0 ||
            (identity && strcmp(file_value(lines, 2, "identity"), identity) != 0))
                return -ESTALE;
        if (!file_is_whole(text, lines) || !file_take_session(lines, &file.session) ||
            !file_take_number(lines, 5, "timeout", &file.timeout) ||
            !file_take_number(lines, 6, "held-until", &file.held_until) ||
            !file_take_number(lines, 7, "stop-at", &file.stop_at) ||
            file.timeout > FILE_TIMEOUT_MAX / USEC_PER_MSEC)
                return -EBADMSG;
        file.timeout *= USEC_PER_MSEC;
        if (!file_is_possible(&file))
                return -EBADMSG;
        *ret_file = file;
        return 0;
}

static int file_load(const char *path, const char *identity, SessionFile *ret_file) {
        char boot[SD_ID128_STRING_MAX];
        g_autofree char *text = NULL;
        int r;

        r = state_file_read(path, FILE_BYTES_MAX, &text, NULL);
        if (r >= 0)
                r = boot_id(boot);
        return r < 0 ? r : file_parse(text, boot, identity, ret_file);
}

int session_file_load(const char *path, const char *identity, SessionFile *ret_file) {
        return file_load(path, identity ? identity : "", ret_file);
}

int session_file_load_any(const char *path, SessionFile *ret_file) {
        return file_load(path, NULL, ret_file);
}

static int file_compose(const char *identity, const SessionFile *file, char **ret_text) {
        char boot[SD_ID128_STRING_MAX], password[PASSWORD_DIGITS + 1];
        g_autofree char *text = NULL;
        int r = boot_id(boot);

        if (r < 0)
                return r;
        password_to_hex(file->session.password, password);
        text = g_strdup_printf(FORMAT, boot, identity ? identity : "", (uint64_t)file->session.id,
                               password, file->timeout / USEC_PER_MSEC, file->held_until,
                               file->stop_at);
        *ret_text =
            g_strdup_printf("%scheck 0x%016" PRIx64 "\n", text, text_sum(text, strlen(text)));
        return 0;
}

/* Return: the errno of what is likely to go wrong here; -EIO for the rest. */
static int file_errno(const GError *error) {
        static const int codes[] = {EACCES, EISDIR, ENOENT, ENOSPC, ENOTDIR, EROFS};

        for (size_t i = 0; i < G_N_ELEMENTS(codes); i++)
                if (g_error_matches(error, G_FILE_ERROR, (int)g_file_error_from_errno(codes[i])))
                        return -codes[i];
        return -EIO;
}

static int file_replace(const char *path, const char *text) {
        g_autoptr(GError) error = NULL;

        return g_file_set_contents_full(path, text, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0600,
                                        &error)
                   ? 0
                   : file_errno(error);
}

/* Nothing but a directory stands in its way. */
int session_file_save(const char *path, const char *identity, const SessionFile *file) {
        g_autofree char *text = NULL;
        int r = file_compose(identity, file, &text);

        if (r < 0)
                return r;
        r = file_replace(path, text);
        return r == -EISDIR && state_file_set_aside(path) >= 0 ? file_replace(path, text) : r;
}

/* Return: whether it is a file, and no longer than `size`: nothing stands behind what is written.
 */
static bool file_fits(int fd, size_t size) {
        struct stat st;

        return fstat(fd, &st) >= 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
               (size_t)st.st_size <= size;
}

int session_file_renew(const char *path, const char *identity, const SessionFile *file) {
        _cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        g_autofree char *text = NULL;
        ssize_t n;
        int r;

        if (fd < 0)
                return -errno;
        r = file_compose(identity, file, &text);
        if (r < 0)
                return r;
        if (!file_fits(fd, strlen(text)))
                return -EBADMSG;
        n = write(fd, text, strlen(text));
        if (n < 0)
                return -errno;
        return (size_t)n == strlen(text) ? 0 : -EIO;
}

int session_file_remove(const char *path) {
        return unlink(path) < 0 && errno != ENOENT ? -errno : 0;
}
