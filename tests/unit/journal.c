/* See journal.h. */
#include "journal.h"

#include <glib.h>
#include <stdio.h>
#include <string.h>

static GPtrArray *lines; /* "MESSAGE-ID PRIORITY: JOB: SENTENCE" */

__attribute__((destructor)) static void lines_free(void) {
        g_clear_pointer(&lines, g_ptr_array_unref);
}

void log_write(int priority, const LogAbout *about, const char *format, ...) {
        static const char *const words[] = {"emergency", "alert",  "critical", "error",
                                            "warning",   "notice", "info",     "debug"};
        g_autofree char *sentence = NULL;
        char *line = NULL;
        va_list arguments;

        va_start(arguments, format);
        sentence = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        line = g_strdup_printf(
            "%s %s: %s%s%s", about && about->message_id ? about->message_id : "-", words[priority],
            about && about->job ? about->job : "", about && about->job ? ": " : "", sentence);
        (void)fprintf(stderr, "%s\n", line);
        if (!lines)
                lines = g_ptr_array_new_with_free_func(g_free);
        g_ptr_array_add(lines, line);
}

bool journal_has(const char *part) {
        for (guint i = 0; lines && i < lines->len; i++)
                if (strstr(strchr(lines->pdata[i], ' ') + 1, part))
                        return true;
        return false;
}

unsigned journal_count(const char *message_id) {
        unsigned n = 0;

        for (guint i = 0; lines && i < lines->len; i++)
                n += g_str_has_prefix(lines->pdata[i], message_id);
        return n;
}
