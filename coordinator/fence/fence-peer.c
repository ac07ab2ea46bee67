/* See fence-peer.h. */
#include "fence-peer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cleanup.h"

#ifndef SO_PASSRIGHTS /* of Linux 6.16 */
#define SO_PASSRIGHTS 83
#endif

#define CGROUP_SIZE 4096 /* of a file of some ten lines, where there are two hierarchies */

bool fence_cgroup_is(const char *text, size_t size, const char *cgroup) {
        static const char unified[] = "0::";
        size_t prefix = strlen(unified), length = strlen(cgroup);

        for (const char *line = text, *end = text + size; line < end;) {
                const char *newline = memchr(line, '\n', (size_t)(end - line));

                if (!newline) /* cut off: it might go on */
                        return false;
                if ((size_t)(newline - line) >= prefix && memcmp(line, unified, prefix) == 0)
                        return (size_t)(newline - line) == prefix + length &&
                               memcmp(line + prefix, cgroup, length) == 0;
                line = newline + 1;
        }
        return false;
}

static bool process_is_in(pid_t pid, const char *cgroup) {
        _cleanup_close_ int fd = -1;
        char path[64], text[CGROUP_SIZE];
        ssize_t n;

        (void)snprintf(path, sizeof path, "/proc/%d/cgroup", (int)pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        if (fd < 0)
                return false;
        n = read(fd, text, sizeof text);
        return n > 0 && fence_cgroup_is(text, (size_t)n, cgroup);
}

static bool peer_is_in(int peer, const char *cgroup) {
        struct ucred who;
        socklen_t size = sizeof who;

        return getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &who, &size) >= 0 && who.uid == 0 &&
               process_is_in(who.pid, cgroup);
}

int fence_door_prepare(int listener) {
        int flags = fcntl(listener, F_GETFL), no = 0;

        (void)setsockopt(listener, SOL_SOCKET, SO_PASSRIGHTS, &no, sizeof no);
        return flags < 0 || fcntl(listener, F_SETFL, flags | O_NONBLOCK) < 0 ? -errno : 0;
}

void fence_hello_init(FenceHello *hello, const char *instance, uint32_t flags) {
        *hello = (FenceHello){.version = JOBKEEPER_VERSION, .flags = flags};
        memcpy(hello->magic, FENCE_MAGIC, sizeof hello->magic);
        (void)snprintf(hello->instance, sizeof hello->instance, "%s", instance);
}

/* Return: 0 or negative errno. */
static int peer_greet(int peer, const int timers[FENCE_TIMERS], const FenceHello *hello) {
        FenceHello said = *hello;
        struct iovec iov = {&said, sizeof said};
        union {
                struct cmsghdr header;
                char space[CMSG_SPACE(FENCE_TIMERS * sizeof(int))];
        } control = {0};
        struct msghdr message = {.msg_iov = &iov,
                                 .msg_iovlen = 1,
                                 .msg_control = &control,
                                 .msg_controllen = sizeof control};

        control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(FENCE_TIMERS * sizeof(int)),
                                          .cmsg_level = SOL_SOCKET,
                                          .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), timers, FENCE_TIMERS * sizeof(int));
        return sendmsg(peer, &message, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int fence_peer_accept(int listener, const char *cgroup, const int timers[FENCE_TIMERS],
                      const FenceHello *hello) {
        int peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        int r;

        if (peer < 0)
                return -errno;
        r = peer_is_in(peer, cgroup) ? peer_greet(peer, timers, hello) : -EACCES;
        if (r >= 0)
                return peer;
        (void)close(peer);
        return r;
}

FencePeerWord fence_peer_read(int peer) {
        char word[2];
        /* Without room for them, descriptors are left to the kernel. */
        ssize_t n = recv(peer, word, sizeof word, MSG_DONTWAIT);

        if (n < 0)
                return errno == EAGAIN || errno == EINTR ? FENCE_PEER_NOTHING : FENCE_PEER_END;
        return n == 1 && word[0] == FENCE_LEAVE ? FENCE_PEER_LEAVE : FENCE_PEER_END;
}
