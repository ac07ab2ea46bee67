/* A job as data: where it may run, and what changes its digest. */
#include <criterion/criterion.h>
#include <string.h>

#include "daemon-file.h"
#include "expect-errors.h"
#include "job-files.h"

/* Return: the only job of a file that has it with these lines. */
static JobFile *file_of(const char *lines) {
        g_autofree char *text = g_strdup_printf("jobs:\n  a:\n    exec: /bin/true\n%s", lines);
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        JobFile *file = NULL;

        cr_assert_eq(job_file_parse("f", text, strlen(text), diagnostics, &file), 0);
        expect_errors(diagnostics, "");
        cr_assert_eq(file->jobs->len, 1);
        return file;
}

static char *digest_of(const char *lines) {
        _cleanup_(job_file_freep) JobFile *file = file_of(lines);

        return job_spec_digest(file->jobs->pdata[0], NULL);
}

static bool matches(const char *lines, const char *node, const char *label, const char *value) {
        g_autoptr(GHashTable) labels = g_hash_table_new(g_str_hash, g_str_equal);
        _cleanup_(job_file_freep) JobFile *file = file_of(lines);

        if (label)
                g_hash_table_insert(labels, (gpointer)label, (gpointer)value);
        g_hash_table_insert(labels, (gpointer) "zone", (gpointer) "eu-1");
        return job_spec_matches_node(file->jobs->pdata[0], node, labels);
}

Test(job, matches_node_names) {
        cr_expect(matches("", "n1", NULL, NULL));
        cr_expect(matches("    nodes: {}\n", "n1", NULL, NULL));
        cr_expect(matches("    nodes: n1\n", "n1", NULL, NULL));
        cr_expect_not(matches("    nodes: n1\n", "n11", NULL, NULL));
        cr_expect(matches("    nodes: n*\n", "n11", NULL, NULL));
        cr_expect(matches("    nodes: [db1, \"web-?\"]\n", "web-7", NULL, NULL));
        cr_expect(matches("    nodes: [db1, \"web-[0-5]\"]\n", "db1", NULL, NULL));
        cr_expect_not(matches("    nodes: [db1, \"web-[0-5]\"]\n", "web-7", NULL, NULL));
}

Test(job, matches_labels) {
        cr_expect(matches("    nodes: {role: worker}\n", "n1", "role", "worker"));
        cr_expect_not(matches("    nodes: {role: worker}\n", "n1", "role", "master"));
        cr_expect_not(matches("    nodes: {role: worker}\n", "n1", NULL, NULL));
        cr_expect_not(matches("    nodes: {role: \"*\"}\n", "n1", NULL, NULL),
                      "a label that is not there");
        cr_expect(matches("    nodes: {role: \"work*\", zone: eu-*}\n", "n1", "role", "worker"));
        cr_expect_not(
            matches("    nodes: {role: \"work*\", zone: us-*}\n", "n1", "role", "worker"));
}

Test(job, matches_without_labels) {
        _cleanup_(job_file_freep) JobFile *file = file_of("    nodes: {role: worker}\n");

        cr_expect_not(job_spec_matches_node(file->jobs->pdata[0], "n1", NULL));
}

/* Labels and names together cannot be written in YAML; as data they can. */
Test(job, all_labels_and_one_name_must_match) {
        JobNodeMatch role = {(char *)"role", (char *)"worker"};
        JobNodeMatch one = {NULL, (char *)"n1"}, two = {NULL, (char *)"n2"};
        g_autoptr(GPtrArray) nodes = g_ptr_array_new();
        g_autoptr(GHashTable) labels = g_hash_table_new(g_str_hash, g_str_equal);
        JobSpec spec = {.place.nodes = nodes};

        g_ptr_array_add(nodes, &one);
        g_ptr_array_add(nodes, &role);
        g_ptr_array_add(nodes, &two);
        cr_expect_not(job_spec_matches_node(&spec, "n2", labels));
        g_hash_table_insert(labels, (gpointer) "role", (gpointer) "worker");
        cr_expect(job_spec_matches_node(&spec, "n1", labels));
        cr_expect(job_spec_matches_node(&spec, "n2", labels));
        cr_expect_not(job_spec_matches_node(&spec, "n3", labels));
}

#define BASE "    schedule: daily\n    locks: {db: shared, cache: exclusive}\n"

/* What is done, as whom, where, how long and how late is not what nodes must agree on. */
Test(job, digest_stays) {
        static const char *const same[] = {
            "    schedule: \"*-*-* 00:00:00\"\n    locks: {cache: exclusive, db: shared}\n",
            "    schedule: [daily]\n    locks: {db: {mode: shared}, cache: {}}\n",
            "    schedule: daily\n    locks: {db: {mode: shared, slots: 1}, cache: {slots: 1}}\n",
            BASE "    timezone: UTC\n",
            BASE "    description: x\n",
            BASE "    user: nobody\n    group: nogroup\n",
            BASE "    environment: {A: 1}\n",
            BASE "    working-directory: /tmp\n",
            BASE "    credentials: {a: /etc/a}\n",
            BASE "    environment-file: /etc/a\n",
            BASE "    unit: {Nice: 5, After: a.service}\n",
            BASE "    timeout: 5s\n    stop-timeout: 1s\n",
            BASE "    start-deadline: 1h\n    catch-up: none\n    lock-wait: 5s\n",
            BASE "    nodes: n1\n",
            BASE "    history: 10\n",
            BASE "    random-delay: 0\n",
            BASE "    except: []\n",
            BASE "    window: []\n",
            BASE "    dst: {gap: skip, overlap: both}\n", /* in UTC */
            BASE "    overlap: skip\n",
            BASE "    overlap: queue\n    catch-up: all\n",
            BASE "    mode: once\n    slots: 1\n    dst: {gap: shift, overlap: first}\n    lock: "
                 "exclusive\n",
        };
        g_autofree char *base = digest_of(BASE);

        cr_expect_eq(strlen(base), 64);
        for (size_t i = 0; i < G_N_ELEMENTS(same); i++) {
                g_autofree char *digest = digest_of(same[i]);

                cr_expect_str_eq(digest, base, "%s", same[i]);
        }
}

/* Nodes of two versions, as in the middle of an upgrade, mean the same by it. */
Test(job, digest_is_that_of_other_versions) {
        g_autofree char *digest =
            digest_of("    schedule: daily\n    locks: {cache: exclusive, db: shared}\n");

        cr_expect_str_eq(digest,
                         "62cf3bbedd882f05fd217b50f7796ceeba9acc5270537e0a2af4029c8384ecc8");
        g_free(digest);
        digest = digest_of("    schedule: \"02:30\"\n    timezone: Europe/Berlin\n");
        cr_expect_str_eq(digest,
                         "913153ff2a21f4e70439c8776b1751183ed8bd945d934caaf10aee674bfe5bed");
}

/* Each of these differs from all others. */
Test(job, digest_changes) {
        static const char *const different[] = {
            BASE,
            "",
            "    locks: {db: shared, cache: exclusive}\n",
            "    schedule: hourly\n    locks: {db: shared, cache: exclusive}\n",
            "    every: 1d\n    locks: {db: shared, cache: exclusive}\n",
            "    every: 2d\n    locks: {db: shared, cache: exclusive}\n",
            "    schedule: [daily, hourly]\n    locks: {db: shared, cache: exclusive}\n",
            BASE "    timezone: Europe/Berlin\n",
            BASE "    timezone: America/New_York\n",
            BASE "    timezone: America/New_York\n    dst: {gap: skip}\n",
            BASE "    timezone: America/New_York\n    dst: {overlap: last}\n",
            BASE "    timezone: America/New_York\n    dst: {overlap: both}\n",
            BASE "    timezone: America/New_York\n    dst: {gap: skip, overlap: both}\n",
            BASE "    mode: each-node\n",
            BASE "    random-delay: 1h\n",
            BASE "    except: Sun\n",
            BASE "    except: Sun 00:00\n",
            BASE "    except: [Sun, Sat]\n",
            BASE "    window: {from: Sat, for: 6h}\n",
            BASE "    window: {from: Sat, for: 7h}\n",
            BASE "    window: [{from: Sat, for: 6h}, {from: Sun, for: 6h}]\n",
            BASE "    random-delay: 2h\n",
            BASE "    lock: shared\n",
            BASE "    lock: none\n",
            BASE "    lock: shared\n    overlap: allow\n",
            BASE "    lock: none\n    overlap: allow\n",
            BASE "    overlap: replace\n",
            BASE "    slots: 2\n",
            BASE "    slots: 3\n",
            "    schedule: daily\n",
            "    schedule: daily\n    locks: {db: shared}\n",
            "    schedule: daily\n    locks: {db: exclusive, cache: exclusive}\n",
            "    schedule: daily\n    locks: {db: exclusive, cache: shared}\n",
            "    schedule: daily\n    locks: {db2: shared, cache: exclusive}\n",
            "    schedule: daily\n    locks: {db: shared, cache: {slots: 2}}\n",
            "    schedule: daily\n    locks: {db: shared, cache: {slots: 3}}\n",
        };
        g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);

        for (size_t i = 0; i < G_N_ELEMENTS(different); i++)
                cr_expect(g_hash_table_insert(seen, digest_of(different[i]), NULL), "%s",
                          different[i]);
}

/* Return: the digest of a job with these locks on a machine that declares these resources. */
static char *digest_declared(const char *locks, const char *resources) {
        g_autofree char *lines = g_strdup_printf("    locks: %s\n", locks);
        g_autofree char *text = g_strdup_printf("node: {name: n}\nresources: %s\n", resources);
        _cleanup_(job_file_freep) JobFile *file = file_of(lines);
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        _cleanup_(daemon_config_freep) DaemonConfig *config = NULL;

        (void)daemon_config_parse("f", text, strlen(text), diagnostics, &config);
        expect_errors(diagnostics, "");
        return job_spec_digest(file->jobs->pdata[0], config);
}

/* Nodes that would not exclude each other differ; where a number of slots stands is nothing. */
Test(job, digest_has_what_is_declared_of_resources) {
        static const char *const different[] = {
            "{}",
            "{db: {slots: 2}}",
            "{db: {slots: 3}}",
            "{db: {naming: curator-mutex}}",
            "{db: {naming: kazoo}}",
            "{db: {naming: single-node}}",
            "{db: {path: /db}}",
            "{db: {path: /db2}}",
            "{db: {path: /db, slots: 2}}",
            "{db: {path: /db, naming: kazoo}}",
        };
        g_autoptr(GHashTable) seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        g_autofree char *undeclared = digest_of("    locks: {db: exclusive}\n"),
                        *empty = digest_declared("{db: exclusive}", "{db: {}, other: {slots: 4}}"),
                        *here = digest_declared("{db: {slots: 2}}", "{}"),
                        *there = digest_declared("{db: {}}", "{db: {slots: 2}}"),
                        *both = digest_declared("{db: {slots: 2}}", "{db: {slots: 2}}");

        for (size_t i = 0; i < G_N_ELEMENTS(different); i++)
                cr_expect(
                    g_hash_table_insert(seen, digest_declared("{db: {}}", different[i]), NULL),
                    "%s", different[i]);
        cr_expect_str_eq(empty, undeclared);
        cr_expect_str_eq(here, there);
        cr_expect_str_eq(here, both);
}

Test(job, goes_with_its_last_reference) {
        JobSpec *spec = g_new0(JobSpec, 1), *again;

        spec->name = g_strdup("a");
        again = job_spec_ref(spec);
        cr_expect_null(job_spec_free(spec));
        cr_expect_str_eq(again->name, "a", "still there");
        cr_expect_null(job_spec_free(again));
}

Test(job, free_takes_what_is_half_built) {
        cr_expect_null(job_spec_free(NULL));
        cr_expect_null(job_spec_free(g_new0(JobSpec, 1)));
        cr_expect_null(job_resource_free(NULL));
        cr_expect_null(job_node_match_free(NULL));
        cr_expect_null(job_file_free(NULL));
        cr_expect_null(job_file_free(g_new0(JobFile, 1)));
}

typedef struct Difference {
        const char *before, *after;
        bool waits_alike;
} Difference;

/* Each key that a definition has, changed alone. */
static const Difference differences[] = {
    {"", "    description: other\n", true},
    {"", "    user: nobody\n", true},
    {"", "    group: nogroup\n", true},
    {"", "    environment: {A: b}\n", true},
    {"", "    working-directory: /tmp\n", true},
    {"", "    credentials: {a: /etc/a}\n", true},
    {"    credentials: {a: /etc/a}\n", "    credentials: {a: /etc/b}\n", true},
    {"    credentials: {a: /etc/a}\n", "    credentials: {b: /etc/a}\n", true},
    {"", "    unit: {Nice: 5}\n", true},
    {"", "    unit: {After: a.service}\n", true},
    {"    unit: {Nice: 5}\n", "    unit: {Nice: 6}\n", true},
    {"    unit: {Wants: a.service}\n", "    unit: {After: a.service}\n", true},
    {"", "    environment-file: /etc/a\n", true},
    {"    environment-file: /etc/a\n", "    environment-file: -/etc/a\n", true},
    {"    environment-file: [/etc/a, /etc/b]\n", "    environment-file: [/etc/b, /etc/a]\n", true},
    {"", "    timeout: 1h\n", true},
    {"", "    stop-timeout: 1s\n", true},
    {"", "    history: 7\n", true},
    {"", "    expect-within: 26h\n", true},
    {"", "    timezone: Europe/Berlin\n", true},
    {"", "    retries: {attempts: 2}\n", true},
    {"    retries: {attempts: 2}\n", "    retries: {attempts: 2, delay: 1s}\n", true},
    {"    retries: {attempts: 2}\n", "    retries: {attempts: 2, max-delay: 1h}\n", true},
    {"", "    no-retry: [2]\n", true},
    {"", "    on-owner-lost: rerun\n", true},
    {"", "    after: b\n", true},
    {"    after: b\n", "    after: c\n", true},
    {"    after: b\n", "    after: [b, c]\n", true},
    {"    after: b\n", "    after: {job: b, on: any}\n", true},
    {"    after: [b, c]\n", "    after: {all: [b, c]}\n", true},
    {"", "    on-failure: b\n", true},
    {"    on-failure: b\n", "    on-failure: c\n", true},
    {"", "    on-recovery: b\n", true},
    {"    on-recovery: b\n", "    on-recovery: c\n", true},
    {"", "    was: b\n", true},
    {"    was: b\n", "    was: c\n", true},
    {"", "    on-lock-loss: continue\n", true},
    {"    on-lock-loss: continue\n", "    on-lock-loss: continue\n    takeover-after: 1h\n", true},
    {"", "    every: 1h\n", false},
    {"    every: 1h\n", "    every: 2h\n", false},
    {"    every: 1h\n", "    every: 1h\n    window: {from: Sat, for: 6h}\n", false},
    {"    schedule: \"*-*-* 02:30\"\n",
     "    schedule: \"*-*-* 02:30\"\n    timezone: Europe/Berlin\n", false},
    {"", "    lock: shared\n", false},
    {"", "    locks: {r: shared}\n", false},
    {"    locks: {r: shared}\n", "    locks: {r: exclusive}\n", false},
    {"    locks: {r: shared}\n", "    locks: {s: shared}\n", false},
    {"    locks: {r: {mode: exclusive, slots: 2}}\n",
     "    locks: {r: {mode: exclusive, slots: 3}}\n", false},
    {"", "    lock-wait: 10min\n", false},
    {"    lock-wait: 1min\n", "    lock-wait: 2min\n", false},
    {"", "    start-deadline: 1h\n", false},
    {"", "    catch-up: none\n", false},
    {"", "    overlap: queue\n", false},
    {"", "    overlap: replace\n", false},
    {"", "    slots: 2\n", false},
    {"    lock: none\n", "    lock: none\n    overlap: allow\n", false},
    {"", "    mode: each-node\n", false},
    {"", "    nodes: n1\n", false},
    {"    nodes: n1\n", "    nodes: n2\n", false},
    {"    nodes: {role: a}\n", "    nodes: {zone: a}\n", false},
};

Test(job, definitions_are_compared_by_every_key) {
        for (size_t i = 0; i < G_N_ELEMENTS(differences); i++) {
                const Difference *difference = &differences[i];
                _cleanup_(job_file_freep) JobFile *before = file_of(difference->before),
                                                  *again = file_of(difference->before),
                                                  *after = file_of(difference->after);
                const JobSpec *spec = before->jobs->pdata[0], *other = after->jobs->pdata[0];

                cr_expect(job_spec_equal(spec, again->jobs->pdata[0]));
                cr_expect_not(job_spec_equal(spec, other), "%s", difference->after);
                cr_expect_not(job_spec_equal(other, spec), "%s", difference->after);
                cr_expect_eq(job_spec_waits_alike(spec, other), difference->waits_alike, "%s",
                             difference->after);
        }
}

Test(job, what_is_run_is_compared) {
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        static const char text[] = "jobs:\n  a: {exec: /bin/true}\n  b: {exec: /bin/false}\n"
                                   "  c: {exec: [/bin/true]}\n";
        _cleanup_(job_file_freep) JobFile *file = NULL;

        cr_assert_eq(job_file_parse("f", text, strlen(text), diagnostics, &file), 0);
        for (guint i = 1; i < file->jobs->len; i++) {
                JobSpec *spec = file->jobs->pdata[i];

                g_free(spec->name);
                spec->name = g_strdup("a");
                cr_expect_not(job_spec_equal(file->jobs->pdata[0], spec), "%u", i);
                cr_expect(job_spec_waits_alike(file->jobs->pdata[0], spec), "%u", i);
        }
}
