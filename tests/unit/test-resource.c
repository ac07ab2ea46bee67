/* What a job or a person asks of a resource against what this machine declares of it: the request
 * that comes of it, and the words for what cannot be. */
#include "expect-errors.h"

#include <string.h>

#include "daemon-file.h"
#include "job-files.h"
#include "lock-resource.h"
#include "resource.h"

static DaemonConfig *config;

static DaemonConfig *parse_config(const char *text) {
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        DaemonConfig *parsed = NULL;

        (void)daemon_config_parse("c", text, strlen(text), diagnostics, &parsed);
        expect_errors(diagnostics, "");
        return parsed;
}

static void setup(void) {
        config = parse_config("node: {name: n}\n"
                              "zookeeper: {root: /r}\n"
                              "resources:\n"
                              "  three: {slots: 3}\n"
                              "  one: {slots: 1}\n"
                              "  java: {path: /java, naming: curator-mutex}\n"
                              "  python: {path: /py, naming: kazoo}\n"
                              "  old: {naming: single-node}\n");
}

static void teardown(void) {
        config = daemon_config_free(config);
}

TestSuite(resource, .init = setup, .fini = teardown);

static void expect_request(const LockRequest *got, const LockRequest *wanted) {
        cr_expect_str_eq(got->resource, wanted->resource);
        cr_expect_eq(got->mode, wanted->mode, "%s", wanted->resource);
        cr_expect_eq(got->slots, wanted->slots, "%s: %u", wanted->resource, got->slots);
        cr_expect_eq(got->naming, wanted->naming, "%s", wanted->resource);
        cr_expect_eq(g_strcmp0(got->path, wanted->path), 0, "%s", wanted->resource);
}

/* A job's `locks:` become requests that have all that is declared. */
Test(resource, requests_of_a_job) {
        static const char text[] =
            "jobs:\n  a:\n    exec: /bin/true\n    locks: {java: exclusive, old: "
            "{}, plain: shared, python: shared, four: {slots: 4}, three: {}}\n";
        static const LockRequest wanted[] = {
            {.resource = "four", .slots = 4},
            {.resource = "java", .naming = LOCK_NAMING_CURATOR_MUTEX, .path = "/java"},
            {.resource = "old", .naming = LOCK_NAMING_SINGLE_NODE},
            {.resource = "plain", .mode = LOCK_SHARED},
            {.resource = "python", .mode = LOCK_SHARED, .naming = LOCK_NAMING_KAZOO, .path = "/py"},
            {.resource = "three", .slots = 3},
        };
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        _cleanup_(job_file_freep) JobFile *file = NULL;
        const JobSpec *spec;

        cr_assert_eq(job_file_parse("f", text, strlen(text), diagnostics, &file), 0);
        expect_errors(diagnostics, "");
        spec = file->jobs->pdata[0];
        cr_assert_eq(spec->resources->len, G_N_ELEMENTS(wanted));
        for (size_t i = 0; i < G_N_ELEMENTS(wanted); i++) {
                LockRequest got = {0};

                resource_request_of_job(config, spec->resources->pdata[i], &got);
                expect_request(&got, &wanted[i]);
        }
        resource_check_job(config, spec, diagnostics);
        expect_errors(diagnostics, "");
}

Test(resource, directories) {
        g_autofree char *plain = resource_directory(config, "plain");
        g_autofree char *three = resource_directory(config, "three");
        g_autofree char *java = resource_directory(config, "java");

        cr_expect_str_eq(plain, "/r/locks/plain");
        cr_expect_str_eq(three, "/r/locks/three");
        cr_expect_str_eq(java, "/java");
}

static const struct {
        const char *name;
        LockMode mode;
        unsigned slots;
        const char *naming;
        const char *fault; /* NULL: none */
} asked[] = {
    {"plain", LOCK_SHARED, 0, NULL, NULL},
    {"plain", LOCK_EXCLUSIVE, 7, NULL, NULL},
    {"plain", LOCK_SHARED, 1, NULL, NULL},
    {"plain", LOCK_SHARED, 0, "kazoo", NULL},
    {"plain", LOCK_EXCLUSIVE, 0, "single-node", NULL},
    {"plain", LOCK_EXCLUSIVE, 2, "curator-rw", NULL},
    {"three", LOCK_EXCLUSIVE, 0, NULL, NULL},
    {"three", LOCK_EXCLUSIVE, 3, NULL, NULL},
    {"three", LOCK_EXCLUSIVE, 3, "curator-rw", NULL},
    {"one", LOCK_SHARED, 0, NULL, NULL},
    {"java", LOCK_EXCLUSIVE, 1, "curator-mutex", NULL},
    {"python", LOCK_SHARED, 0, NULL, NULL},
    {"old", LOCK_EXCLUSIVE, 0, NULL, NULL},
    {"plain", LOCK_SHARED, 2, NULL, "resource \"plain\" has slots: it is not held shared"},
    {"plain", LOCK_EXCLUSIVE, 0, "zoo",
     "\"zoo\" is not a naming: use curator-rw, curator-mutex, kazoo or single-node"},
    {"plain", LOCK_SHARED, 0, "curator-mutex",
     "resource \"plain\" cannot be held shared: its naming is curator-mutex, which knows only "
     "exclusive holders"},
    {"plain", LOCK_SHARED, 0, "single-node",
     "resource \"plain\" cannot be held shared: its naming is single-node, which knows only "
     "exclusive holders"},
    {"plain", LOCK_EXCLUSIVE, 2, "kazoo",
     "resource \"plain\" cannot have slots: 2: its naming is kazoo, which knows no slots"},
    {"three", LOCK_EXCLUSIVE, 2, NULL,
     "resource \"three\" has slots: 2 here, but slots: 3 in c:4:3"},
    {"three", LOCK_EXCLUSIVE, 1, NULL,
     "resource \"three\" has slots: 1 here, but slots: 3 in c:4:3"},
    {"three", LOCK_SHARED, 0, NULL,
     "resource \"three\" cannot be held shared: it has slots: 3 in c:4:3"},
    {"three", LOCK_EXCLUSIVE, 0, "kazoo",
     "the naming of resource \"three\" is kazoo here, but curator-rw in c:4:3"},
    {"one", LOCK_EXCLUSIVE, 2, NULL, "resource \"one\" has slots: 2 here, but slots: 1 in c:5:3"},
    {"java", LOCK_SHARED, 0, NULL,
     "resource \"java\" cannot be held shared: its naming is curator-mutex in c:6:3, which knows "
     "only exclusive holders"},
    {"java", LOCK_EXCLUSIVE, 2, NULL,
     "resource \"java\" cannot have slots: 2: its naming is curator-mutex in c:6:3, which knows no "
     "slots"},
    {"java", LOCK_EXCLUSIVE, 0, "kazoo",
     "the naming of resource \"java\" is kazoo here, but curator-mutex in c:6:3"},
    {"old", LOCK_SHARED, 0, NULL,
     "resource \"old\" cannot be held shared: its naming is single-node in c:8:3, which knows only "
     "exclusive holders"},
};

Test(resource, what_people_ask_for) {
        for (size_t i = 0; i < G_N_ELEMENTS(asked); i++) {
                LockRequest request = {.resource = "untouched"};
                g_autofree char *fault =
                    lock_resource_request(config, asked[i].name, asked[i].mode, asked[i].slots,
                                          asked[i].naming, &request);

                cr_expect_str_eq(fault ? fault : "none", asked[i].fault ? asked[i].fault : "none",
                                 "%zu: %s", i, fault);
                cr_expect_str_eq(request.resource, asked[i].fault ? "untouched" : asked[i].name);
        }
}

Test(resource, what_people_say_goes_where_nothing_is_declared) {
        LockRequest request = {0};

        cr_expect_null(lock_resource_request(config, "plain", LOCK_EXCLUSIVE, 5, NULL, &request));
        expect_request(&request, &(LockRequest){.resource = "plain", .slots = 5});
        cr_expect_null(lock_resource_request(config, "plain", LOCK_SHARED, 0, "kazoo", &request));
        expect_request(
            &request,
            &(LockRequest){.resource = "plain", .mode = LOCK_SHARED, .naming = LOCK_NAMING_KAZOO});
        cr_expect_null(lock_resource_request(config, "three", LOCK_EXCLUSIVE, 0, NULL, &request));
        expect_request(&request, &(LockRequest){.resource = "three", .slots = 3});
}

/* All of a job's contradictions are told, each at its place. */
Test(resource, contradictions_of_a_job) {
        static const char text[] = "jobs:\n"
                                   "  a:\n"
                                   "    exec: /bin/true\n"
                                   "    locks:\n"
                                   "      java: shared\n"
                                   "      python: {slots: 2}\n"
                                   "      plain: {slots: 2}\n"
                                   "      three: {slots: 4}\n";
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        _cleanup_(job_file_freep) JobFile *file = NULL;

        cr_assert_eq(job_file_parse("f", text, strlen(text), diagnostics, &file), 0);
        resource_check_job(config, file->jobs->pdata[0], diagnostics);
        expect_errors(diagnostics,
                      "f:5:7: error: resource \"java\" cannot be held shared: its naming is "
                      "curator-mutex in c:6:3, which knows only exclusive holders\n"
                      "f:6:7: error: resource \"python\" cannot have slots: 2: its naming is kazoo "
                      "in c:7:3, which knows no slots\n"
                      "f:8:7: error: resource \"three\" has slots: 4 here, but slots: 3 in c:4:3");
}
