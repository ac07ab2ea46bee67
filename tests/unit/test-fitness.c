/* What the daemon knows of the jobs that this machine can run: verdicts that come from threads. */
#include "temporary-tree.h"

#include <signal.h>
#include <sys/resource.h>

#include "diagnostics.h"
#include "event-loop.h"
#include "fitness.h"
#include "job-files.h"
#include "job-fitness.h"

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

static void ask_for(Scene *scene, const char *text) {
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        _cleanup_(job_file_freep) JobFile *file = NULL;

        cr_assert_eq(job_file_parse("f", text, strlen(text), diagnostics, &file), 0);
        cr_assert(file->good, "%s", text);
        fitness_ask(scene->fitness, file->jobs->pdata[0], &scene->config);
}

static void ask(Scene *scene, const char *name, const char *program) {
        g_autofree char *path =
            *program == '/' ? g_strdup(program) : g_build_filename(scene->root, program, NULL);
        g_autofree char *text = g_strdup_printf("jobs: {%s: {exec: [%s]}}", name, path);

        ask_for(scene, text);
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

/* ---- the settings of a unit ---- */

/* Asks systemd itself. */
Test(fitness, settings_are_checked_and_what_is_certain_is_remembered) {
        static const char bad[] = "=systemd does not take the setting Nice of \"unit\": Failed to "
                                  "parse nice priority 'banana';";
        Scene scene;

        scene_init(&scene);
        ask_for(&scene, "jobs: {good: {exec: /bin/true, unit: {Nice: 5, After: x.service, "
                        "ReadWritePaths: [/srv/none]}}}");
        wait_for(&scene, "good");
        cr_expect_str_eq(scene.told->str, "good=fit;");
        for (unsigned i = 0; i < 2; i++) {
                g_autofree char *name = g_strdup_printf("bad%u", i),
                                *text = g_strdup_printf("jobs: {%s: {exec: /bin/true, unit: "
                                                        "{UMask: 0077, Nice: banana}}}",
                                                        name),
                                *told = g_strconcat(name, bad, NULL);

                ask_for(&scene, text);
                wait_for(&scene, name);
                cr_expect_str_eq(scene.told->str, told);
        }
        scene_clear(&scene);
}

/* As on a disk that somebody has filled. */
static void let_write(rlim_t bytes) {
        struct rlimit limit;

        cr_assert_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
        limit.rlim_cur = MIN(bytes, limit.rlim_max);
        cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

static void await_verdict(Scene *scene, bool fit) {
        for (usec_t end = clock_monotonic() + PATIENCE;
             clock_monotonic() < end &&
             (fitness_is_pending(scene->fitness, "a") || !fitness_why(scene->fitness, "a") != fit);)
                cr_assert(sd_event_run(scene->event, 50 * USEC_PER_MSEC) >= 0);
        cr_assert_eq(!fitness_why(scene->fitness, "a"), fit);
}

Test(fitness, settings_that_could_not_be_checked_are_checked_again) {
        Scene scene;

        (void)signal(SIGXFSZ, SIG_IGN);
        scene_init(&scene);
        let_write(0);
        ask_for(&scene, "jobs: {a: {exec: /bin/true, unit: {Nice: 7}}}");
        await_verdict(&scene, false);
        cr_expect(g_str_has_prefix(fitness_why(scene.fitness, "a"),
                                   "the settings of \"unit\" could not be checked: "));
        let_write(RLIM_INFINITY);
        await_verdict(&scene, true);
        scene_clear(&scene);
}

/* It was good, and nobody says that it is not. */
Test(fitness, what_cannot_be_checked_keeps_its_verdict) {
        Scene scene;

        (void)signal(SIGXFSZ, SIG_IGN);
        scene_init(&scene);
        ask_for(&scene, "jobs: {a: {exec: /bin/true, unit: {Nice: 7}}}");
        await_verdict(&scene, true);
        let_write(0);
        ask_for(&scene, "jobs: {a: {exec: /bin/true, unit: {Nice: 8}}}");
        for (usec_t end = clock_monotonic() + USEC_PER_SEC; clock_monotonic() < end;)
                cr_assert(sd_event_run(scene.event, 50 * USEC_PER_MSEC) >= 0);
        cr_expect_null(fitness_why(scene.fitness, "a"));
        let_write(RLIM_INFINITY);
        scene_clear(&scene);
}

/* PID 1 opens what is named for a job: what a user may put there is not for it. */
Test(fitness, what_root_reads_for_a_job_is_root_s) {
        char *shadow[] = {(char *)"/etc/passwd", (char *)"-/none/such", (char *)"/etc/*.none",
                          NULL},
             *null[] = {(char *)"/dev/null", NULL}, *none[] = {NULL}, *files[] = {NULL, NULL};
        g_autofree char *root = tree_make(), *path = NULL, *said = NULL;

        cr_expect_null(inputs_unfit_reason(shadow, none));
        said = inputs_unfit_reason(null, none);
        cr_expect_str_eq(said, "/dev/null is not root's alone, and root would read what somebody "
                               "else puts there");
        g_clear_pointer(&said, g_free);
        tree_write(root, "env", "A=1\n");
        path = g_strconcat("t:", root, "/env", NULL);
        files[0] = path;
        said = inputs_unfit_reason(none, files);
        cr_expect_str_eq(said, "/tmp is not root's alone, and root would read what somebody else "
                               "puts there");
        tree_remove(root);
}

/* Neither where it is found by wildcards, though there is nothing yet. */
Test(fitness, what_root_finds_for_a_job_by_wildcards_is_root_s) {
        char *paths[] = {(char *)"/tm?/none.env", (char *)"-/*m[p]/*/none.env",
                         (char *)"/t\\mp/none.env"},
             *none[] = {NULL};

        for (size_t i = 0; i < G_N_ELEMENTS(paths); i++) {
                char *files[] = {paths[i], NULL};
                g_autofree char *said = inputs_unfit_reason(files, none);

                cr_expect_str_eq(said,
                                 "/tmp is not root's alone, and root would read what somebody "
                                 "else puts there",
                                 "%s: %s", paths[i], said);
        }
}
