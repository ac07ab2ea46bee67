/* See fence-port.h. */
#include "fence-port.h"

#include <errno.h>
#include <glib.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "cgroup.h"

#define CGROUP_ROOT "/sys/fs/cgroup" /* where the fence looks for the slice, too */

struct FencePort {
        sd_event_source *source;
        int fd;
        int timers[FENCE_TIMERS];
        bool greeted;
        FenceHello hello;
        FencePortFunc func;
        void *userdata;
};

/* Return: how many descriptors came along, for more than which there was no room. They are ours to
 * close, whatever is said. */
static size_t port_take_descriptors(FencePort *port, struct msghdr *message) {
        const struct cmsghdr *header = CMSG_FIRSTHDR(message);
        size_t size;

        if (!header || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
                return 0;
        size = header->cmsg_len - CMSG_LEN(0);
        memcpy(port->timers, CMSG_DATA(header), size);
        return size / sizeof *port->timers;
}

/* Return: 1 with a greeting; 0 where there is nothing to be read yet; negative errno. */
static int port_read(FencePort *port) {
        struct iovec iov = {&port->hello, sizeof port->hello};
        union {
                struct cmsghdr header;
                char space[CMSG_SPACE(FENCE_TIMERS * sizeof(int))];
        } control = {0};
        struct msghdr message = {.msg_iov = &iov,
                                 .msg_iovlen = 1,
                                 .msg_control = &control,
                                 /* What it sends later is not taken. */
                                 .msg_controllen = port->greeted ? 0 : sizeof control};
        ssize_t n = recvmsg(port->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

        if (n < 0)
                return errno == EAGAIN || errno == EINTR ? 0 : -errno;
        /* It greets once, and then says nothing. */
        if (n == 0 || port->greeted)
                return -ECONNRESET;
        if (port_take_descriptors(port, &message) != FENCE_TIMERS ||
            (message.msg_flags & MSG_CTRUNC) || n < (ssize_t)sizeof port->hello.magic)
                return -EBADMSG;
        /* Of another protocol the rest is not known. */
        if (n != (ssize_t)sizeof port->hello)
                memset(port->hello.magic, 0, sizeof port->hello.magic);
        port->hello.version[sizeof port->hello.version - 1] = '\0';
        port->hello.instance[sizeof port->hello.instance - 1] = '\0';
        port->greeted = true;
        return 1;
}

static int port_on_io(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        FencePort *port = userdata;
        int r = port_read(port);

        if (r == 0)
                return 0;
        if (r < 0)
                port->source = sd_event_source_disable_unref(port->source);
        port->func(r > 0 ? FENCE_PORT_GREETED : FENCE_PORT_ENDED, port->userdata);
        return 0;
}

/* A connection to a socket of this kind is made at once or not at all. Return: 0 or negative errno.
 */
static int port_connect(FencePort *port, const char *socket_path) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};

        if (g_strlcpy(address.sun_path, socket_path, sizeof address.sun_path) >=
            sizeof address.sun_path)
                return -ENAMETOOLONG;
        port->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (port->fd < 0 ||
            connect(port->fd, (const struct sockaddr *)&address, sizeof address) < 0)
                return -errno;
        return 0;
}

int fence_port_new(sd_event *event, const char *socket_path, FencePortFunc func, void *userdata,
                   FencePort **ret_port) {
        _cleanup_(fence_port_freep) FencePort *port = g_new0(FencePort, 1);
        int r;

        port->fd = port->timers[FENCE_TIMER_STOP] = port->timers[FENCE_TIMER_KILL] = -1;
        port->func = func;
        port->userdata = userdata;
        if ((r = port_connect(port, socket_path)) < 0 ||
            (r = sd_event_add_io(event, &port->source, port->fd, EPOLLIN, port_on_io, port)) < 0)
                return r;
        /* Before what the same turn has that may need the timers: a heartbeat. */
        (void)sd_event_source_set_priority(port->source, SD_EVENT_PRIORITY_IMPORTANT);
        *ret_port = g_steal_pointer(&port);
        return 0;
}

FencePort *fence_port_free(FencePort *port) {
        if (!port)
                return NULL;
        sd_event_source_disable_unref(port->source);
        close_fdp(&port->fd);
        for (unsigned i = 0; i < FENCE_TIMERS; i++)
                close_fdp(&port->timers[i]);
        g_free(port);
        return NULL;
}

const FenceHello *fence_port_hello(const FencePort *port) {
        return &port->hello;
}

/* It is never read, which would take back that it has passed. One that has passed shows no time
 * left, as one that was never set does: which it is is asked for after that. */
static FenceTimers port_timer(int timer) {
        struct pollfd one = {.fd = timer, .events = POLLIN};
        struct itimerspec left = {0};

        if (timerfd_gettime(timer, &left) >= 0 &&
            (left.it_value.tv_sec != 0 || left.it_value.tv_nsec != 0))
                return FENCE_TIMERS_SET;
        return poll(&one, 1, 0) > 0 ? FENCE_TIMERS_PASSED : FENCE_TIMERS_UNSET;
}

FenceTimers fence_port_timers(const FencePort *port) {
        FenceTimers stop = port_timer(port->timers[FENCE_TIMER_STOP]),
                    kill = port_timer(port->timers[FENCE_TIMER_KILL]);

        return MAX(stop, kill);
}

void fence_port_set(FencePort *port, unsigned timer, usec_t at) {
        /* 0 would unset it. */
        const usec_t when = MAX(at, 1);
        const struct itimerspec spec = {
            .it_value = {(time_t)(when / USEC_PER_SEC), (long)(when % USEC_PER_SEC) * 1000}};

        if (timerfd_settime(port->timers[timer], TFD_TIMER_ABSTIME, &spec, NULL) < 0)
                abort(); /* it is a timer of ours, and the time is one */
}

void fence_port_leave(FencePort *port) {
        const char word = FENCE_LEAVE;

        (void)send(port->fd, &word, sizeof word, MSG_DONTWAIT | MSG_NOSIGNAL);
}

bool fence_port_is_populated(const FencePort *port) {
        return cgroup_is_populated(CGROUP_ROOT, FENCE_SLICE_CGROUP);
}
