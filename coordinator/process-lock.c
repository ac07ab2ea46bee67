/* See process-lock.h. The file's text, the holder's process id, is for people alone. */
#include "process-lock.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cleanup.h"
#include "kept-file.h"

#define PROCESS_LOCK_LOOK (50 * USEC_PER_MSEC)

/* Return: 0 where it is not known. */
static pid_t process_lock_holder(int fd) {
        char text[32] = "";
        ssize_t n = pread(fd, text, sizeof text - 1, 0);

        return n > 0 ? (pid_t)g_ascii_strtoll(text, NULL, 10) : 0;
}

static void process_lock_sign(int fd) {
        char text[32];
        int n = snprintf(text, sizeof text, "%d\n", (int)getpid());

        if (ftruncate(fd, 0) >= 0)
                (void)!pwrite(fd, text, (size_t)n, 0);
}

/* Return: why what could not be opened is none that one of us has locked; 0: it may be one. */
static int process_lock_fault(const char *path, int error) {
        struct stat st;

        switch (error) {
        case EISDIR:
        case ENXIO:
                return -EBADMSG;
        case ELOOP:
                return -ELOOP;
        case EACCES: /* without capabilities root may not open another user's */
                return lstat(path, &st) >= 0 && st.st_uid != geteuid() ? -EPERM : 0;
        default:
                return 0;
        }
}

/* Return: a descriptor, or negative errno. */
static int process_lock_open(const char *path) {
        for (bool again = true;; again = false) {
                int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY, 0600);
                int error = errno, fault;

                if (fd >= 0)
                        return fd;
                fault = process_lock_fault(path, error);
                if (!again || fault == 0)
                        return -error;
                kept_file_refuse(path, fault, "nobody has locked it");
        }
}

int process_lock_take(sd_event *event, const char *runtime_dir, usec_t patience,
                      pid_t *ret_holder) {
        g_autofree char *path = g_build_filename(runtime_dir, PROCESS_LOCK_FILE, NULL);
        usec_t give_up = clock_monotonic() + patience;
        _cleanup_close_ int fd = -1;
        int r;

        if (g_mkdir_with_parents(runtime_dir, 0755) < 0)
                return -errno;
        fd = process_lock_open(path);
        if (fd < 0)
                return fd;
        while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
                if (errno != EWOULDBLOCK)
                        return -errno;
                if (clock_monotonic() >= give_up) {
                        *ret_holder = process_lock_holder(fd);
                        return -EBUSY;
                }
                r = sd_event_run(event, PROCESS_LOCK_LOOK);
                if (r < 0)
                        return r;
        }
        process_lock_sign(fd);
        return g_steal_fd(&fd);
}
