/* See limited-child.h.
 *
 * The child leads a process group of its own, so that what it has started ends with it. Its end is
 * seen at a pidfd, and not by the end of what it says: somebody who outlives it may hold the pipe
 * open. As long as it is not waited for, its number, which is the group's too, belongs to nobody
 * else; so the group is killed first.
 */
#include "limited-child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/pidfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cleanup.h"
#include "clock.h"

/* How long one that was killed may take: the kernel may have it in a sleep that nothing ends. */
#define CHILD_DEATH_LIMIT (2 * USEC_PER_SEC)
#define CHILD_CHUNK 4096U

typedef struct LimitedChild {
        GPid pid;
        int said, pidfd; /* what it says, and its end */
        GString *answer;
} LimitedChild;

/* In the child, before it becomes the program. */
static void child_lead_group(void *userdata) {
        (void)userdata;
        (void)setpgid(0, 0);
}

/* Return: whether there may be more at once. */
static bool child_read(LimitedChild *child) {
        char chunk[CHILD_CHUNK];
        ssize_t n = read(child->said, chunk, sizeof(chunk));
        size_t room = LIMITED_CHILD_ANSWER_MAX - child->answer->len;

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return false;
        if (n <= 0) {
                close_fdp(&child->said); /* poll() passes it over */
                return false;
        }
        g_string_append_len(child->answer, chunk, (gssize)MIN((size_t)n, room));
        return true;
}

/* Return: as poll(), for what it says (if that is still open) and for its end, until then. */
static int child_poll(const LimitedChild *child, struct pollfd polled[2], usec_t until) {
        usec_t now = clock_monotonic(), left = until > now ? until - now : 0;

        polled[0] = (struct pollfd){.fd = child->said, .events = POLLIN};
        polled[1] = (struct pollfd){.fd = child->pidfd, .events = POLLIN};
        return poll(polled, 2, (int)MIN(left / USEC_PER_MSEC + (left > 0), (usec_t)G_MAXINT));
}

/* Reads what it says until it has ended. Return: whether it has; false: it is later than that. */
static bool child_listen(LimitedChild *child, usec_t until) {
        struct pollfd polled[2];

        while (clock_monotonic() < until &&
               (child_poll(child, polled, until) > 0 || errno == EINTR)) {
                /* After its end once more: it may have said it between the two looks of poll(). */
                while (child->said >= 0 && clock_monotonic() < until && child_read(child))
                        ;
                if (polled[1].revents)
                        return true;
        }
        return false;
}

/* What is left of it ends. One that even that does not end stays, and nobody waits for it. */
static void child_end(const LimitedChild *child) {
        struct pollfd polled = {.fd = child->pidfd, .events = POLLIN};

        (void)kill(-child->pid, SIGKILL);
        if (child->pidfd >= 0)
                (void)poll(&polled, 1, (int)(CHILD_DEATH_LIMIT / USEC_PER_MSEC));
        (void)waitpid(child->pid, NULL, WNOHANG);
}

static bool child_wait(LimitedChild *child, const char *program, usec_t limit, GError **error) {
        usec_t until = usec_add(clock_monotonic(), limit);
        g_autofree char *why = NULL;

        child->pidfd = pidfd_open(child->pid, 0);
        if (child->pidfd < 0 || fcntl(child->said, F_SETFL, O_NONBLOCK) < 0)
                why = g_strdup(g_strerror(errno));
        else if (!child_listen(child, until))
                why = g_strdup_printf("it has not ended for %" G_GUINT64_FORMAT " s",
                                      (guint64)(limit / USEC_PER_SEC));
        if (why)
                g_set_error(error, G_SPAWN_ERROR, G_SPAWN_ERROR_FAILED, "%s: %s", program, why);
        return !why;
}

bool limited_child_ask(const char *const *argv, const char *const *environment, usec_t limit,
                       char **ret_answer, GError **error) {
        LimitedChild child = {.said = -1, .pidfd = -1};
        bool ended;

        if (!g_spawn_async_with_pipes(NULL, (char **)argv, (char **)environment,
                                      G_SPAWN_SEARCH_PATH_FROM_ENVP | G_SPAWN_DO_NOT_REAP_CHILD |
                                          G_SPAWN_STDOUT_TO_DEV_NULL,
                                      child_lead_group, NULL, &child.pid, NULL, NULL, &child.said,
                                      error))
                return false;
        child.answer = g_string_new(NULL);
        ended = child_wait(&child, argv[0], limit, error);
        child_end(&child);
        close_fdp(&child.said);
        close_fdp(&child.pidfd);
        *ret_answer = g_string_free(child.answer, !ended);
        return ended;
}
