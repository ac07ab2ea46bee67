/* See time-sync.h. Each question has a connection of its own: there are few of them, and a bus that
 * comes late or goes meanwhile is no case of its own.
 *
 * What is remembered is a line in a file of the boot, `clock-waited`: "waiting", or "yes" once that
 * is over. Whatever else is in it, which is not whole, is no yes. */
#include "time-sync.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "bus-open.h"
#include "kept-file.h"
#include "log.h"
#include "message-id.h"
#include "session-file.h"
#include "timer.h"

#define TIMEDATE "org.freedesktop.timedate1"
#define TIMEDATE_PATH "/org/freedesktop/timedate1"
#define PROPERTIES "org.freedesktop.DBus.Properties"

#define MARK_WAITING "waiting\n"
#define MARK_YES "yes\n"
#define MARK_BYTES_MAX 64

#define ASK_PERIOD (5 * USEC_PER_SEC)
/* So long it may take without a warning: a time service needs some seconds. */
#define WARN_AFTER (60 * USEC_PER_SEC)

typedef enum TimeSyncSaid {
        SAID_NOTHING,
        SAID_WAITING,
        SAID_WARNING,
} TimeSyncSaid;

struct TimeSync {
        Node *node; /* weak */
        sd_bus *bus;
        sd_bus_slot *question;
        sd_event_source *timer;
        usec_t since;
        TimeSyncSaid said;
};

static char *time_sync_mark(const Node *node) {
        return g_build_filename(node->runtime_dir, "clock-waited", NULL);
}

/* Where it cannot be remembered, the next process asks again. */
static void time_sync_remember(const Node *node, const char *text) {
        g_autofree char *mark = time_sync_mark(node);
        _cleanup_close_ int fd = open(
            mark, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK,
            0600);

        if (fd >= 0 && write(fd, text, strlen(text)) < 0)
                log_debug(NULL, "%s: cannot be written: %s", mark, g_strerror(errno));
}

static void time_sync_disconnect(TimeSync *sync) {
        sync->question = sd_bus_slot_unref(sync->question);
        sync->bus = sd_bus_close_unref(sync->bus);
}

static void time_sync_on_timer(void *userdata);

/* The connection is not closed from inside its own dispatching. */
static void time_sync_over(TimeSync *sync) {
        sync->node->waits_for_clock = false;
        time_sync_remember(sync->node, MARK_YES);
        (void)timer_in(sync->node->event, &sync->timer, 0, time_sync_on_timer, sync);
}

static void time_sync_unknowable(TimeSync *sync, const char *why) {
        log_info(NULL,
                 "nobody on this machine tells whether the clock is synchronised (%s): it is not "
                 "waited for",
                 why);
        time_sync_over(sync);
}

static void time_sync_yes(TimeSync *sync) {
        if (sync->said != SAID_NOTHING)
                log_notice(&(LogAbout){.message_id = MESSAGE_CLOCK_WAITED_FOR},
                           "this machine's clock is synchronised: jobs are started");
        time_sync_over(sync);
}

/* `what` is known of it. */
static void time_sync_later(TimeSync *sync, const char *what) {
        const LogAbout about = {.message_id = MESSAGE_CLOCK_WAITED_FOR};
        bool is_late = clock_boottime() >= usec_add(sync->since, WARN_AFTER);

        if (sync->said == SAID_NOTHING)
                log_info(&about, "no job is started until this machine's clock is synchronised: %s",
                         what);
        else if (sync->said == SAID_WAITING && is_late)
                log_warning(&about,
                            "no job is started until this machine's clock is synchronised: %s. "
                            "\"timedatectl\" shows its state (of chrony's it knows with "
                            "\"rtcsync\" in chrony.conf); \"wait-for-clock: no\" in "
                            "jobkeeper.yaml starts jobs without",
                            what);
        if (sync->said == SAID_NOTHING)
                sync->said = SAID_WAITING;
        else if (is_late)
                sync->said = SAID_WARNING;
        (void)timer_in(sync->node->event, &sync->timer, ASK_PERIOD, time_sync_on_timer, sync);
}

/* Return: whether there is nobody who could ever tell. */
static bool time_sync_is_hopeless(const sd_bus_error *error) {
        static const char *const names[] = {
            SD_BUS_ERROR_SERVICE_UNKNOWN,          SD_BUS_ERROR_NAME_HAS_NO_OWNER,
            SD_BUS_ERROR_UNKNOWN_INTERFACE,        SD_BUS_ERROR_UNKNOWN_METHOD,
            SD_BUS_ERROR_UNKNOWN_OBJECT,           SD_BUS_ERROR_UNKNOWN_PROPERTY,
            "org.freedesktop.systemd1.NoSuchUnit", "org.freedesktop.systemd1.UnitMasked",
        };

        for (size_t i = 0; i < G_N_ELEMENTS(names); i++)
                if (sd_bus_error_has_name(error, names[i]))
                        return true;
        return false;
}

static int time_sync_on_answer(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        TimeSync *sync = userdata;
        const sd_bus_error *error = sd_bus_message_get_error(message);
        int synchronised = 0;

        (void)ret_error;
        if (error && time_sync_is_hopeless(error))
                time_sync_unknowable(sync, error->message);
        else if (error)
                time_sync_later(sync, error->message);
        else if (sd_bus_message_read(message, "v", "b", &synchronised) < 0)
                time_sync_unknowable(sync, "timedated answers something else");
        else if (synchronised)
                time_sync_yes(sync);
        else
                time_sync_later(sync, "timedated says that it is not yet");
        return 0;
}

static int time_sync_ask(TimeSync *sync) {
        int r;

        if ((r = bus_open_system(&sync->bus)) < 0 ||
            (r = sd_bus_attach_event(sync->bus, sync->node->event, SD_EVENT_PRIORITY_NORMAL)) < 0)
                return r;
        return sd_bus_call_method_async(sync->bus, &sync->question, TIMEDATE, TIMEDATE_PATH,
                                        PROPERTIES, "Get", time_sync_on_answer, sync, "ss",
                                        TIMEDATE, "NTPSynchronized");
}

static void time_sync_on_timer(void *userdata) {
        TimeSync *sync = userdata;
        int r;

        time_sync_disconnect(sync);
        if (!sync->node->waits_for_clock)
                return;
        r = time_sync_ask(sync);
        if (r == -ENOENT)
                time_sync_unknowable(sync, "there is no system bus");
        else if (r < 0)
                time_sync_later(sync, g_strerror(-r));
}

/* Return: whether a process before us has had a session in this boot. */
static bool time_sync_has_predecessor(const Node *node) {
        g_autofree char *path = g_build_filename(node->runtime_dir, "session", NULL);
        SessionFile file = {0};
        int r = session_file_load_any(path, &file);

        explicit_bzero(&file, sizeof(file)); /* its password */
        return r >= 0;
}

/* Return: whether it was waited for in this boot. A process that has left no mark at all did not
 * wait: it is of a version that could not, or was told not to. What has worked so far, whatever the
 * clock says of itself, is not to stop because of our upgrade. */
static bool time_sync_was_waited_for(const Node *node) {
        g_autofree char *mark = time_sync_mark(node), *text = NULL;
        bool none = faccessat(AT_FDCWD, mark, F_OK, AT_SYMLINK_NOFOLLOW) < 0 && errno == ENOENT;

        text = kept_file_read(mark, MARK_BYTES_MAX, "the clock is waited for once more");
        if (!none)
                return text && strcmp(text, MARK_YES) == 0;
        if (!time_sync_has_predecessor(node))
                return false;
        time_sync_remember(node, MARK_YES);
        return true;
}

TimeSync *time_sync_new(Node *node, const char *container) {
        TimeSync *sync = g_new0(TimeSync, 1);

        sync->node = node;
        sync->since = clock_boottime();
        if (!node->config->wait_for_clock || time_sync_was_waited_for(node))
                return sync;
        time_sync_remember(node, MARK_WAITING);
        node->waits_for_clock = true;
        if (access(container, F_OK) >= 0)
                time_sync_unknowable(sync, "it is a container");
        else
                time_sync_on_timer(sync);
        return sync;
}

TimeSync *time_sync_free(TimeSync *sync) {
        if (!sync)
                return NULL;
        time_sync_disconnect(sync);
        sd_event_source_disable_unref(sync->timer);
        g_free(sync);
        return NULL;
}
