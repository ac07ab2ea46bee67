/* See lease-way.h. */
#include "lease-way.h"

#include <errno.h>
#include <glib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "bus-open.h"

struct LeaseWay {
        sd_event *event;
        char *address;
        sd_bus *bus;
        bool lost; /* to be made anew, but not from inside its own dispatching */
};

bool lease_way_is_served(const char *path) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        _cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (fd < 0 ||
            g_strlcpy(address.sun_path, path, sizeof(address.sun_path)) >= sizeof(address.sun_path))
                return false;
        /* A queue that is full is somebody's. */
        return connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 ||
               errno == EAGAIN;
}

LeaseWay *lease_way_new(sd_event *event, const char *address) {
        LeaseWay *way = g_new0(LeaseWay, 1);

        way->event = sd_event_ref(event);
        way->address = g_strdup(address);
        return way;
}

LeaseWay *lease_way_free(LeaseWay *way) {
        if (!way)
                return NULL;
        sd_bus_close_unref(way->bus);
        sd_event_unref(way->event);
        g_free(way->address);
        g_free(way);
        return NULL;
}

static int lease_way_open(LeaseWay *way) {
        int r = bus_new(&way->bus);

        if (r < 0 || (r = sd_bus_set_address(way->bus, way->address)) < 0 ||
            (r = sd_bus_start(way->bus)) < 0)
                return r;
        return sd_bus_attach_event(way->bus, way->event, SD_EVENT_PRIORITY_NORMAL);
}

sd_bus *lease_way_bus(LeaseWay *way) {
        if (way->lost || (way->bus && sd_bus_is_open(way->bus) <= 0))
                way->bus = sd_bus_close_unref(way->bus);
        way->lost = false;
        if (!way->bus && lease_way_open(way) < 0)
                way->bus = sd_bus_close_unref(way->bus);
        return way->bus;
}

void lease_way_is_lost(LeaseWay *way) {
        way->lost = true;
}
