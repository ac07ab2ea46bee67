/* See notify.h. */
#include "notify.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "timer.h"

/* Of the watchdog's period: one that is late is not missed. */
#define WATCHDOG_PART 3

struct Notify {
        sd_event *event;
        int fd;        /* connected to the manager's socket; -1: not */
        GQueue *waits; /* of char *, the oldest first */
        sd_event_source *room;
        usec_t watchdog; /* the manager's period; 0: it has none */
        sd_event_source *ping;
};

bool notify_has_manager(void) {
        return getenv("NOTIFY_SOCKET");
}

Notify *notify_new(sd_event *event) {
        Notify *notify = g_new0(Notify, 1);

        notify->event = sd_event_ref(event);
        notify->fd = -1;
        notify->waits = g_queue_new();
        return notify;
}

static void notify_disconnect(Notify *notify) {
        notify->room = sd_event_source_disable_unref(notify->room);
        if (notify->fd >= 0)
                (void)close(notify->fd);
        notify->fd = -1;
}

static int notify_connect(Notify *notify) {
        const char *path = getenv("NOTIFY_SOCKET");
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        size_t length = path ? strlen(path) : 0;

        if (notify->fd >= 0)
                return 0;
        if (length < 2 || length >= sizeof(address.sun_path))
                return -ENOTCONN;
        memcpy(address.sun_path, path, length + 1);
        if (path[0] == '@') /* an abstract one */
                address.sun_path[0] = '\0';
        notify->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (notify->fd >= 0 &&
            connect(notify->fd, (const struct sockaddr *)&address,
                    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) == 0)
                return 0;
        notify_disconnect(notify);
        return -ENOTCONN;
}

/* Return: 0; -EAGAIN: there is no room; another negative errno: nobody is there. */
static int notify_send(Notify *notify, const char *text) {
        int r = notify_connect(notify);

        if (r < 0)
                return r;
        return send(notify->fd, text, strlen(text), MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* Tells what there is room for. Return: whether something still waits. */
static bool notify_flush(Notify *notify) {
        while (!g_queue_is_empty(notify->waits)) {
                int r = notify_send(notify, g_queue_peek_head(notify->waits));

                if (r < 0 && r != -EAGAIN) { /* another manager may listen there by now */
                        notify_disconnect(notify);
                        r = notify_send(notify, g_queue_peek_head(notify->waits));
                }
                if (r == -EAGAIN)
                        return true;
                g_free(g_queue_pop_head(notify->waits));
        }
        return false;
}

static void notify_tell(Notify *notify);

static int notify_on_room(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        (void)source;
        (void)fd;
        (void)events;
        notify_tell(userdata);
        return 0;
}

static void notify_tell(Notify *notify) {
        if (!notify_flush(notify))
                notify->room = sd_event_source_disable_unref(notify->room);
        else if (!notify->room)
                (void)sd_event_add_io(notify->event, &notify->room, notify->fd, EPOLLOUT,
                                      notify_on_room, notify);
}

Notify *notify_free(Notify *notify) {
        if (!notify)
                return NULL;
        (void)notify_flush(notify);
        notify_disconnect(notify);
        sd_event_source_disable_unref(notify->ping);
        g_queue_free_full(notify->waits, g_free);
        sd_event_unref(notify->event);
        g_free(notify);
        return NULL;
}

/* Drops what the text is the newer of. */
static void notify_supersede(const Notify *notify, const char *text) {
        size_t kind = strcspn(text, "=") + 1;

        for (GList *link = notify->waits->head, *next = NULL; link; link = next) {
                next = link->next;
                if (strncmp(link->data, text, kind) != 0)
                        continue;
                g_free(link->data);
                g_queue_delete_link(notify->waits, link);
        }
}

void notify_say(Notify *notify, const char *format, ...) {
        va_list arguments;
        char *text;

        if (!notify)
                return;
        va_start(arguments, format);
        text = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        notify_supersede(notify, text);
        g_queue_push_tail(notify->waits, text);
        if (!notify->room)
                notify_tell(notify);
}

static void notify_on_ping(void *userdata) {
        Notify *notify = userdata;

        notify_say(notify, "WATCHDOG=1");
        if (timer_in(notify->event, &notify->ping, notify->watchdog / WATCHDOG_PART, notify_on_ping,
                     notify) >= 0)
                /* Whatever else there is to do: this asks whether the loop turns at all. */
                (void)sd_event_source_set_priority(notify->ping, SD_EVENT_PRIORITY_IMPORTANT);
}

int notify_watchdog(Notify *notify) {
        uint64_t period = 0;
        int r = sd_watchdog_enabled(0, &period);

        if (r <= 0)
                return r;
        notify->watchdog = period;
        notify_on_ping(notify);
        return 0;
}
