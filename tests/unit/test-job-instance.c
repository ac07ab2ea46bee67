/* A job of mode each-node as it is on one node: what it takes over, and what becomes of its lock.
 */
#include "job-instance.h"

#include "job-file-fixture.h"
#include "temporary-tree.h"

#define JOB "jobs:\n  roll: {exec: /bin/true, mode: each-node, "

static void expect_instance(const char *keys, const char *resources, usec_t lock_wait) {
        g_autofree char *text = g_strconcat(JOB, keys, "}\n", NULL);
        _cleanup_(job_file_freep) JobFile *file = parse_job_file(text, "");
        JobSpec *spec = file->jobs->pdata[0];
        g_autoptr(GString) found = g_string_new(NULL);

        job_spec_instantiate(spec, "n1");
        cr_expect_str_eq(spec->name, "roll@n1");
        cr_expect_eq(spec->lock, JOB_LOCK_NONE);
        cr_expect_eq(spec->slots, 1U);
        cr_expect_eq(job_spec_beside(spec), 1U);
        cr_expect(spec->lock_wait_set);
        cr_expect_eq(spec->lock_wait, lock_wait);
        for (guint i = 0; i < spec->resources->len; i++) {
                const JobResource *resource = spec->resources->pdata[i];
                g_string_append_printf(found, "%s%s %s %u", i > 0 ? ", " : "", resource->name,
                                       resource->mode == JOB_LOCK_SHARED ? "shared" : "exclusive",
                                       resource->slots);
        }
        cr_expect_str_eq(found->str, resources, "%s: %s", keys, found->str);
}

Test(job_instance, the_nodes_wait_for_each_other_at_the_lock_of_the_job) {
        expect_instance("slots: 1", "job:roll exclusive 1", USEC_INFINITY);
        expect_instance("slots: 3, lock-wait: 1h", "job:roll exclusive 3", USEC_PER_HOUR);
        expect_instance("lock: shared", "job:roll shared 1", USEC_INFINITY);
        expect_instance("lock: none", "", USEC_INFINITY);
        expect_instance("locks: {z: {}, a: shared}, lock-wait: 0",
                        "a shared 0, job:roll exclusive 1, z exclusive 0", 0);
}

static void expect_turns(const char *keys, unsigned turns) {
        g_autofree char *text = g_strconcat(JOB, keys, "}\n", NULL);
        _cleanup_(job_file_freep) JobFile *file = parse_job_file(text, "");
        JobSpec *spec = file->jobs->pdata[0];

        job_spec_instantiate(spec, "n1");
        cr_expect_eq(spec->place.roll.turns, turns, "%s: %u", keys, spec->place.roll.turns);
        cr_expect(job_spec_keeps_rolls(spec));
}

Test(job_instance, how_many_nodes_run_it_at_a_time) {
        expect_turns("max-failures: 1", 1);
        expect_turns("max-failures: 1, slots: 3", 3);
        expect_turns("max-failures: 1, lock: shared", 0);
        expect_turns("max-failures: 1, lock: none", 0);
}

Test(job_instance, runs_on_its_node_alone) {
        _cleanup_(job_file_freep) JobFile *file = parse_job_file(JOB "nodes: \"n[12]\"}\n", "");
        JobSpec *spec = file->jobs->pdata[0];
        _cleanup_(job_spec_freep) JobSpec *other = NULL, *outside = NULL;

        job_spec_instantiate(spec, "n1");
        cr_expect(job_spec_matches_node(spec, "n1", NULL));
        cr_expect_not(job_spec_matches_node(spec, "n2", NULL));
        other = job_instance_outline(spec, "n2");
        cr_expect_str_eq(other->name, "roll@n2");
        cr_expect(job_spec_matches_node(other, "n2", NULL));
        cr_expect_not(job_spec_matches_node(other, "n1", NULL));
        outside = job_instance_outline(other, "n3");
        cr_expect_str_eq(outside->name, "roll@n3");
        cr_expect_not(job_spec_matches_node(outside, "n3", NULL));
}
