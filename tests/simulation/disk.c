/* GLib's function with which the product writes its files, as a whole: on a machine whose disk is
 * full it fails, and the file stays as it was. There is nothing to be waited for: what a crash of
 * the machine makes of a file that has just been written is a fault of its own. */
#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "process.h"

static gboolean disk_fail(GError **error, const char *path) {
        int saved = errno;

        g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(saved),
                    "Failed to write to “%s”: %s", path, g_strerror(saved));
        return FALSE;
}

/* Return: 0 or -1, with errno. */
static int disk_write(const char *path, const char *text, size_t length, int mode) {
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
        ssize_t n;

        if (fd < 0)
                return -1;
        n = write(fd, text, length);
        return close(fd) < 0 || n != (ssize_t)length ? -1 : 0;
}

gboolean g_file_set_contents_full(const gchar *filename, const gchar *contents, gssize length,
                                  GFileSetContentsFlags flags, int mode, GError **error) {
        const Process *turn = process_turn_if_any();
        g_autofree char *temporary = g_strconcat(filename, ".new", NULL);
        size_t size = length < 0 ? strlen(contents) : (size_t)length;

        (void)flags;
        if (turn && machine_is_full(process_machine(turn))) {
                errno = ENOSPC;
                return disk_fail(error, filename);
        }
        if (disk_write(temporary, contents, size, mode) < 0 || rename(temporary, filename) < 0)
                return disk_fail(error, filename);
        return TRUE;
}
