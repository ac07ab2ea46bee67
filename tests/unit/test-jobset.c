/* The job set: what stays in force when files break, rival each other, change and go; and what this
 * machine cannot run. */
#include "temporary-tree.h"

#include <errno.h>

#include "daemon-file.h"
#include "job-fitness.h"
#include "jobset.h"

#define ETC "etc/jobkeeper/jobs.d/"
#define BROKEN "jobs: {x: {exec: [}\n"

static char *root;
static JobSet *set;
static DaemonConfig config;

static void setup(void) {
        root = tree_make();
        set = jobset_new();
        config = (DaemonConfig){.fence_budget = 8 * USEC_PER_SEC, .kill_slack = 2 * USEC_PER_SEC};
}

static void teardown(void) {
        set = jobset_free(set);
        tree_remove(root);
        g_free(root);
}

TestSuite(jobset, .init = setup, .fini = teardown);

/* Loads, and expects jobs as "NAME=DESCRIPTION ..." and errors with ROOT for the root. */
static void expect(const char *jobs, const char *errors) {
        g_auto(GStrv) directories = job_directories(root);
        g_autoptr(GString) text = g_string_new(NULL);
        g_autofree char *joined = NULL, *stripped = NULL;

        cr_assert_eq(jobset_load(set, (const char *const *)directories, &config), 0);
        for (guint i = 0; i < jobset_size(set); i++) {
                const JobSpec *spec = jobset_get(set, i);

                g_string_append_printf(text, "%s%s=%s", i > 0 ? " " : "", spec->name,
                                       spec->description ? spec->description : "");
                cr_expect_eq(jobset_find(set, spec->name), spec);
        }
        cr_expect_str_eq(text->str, jobs, "\n   got: %s\nwanted: %s\n", text->str, jobs);
        joined = g_strjoinv("\n", (char **)jobset_errors(set));
        stripped = tree_strip(root, joined);
        cr_expect_str_eq(stripped, errors, "\n   got: %s\nwanted: %s\n", stripped, errors);
}

/* Writes a file with jobs "NAME=DESCRIPTION ...". */
static void write_jobs(const char *name, const char *jobs) {
        g_autoptr(GString) text = g_string_new("jobs:\n");
        g_auto(GStrv) words = g_strsplit(jobs, " ", -1);

        for (char **word = words; *word; word++) {
                g_auto(GStrv) parts = g_strsplit(*word, "=", 2);

                g_string_append_printf(text, "  %s: {exec: /bin/true, description: \"%s\"}\n",
                                       parts[0], parts[1]);
        }
        tree_write(root, name, text->str);
}

#define SYNTAX_ERROR                                                                               \
        ":1:19: error: not valid YAML: did not find expected node content (while parsing a flow "  \
        "node that begins in line 1)"

Test(jobset, empty) {
        cr_expect_eq(jobset_size(set), 0);
        cr_expect_null(jobset_errors(set)[0]);
        cr_expect_null(jobset_find(set, "a"));
        expect("", "");
        cr_expect_null(jobset_free(NULL));
}

Test(jobset, sorted_and_replaced) {
        write_jobs(ETC "b.yaml", "d=1 a=1");
        write_jobs(ETC "a.yaml", "c=1 b=1");
        expect("a=1 b=1 c=1 d=1", "");
        cr_expect_null(jobset_find(set, "e"));
        write_jobs(ETC "b.yaml", "d=2 e=2");
        tree_delete(root, ETC "a.yaml");
        expect("d=2 e=2", "");
        cr_expect_null(jobset_find(set, "a"));
}

Test(jobset, a_broken_file_keeps_what_it_had) {
        write_jobs(ETC "a.yaml", "a=1 b=1");
        write_jobs(ETC "b.yaml", "c=1");
        expect("a=1 b=1 c=1", "");
        tree_write(root, ETC "a.yaml", BROKEN);
        write_jobs(ETC "b.yaml", "c=2");
        for (unsigned i = 0; i < 3; i++)
                expect("a=1 b=1 c=2", "ROOT/etc/jobkeeper/jobs.d/a.yaml" SYNTAX_ERROR);
        write_jobs(ETC "a.yaml", "b=3");
        expect("b=3 c=2", "");
}

/* What a full disk and a broken copy leave. */
Test(jobset, an_empty_file_keeps_what_it_had) {
        write_jobs(ETC "a.yaml", "a=1 b=1");
        expect("a=1 b=1", "");
        tree_write(root, ETC "a.yaml", "");
        expect("a=1 b=1",
               "ROOT/etc/jobkeeper/jobs.d/a.yaml: error: is empty: to withdraw its jobs, delete "
               "it, or hide it by a link to /dev/null");
        tree_write(root, ETC "a.yaml", "jobs:\n");
        expect("", "");
        cr_assert_not_null(jobset_warnings(set)[0]);
        cr_expect_not_null(strstr(jobset_warnings(set)[0], "a.yaml: warning: defines no jobs"));
}

Test(jobset, a_file_that_was_never_good_has_nothing) {
        tree_write(root, ETC "a.yaml", BROKEN);
        write_jobs(ETC "b.yaml", "c=1");
        expect("c=1", "ROOT/etc/jobkeeper/jobs.d/a.yaml" SYNTAX_ERROR);
}

Test(jobset, a_broken_file_that_goes_away_takes_its_jobs_along) {
        write_jobs(ETC "a.yaml", "a=1");
        expect("a=1", "");
        tree_write(root, ETC "a.yaml", BROKEN);
        expect("a=1", "ROOT/etc/jobkeeper/jobs.d/a.yaml" SYNTAX_ERROR);
        tree_delete(root, ETC "a.yaml");
        expect("", "");
}

/* A file is known by its name, wherever it stands. */
Test(jobset, a_broken_override_keeps_what_the_name_had) {
        write_jobs("usr/lib/jobkeeper/jobs.d/a.yaml", "a=1");
        expect("a=1", "");
        tree_write(root, ETC "a.yaml", BROKEN);
        expect("a=1", "ROOT/etc/jobkeeper/jobs.d/a.yaml" SYNTAX_ERROR);
        tree_delete(root, ETC "a.yaml");
        tree_link(root, ETC "a.yaml", "/dev/null");
        expect("", "");
}

Test(jobset, rivals_keep_what_was_in_force) {
        static const char error[] =
            "ROOT/etc/jobkeeper/jobs.d/b.yaml:2:3: error: job \"x\" is also defined at "
            "ROOT/etc/jobkeeper/jobs.d/a.yaml:2:3: neither of the two takes effect, what was in "
            "force before stays";

        write_jobs(ETC "a.yaml", "x=1 a=1");
        expect("a=1 x=1", "");
        write_jobs(ETC "a.yaml", "x=2 a=2");
        write_jobs(ETC "b.yaml", "x=3 b=3");
        expect("a=2 b=3 x=1", error);
        expect("a=2 b=3 x=1", error);
        tree_delete(root, ETC "a.yaml");
        expect("b=3 x=3", "");
}

Test(jobset, rivals_from_the_beginning_are_no_jobs) {
        write_jobs(ETC "a.yaml", "x=1 a=1");
        write_jobs(ETC "b.yaml", "x=2");
        expect("a=1", "ROOT/etc/jobkeeper/jobs.d/b.yaml:2:3: error: job \"x\" is also defined at "
                      "ROOT/etc/jobkeeper/jobs.d/a.yaml:2:3: neither of the two takes effect, what "
                      "was in force before stays");
}

/* The definition in force comes from a file that is broken now; another file cannot take its name
 * over meanwhile. */
Test(jobset, a_new_file_does_not_take_a_broken_files_job) {
        write_jobs(ETC "z.yaml", "x=1");
        expect("x=1", "");
        tree_write(root, ETC "z.yaml", BROKEN);
        write_jobs(ETC "a.yaml", "x=2 a=2");
        expect("a=2 x=1",
               "ROOT/etc/jobkeeper/jobs.d/a.yaml:2:3: error: job \"x\" stays as it last was in "
               "ROOT/etc/jobkeeper/jobs.d/z.yaml, which has errors\n"
               "ROOT/etc/jobkeeper/jobs.d/z.yaml" SYNTAX_ERROR);
        tree_delete(root, ETC "z.yaml");
        expect("a=2 x=2", "");
}

#define ROLL(more) "jobs:\n  roll: {exec: /bin/true, mode: each-node, description: x, " more "}\n"

static void expect_roll(const char *name, const char *node) {
        const JobSpec *roll = jobset_find_each(set, "roll");

        cr_assert_not_null(roll);
        cr_expect_str_eq(roll->name, name);
        cr_expect_str_eq(roll->place.node ? roll->place.node : "", node);
        cr_expect_eq(jobset_definition(set, "roll@n7"), roll);
        cr_expect_null(jobset_definition(set, "roll"));
        cr_expect_null(jobset_definition(set, "rol@n7"));
        cr_expect_null(jobset_find_each(set, "roll@n1"));
}

Test(jobset, a_job_of_each_node_is_its_instance_here) {
        config.node_name = (char *)"n1";
        tree_write(root, ETC "a.yaml", ROLL("nodes: [n1, n2]"));
        expect("roll@n1=x", "");
        expect_roll("roll@n1", "n1");
        cr_assert_eq(jobset_load(set, (const char *const[]){NULL}, &config), 0);
        cr_expect_eq(jobset_size(set), 0U);
        cr_expect_null(jobset_find_each(set, "roll"));
}

Test(jobset, a_job_of_each_other_node_is_known_and_not_here) {
        g_auto(GStrv) directories = job_directories(root);

        config.node_name = (char *)"n1";
        tree_write(root, ETC "a.yaml", ROLL("nodes: {role: web}"));
        expect("", "");
        expect_roll("roll", "");
        tree_write(root, ETC "a.yaml", BROKEN);
        cr_assert_eq(jobset_load(set, (const char *const *)directories, &config), 0);
        expect_roll("roll", "");
        config.labels = g_hash_table_new(g_str_hash, g_str_equal);
        g_hash_table_insert(config.labels, (char *)"role", (char *)"web");
        tree_write(root, ETC "a.yaml", ROLL("nodes: {role: web}"));
        expect("roll@n1=x", "");
        expect_roll("roll@n1", "n1");
        tree_write(root, ETC "a.yaml", BROKEN);
        cr_assert_eq(jobset_load(set, (const char *const *)directories, &config), 0);
        expect_roll("roll@n1", "n1");
        g_hash_table_unref(config.labels);
}

Test(jobset, rivals_of_each_node_keep_what_was_in_force) {
        config.node_name = (char *)"n1";
        tree_write(root, ETC "a.yaml", ROLL("nodes: n1"));
        expect("roll@n1=x", "");
        tree_write(root, ETC "b.yaml", ROLL("nodes: n2"));
        expect("roll@n1=x",
               "ROOT/etc/jobkeeper/jobs.d/b.yaml:2:3: error: job \"roll\" is also defined at "
               "ROOT/etc/jobkeeper/jobs.d/a.yaml:2:3: neither of the two takes effect, what was in "
               "force before stays");
}

Test(jobset, a_stop_must_fit_the_fence_budget) {
        write_jobs(ETC "a.yaml", "a=1");
        expect("a=1", "");
        tree_write(root, ETC "a.yaml",
                   "defaults: {stop-timeout: 6001ms}\n"
                   "jobs:\n  a: {exec: /bin/true, stop-timeout: 6s}\n  b: {exec: /bin/true}\n");
        expect(
            "a=1",
            "ROOT/etc/jobkeeper/jobs.d/a.yaml:1:26: error: job \"b\" could not be stopped in time: "
            "stop-timeout 6s 1ms + kill-slack 2s = 8s 1ms, more than the fence-budget 8s: "
            "set \"stop-timeout\" to 6s or less");
        tree_write(root, ETC "a.yaml", "jobs:\n  a: {exec: /bin/true, stop-timeout: 6s}\n");
        expect("a=", "");
}

Test(jobset, what_is_not_stopped_has_all_the_time_it_wants) {
        tree_write(root, ETC "a.yaml",
                   "jobs:\n  a: {exec: /bin/true, stop-timeout: 1min, on-lock-loss: continue}\n");
        expect("a=", "");
}

/* The default has no place of its own: the job's is named. What was last good is not kept when it
 * does not fit either. */
Test(jobset, a_stop_must_fit_a_fence_budget_that_shrank) {
        write_jobs(ETC "a.yaml", "a=1");
        write_jobs(ETC "b.yaml", "b=1");
        tree_write(root, ETC "c.yaml", "jobs: {c: {exec: /bin/true, stop-timeout: 1s}}");
        expect("a=1 b=1 c=", "");
        config.fence_budget = 6 * USEC_PER_SEC;
        expect(
            "c=",
            "ROOT/etc/jobkeeper/jobs.d/a.yaml:2:3: error: job \"a\" could not be stopped in time: "
            "stop-timeout 5s (the default) + kill-slack 2s = 7s, more than the fence-budget 6s: "
            "set "
            "\"stop-timeout\" to 4s or less\n"
            "ROOT/etc/jobkeeper/jobs.d/b.yaml:2:3: error: job \"b\" could not be stopped in time: "
            "stop-timeout 5s (the default) + kill-slack 2s = 7s, more than the fence-budget 6s: "
            "set "
            "\"stop-timeout\" to 4s or less");
}

Test(jobset, a_second_machine_must_come_before_the_start_deadline) {
        config.takeover_delay = 2 * USEC_PER_SEC;
        tree_write(root, ETC "a.yaml", "jobs:\n  a: {exec: /bin/true, start-deadline: 2s}\n");
        expect("a=", "");
        tree_write(root, ETC "a.yaml", "jobs:\n  a: {exec: /bin/true, start-deadline: 1s}\n");
        expect("a=",
               "ROOT/etc/jobkeeper/jobs.d/a.yaml:2:40: error: job \"a\" could not be taken over in "
               "time: start-deadline 1s is shorter than the takeover-delay 2s: set "
               "\"start-deadline\" to 2s or more");
        tree_write(root, ETC "a.yaml", "jobs:\n  a: {exec: /bin/true}\n");
        config.takeover_delay = 660 * USEC_PER_SEC;
        expect("", "ROOT/etc/jobkeeper/jobs.d/a.yaml:2:3: error: job \"a\" could not be taken over "
                   "in time: start-deadline 10min (the default) is shorter than the takeover-delay "
                   "11min: set \"start-deadline\" to 11min or more");
}

Test(jobset, nothing_readable_changes_nothing) {
        const char *directories[] = {root, NULL};
        g_autofree char *file = tree_path(root, ETC "a.yaml");

        tree_write(root, ETC "a.yaml", BROKEN);
        write_jobs(ETC "b.yaml", "b=1");
        expect("b=1", "ROOT/etc/jobkeeper/jobs.d/a.yaml" SYNTAX_ERROR);
        directories[0] = file;
        cr_expect_eq(jobset_load(set, directories, &config), -ENOTDIR);
        cr_expect_eq(jobset_size(set), 1);
        cr_expect_str_eq(jobset_get(set, 0)->name, "b");
        cr_expect_not_null(jobset_errors(set)[0]);
}

Test(jobset, more_errors_than_are_shown) {
        g_autoptr(GString) text = g_string_new("jobs:\n");
        const char *const *errors;

        for (unsigned i = 0; i < DIAGNOSTICS_MAX + 7; i++)
                g_string_append_printf(text, "  j%u: {}\n", i);
        tree_write(root, ETC "a.yaml", text->str);
        {
                g_auto(GStrv) directories = job_directories(root);

                cr_assert_eq(jobset_load(set, (const char *const *)directories, &config), 0);
        }
        errors = jobset_errors(set);
        cr_assert_eq(g_strv_length((char **)errors), DIAGNOSTICS_MAX + 1);
        cr_expect_str_eq(errors[DIAGNOSTICS_MAX], "and 7 more errors");
}

/* A job with these lines, on this machine: the reason is `reason`, with ROOT for the root; NULL:
 * none. */
static void expect_fit(const char *lines, const char *reason) {
        g_autofree char *text = g_strdup_printf("jobs: {a: {%s}}", lines);
        g_auto(GStrv) parts = g_strsplit(text, "ROOT", -1);
        g_autofree char *rooted = g_strjoinv(root, parts);
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        _cleanup_(job_file_freep) JobFile *file = NULL;
        g_autofree char *got = NULL, *stripped = NULL;
        _cleanup_(unit_checks_freep) UnitChecks *checks = unit_checks_new();

        cr_assert_eq(job_file_parse("f", rooted, strlen(rooted), diagnostics, &file), 0);
        cr_assert(file->good, "%s", lines);
        got = job_unfit_reason(file->jobs->pdata[0], &config, checks);
        stripped = got ? tree_strip(root, got) : g_strdup("fit");
        cr_expect_str_eq(stripped, reason ? reason : "fit", "%s: %s", lines, stripped);
}

Test(jobset, unfit_reason) {
        tree_write(root, "bin/plain", "");
        expect_fit("exec: /bin/true", NULL);
        expect_fit("exec: /bin/true, user: root, group: root, working-directory: /tmp", NULL);
        expect_fit("exec: /bin/true, user: 4711, group: 4711", NULL);
        expect_fit("exec: ROOT/bin/none", "the executable ROOT/bin/none does not exist");
        expect_fit("exec: ROOT/bin/plain/none",
                   "the executable ROOT/bin/plain/none does not exist");
        expect_fit("exec: ROOT/bin/plain", "ROOT/bin/plain is not executable");
        expect_fit("exec: ROOT/bin", "ROOT/bin is not executable");
        expect_fit("exec: /bin/true, user: no-such-user", "the user no-such-user does not exist");
        expect_fit("exec: /bin/true, group: no-such-group",
                   "the group no-such-group does not exist");
        expect_fit("exec: /bin/true, working-directory: ROOT/none",
                   "the working directory ROOT/none does not exist");
        expect_fit("exec: /bin/true, working-directory: ROOT/bin/plain",
                   "the working directory ROOT/bin/plain is not a directory");
}

/* Both places are named, in one line. */
Test(jobset, unfit_for_resources_that_are_declared_otherwise) {
        static const char text[] = "node: {name: n}\nresources: {db: {slots: 2}}\n";
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        DaemonConfig *declared = NULL;

        cr_assert_eq(daemon_config_parse("/etc/j.yaml", text, strlen(text), diagnostics, &declared),
                     0);
        config.resources = declared->resources;
        expect_fit("exec: /bin/true, locks: {db: {}, c: {slots: 3}}", NULL);
        expect_fit("exec: /bin/true, locks: {db: {slots: 2}}", NULL);
        expect_fit("exec: /bin/true, locks: {c: {}, db: {slots: 3}}",
                   "f:1:44: resource \"db\" has slots: 3 here, but slots: 2 in /etc/j.yaml:2:13");
        expect_fit("exec: /bin/true, locks: {db: shared}",
                   "f:1:37: resource \"db\" cannot be held shared: it has slots: 2 in "
                   "/etc/j.yaml:2:13");
        config.resources = NULL;
        (void)daemon_config_free(declared);
}

Test(jobset, the_deadline_sum_is_made_of_the_configuration) {
        DeadlineRule rule;

        config = (DaemonConfig){
            .tick_time = 1, .sync_limit = 2, .heartbeat = 3, .fence_budget = 4, .kill_slack = 5};
        rule = deadline_rule_of(&config);
        cr_expect(rule.tick_time == 1 && rule.sync_limit == 2 && rule.heartbeat == 3 &&
                  rule.fence_budget == 4);
}

Test(jobset, a_directory_that_cannot_be_read_leaves_the_jobs_and_is_named) {
        g_auto(GStrv) directories = job_directories(root);
        g_autofree char *error = NULL;

        write_jobs("usr/lib/jobkeeper/jobs.d/a.yaml", "one=1");
        expect("one=1", "");
        tree_write(root, "etc/jobkeeper/jobs.d", "a file by that name");
        cr_assert_eq(jobset_load(set, (const char *const *)directories, &config), -ENOTDIR);
        cr_expect_eq(jobset_size(set), 1);
        error = tree_strip(root, jobset_errors(set)[0]);
        cr_expect_str_eq(error,
                         "ROOT/etc/jobkeeper/jobs.d: error: cannot be read: Not a directory");
}

/* Also beside other errors of the same file. */
Test(jobset, a_stop_is_judged_in_a_file_with_other_errors) {
        tree_write(root, ETC "a.yaml", "jobs: {a: {exec: /bin/true, stop-timeout: 7s, x: 1}}\n");
        expect("",
               "ROOT/etc/jobkeeper/jobs.d/a.yaml:1:43: error: job \"a\" could not be stopped in "
               "time: stop-timeout 7s + kill-slack 2s = 9s, more than the fence-budget 8s: set "
               "\"stop-timeout\" to 6s or less\n"
               "ROOT/etc/jobkeeper/jobs.d/a.yaml:1:47: error: unknown key \"x\"");
}

static void expect_summary(const char *wanted) {
        g_auto(GStrv) directories = job_directories(root);
        g_autofree char *summary = NULL;

        cr_assert_eq(jobset_load(set, (const char *const *)directories, &config), 0);
        summary = jobset_summary(set);
        cr_expect_str_eq(summary, wanted);
}

Test(jobset, a_summary_counts_and_names_what_was_refused) {
        expect_summary("0 jobs");
        write_jobs(ETC "good.yaml", "a=1");
        expect_summary("1 job");
        tree_write(root, ETC "x1.yaml", BROKEN);
        expect_summary("1 job, 1 file refused (1 error): x1.yaml (its jobs are not loaded)");
        tree_write(root, ETC "x1.yaml", "jobs:\n");
        expect_summary("1 job");
        tree_write(root, ETC "x1.yaml", BROKEN);
        expect_summary("1 job, 1 file refused (1 error): x1.yaml");
        tree_write(root, ETC "x2.yaml", "jobs: {x: {exec: 5, user: []}}\n");
        for (unsigned i = 3; i <= 6; i++) {
                g_autofree char *name = g_strdup_printf(ETC "x%u.yaml", i);

                tree_write(root, name, BROKEN);
        }
        expect_summary("1 job, 6 files refused (7 errors): x1.yaml, x2.yaml (its jobs are not "
                       "loaded), x3.yaml "
                       "(its jobs are not loaded), x4.yaml (its jobs are not loaded), x5.yaml (its "
                       "jobs are not "
                       "loaded) and 1 more");
        write_jobs(ETC "good.yaml", "a=1 b=2");
        write_jobs(ETC "good2.yaml", "b=2");
        for (unsigned i = 1; i <= 6; i++) {
                g_autofree char *name = g_strdup_printf(ETC "x%u.yaml", i);

                tree_write(root, name, "jobs:\n");
        }
        expect_summary("1 job, 1 error: good2.yaml");
}

static void expect_unloaded(const char *wanted) {
        g_auto(GStrv) directories = job_directories(root);
        g_autofree char *names = NULL;

        (void)jobset_load(set, (const char *const *)directories, &config);
        names = g_strjoinv(" ", (char **)(void *)jobset_unloaded(set));
        cr_expect_str_eq(names, wanted);
}

/* What was good once has something that stays; a file that went has not. */
Test(jobset, a_file_that_always_had_errors_has_no_jobs_and_is_named) {
        tree_write(root, ETC "x1.yaml", BROKEN);
        tree_write(root, ETC "x2.yaml", BROKEN);
        write_jobs(ETC "good.yaml", "a=1");
        expect_unloaded("x1.yaml x2.yaml");
        expect_unloaded("x1.yaml x2.yaml");
        write_jobs(ETC "x2.yaml", "b=1");
        expect_unloaded("x1.yaml");
        tree_write(root, ETC "x2.yaml", BROKEN);
        tree_write(root, ETC "good.yaml", BROKEN);
        expect_unloaded("x1.yaml");
        tree_write(root, ETC "x1.yaml", "jobs:\n");
        expect_unloaded("");
        tree_delete(root, ETC "x2.yaml");
        expect_unloaded("");
        tree_write(root, ETC "x2.yaml", BROKEN);
        expect_unloaded("x2.yaml");
}

/* What stays of a job is said only where something does. */
Test(jobset, a_job_of_which_nothing_was_in_force_is_left_out_and_named) {
        g_auto(GStrv) directories = job_directories(root);

        write_jobs(ETC "a.yaml", "a=1 b=1");
        write_jobs(ETC "b.yaml", "a=2 c=1");
        (void)jobset_load(set, (const char *const *)directories, &config);
        cr_expect_eq(jobset_size(set), 2);
        cr_expect_str_eq(jobset_left_out(set)[0], "a");
        cr_expect_null(jobset_left_out(set)[1]);
        write_jobs(ETC "b.yaml", "c=1");
        (void)jobset_load(set, (const char *const *)directories, &config);
        cr_expect_null(jobset_left_out(set)[0]);
        cr_expect_eq(jobset_size(set), 3);
        write_jobs(ETC "b.yaml", "a=2 c=1");
        (void)jobset_load(set, (const char *const *)directories, &config);
        cr_expect_null(jobset_left_out(set)[0], "what was in force of it stays");
}

/* Also those of a file that is good but for a job that another one has. */
Test(jobset, a_summary_names_every_file_that_has_errors) {
        tree_write(root, ETC "a.yaml", BROKEN);
        write_jobs(ETC "b.yaml", "x=1");
        write_jobs(ETC "c.yaml", "x=2");
        expect_summary("0 jobs, 1 file refused (2 errors): a.yaml (its jobs are not loaded), "
                       "c.yaml");
}

Test(jobset, warnings_are_kept_apart) {
        tree_write(root, ETC "a.yaml", "jobs: {a: {exec: \"/bin/true | /bin/cat\"}}\n");
        expect("a=", "");
        cr_assert_not_null(jobset_warnings(set)[0]);
        cr_expect_not_null(strstr(jobset_warnings(set)[0], "a.yaml:1:18: warning: \"exec\" has "));
        cr_expect_null(jobset_warnings(set)[1]);
}
