/* `mode: service` in a job file: what it makes of a job, what contradicts it, and that `defaults:`
 * for other jobs do not. */
#include "job-file-fixture.h"

#include <criterion/criterion.h>
#include <string.h>

#include "job-keys.h"

static JobFile *file;

static const JobSpec *service_with(const char *defaults, const char *keys) {
        g_autofree char *text = g_strdup_printf(
            "%s\njobs:\n  a:\n    mode: service\n    exec: /bin/true\n%s\n", defaults, keys);

        file = parse_job_file(text, "");
        return job_in_file(file, "a");
}

static void free_file(void) {
        job_file_free(file);
}

TestSuite(job_service, .fini = free_file);

static void expect_plain_service(const JobSpec *spec) {
        cr_expect_eq(spec->place.mode, JOB_MODE_SERVICE);
        cr_expect_null(spec->schedule);
        cr_expect_eq(spec->lock, JOB_LOCK_EXCLUSIVE);
        cr_expect_eq(job_spec_beside(spec), 1);
        cr_expect_eq(spec->start_deadline, USEC_INFINITY);
        cr_expect_eq(spec->lock_wait, USEC_INFINITY);
        cr_expect_not(spec->lock_wait_set);
        cr_expect_eq(spec->command.timeout, USEC_INFINITY);
        cr_expect_eq(spec->books.expect_within, USEC_INFINITY);
        cr_expect_null(spec->books.links.on_failure.job);
        cr_expect_eq(job_spec_start_by(spec, 1000), USEC_INFINITY);
}

Test(job_service, has_no_times) {
        const JobSpec *spec = service_with("", "");

        expect_plain_service(spec);
        cr_expect_eq(spec->place.service.delay, 1 * USEC_PER_SEC);
        cr_expect_eq(spec->place.service.max_delay, 1 * USEC_PER_MINUTE);
}

Test(job_service, its_pauses_can_be_said) {
        const JobSpec *spec = service_with("", "    restart: {delay: 5s, max-delay: 10min}");

        cr_expect_eq(spec->place.service.delay, 5 * USEC_PER_SEC);
        cr_expect_eq(spec->place.service.max_delay, 10 * USEC_PER_MINUTE);
}

Test(job_service, what_the_others_have_by_default_is_not_for_it) {
        expect_plain_service(service_with(
            "defaults: {lock: shared, slots: 3, overlap: queue, catch-up: all, start-deadline: 1h, "
            "retries: {attempts: 3}, no-retry: [2], on-owner-lost: rerun, timeout: 1h, "
            "lock-wait: 5min, random-delay: 1min, dst: {gap: skip}, except: Sun, "
            "window: {from: \"22:00\", for: 1h}, expect-within: 2d, on-failure: mail, "
            "on-recovery: mail, max-failures: 3, rejoin-timeout: 5min, reboot: fail, "
            "takeover-after: 1h}",
            ""));
}

/* A file of services may say for all of them what no other job may. */
Test(job_service, defaults_may_be_for_services) {
        JobFile *other = parse_job_file("defaults: {restart: {delay: 1min}}\n"
                                        "jobs: {b: {exec: /bin/true, every: 1h}}\n",
                                        "");

        job_file_free(other);
}

/* Of each, what is said, and a value that is one. */
Test(job_service, what_is_for_others_is_refused) {
        static const char *const keys[][2] = {
            {"schedule", "daily"},
            {"every", "1h"},
            {"after", "b"},
            {"dst", "{gap: skip}"},
            {"except", "Sun"},
            {"window", "{from: \"22:00\", for: 1h}"},
            {"random-delay", "1min"},
            {"start-deadline", "1h"},
            {"lock-wait", "1h"},
            {"overlap", "skip"},
            {"slots", "1"},
            {"max-failures", "1"},
            {"rejoin-timeout", "5min"},
            {"reboot", "success"},
            {"catch-up", "none"},
            {"retries", "{attempts: 2}"},
            {"no-retry", "[2]"},
            {"on-owner-lost", "fail"},
            {"on-failure", "b"},
            {"on-recovery", "b"},
            {"expect-within", "26h"},
            {"timeout", "1h"},
            {"takeover-after", "1h"},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(keys); i++) {
                _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
                g_autofree char *text = g_strdup_printf(
                    "jobs:\n  a:\n    mode: service\n    exec: /bin/true\n    %s: %s\n", keys[i][0],
                    keys[i][1]);
                g_autofree char *said = g_strdup_printf(
                    "f:5:5: error: \"%s\" and \"mode: service\" cannot be used together: ",
                    keys[i][0]);
                g_auto(GStrv) lines = NULL;
                JobFile *bad = NULL;

                cr_assert_eq(job_file_parse("f", text, strlen(text), diagnostics, &bad), 0);
                lines = diagnostics_to_strv(diagnostics);
                cr_expect_eq(g_strv_length(lines), 1, "%s", keys[i][0]);
                cr_expect(lines[0] && g_str_has_prefix(lines[0], said), "%s: %s", keys[i][0],
                          lines[0]);
                job_file_free(bad);
        }
}

Test(job_service, its_lock_is_its_own_alone) {
        expect_job_file("jobs: {a: {mode: service, exec: /bin/true, lock: none}}\n",
                        "f:1:44: error: \"lock: none\" and \"mode: service\" cannot be used "
                        "together: a service runs once in the cluster, by its lock; leave it out");
        expect_job_file("jobs: {a: {mode: service, exec: /bin/true, lock: exclusive}}\n", "");
}

Test(job_service, pauses_that_contradict_each_other) {
        expect_job_file("jobs: {a: {mode: service, exec: /bin/true, restart: {delay: 2min}}}\n",
                        "f:1:61: error: job \"a\": \"delay\" is 2min, which is longer than "
                        "\"max-delay\" (1min): set that, too");
        expect_job_file("jobs: {a: {mode: service, exec: /bin/true, restart: {delay: 0}}}\n",
                        "f:1:61: error: \"delay\" must be from 1s to 1d, not 0");
}

Test(job_service, a_restart_is_for_services) {
        expect_job_file("jobs: {a: {every: 1h, exec: /bin/true, restart: {delay: 5s}}}\n",
                        "f:1:40: error: \"restart\" needs \"mode: service\": a job that comes due "
                        "at times has \"retries\"");
}

/* ---- when it has started ---- */

Test(job_service, it_may_say_itself_when_it_has_started) {
        const JobSpec *spec = service_with("", "    ready: notify\n    timeout: 2min");

        cr_expect_eq(spec->place.service.ready, JOB_READY_NOTIFY);
        cr_expect_eq(spec->command.timeout, 2 * USEC_PER_MINUTE);
}

Test(job_service, how_long_that_may_take_is_its_own_to_say) {
        const JobSpec *spec = service_with("defaults: {timeout: 1h}", "    ready: notify");

        cr_expect_eq(spec->command.timeout, USEC_INFINITY);
}

Test(job_service, only_a_service_says_when_it_has_started) {
        JobFile *other = parse_job_file("defaults: {ready: notify}\n"
                                        "jobs: {b: {exec: /bin/true, every: 1h}}\n",
                                        "");

        cr_expect_eq(job_in_file(other, "b")->place.service.ready, JOB_READY_AT_START);
        job_file_free(other);
        expect_job_file("jobs: {a: {every: 1h, exec: /bin/true, ready: notify}}\n",
                        "f:1:40: error: \"ready\" needs \"mode: service\": any other run is over "
                        "when its process is");
}

/* ---- which definition it is ---- */

Test(job_service, is_another_definition_than_a_job_by_hand) {
        const JobSpec *spec = service_with("", "");
        _cleanup_(job_file_freep) JobFile *other =
            parse_job_file("jobs: {a: {exec: /bin/true}}\n", "");
        g_autofree char *one = job_spec_digest(spec, NULL),
                        *two = job_spec_digest(job_in_file(other, "a"), NULL);

        cr_expect_str_neq(one, two);
        cr_expect_not(job_spec_waits_alike(spec, job_in_file(other, "a")));
}

/* Another pause, or command, is for the next run, and ends none. */
Test(job_service, is_the_same_definition_with_another_pause) {
        const JobSpec *spec = service_with("", "");
        _cleanup_(job_file_freep) JobFile *other = parse_job_file(
            "jobs: {a: {mode: service, exec: /bin/false, restart: {delay: 5s}}}\n", "");
        g_autofree char *one = job_spec_digest(spec, NULL),
                        *two = job_spec_digest(job_in_file(other, "a"), NULL);

        cr_expect_str_eq(one, two);
        cr_expect(job_spec_waits_alike(spec, job_in_file(other, "a")));
        cr_expect_not(job_spec_equal(spec, job_in_file(other, "a")));
}
