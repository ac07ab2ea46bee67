/* The jobs of a node's files as they come and go, without a daemon around them. */
#include <criterion/criterion.h>

#include "diagnostics.h"
#include "event-loop.h"
#include "inventory.h"
#include "job-files.h"
#include "temporary-tree.h"

typedef struct Scene {
        char *root;
        sd_event *event;
        DaemonConfig config;
        Node *node;
        JobSet *jobset;
        Registration *registration;
        Members *members;
        Fitness *fitness;
        Ranks *ranks;
        DigestMemory *digests;
        Withdrawals *withdrawals;
        Inventory *inventory;
        GString *heard;
} Scene;

static void on_added(const JobSpec *spec, void *userdata) {
        g_string_append_printf(((Scene *)userdata)->heard, "+%s", spec->name);
}

static void on_replaced(const JobSpec *spec, void *userdata) {
        g_string_append_printf(((Scene *)userdata)->heard, "=%s", spec->name);
}

static void on_removed(const char *job, void *userdata) {
        g_string_append_printf(((Scene *)userdata)->heard, "-%s", job);
}

static void on_judged(const char *job, void *userdata) {
        g_string_append_printf(((Scene *)userdata)->heard, "?%s", job);
}

static void on_verdicts(const char *const *jobs, void *userdata) {
        inventory_judge(jobs, ((Scene *)userdata)->inventory);
}

static const InventoryEvents events = {on_added, on_replaced, on_removed, on_judged};

static void scene_init(Scene *scene) {
        InventoryParts parts;

        *scene = (Scene){.root = tree_make(), .heard = g_string_new(NULL)};
        scene->config = (DaemonConfig){.root = (char *)"/jobkeeper", .node_name = (char *)"n1"};
        scene->config.labels = g_hash_table_new(g_str_hash, g_str_equal);
        scene->event = loop_new();
        scene->node = node_new(scene->event, scene->root, scene->root);
        scene->node->config = &scene->config;
        scene->jobset = jobset_new();
        scene->registration = registration_new(scene->node, NULL, NULL, NULL);
        scene->members = members_new(scene->node, NULL, scene->registration, NULL, NULL);
        cr_assert(fitness_new(scene->event, on_verdicts, scene, &scene->fitness) >= 0);
        scene->ranks = ranks_new(scene->members, scene->registration, scene->fitness);
        scene->digests = digest_memory_new(scene->event, scene->root);
        scene->withdrawals =
            withdrawals_new(&(WithdrawalsParts){.node = scene->node, .digests = scene->digests});
        parts = (InventoryParts){.node = scene->node,
                                 .jobset = scene->jobset,
                                 .fitness = scene->fitness,
                                 .registration = scene->registration,
                                 .ranks = scene->ranks,
                                 .digests = scene->digests,
                                 .withdrawals = scene->withdrawals};
        scene->inventory = inventory_new(&parts, &events, scene);
}

static void scene_clear(Scene *scene) {
        inventory_free(scene->inventory);
        withdrawals_free(scene->withdrawals);
        digest_memory_free(scene->digests);
        ranks_free(scene->ranks);
        fitness_free(scene->fitness);
        members_free(scene->members);
        registration_free(scene->registration);
        jobset_free(scene->jobset);
        node_free(scene->node);
        g_hash_table_unref(scene->config.labels);
        scene->event = loop_end(scene->event);
        g_string_free(scene->heard, TRUE);
        tree_remove(scene->root);
        g_free(scene->root);
}

static JobFile *parse(const char *keys) {
        g_autofree char *text = g_strdup_printf("jobs: {a: {%s}}", keys);
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        JobFile *file = NULL;

        cr_assert_eq(job_file_parse("f", text, strlen(text), diagnostics, &file), 0);
        cr_assert(file->good, "%s", text);
        return file;
}

static void await_verdict(Scene *scene) {
        while (fitness_is_pending(scene->fitness, "a"))
                cr_assert(sd_event_run(scene->event, UINT64_MAX) >= 0);
}

Test(inventory, says_what_it_has_and_what_the_machine_can_run) {
        Scene scene;
        _cleanup_(job_file_freep) JobFile *good = parse("exec: [/bin/true]");
        _cleanup_(job_file_freep) JobFile *bad = parse("exec: [/nowhere/program]");
        g_autoptr(GPtrArray) names = NULL;

        scene_init(&scene);
        inventory_add(scene.inventory, good->jobs->pdata[0]);
        cr_expect_str_eq(scene.heard->str, "+a");
        cr_expect(inventory_has(scene.inventory, "a"));
        cr_expect_not_null(ranks_unfit(scene.ranks, "a"), "not looked at yet");
        await_verdict(&scene);
        cr_expect_str_eq(scene.heard->str, "+a?a");
        cr_expect_null(ranks_unfit(scene.ranks, "a"));
        inventory_replace(scene.inventory, bad->jobs->pdata[0]);
        cr_expect_null(ranks_unfit(scene.ranks, "a"), "the last verdict holds");
        while (g_str_has_suffix(scene.heard->str, "=a"))
                cr_assert(sd_event_run(scene.event, UINT64_MAX) >= 0);
        cr_expect_str_eq(scene.heard->str, "+a?a=a?a");
        cr_expect_not_null(strstr(ranks_unfit(scene.ranks, "a"), "/nowhere/program"));
        names = inventory_names(scene.inventory);
        cr_assert_eq(names->len, 1);
        cr_expect_str_eq(names->pdata[0], "a");
        scene_clear(&scene);
}

Test(inventory, what_is_gone_is_forgotten) {
        Scene scene;
        _cleanup_(job_file_freep) JobFile *bad = parse("exec: [/nowhere/program]");

        scene_init(&scene);
        inventory_add(scene.inventory, bad->jobs->pdata[0]);
        await_verdict(&scene);
        cr_expect_not_null(ranks_unfit(scene.ranks, "a"));
        inventory_remove(scene.inventory, "a");
        cr_expect_str_eq(scene.heard->str, "+a?a-a");
        cr_expect_not(inventory_has(scene.inventory, "a"));
        cr_expect_null(ranks_unfit(scene.ranks, "a"));
        cr_expect_eq(withdrawals_size(scene.withdrawals), 0, "it was never in force");
        scene_clear(&scene);
}

Test(inventory, without_a_session_nothing_is_withdrawn) {
        Scene scene;

        scene_init(&scene);
        digest_memory_set(scene.digests, "b", "digest");
        inventory_withdraw_removed(scene.inventory);
        cr_expect_eq(withdrawals_size(scene.withdrawals), 0);
        cr_expect_str_eq(digest_memory_get(scene.digests, "b"), "digest", "for the next session");
        scene_clear(&scene);
}

Test(inventory, a_job_of_other_nodes_is_not_looked_at) {
        Scene scene;
        _cleanup_(job_file_freep) JobFile *file = parse("exec: [/nowhere/program], nodes: [n2]");

        scene_init(&scene);
        inventory_add(scene.inventory, file->jobs->pdata[0]);
        cr_expect_not(fitness_is_pending(scene.fitness, "a"));
        cr_expect_null(ranks_unfit(scene.ranks, "a"));
        scene_clear(&scene);
}
