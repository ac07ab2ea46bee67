/* Whose turn it is, as a node knows it before anybody else is there. */
#include <criterion/criterion.h>

#include "diagnostics.h"
#include "event-loop.h"
#include "job-files.h"
#include "placement.h"
#include "ranks.h"

#define NAME "a"

typedef struct Scene {
        sd_event *event;
        DaemonConfig config;
        Node *node;
        Registration *registration;
        Members *members;
        Fitness *fitness;
        Ranks *ranks;
        JobFile *file;
        const JobSpec *spec;
} Scene;

static void on_verdict(const char *const *jobs, void *userdata) {
}

static void scene_init(Scene *scene) {
        const char *text = "jobs: {" NAME ": {exec: [/bin/true]}}";
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();

        *scene = (Scene){.config = {.root = (char *)"/jobkeeper", .node_name = (char *)"n1"}};
        scene->config.labels = g_hash_table_new(g_str_hash, g_str_equal);
        scene->event = loop_new();
        scene->node = node_new(scene->event, "/nowhere", "/nowhere");
        scene->node->config = &scene->config;
        scene->registration = registration_new(scene->node, NULL, NULL, NULL);
        scene->members = members_new(scene->node, NULL, scene->registration, NULL, NULL);
        cr_assert(fitness_new(scene->event, on_verdict, NULL, &scene->fitness) >= 0);
        scene->ranks = ranks_new(scene->members, scene->registration, scene->fitness);
        cr_assert_eq(job_file_parse("f", text, strlen(text), diagnostics, &scene->file), 0);
        scene->spec = scene->file->jobs->pdata[0];
}

static void scene_clear(Scene *scene) {
        ranks_free(scene->ranks);
        fitness_free(scene->fitness);
        members_free(scene->members);
        registration_free(scene->registration);
        node_free(scene->node);
        job_file_free(scene->file);
        g_hash_table_unref(scene->config.labels);
        scene->event = loop_end(scene->event);
}

static void await_verdict(Scene *scene) {
        while (fitness_is_pending(scene->fitness, NAME))
                cr_assert(sd_event_run(scene->event, UINT64_MAX) >= 0);
}

Test(ranks, what_was_not_looked_at_is_not_run) {
        Scene scene;
        bool nobody;

        scene_init(&scene);
        fitness_ask(scene.fitness, scene.spec, &scene.config);
        cr_expect(ranks_is_undecided(scene.ranks, NAME));
        cr_expect_str_eq(ranks_unfit(scene.ranks, NAME), "this node has not checked it yet");
        cr_expect_eq(ranks_of_key(scene.ranks, scene.spec, NAME), PLACEMENT_NONE);
        await_verdict(&scene);
        cr_expect_not(ranks_is_undecided(scene.ranks, NAME));
        cr_expect_null(ranks_unfit(scene.ranks, NAME));
        registration_set_unfit(scene.registration, NAME, "no such user");
        cr_expect_str_eq(ranks_unfit(scene.ranks, NAME), "no such user");
        cr_expect_eq(ranks_of_key(scene.ranks, scene.spec, NAME), PLACEMENT_NONE);
        (void)ranks_of_job(scene.ranks, scene.spec, &nobody);
        cr_expect(nobody);
        scene_clear(&scene);
}

/* Each job is asked whenever a member comes or goes. */
Test(ranks, what_was_acted_on_has_not_changed) {
        Scene scene;
        bool nobody;

        scene_init(&scene);
        (void)ranks_of_job(scene.ranks, scene.spec, &nobody);
        cr_expect(ranks_have_changed(scene.ranks, scene.spec), "it was only looked at");
        (void)ranks_act(scene.ranks, scene.spec, &nobody);
        cr_expect_not(ranks_have_changed(scene.ranks, scene.spec));
        scene_clear(&scene);
}

/* A job that left the files is not remembered for ever. */
Test(ranks, what_is_forgotten_is_computed_anew) {
        Ranking *ranking;
        Scene scene;
        bool nobody;

        scene_init(&scene);
        ranking = members_ranking(scene.members);
        for (unsigned round = 0; round < 2; round++) {
                (void)ranks_of_job(scene.ranks, scene.spec, &nobody);
                cr_expect_eq(ranking_computed(ranking), 1);
        }
        ranks_forget(scene.ranks, NAME);
        (void)ranks_of_job(scene.ranks, scene.spec, &nobody);
        cr_expect_eq(ranking_computed(ranking), 2);
        scene_clear(&scene);
}
