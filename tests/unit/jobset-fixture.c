/* See jobset-fixture.h. */
#include "jobset-fixture.h"

#include <criterion/criterion.h>
#include <string.h>

#include "temporary-tree.h"

void scene_begin(JobFilesScene *scene) {
        *scene = (JobFilesScene){
            .root = tree_make(),
            .set = jobset_new(),
            .config = {.fence_budget = 8 * USEC_PER_SEC, .kill_slack = 2 * USEC_PER_SEC},
        };
}

void scene_end(JobFilesScene *scene) {
        scene->set = jobset_free(scene->set);
        tree_remove(scene->root);
        g_clear_pointer(&scene->root, g_free);
}

void scene_write(const JobFilesScene *scene, const char *file, const char *const *jobs) {
        g_autoptr(GString) text = g_string_new("jobs:\n");
        g_autofree char *path = g_strconcat("etc/jobkeeper/jobs.d/", file, NULL);

        for (; *jobs; jobs++) {
                g_auto(GStrv) parts = g_strsplit(*jobs, ": ", 2);
                g_string_append_printf(text, "  %s: {exec: /bin/true%s%s}\n", parts[0],
                                       parts[1] ? ", " : "", parts[1] ? parts[1] : "");
        }
        tree_write(scene->root, path, text->str);
}

void scene_load(JobFilesScene *scene) {
        g_auto(GStrv) directories = job_directories(scene->root);

        cr_assert_eq(jobset_load(scene->set, (const char *const *)directories, &scene->config), 0);
}

void scene_expect(JobFilesScene *scene, const char *jobs, const char *errors) {
        g_autoptr(GString) text = g_string_new(NULL);
        g_autofree char *joined = NULL, *stripped = NULL;

        scene_load(scene);
        for (guint i = 0; i < jobset_size(scene->set); i++)
                g_string_append_printf(text, "%s%s", i > 0 ? " " : "",
                                       jobset_get(scene->set, i)->name);
        cr_expect_str_eq(text->str, jobs, "\n   got: %s\nwanted: %s\n", text->str, jobs);
        joined = g_strjoinv("\n", (char **)jobset_errors(scene->set));
        stripped = tree_strip(scene->root, joined);
        cr_expect_str_eq(stripped, errors, "\n   got: %s\nwanted: %s\n", stripped, errors);
}
