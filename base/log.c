/* See log.h. */
#define SD_JOURNAL_SUPPRESS_LOCATION /* it would be this file's for every line */
#include "log.h"

#include <glib.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <systemd/sd-journal.h>

#define FIELDS_MAX 6

/* Return: whether standard error is the stream that systemd connected to the journal
 * (systemd.exec(5), $JOURNAL_STREAM). */
static bool stderr_is_journal(void) {
        const char *stream = getenv("JOURNAL_STREAM");
        char *colon = NULL, *end = NULL;
        guint64 device, inode;
        struct stat st;

        if (!stream || fstat(STDERR_FILENO, &st) < 0)
                return false;
        device = g_ascii_strtoull(stream, &colon, 10);
        if (*colon != ':')
                return false;
        inode = g_ascii_strtoull(colon + 1, &end, 10);
        return *end == '\0' && st.st_dev == device && st.st_ino == inode;
}

static void send_to_journal(int priority, const LogAbout *about, const char *message) {
        g_autoptr(GPtrArray) fields = g_ptr_array_new_with_free_func(g_free);
        struct iovec iov[FIELDS_MAX];

        g_ptr_array_add(fields, about && about->job
                                    ? g_strdup_printf("MESSAGE=%s: %s", about->job, message)
                                    : g_strdup_printf("MESSAGE=%s", message));
        g_ptr_array_add(fields, g_strdup_printf("PRIORITY=%d", priority));
        if (about && about->message_id)
                g_ptr_array_add(fields, g_strdup_printf("MESSAGE_ID=%s", about->message_id));
        if (about && about->job)
                g_ptr_array_add(fields, g_strdup_printf("JOBKEEPER_JOB=%s", about->job));
        if (about && about->run)
                g_ptr_array_add(fields, g_strdup_printf("JOBKEEPER_RUN=%s", about->run));
        if (about && about->tick)
                g_ptr_array_add(fields, g_strdup_printf("JOBKEEPER_TICK=%" PRId64, about->tick));
        for (guint i = 0; i < fields->len; i++)
                iov[i] = (struct iovec){fields->pdata[i], strlen(fields->pdata[i])};
        (void)sd_journal_sendv(iov, (int)fields->len);
}

static void send_to_stderr(int priority, const LogAbout *about, const char *message) {
        static const char *const words[] = {"emergency", "alert",  "critical", "error",
                                            "warning",   "notice", "info",     "debug"};
        const char *job = about && about->job ? about->job : NULL;

        fprintf(stderr, "%s: %s%s%s\n", words[priority & LOG_PRIMASK], job ? job : "",
                job ? ": " : "", message);
}

void log_write(int priority, const LogAbout *about, const char *format, ...) {
        g_autofree char *message = NULL;
        va_list arguments;

        if (priority >= LOG_DEBUG && !getenv("JOBKEEPER_DEBUG"))
                return;
        va_start(arguments, format);
        message = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        if (stderr_is_journal())
                send_to_journal(priority, about, message);
        else
                send_to_stderr(priority, about, message);
}
