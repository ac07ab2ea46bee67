/* See chance.h. */
#include "chance.h"

#include <errno.h>
#include <glib.h>
#include <sys/random.h>

void chance_fill(void *buffer, size_t size) {
        char *next = buffer;

        while (size > 0) {
                ssize_t n = getrandom(next, size, 0);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0) /* every kernel that systemd runs on has it */
                        g_error("getrandom: %s", g_strerror(errno));
                next += n;
                size -= (size_t)n;
        }
}
