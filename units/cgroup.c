/* See cgroup.h. */
#include "cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <glib.h>
#include <linux/magic.h>
#include <signal.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/vfs.h>

#include "timer.h"

struct CgroupWatch {
        sd_event *event; /* weak */
        char *root;
        char *path;
        CgroupFunc func;
        void *userdata;
        usec_t period;            /* of looks beside it */
        sd_event_source *inotify; /* NULL where the kernel had no watch left for us */
        sd_event_source *timer;
};

int cgroup_root_find(char **ret_root) {
        static const char *const candidates[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
        struct statfs fs;

        for (size_t i = 0; i < G_N_ELEMENTS(candidates); i++)
                if (statfs(candidates[i], &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC) {
                        *ret_root = g_strdup(candidates[i]);
                        return 0;
                }
        return -EOPNOTSUPP;
}

char *cgroup_path_of_unit(const char *slice, const char *name) {
        g_autoptr(GString) path = g_string_new(NULL);

        /* Each dash of a slice's name is one level: a-b.slice lies in a.slice; the root slice
         * "-.slice" is no level at all. */
        for (const char *dash = slice;
             slice && strcmp(slice, "-.slice") != 0 && (dash = strchr(dash, '-')); dash++)
                g_string_append_printf(path, "/%.*s.slice", (int)(dash - slice), slice);
        if (slice && strcmp(slice, "-.slice") != 0)
                g_string_append_printf(path, "/%s", slice);
        g_string_append_printf(path, "/%s", name);
        return g_string_free(g_steal_pointer(&path), FALSE);
}

bool cgroup_is_populated(const char *root, const char *path) {
        g_autofree char *file = g_strdup_printf("%s%s/cgroup.events", root, path);
        g_autofree char *text = NULL;
        g_autoptr(GError) error = NULL;

        if (g_file_get_contents(file, &text, NULL, &error))
                return !strstr(text, "populated 0");
        /* ENODEV: the directory went between our open and our read. */
        return !g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_NOENT) &&
               !g_error_matches(error, G_FILE_ERROR, G_FILE_ERROR_NODEV);
}

static bool cgroup_write_kill(const char *root, const char *path) {
        g_autofree char *file = g_strdup_printf("%s%s/cgroup.kill", root, path);
        _cleanup_close_ int fd = open(file, O_WRONLY | O_CLOEXEC);

        return fd >= 0 && write(fd, "1", 1) == 1;
}

void cgroup_signal(const char *root, const char *path, int signal) {
        g_autofree char *file = g_strdup_printf("%s%s/cgroup.procs", root, path);
        g_autofree char *text = NULL;
        g_auto(GStrv) pids = NULL;

        if (path[0] != '/' || !path[1])
                return; /* never the root: everybody is in it */
        if (signal == SIGKILL && cgroup_write_kill(root, path))
                return;
        if (!g_file_get_contents(file, &text, NULL, NULL))
                return;
        pids = g_strsplit(text, "\n", -1);
        for (char **word = pids; *word; word++) {
                pid_t pid = (pid_t)g_ascii_strtoll(*word, NULL, 10);

                if (pid > 1)
                        (void)kill(pid, signal);
        }
}

/* Either calls func and is done, or waits on. Nothing of the watch may be touched after func, which
 * may free it. */
static void cgroup_watch_check(void *userdata);

static void cgroup_watch_look(CgroupWatch *watch, usec_t again) {
        if (cgroup_is_populated(watch->root, watch->path)) {
                (void)timer_in(watch->event, &watch->timer, again, cgroup_watch_check, watch);
                return;
        }
        watch->inotify = sd_event_source_disable_unref(watch->inotify);
        watch->timer = sd_event_source_disable_unref(watch->timer);
        watch->func(watch->userdata);
}

static void cgroup_watch_check(void *userdata) {
        CgroupWatch *watch = userdata;

        cgroup_watch_look(watch, watch->inotify ? watch->period : CGROUP_POLL_PERIOD);
}

/* The kernel tells of two changes within 10 ms by telling of the second one late, and of that not
 * at all where the cgroup is removed before: what PID 1 runs once the main process has ended may be
 * seen here, and its end not. */
static int cgroup_watch_on_inotify(sd_event_source *source, const struct inotify_event *event,
                                   void *userdata) {
        CgroupWatch *watch = userdata;

        cgroup_watch_look(watch, MIN(watch->period, CGROUP_POLL_PERIOD));
        return 0;
}

int cgroup_watch_new(sd_event *event, const char *root, const char *path, CgroupFunc func,
                     void *userdata, CgroupWatch **ret_watch) {
        _cleanup_(cgroup_watch_freep) CgroupWatch *watch = g_new0(CgroupWatch, 1);
        g_autofree char *file = g_strdup_printf("%s%s/cgroup.events", root, path);
        int r;

        watch->event = event;
        watch->period = CGROUP_POLL_PERIOD;
        watch->root = g_strdup(root);
        watch->path = g_strdup(path);
        watch->func = func;
        watch->userdata = userdata;
        /* Any failure is made good by the poll: a file that is gone already, or a user out of
         * inotify instances. */
        r = sd_event_add_inotify(event, &watch->inotify, file, IN_MODIFY, cgroup_watch_on_inotify,
                                 watch);
        if (r < 0)
                watch->inotify = NULL;
        r = timer_in(event, &watch->timer, 0, cgroup_watch_check, watch);
        if (r >= 0)
                *ret_watch = g_steal_pointer(&watch);
        return r;
}

void cgroup_watch_set_period(CgroupWatch *watch, usec_t period) {
        watch->period = period;
}

CgroupWatch *cgroup_watch_free(CgroupWatch *watch) {
        if (!watch)
                return NULL;
        sd_event_source_disable_unref(watch->inotify);
        sd_event_source_disable_unref(watch->timer);
        g_free(watch->root);
        g_free(watch->path);
        g_free(watch);
        return NULL;
}
