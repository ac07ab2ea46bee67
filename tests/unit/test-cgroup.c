/* Where PID 1 places a unit, and when a cgroup counts as empty: against a directory that looks like
 * one. */
#include <criterion/criterion.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cgroup.h"
#include "event-loop.h"

Test(cgroup, path_of_unit) {
        static const struct {
                const char *slice, *path;
        } cells[] = {
            {"system.slice", "/system.slice/a.service"},
            {"system-jobkeeper.slice", "/system.slice/system-jobkeeper.slice/a.service"},
            {"system-jobkeeper-fenced.slice",
             "/system.slice/system-jobkeeper.slice/system-jobkeeper-fenced.slice/a.service"},
            {"-.slice", "/a.service"},
            {NULL, "/a.service"},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cells); i++) {
                g_autofree char *path = cgroup_path_of_unit(cells[i].slice, "a.service");

                cr_expect_str_eq(path, cells[i].path);
        }
}

typedef struct Scene {
        char *root, *group, *file;
        sd_event *event;
        unsigned calls;
} Scene;

static void on_empty(void *userdata) {
        Scene *scene = userdata;

        scene->calls++;
}

static Scene scene_new(const char *text) {
        Scene scene = {.root = g_dir_make_tmp("cgroup-XXXXXX", NULL)};

        scene.group = g_build_filename(scene.root, "a.service", NULL);
        scene.file = g_build_filename(scene.group, "cgroup.events", NULL);
        cr_assert_eq(g_mkdir(scene.group, 0700), 0);
        cr_assert(g_file_set_contents(scene.file, text, -1, NULL));
        scene.event = loop_new();
        return scene;
}

static void scene_clear(Scene *scene) {
        (void)g_unlink(scene->file);
        (void)g_rmdir(scene->group);
        (void)g_rmdir(scene->root);
        g_free(scene->root);
        g_free(scene->group);
        g_free(scene->file);
        scene->event = loop_end(scene->event);
}

/* Runs the loop until the watch has called, or for `patience`. */
static void scene_run(Scene *scene, usec_t patience) {
        usec_t end = clock_monotonic() + patience;

        while (scene->calls == 0 && clock_monotonic() < end)
                (void)sd_event_run(scene->event, 10 * USEC_PER_MSEC);
}

Test(cgroup, populated) {
        _cleanup_(scene_clear) Scene scene = scene_new("populated 1\nfrozen 0\n");

        cr_expect(cgroup_is_populated(scene.root, "/a.service"));
        cr_assert(g_file_set_contents(scene.file, "populated 0\nfrozen 0\n", -1, NULL));
        cr_expect_not(cgroup_is_populated(scene.root, "/a.service"));
        cr_expect_not(cgroup_is_populated(scene.root, "/never-was.service"));
        cr_assert(g_file_set_contents(scene.file, "", -1, NULL));
        cr_expect(cgroup_is_populated(scene.root, "/a.service"),
                  "what cannot be understood is not empty");
}

Test(cgroup, watch_sees_the_change) {
        _cleanup_(scene_clear) Scene scene = scene_new("populated 1\n");
        _cleanup_(cgroup_watch_freep) CgroupWatch *watch = NULL;
        FILE *file;

        cr_assert(
            cgroup_watch_new(scene.event, scene.root, "/a.service", on_empty, &scene, &watch) >= 0);
        scene_run(&scene, 2 * CGROUP_POLL_PERIOD);
        cr_expect_eq(scene.calls, 0);
        file = fopen(scene.file, "w");
        cr_assert_not_null(file);
        (void)fputs("populated 0\n", file);
        (void)fclose(file);
        scene_run(&scene, 10 * USEC_PER_SEC);
        cr_expect_eq(scene.calls, 1);
}

Test(cgroup, watch_sees_the_disappearance) {
        _cleanup_(scene_clear) Scene scene = scene_new("populated 1\n");
        _cleanup_(cgroup_watch_freep) CgroupWatch *watch = NULL;

        cr_assert(
            cgroup_watch_new(scene.event, scene.root, "/a.service", on_empty, &scene, &watch) >= 0);
        (void)g_unlink(scene.file);
        (void)g_rmdir(scene.group);
        scene_run(&scene, 10 * USEC_PER_SEC);
        cr_expect_eq(scene.calls, 1);
}

/* It changed and was not empty, and of what came right behind that nothing is told. */
Test(cgroup, watch_that_is_slow_looks_again_soon_after_a_change) {
        _cleanup_(scene_clear) Scene scene = scene_new("populated 1\n");
        _cleanup_(cgroup_watch_freep) CgroupWatch *watch = NULL;
        g_autofree char *moved = NULL;
        FILE *file;

        cr_assert(
            cgroup_watch_new(scene.event, scene.root, "/a.service", on_empty, &scene, &watch) >= 0);
        cgroup_watch_set_period(watch, USEC_PER_HOUR);
        scene_run(&scene, 50 * USEC_PER_MSEC);
        file = fopen(scene.file, "a");
        cr_assert_not_null(file);
        (void)fputs("frozen 0\n", file);
        (void)fclose(file);
        scene_run(&scene, 50 * USEC_PER_MSEC);
        cr_expect_eq(scene.calls, 0);
        moved = g_build_filename(scene.root, "b.service", NULL);
        cr_assert_eq(g_rename(scene.group, moved), 0, "of which the file's watch hears nothing");
        scene_run(&scene, 10 * USEC_PER_SEC);
        cr_expect_eq(scene.calls, 1);
        cr_expect_eq(g_rename(moved, scene.group), 0);
}

Test(cgroup, watch_of_nothing_calls_from_the_loop) {
        _cleanup_(scene_clear) Scene scene = scene_new("populated 0\n");
        _cleanup_(cgroup_watch_freep) CgroupWatch *watch = NULL;

        cr_assert(cgroup_watch_new(scene.event, scene.root, "/never-was.service", on_empty, &scene,
                                   &watch) >= 0);
        cr_expect_eq(scene.calls, 0);
        scene_run(&scene, 10 * USEC_PER_SEC);
        cr_expect_eq(scene.calls, 1);
}

Test(cgroup, freed_watch_is_silent) {
        _cleanup_(scene_clear) Scene scene = scene_new("populated 0\n");
        CgroupWatch *watch = NULL;

        cr_assert(
            cgroup_watch_new(scene.event, scene.root, "/a.service", on_empty, &scene, &watch) >= 0);
        watch = cgroup_watch_free(watch);
        scene_run(&scene, 100 * USEC_PER_MSEC);
        cr_expect_eq(scene.calls, 0);
}

/* ---- signals ---- */

/* A cgroup with a process in it that waits for a signal, and without cgroup.kill where it is old.
 */
static pid_t scene_populate(const Scene *scene, bool old) {
        g_autofree char *procs = g_build_filename(scene->group, "cgroup.procs", NULL),
                        *kill = g_build_filename(scene->group, "cgroup.kill", NULL), *text = NULL;
        pid_t pid = fork();

        if (pid == 0) {
                for (;;)
                        (void)pause();
        }
        text = g_strdup_printf("0\n1\n%d\n", (int)pid);
        cr_assert(g_file_set_contents(procs, text, -1, NULL));
        cr_assert(old || g_file_set_contents(kill, "", 0, NULL));
        return pid;
}

/* Return: the signal that ended it; 0: none did. */
static int ended_by(pid_t pid, bool wait) {
        int status = 0;

        if (waitpid(pid, &status, wait ? 0 : WNOHANG) != pid)
                return 0;
        return WIFSIGNALED(status) ? WTERMSIG(status) : -1;
}

static void scene_depopulate(Scene *scene, pid_t pid) {
        static const char *const names[] = {"cgroup.procs", "cgroup.kill"};

        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, NULL, 0);
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                g_autofree char *path = g_build_filename(scene->group, names[i], NULL);
                (void)g_unlink(path);
        }
        scene_clear(scene);
}

/* PID 1 and who is not in our namespace are in the list as well, and not meant. */
Test(cgroup, a_signal_reaches_who_is_listed) {
        Scene scene = scene_new("populated 1\n");
        pid_t pid = scene_populate(&scene, false);

        cgroup_signal(scene.root, "/a.service", SIGTERM);
        cr_expect_eq(ended_by(pid, true), SIGTERM);
        scene_depopulate(&scene, pid);
}

Test(cgroup, a_kill_is_the_kernels_where_it_can) {
        Scene scene = scene_new("populated 1\n");
        g_autofree char *path = g_build_filename(scene.group, "cgroup.kill", NULL), *text = NULL;
        pid_t pid = scene_populate(&scene, false);

        cgroup_signal(scene.root, "/a.service", SIGKILL);
        cr_assert(g_file_get_contents(path, &text, NULL, NULL));
        cr_expect_str_eq(text, "1");
        cr_expect_eq(ended_by(pid, false), 0, "nobody was signalled besides");
        scene_depopulate(&scene, pid);
}

Test(cgroup, an_old_kernel_kills_one_by_one) {
        Scene scene = scene_new("populated 1\n");
        pid_t pid = scene_populate(&scene, true);

        cgroup_signal(scene.root, "/", SIGKILL); /* never the root: everybody is in it */
        cgroup_signal(scene.root, "", SIGKILL);
        cgroup_signal(scene.root, "/absent.service", SIGKILL);
        cr_expect_eq(ended_by(pid, false), 0);
        cgroup_signal(scene.root, "/a.service", SIGKILL);
        cr_expect_eq(ended_by(pid, true), SIGKILL);
        scene_depopulate(&scene, pid);
}
