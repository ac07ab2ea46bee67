/* PID 1 executed itself anew, and does not let us subscribe again: no real one can be made to, so a
 * bus of our own plays both of them until the manager has given it up. */
#include <glib.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "node-units-fixture.h"

typedef struct FakeBus {
        sd_event *event;
        char *path;
        int listener;
        sd_event_source *source;
        sd_bus *bus;
        bool refuses;
        unsigned reads; /* left without an answer */
} FakeBus;

static int on_call(sd_bus_message *message, void *userdata, sd_bus_error *ret_error) {
        FakeBus *fake = userdata;

        if (sd_bus_message_is_method_call(message, "org.freedesktop.DBus", "Hello"))
                return sd_bus_reply_method_return(message, "s", ":1.1");
        if (sd_bus_message_is_method_call(message, NULL, "GetAll")) {
                fake->reads++;
                return 1;
        }
        if (fake->refuses && sd_bus_message_is_method_call(message, NULL, "Subscribe"))
                return sd_bus_reply_method_errorf(message, SD_BUS_ERROR_LIMITS_EXCEEDED, "no");
        return sd_bus_reply_method_return(message, NULL);
}

static int on_connection(sd_event_source *source, int fd, uint32_t revents, void *userdata) {
        FakeBus *fake = userdata;
        sd_id128_t id;
        int r = accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (r >= 0 && fake->bus) /* once is enough */
                return close(r);
        if (r < 0 || sd_bus_new(&fake->bus) < 0)
                return -EIO;
        if (sd_id128_randomize(&id) < 0 || sd_bus_set_fd(fake->bus, r, r) < 0 ||
            sd_bus_set_server(fake->bus, 1, id) < 0 ||
            sd_bus_add_filter(fake->bus, NULL, on_call, fake) < 0 || sd_bus_start(fake->bus) < 0)
                return -EIO;
        return sd_bus_attach_event(fake->bus, fake->event, 0);
}

static bool fake_open(FakeBus *fake, Fixture *f) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};

        *fake = (FakeBus){.event = f->event,
                          .path = g_build_filename(f->directory, "bus", NULL),
                          .listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)};
        (void)g_strlcpy(address.sun_path, fake->path, sizeof address.sun_path);
        return bind(fake->listener, (struct sockaddr *)&address, sizeof address) == 0 &&
               listen(fake->listener, 1) == 0 &&
               sd_event_add_io(f->event, &fake->source, fake->listener, EPOLLIN, on_connection,
                               fake) >= 0;
}

static void fake_close(FakeBus *fake) {
        sd_event_source_disable_unref(fake->source);
        (void)close(fake->listener);
        (void)sd_bus_detach_event(fake->bus);
        sd_bus_close_unref(fake->bus);
        (void)g_unlink(fake->path);
        g_free(fake->path);
}

/* What the bus says when PID 1 is back on it. */
static bool fake_owner_changed(FakeBus *fake) {
        _cleanup_(sd_bus_message_unrefp) sd_bus_message *signal = NULL;

        return sd_bus_message_new_signal(fake->bus, &signal, "/org/freedesktop/DBus",
                                         "org.freedesktop.DBus", "NameOwnerChanged") >= 0 &&
               sd_bus_message_append(signal, "sss", "org.freedesktop.systemd1", "", ":1.9") >= 0 &&
               sd_bus_message_set_sender(signal, "org.freedesktop.DBus") >= 0 &&
               sd_bus_send(fake->bus, signal, NULL) >= 0;
}

void test_subscribe_refused(Fixture *f) {
        g_autofree char *name = fresh_name(f),
                        *private_socket = g_build_filename(f->directory, "private", NULL);
        usec_t end = clock_monotonic() + PATIENCE;
        FakeBus fake;
        Seen seen;

        check(f, fake_open(&fake, f), "subscribe refused: a bus of our own");
        wait_idle(f);
        new_manager_at(f, private_socket, fake.path);
        seen_adopt(f, &seen, name, NONCE_A);
        while (fake.reads == 0 && clock_monotonic() < end)
                (void)sd_event_run(f->event, 50 * USEC_PER_MSEC);
        check(f, fake.reads == 1, "subscribe refused: a read is under way");
        fake.refuses = true;
        check(f, fake_owner_changed(&fake), "subscribe refused: PID 1 is back");
        check(f, wait_connected(f, false), "subscribe refused: the bus is given up");
        (void)symlink(PRIVATE_SOCKET, private_socket);
        (void)wait_for(f, &seen, 'a');
        check(f, strcmp(seen.trace, "a") == 0,
              "subscribe refused: the unit is read again elsewhere");
        seen_done(&seen);
        fake_close(&fake);
        (void)g_unlink(private_socket);
        new_manager(f);
        (void)wait_referable(f);
}
