/* What the daemon knows of the jobs that this machine can run: verdicts that come from threads. */
#include "temporary-tree.h"

#include "diagnostics.h"
#include "event-loop.h"
#include "fitness.h"
#include "job-files.h"

#define PATIENCE (30 * USEC_PER_SEC)

typedef struct Scene {
        sd_event *event;
        Fitness *fitness;
        DaemonConfig config;
        char *root;
        GString *told; /* "job=why;" of each verdict */
} Scene;

static void on_verdicts(const char *const *jobs, void *userdata) {
        Scene *scene = userdata;

        for (; *jobs; jobs++) {
                const char *why = fitness_why(scene->fitness, *jobs);
                g_autofree char *stripped = tree_strip(scene->root, why ? why : "fit");

                cr_expect(!fitness_is_pending(scene->fitness, *jobs));
                g_string_append_printf(scene->told, "%s=%s;", *jobs, stripped);
        }
}

static void scene_init(Scene *scene) {
        *scene = (Scene){.root = tree_make(), .told = g_string_new(NULL)};
        scene->event = loop_new();
        cr_assert(fitness_new(scene->event, on_verdicts, scene, &scene->fitness) >= 0);
}

static void scene_clear(Scene *scene) {
        fitness_free(scene->fitness);
        scene->event = loop_end(scene->event);
        g_string_free(scene->told, TRUE);
        tree_remove(scene->root);
        g_free(scene->root);
}

static void ask(Scene *scene, const char *name, const char *program) {
        g_autofree char *path =
            *program == '/' ? g_strdup(program) : g_build_filename(scene->root, program, NULL);
        g_autofree char *text = g_strdup_printf("jobs: {%s: {exec: [%s]}}", name, path);
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        _cleanup_(job_file_freep) JobFile *file = NULL;

        cr_assert_eq(job_file_parse("f", text, strlen(text), diagnostics, &file), 0);
        cr_assert(file->good, "%s", text);
        fitness_ask(scene->fitness, file->jobs->pdata[0], &scene->config);
}

/* Runs the loop until the job is looked at, or until somebody was told anything. */
static void wait_for(Scene *scene, const char *job) {
        usec_t end = clock_monotonic() + PATIENCE;

        g_string_truncate(scene->told, 0);
        while ((job ? fitness_is_pending(scene->fitness, job) : scene->told->len == 0) &&
               clock_monotonic() < end)
                cr_assert(sd_event_run(scene->event, 50 * USEC_PER_MSEC) >= 0);
}

Test(fitness, a_verdict_comes) {
        Scene scene;

        scene_init(&scene);
        ask(&scene, "good", "/bin/true");
        cr_expect(fitness_is_pending(scene.fitness, "good"));
        cr_expect_null(fitness_why(scene.fitness, "good"));
        wait_for(&scene, "good");
        cr_expect_str_eq(scene.told->str, "good=fit;");
        ask(&scene, "bad", "none");
        wait_for(&scene, "bad");
        cr_expect_str_eq(scene.told->str, "bad=the executable ROOT/none does not exist;");
        cr_expect(!fitness_is_pending(scene.fitness, "stranger"));
        cr_expect_null(fitness_why(scene.fitness, "stranger"));
        scene_clear(&scene);
}

/* A job keeps its verdict until there is another, and only another is told. */
Test(fitness, a_verdict_stays_until_the_next) {
        Scene scene;

        scene_init(&scene);
        ask(&scene, "a", "program");
        wait_for(&scene, "a");
        ask(&scene, "a", "program");
        ask(&scene, "other", "/bin/true");
        wait_for(&scene, "other");
        tree_write(scene.root, "program", "");
        ask(&scene, "a", "program");
        cr_expect(!fitness_is_pending(scene.fitness, "a"));
        cr_expect_not_null(fitness_why(scene.fitness, "a"));
        wait_for(&scene, NULL);
        cr_expect_str_eq(scene.told->str, "a=ROOT/program is not executable;");
        scene_clear(&scene);
}

/* An answer that is on its way counts only for who asked last. */
Test(fitness, the_last_question_counts) {
        Scene scene;

        scene_init(&scene);
        ask(&scene, "a", "none");
        ask(&scene, "gone", "none");
        ask(&scene, "back", "none");
        fitness_forget(scene.fitness, "gone");
        fitness_forget(scene.fitness, "back");
        ask(&scene, "a", "/bin/true");
        ask(&scene, "back", "/bin/true");
        cr_expect(!fitness_is_pending(scene.fitness, "gone"));
        for (usec_t end = clock_monotonic() + PATIENCE;
             clock_monotonic() < end &&
             (fitness_is_pending(scene.fitness, "a") || fitness_is_pending(scene.fitness, "back"));)
                cr_assert(sd_event_run(scene.event, 50 * USEC_PER_MSEC) >= 0);
        cr_expect_null(fitness_why(scene.fitness, "a"));
        cr_expect_null(fitness_why(scene.fitness, "back"));
        cr_expect_null(strstr(scene.told->str, "gone"));
        cr_expect_null(strstr(scene.told->str, "none"));
        scene_clear(&scene);
}

Test(fitness, freed_while_looking) {
        Scene scene;

        for (unsigned round = 0; round < 20; round++) {
                scene_init(&scene);
                for (unsigned i = 0; i < 200; i++) {
                        g_autofree char *job = g_strdup_printf("job-%u", i);

                        ask(&scene, job, i % 2 ? "none" : "/bin/true");
                }
                if (round % 2)
                        wait_for(&scene, NULL);
                scene_clear(&scene);
        }
}
