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

#include "log-thread.h"

#define FIELDS_MAX 6
/* At the end, for what still waits. */
#define LOG_END_LIMIT (2 * USEC_PER_SEC)

/* A process has one log, as it has one standard error: whoever has a line need not know how it is
 * sent. NULL: at once. */
static LogThread *log_thread;

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

static GPtrArray *fields_new(int priority, const LogAbout *about, const char *message) {
        GPtrArray *fields = g_ptr_array_new_with_free_func(g_free);

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
        return fields;
}

static GPtrArray *fields_of_lost(unsigned lost) {
        g_autofree char *message =
            g_strdup_printf("%u lines of this log were lost: the journal took none", lost);

        return fields_new(LOG_WARNING, NULL, message);
}

/* Waits while the journal's socket is full. */
static void fields_send(const GPtrArray *fields) {
        struct iovec iov[FIELDS_MAX];

        for (guint i = 0; i < fields->len; i++)
                iov[i] = (struct iovec){fields->pdata[i], strlen(fields->pdata[i])};
        (void)sd_journal_sendv(iov, (int)fields->len);
}

static void send_to_journal(int priority, const LogAbout *about, const char *message) {
        GPtrArray *fields = fields_new(priority, about, message);

        if (log_thread) {
                log_thread_push(log_thread, fields);
                return;
        }
        fields_send(fields);
        g_ptr_array_unref(fields);
}

void log_begin_thread(void) {
        if (!log_thread && stderr_is_journal())
                log_thread = log_thread_new(fields_send, fields_of_lost);
}

void log_end_thread(void) {
        if (log_thread)
                (void)log_thread_end(log_thread, LOG_END_LIMIT);
        log_thread = NULL;
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
