/* What else a process of a simulation finds around it, cut at the headers: the machine's and the
 * boot's id (sd-id128.h), a log (base/log.h: its lines are the trace's), and a service manager that
 * wants to know its state (base/notify.h: it is told to nobody). */
#include "surroundings.h"

#include <glib.h>
#include <stdarg.h>
#include <string.h>
#include <systemd/sd-id128.h>

#include "log.h"
#include "notify.h"
#include "process.h"
#include "trace.h"

/* ---- identity ---- */

int sd_id128_get_machine(sd_id128_t *ret_id) {
        return sd_id128_from_string(machine_id(process_machine(process_turn())), ret_id);
}

int sd_id128_get_boot(sd_id128_t *ret_id) {
        return sd_id128_from_string(machine_boot_id(process_machine(process_turn())), ret_id);
}

/* ---- the log ---- */

static struct {
        LogListenerFunc func;
        void *userdata;
} listener;

void surroundings_listen(LogListenerFunc func, void *userdata) {
        listener.func = func;
        listener.userdata = userdata;
}

void log_begin_thread(void) {
}

void log_end_thread(void) {
}

/* Where the simulation keeps the machine's files is chance, and no part of it. Return: newly
 * allocated. */
static char *log_without_place(const char *message) {
        g_auto(GStrv) parts =
            g_strsplit(message, machine_directory(process_machine(process_turn())), -1);

        return g_strjoinv("", parts);
}

void log_write(int priority, const LogAbout *about, const char *format, ...) {
        static const char *const words[] = {
            "emergency: ", "alert: ", "critical: ", "error: ", "warning: ", "", "", "debug: "};
        const char *job = about && about->job ? about->job : NULL;
        g_autofree char *message = NULL, *text = NULL;
        va_list arguments;

        if (process_is_over(process_turn()))
                return;
        if (listener.func)
                listener.func(machine_name(process_machine(process_turn())),
                              about ? about->message_id : NULL, job, listener.userdata);
        if (!trace_is_on())
                return;
        va_start(arguments, format);
        message = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        text = log_without_place(message);
        trace_write(machine_name(process_machine(process_turn())), "log: %s%s%s%s",
                    words[priority & LOG_PRIMASK], job ? job : "", job ? ": " : "", text);
}

/* ---- the service manager's ear ---- */

struct Notify {
        char nothing;
};

bool notify_has_manager(void) {
        return true;
}

Notify *notify_new(sd_event *event) {
        (void)event;
        return g_new0(Notify, 1);
}

Notify *notify_free(Notify *notify) {
        g_free(notify);
        return NULL;
}

void notify_say(Notify *notify, const char *format, ...) {
        (void)notify;
        (void)format;
}

int notify_watchdog(Notify *notify) {
        (void)notify;
        return 0;
}
