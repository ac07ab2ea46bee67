/* See lease-door.h. */
#include "lease-door.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <systemd/sd-bus.h>
#include <systemd/sd-id128.h>
#include <unistd.h>

#include "bus-interface.h"
#include "bus-open.h"
#include "chance.h"
#include "command-lock-call.h"
#include "state-file.h"
#include "timer.h"

#define LEASE_BACKLOG 64
/* So many commands may hold locks at a time; one more asks on the bus. */
#define LEASE_GUESTS_MAX 512

struct LeaseDoor {
        sd_event *event; /* weak, as the next */
        CommandLocks *locks;
        char *path;
        int fd;
        sd_event_source *source;
        GHashTable *guests; /* a set of Guest */
};

/* Who is connected. */
typedef struct Guest {
        LeaseDoor *door; /* weak: owns us */
        sd_bus *bus;
        sd_bus_slot *object, *disconnected;
        sd_event_source *leaving;
} Guest;

static void guest_free(void *data) {
        Guest *guest = data;

        sd_event_source_disable_unref(guest->leaving);
        sd_bus_slot_unref(guest->disconnected);
        sd_bus_slot_unref(guest->object);
        sd_bus_close_unref(guest->bus);
        g_free(guest);
}

static void guest_leave(void *userdata) {
        Guest *guest = userdata;

        g_hash_table_remove(guest->door->guests, guest);
}

static int guest_on_disconnected(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        Guest *guest = userdata;

        /* Not from inside the connection's own dispatching. */
        return timer_in(guest->door->event, &guest->leaving, 0, guest_leave, guest);
}

static int guest_on_lease(sd_bus_message *message, void *userdata, sd_bus_error *error) {
        const Guest *guest = userdata;

        return command_locks_lease_by_id(guest->door->locks, message, error);
}

static const sd_bus_vtable guest_vtable[] = {
    SD_BUS_VTABLE_START(0),
    SD_BUS_METHOD_WITH_ARGS("LockLease", SD_BUS_ARGS("s", id), SD_BUS_RESULT("s", lease),
                            guest_on_lease, SD_BUS_VTABLE_UNPRIVILEGED),
    SD_BUS_VTABLE_END,
};

/* The descriptor is the connection's. */
static int guest_serve(Guest *guest, int fd) {
        sd_id128_t id;
        int r = sd_bus_set_fd(guest->bus, fd, fd);

        if (r < 0) {
                (void)close(fd);
                return r;
        }
        chance_fill(&id, sizeof(id));
        if ((r = sd_bus_set_server(guest->bus, true, id)) < 0 ||
            (r = sd_bus_start(guest->bus)) < 0 ||
            (r = sd_bus_add_object_vtable(guest->bus, &guest->object, BUS_PATH, BUS_INTERFACE,
                                          guest_vtable, guest)) < 0 ||
            (r = sd_bus_match_signal_async(guest->bus, &guest->disconnected, NULL,
                                           "/org/freedesktop/DBus/Local",
                                           "org.freedesktop.DBus.Local", "Disconnected",
                                           guest_on_disconnected, NULL, guest)) < 0)
                return r;
        return sd_bus_attach_event(guest->bus, guest->door->event, SD_EVENT_PRIORITY_NORMAL);
}

/* The socket's mode keeps others out; one that was made before that is not ours. */
static bool door_lets_in(const LeaseDoor *door, int fd) {
        struct ucred peer = {0};
        socklen_t size = sizeof(peer);

        return g_hash_table_size(door->guests) < LEASE_GUESTS_MAX &&
               getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

static int door_on_connection(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        LeaseDoor *door = userdata;
        int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        Guest *guest;

        if (peer < 0)
                return 0; /* it left already, or there are too many: it asks again */
        if (!door_lets_in(door, peer)) {
                (void)close(peer);
                return 0;
        }
        guest = g_new0(Guest, 1);
        guest->door = door;
        if (bus_new(&guest->bus) < 0 || guest_serve(guest, peer) < 0)
                guest_free(guest);
        else
                g_hash_table_add(door->guests, guest);
        return 0;
}

static int door_make_room(const char *path) {
        if (unlink(path) >= 0 || errno == ENOENT)
                return 0;
        return errno == EISDIR ? MIN(state_file_set_aside(path), 0) : -errno;
}

static int door_listen(LeaseDoor *door) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        int r;

        if (g_strlcpy(address.sun_path, door->path, sizeof(address.sun_path)) >=
            sizeof(address.sun_path))
                return -ENAMETOOLONG;
        door->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (door->fd < 0)
                return -errno;
        r = door_make_room(door->path);
        if (r < 0)
                return r;
        /* Before it has a name: what is bound gets the mode that the socket has. */
        if (fchmod(door->fd, 0600) < 0 ||
            bind(door->fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
            listen(door->fd, LEASE_BACKLOG) < 0)
                return -errno;
        return sd_event_add_io(door->event, &door->source, door->fd, EPOLLIN, door_on_connection,
                               door);
}

int lease_door_new(const Node *node, CommandLocks *locks, LeaseDoor **ret_door) {
        _cleanup_(lease_door_freep) LeaseDoor *door = g_new0(LeaseDoor, 1);
        int r;

        door->event = node->event;
        door->locks = locks;
        door->fd = -1;
        door->path = g_build_filename(node->runtime_dir, LEASE_SOCKET, NULL);
        door->guests = g_hash_table_new_full(NULL, NULL, guest_free, NULL);
        r = door_listen(door);
        if (r < 0)
                return r;
        *ret_door = g_steal_pointer(&door);
        return 0;
}

LeaseDoor *lease_door_free(LeaseDoor *door) {
        if (!door)
                return NULL;
        sd_event_source_disable_unref(door->source);
        g_hash_table_unref(door->guests);
        if (door->fd >= 0)
                (void)close(door->fd);
        g_free(door->path);
        g_free(door);
        return NULL;
}
