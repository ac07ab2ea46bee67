/* See fence-voice.h. */
#include "fence-voice.h"

#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <syslog.h>
#include <unistd.h>

#include "cleanup.h"

#define JOURNAL_SOCKET "/run/systemd/journal/socket"
#define LINE_SIZE 512

/* Return: 0 or negative errno. */
static int send_datagram(const char *path, const char *text, usec_t patience) {
        struct timeval wait = {.tv_sec = (time_t)(patience / USEC_PER_SEC),
                               .tv_usec = (suseconds_t)(patience % USEC_PER_SEC)};
        _cleanup_close_ int fd = -1;
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        size_t length = strlen(path);
        int flags = MSG_NOSIGNAL;

        if (length == 0 || length >= sizeof address.sun_path)
                return -EINVAL;
        memcpy(address.sun_path, path, length);
        if (address.sun_path[0] == '@') /* of the abstract ones, as systemd writes it */
                address.sun_path[0] = '\0';
        fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
                return -errno;
        /* None at all would be for ever. */
        if (patience == 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait) < 0)
                flags |= MSG_DONTWAIT;
        if (sendto(fd, text, strlen(text), flags, (struct sockaddr *)&address,
                   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) < 0)
                return -errno;
        return 0;
}

int fence_tell_manager(const char *assignments, usec_t patience) {
        const char *path = getenv("NOTIFY_SOCKET");
        int r = path ? send_datagram(path, assignments, patience) : -ENOENT;

        return r == -EINTR ? -EAGAIN : r; /* stopped and continued while it waited */
}

void fence_log(int priority, const char *message_id, const char *format, ...) {
        char line[LINE_SIZE], fields[2 * LINE_SIZE];
        va_list arguments;

        va_start(arguments, format);
        (void)vsnprintf(line, sizeof line, format, arguments);
        va_end(arguments);
        (void)snprintf(fields, sizeof fields,
                       "MESSAGE=%s\nPRIORITY=%d\nMESSAGE_ID=%s\n"
                       "SYSLOG_IDENTIFIER=jobkeeper-fence\n",
                       line, priority, message_id);
        if (!getenv("JOURNAL_STREAM") || send_datagram(JOURNAL_SOCKET, fields, 0) < 0)
                (void)fprintf(stderr, "%s\n", line);
}
