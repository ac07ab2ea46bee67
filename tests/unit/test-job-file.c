/* Job files: what a good one becomes, and what people are told about one that is not. What they are
 * told about each key is in test-job-keys.c. */
#include <criterion/criterion.h>
#include <string.h>

#include "job-file-fixture.h"
#include "job-keys.h"

static void expect_strv(char **strings, const char *joined) {
        g_autofree char *text = g_strjoinv("|", strings);

        cr_expect_str_eq(text, joined);
}

Test(job_file, the_example_of_the_manual) {
        _cleanup_(job_file_freep) JobFile *file = parse_job_file(
            "# yaml-language-server: $schema=/usr/share/jobkeeper/schema/jobs.schema.json\n"
            "defaults:\n"
            "  user: backup\n"
            "  timezone: Europe/Berlin\n"
            "jobs:\n"
            "  orders-backup:\n"
            "    description: Dump the orders database\n"
            "    schedule: \"*-*-* 02:30\"\n"
            "    exec: [/usr/local/bin/backup, --all]\n"
            "    locks: { orders-db: shared }\n"
            "    start-deadline: 2h\n"
            "    timeout: 1h\n"
            "  orders-vacuum:\n"
            "    schedule: \"Sun 03:00\"\n"
            "    exec: /usr/local/bin/vacuum\n"
            "    locks: { orders-db: exclusive }\n"
            "    lock-wait: 4h\n",
            "");
        const JobSpec *backup, *vacuum;
        const JobResource *resource;
        int64_t tick = 0;

        cr_assert_eq(file->jobs->len, 2);
        backup = job_in_file(file, "orders-backup");
        cr_expect_str_eq(backup->description, "Dump the orders database");
        cr_expect_str_eq(backup->command.user, "backup");
        cr_expect_str_eq(backup->timezone, "Europe/Berlin");
        expect_strv(backup->command.argv, "/usr/local/bin/backup|--all");
        cr_expect_not(backup->command.argv_expand);
        cr_expect_eq(backup->start_deadline, 2 * USEC_PER_HOUR);
        cr_expect_eq(backup->command.timeout, USEC_PER_HOUR);
        cr_expect_not(backup->lock_wait_set);
        resource = backup->resources->pdata[0];
        cr_expect_str_eq(resource->name, "orders-db");
        cr_expect_eq(resource->mode, JOB_LOCK_SHARED);
        cr_expect(resource->mark.line == 10 && resource->mark.column == 14);
        cr_expect(backup->mark.line == 6 && backup->mark.column == 3);
        cr_assert(schedule_next(backup->schedule, 1763700000, &tick)); /* 2025-11-21 04:40 UTC */
        cr_expect_eq(tick, 1763775000);                                /* 2025-11-22 01:30 UTC */

        vacuum = job_in_file(file, "orders-vacuum");
        expect_strv(vacuum->command.argv, "/usr/local/bin/vacuum");
        cr_expect(vacuum->command.argv_expand);
        cr_expect(vacuum->lock_wait_set);
        cr_expect_eq(vacuum->lock_wait, 4 * USEC_PER_HOUR);
        resource = vacuum->resources->pdata[0];
        cr_expect_eq(resource->mode, JOB_LOCK_EXCLUSIVE);
}

Test(job_file, defaults) {
        _cleanup_(job_file_freep) JobFile *file =
            parse_job_file("jobs: {a: {exec: /bin/true}}", "");
        const JobSpec *spec = job_in_file(file, "a");

        cr_expect_str_eq(spec->timezone, "UTC");
        cr_expect_null(spec->schedule);
        cr_expect_null(spec->description);
        cr_expect_null(spec->command.user);
        cr_expect_null(spec->command.group);
        cr_expect_null(spec->command.working_directory);
        cr_expect_null(spec->command.environment[0]);
        cr_expect_null(spec->command.environment_files[0]);
        cr_expect_null(spec->command.credentials[0]);
        cr_expect_null(spec->command.settings.unit[0]);
        cr_expect_null(spec->command.settings.service[0]);
        cr_expect_eq(spec->lock, JOB_LOCK_EXCLUSIVE);
        cr_expect_eq(spec->resources->len, 0);
        cr_expect_eq(spec->place.nodes->len, 0);
        cr_expect_not(spec->lock_wait_set);
        cr_expect_eq(spec->catch_up, JOB_CATCH_UP_LATEST);
        cr_expect_eq(spec->start_deadline, 10 * USEC_PER_MINUTE);
        cr_expect_eq(spec->command.timeout, USEC_INFINITY);
        cr_expect_eq(spec->command.stop_timeout, 5 * USEC_PER_SEC);
        cr_expect_null(spec->command.stop_timeout_mark.file);
        cr_expect_eq(spec->books.history, JOB_HISTORY_DEFAULT);
        cr_expect_eq(spec->books.expect_within, USEC_INFINITY);
}

static bool is_for_services(const Key *key) {
        return g_str_equal(key->name, "restart") || g_str_equal(key->name, "ready");
}

/* The same for what no other job may have. */
Test(job_file, defaults_of_services_written_out) {
        _cleanup_(job_file_freep) JobFile *plain =
            parse_job_file("jobs: {a: {mode: service, exec: /bin/true}}", "");

        for (const Key *key = job_table.keys; key->name; key++) {
                g_autofree char *text =
                    g_strdup_printf("jobs: {a: {mode: service, exec: /bin/true, %s: %s}}",
                                    key->name, key->fallback);
                _cleanup_(job_file_freep) JobFile *file = NULL;

                if (!is_for_services(key))
                        continue;
                file = parse_job_file(text, "");
                cr_expect(job_spec_equal(job_in_file(file, "a"), job_in_file(plain, "a")), "%s",
                          text);
        }
}

/* Every key with its default written out changes nothing. */
Test(job_file, defaults_written_out) {
        _cleanup_(job_spec_freep) JobSpec *fresh = job_spec_new();

        for (const Key *key = job_table.keys; key->name; key++) {
                g_autofree char *line =
                    g_strdup_printf("%s: %s", key->name, key->fallback ? key->fallback : "");
                g_autofree char *text = job_file_with_line(line);
                _cleanup_(job_file_freep) JobFile *file = NULL;
                const JobSpec *spec;

                if (!key->fallback || is_for_services(key))
                        continue;
                file = parse_job_file(text, "");
                spec = job_in_file(file, "a");
                cr_expect_eq(spec->command.timeout, fresh->command.timeout, "%s", line);
                cr_expect_eq(spec->command.stop_timeout, fresh->command.stop_timeout, "%s", line);
                cr_expect_eq(spec->start_deadline, fresh->start_deadline, "%s", line);
                cr_expect_eq(spec->books.history, fresh->books.history, "%s", line);
                cr_expect_eq(spec->books.expect_within, fresh->books.expect_within, "%s", line);
                cr_expect_eq(spec->lock, fresh->lock, "%s", line);
                cr_expect_eq(spec->catch_up, fresh->catch_up, "%s", line);
                cr_expect_str_eq(spec->timezone, fresh->timezone, "%s", line);
        }
}

Test(job_file, all_that_is_supported) {
        _cleanup_(job_file_freep) JobFile *file = parse_job_file(
            "jobs:\n"
            "  a:\n"
            "    mode: once\n"
            "    schedule: [daily, \"Mon *-*-* 12:00 America/New_York\"]\n"
            "    timezone: Asia/Kolkata\n"
            "    dst: {gap: shift, overlap: first}\n"
            "    random-delay: 0s\n"
            "    lock: shared\n"
            "    slots: 1\n"
            "    locks: {b: {mode: exclusive, slots: 3}, a: {mode: shared, slots: 1}, c: {}}\n"
            "    lock-wait: infinity\n"
            "    overlap: skip\n"
            "    catch-up: none\n"
            "    start-deadline: 90\n"
            "    retries: {attempts: 1, delay: 10, max-delay: \"300\"}\n"
            "    on-lock-loss: stop\n"
            "    on-owner-lost: fail\n"
            "    timeout: 1min 30s\n"
            "    stop-timeout: 500ms\n"
            "    nodes: [\"web-*\", db1]\n"
            "    exec: \"/bin/echo 'a b' ${HOME}\"\n"
            "    user: 1000\n"
            "    group: backup\n"
            "    environment: {PORT: 0755, EMPTY: \"\", ON: true, LINES: \"a\\nb\"}\n"
            "    working-directory: /srv/a\n"
            "    credentials: {token: /etc/a/token, key: /etc/a/key}\n"
            "    environment-file: [/etc/default/b, -/etc/default/a]\n"
            "    unit: {Nice: 5, ReadWritePaths: [/srv/b, /srv/a], After: x.service}\n"
            "    history: 1000\n"
            "  b:\n"
            "    every: 15min\n"
            "    exec: [/bin/sleep, 5, 010, \"\"]\n"
            "    environment: [B=2, A=x=y]\n"
            "    nodes: {role: worker, zone: 1}\n"
            "  c: {exec: /bin/true, nodes: \"db*\", lock: none}\n",
            "");
        const JobSpec *a = job_in_file(file, "a"), *b = job_in_file(file, "b"),
                      *c = job_in_file(file, "c");
        const JobResource *resource;
        const JobNodeMatch *match;
        int64_t tick = 0;

        cr_expect_eq(a->lock, JOB_LOCK_SHARED);
        cr_assert_eq(a->resources->len, 3);
        resource = a->resources->pdata[0];
        cr_expect(g_str_equal(resource->name, "a") && resource->mode == JOB_LOCK_SHARED);
        resource = a->resources->pdata[1];
        cr_expect(g_str_equal(resource->name, "b") && resource->mode == JOB_LOCK_EXCLUSIVE);
        cr_expect_eq(resource->slots, 3);
        resource = a->resources->pdata[2];
        cr_expect(g_str_equal(resource->name, "c") && resource->mode == JOB_LOCK_EXCLUSIVE);
        cr_expect_eq(resource->slots, 0);
        cr_expect(a->lock_wait_set && a->lock_wait == USEC_INFINITY);
        cr_expect_eq(a->catch_up, JOB_CATCH_UP_NONE);
        cr_expect_eq(a->start_deadline, 90 * USEC_PER_SEC);
        cr_expect_eq(a->command.timeout, 90 * USEC_PER_SEC);
        cr_expect_eq(a->command.stop_timeout, 500 * USEC_PER_MSEC);
        cr_expect_eq(a->command.stop_timeout_mark.line, 19);
        match = a->place.nodes->pdata[1];
        cr_expect_null(match->label);
        cr_expect_str_eq(match->pattern, "db1");
        expect_strv(a->command.argv, "/bin/echo|a b|${HOME}");
        cr_expect_str_eq(a->command.user, "1000");
        cr_expect_str_eq(a->command.group, "backup");
        expect_strv(a->command.environment, "EMPTY=|LINES=a\nb|ON=true|PORT=0755");
        cr_expect_str_eq(a->command.working_directory, "/srv/a");
        expect_strv(a->command.credentials, "key:/etc/a/key|token:/etc/a/token");
        expect_strv(a->command.environment_files, "/etc/default/b|-/etc/default/a");
        expect_strv(a->command.settings.unit, "After=x.service");
        expect_strv(a->command.settings.service,
                    "Nice=5|ReadWritePaths=/srv/b|ReadWritePaths=/srv/a");
        cr_expect_eq(a->books.history, 1000);

        cr_assert(schedule_next(b->schedule, 1763700000, &tick));
        cr_expect_eq(tick, 1763700300);
        expect_strv(b->command.argv, "/bin/sleep|5|010|");
        expect_strv(b->command.environment, "A=x=y|B=2");
        match = b->place.nodes->pdata[1];
        cr_expect(g_str_equal(match->label, "zone") && g_str_equal(match->pattern, "1"));
        match = c->place.nodes->pdata[0];
        cr_expect(!match->label && g_str_equal(match->pattern, "db*"));
        cr_expect_eq(c->lock, JOB_LOCK_NONE);
}

Test(job_file, a_job_takes_away_what_defaults_name) {
        _cleanup_(job_file_freep) JobFile *file =
            parse_job_file("defaults: {on-failure: mail, on-recovery: mail}\n"
                           "jobs:\n"
                           "  a: {exec: /bin/true}\n"
                           "  mail: {exec: /bin/true, on-failure: [], on-recovery: []}\n",
                           "");
        const JobLinks *mail = &job_in_file(file, "mail")->books.links,
                       *a = &job_in_file(file, "a")->books.links;

        cr_expect_str_eq(a->on_failure.job, "mail");
        cr_expect_str_eq(a->on_recovery.job, "mail");
        cr_expect_null(mail->on_failure.job);
        cr_expect_null(mail->on_recovery.job);
}

Test(job_file, a_job_replaces_what_defaults_say) {
        _cleanup_(job_file_freep) JobFile *file = parse_job_file(
            "jobs:\n"
            "  a: {exec: /bin/true, environment: {B: 2}, locks: {}, nodes: {}, timeout: 5s}\n"
            "  b: {exec: /bin/true}\n"
            "defaults:\n"
            "  environment: {A: 1}\n"
            "  locks: {db: shared}\n"
            "  nodes: web-*\n"
            "  timeout: 1min\n"
            "  stop-timeout: 3s\n"
            "  lock-wait: 0\n",
            "");
        const JobSpec *a = job_in_file(file, "a"), *b = job_in_file(file, "b");

        expect_strv(a->command.environment, "B=2");
        expect_strv(b->command.environment, "A=1");
        cr_expect(a->resources->len == 0 && b->resources->len == 1);
        cr_expect(a->place.nodes->len == 0 && b->place.nodes->len == 1);
        cr_expect(a->command.timeout == 5 * USEC_PER_SEC && b->command.timeout == USEC_PER_MINUTE);
        cr_expect(a->command.stop_timeout == 3 * USEC_PER_SEC &&
                  a->command.stop_timeout_mark.line == 9);
        cr_expect(a->lock_wait_set && a->lock_wait == 0);
}

/* As a whole: what stands in the mapping of the defaults is not merged with the job's. */
Test(job_file, a_job_replaces_what_a_mapping_of_defaults_says) {
        _cleanup_(job_file_freep) JobFile *file =
            parse_job_file("defaults:\n"
                           "  dst: {gap: skip}\n"
                           "  retries: {delay: 1min, attempts: 5}\n"
                           "jobs:\n"
                           "  a: {exec: /bin/true, dst: {overlap: last}, retries: {attempts: 2}}\n"
                           "  b: {exec: /bin/true}\n",
                           "");
        const JobSpec *a = job_in_file(file, "a"), *b = job_in_file(file, "b");

        cr_expect_eq(a->times.dst.gap, DST_GAP_SHIFT);
        cr_expect_eq(a->times.dst.overlap, DST_OVERLAP_LAST);
        cr_expect_eq(a->retries.attempts, 2);
        cr_expect_eq(a->retries.delay, 10 * USEC_PER_SEC);
        cr_expect_eq(b->times.dst.gap, DST_GAP_SKIP);
        cr_expect_eq(b->times.dst.overlap, DST_OVERLAP_FIRST);
        cr_expect_eq(b->retries.attempts, 5);
        cr_expect_eq(b->retries.delay, USEC_PER_MINUTE);
}

/* "every" is of no zone; what is excepted of it is of the job's. */
Test(job_file, exceptions_are_read_in_the_zone_of_the_job) {
        _cleanup_(job_file_freep) JobFile *file = parse_job_file(
            "defaults: {except: Sun, timezone: Asia/Kolkata}\n"
            "jobs:\n"
            "  a: {exec: /bin/true, every: 1h}\n"
            "  b: {exec: /bin/true, schedule: daily, except: [\"*-12-25\", Sat UTC]}\n"
            "  c: {exec: /bin/true, schedule: daily, except: []}\n"
            "  d: {exec: /bin/true}\n",
            "");
        static const char *const expected[] = {
            "every 1h\nexcept Sun *-*-* Asia/Kolkata",
            "*-*-* 00:00:00 Asia/Kolkata\nexcept *-12-25 Asia/Kolkata\nexcept Sat *-*-* UTC",
            "*-*-* 00:00:00 Asia/Kolkata",
        };

        for (guint i = 0; i < G_N_ELEMENTS(expected); i++) {
                const JobSpec *spec = file->jobs->pdata[i];
                g_autofree char *text = schedule_to_string(spec->schedule);

                cr_expect_str_eq(text, expected[i]);
        }
        cr_expect_null(((const JobSpec *)file->jobs->pdata[3])->schedule);
}

Test(job_file, windows_are_read_in_the_zone_of_the_job) {
        _cleanup_(job_file_freep) JobFile *file = parse_job_file(
            "defaults: {window: {from: Sun, for: 6h}, timezone: Asia/Kolkata}\n"
            "jobs:\n"
            "  a: {exec: /bin/true, every: 1h}\n"
            "  b: {exec: /bin/true, schedule: daily, window: [{from: Sat UTC, for: 1d}, {from: "
            "00:00, for: 90}]}\n"
            "  c: {exec: /bin/true, schedule: daily, window: []}\n"
            "  d: {exec: /bin/true}\n",
            "");
        static const char *const expected[] = {
            "every 1h\nwindow Sun *-*-* 00:00:00 Asia/Kolkata for 6h",
            ("*-*-* 00:00:00 Asia/Kolkata\nwindow Sat *-*-* 00:00:00 UTC for 1d\n"
             "window *-*-* 00:00:00 Asia/Kolkata for 1min 30s"),
            "*-*-* 00:00:00 Asia/Kolkata",
        };

        for (guint i = 0; i < G_N_ELEMENTS(expected); i++) {
                const JobSpec *spec = file->jobs->pdata[i];
                g_autofree char *text = schedule_to_string(spec->schedule);

                cr_expect_str_eq(text, expected[i]);
        }
        cr_expect_null(((const JobSpec *)file->jobs->pdata[3])->schedule);
        expect_job_file("defaults: {window: [{from: never, for: 1h}, {for: 1h}]}\n"
                        "jobs:\n"
                        "  a: {exec: /bin/true, schedule: daily}\n"
                        "  b: {exec: /bin/true}\n",
                        "f:1:28: error: \"window\": calendar expression \"never\": \"never\" is no "
                        "weekday, date, time or word such as \"daily\"\n"
                        "f:1:45: error: a window needs \"from\": when it begins, such as \"Sat "
                        "22:00\"");
        expect_job_file("defaults: {window: {from: \"22:00\", for: 1h}}\n"
                        "jobs: {a: {exec: /bin/true, schedule: daily}}\n",
                        "f:1:20: error: job \"a\": no tick of its schedule is ever in its "
                        "\"window\": it would never run");
        /* Where the schedule is none, its window is judged all the same. */
        expect_job_file("jobs: {a: {exec: /bin/true, every: 5ms, window: {for: 1h}}}\n",
                        "f:1:36: error: \"every\" must be from 1s to 366d, not 5ms\n"
                        "f:1:49: error: a window needs \"from\": when it begins, such as \"Sat "
                        "22:00\"");
}

/* What is right in the time zone of "defaults" may be wrong in a job's: its window is not dropped
 * without a word. */
Test(job_file, what_defaults_say_is_judged_for_each_job) {
        expect_job_file("defaults: {window: {from: \"22:00\", for: 23h 30min}}\n"
                        "jobs:\n"
                        "  a: {exec: /bin/true, schedule: \"23:00\"}\n"
                        "  b: {exec: /bin/true, schedule: \"23:00\", timezone: Europe/Berlin}\n",
                        "f:1:41: error: job \"b\": \"for\" must be shorter than the time between "
                        "any two beginnings of the window, and from 2025-03-29 21:00:00 to "
                        "2025-03-30 20:00:00 UTC that is only 23h");
}

/* What begins by when, of what is due then. */
Test(job_file, a_window_and_a_start_deadline_bound_a_start) {
        _cleanup_(job_file_freep) JobFile *file =
            parse_job_file("jobs:\n"
                           "  a: {exec: /bin/true, every: 10s, window: {from: \"*:*\", for: 30s}, "
                           "start-deadline: 20}\n"
                           "  b: {exec: /bin/true, every: 10s, start-deadline: 20}\n"
                           "  c: {exec: /bin/true}\n",
                           "");
        static const struct {
                guint job;
                int64_t due;
                usec_t closes, start_by;
        } cells[] = {
            {0, 120, 150, 140}, {0, 130, 150, 150}, {0, 149, 150, 150}, {0, 150, 150, 150},
            {0, 170, 170, 170}, {1, 120, 0, 140},   {2, 120, 0, 720},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cells); i++) {
                const JobSpec *spec = file->jobs->pdata[cells[i].job];

                cr_expect_eq(job_spec_closes(spec, cells[i].due),
                             cells[i].closes ? cells[i].closes * USEC_PER_SEC : USEC_INFINITY);
                cr_expect_eq(job_spec_start_by(spec, cells[i].due),
                             cells[i].start_by * USEC_PER_SEC);
        }
}

Test(job_file, faults_of_defaults_are_told_once) {
        expect_job_file(
            "defaults: {timeout: maybe, retires: 5, exec: /bin/true, schedule: daily}\n"
            "jobs: {a: {exec: /bin/true}, b: {exec: /bin/true}}\n",
            "f:1:21: error: \"timeout\" must be a duration (\"1h 30min\", or whole seconds), not "
            "\"maybe\"\n"
            "f:1:28: error: unknown key \"retires\" (did you mean \"retries\"?)\n"
            "f:1:40: error: \"exec\" cannot stand in \"defaults\": each job has its own\n"
            "f:1:57: error: \"schedule\" cannot stand in \"defaults\": each job has its own");
        expect_job_file("defaults: {except: [Sun, never, daily]}\n"
                        "jobs:\n"
                        "  a: {exec: /bin/true, schedule: daily}\n"
                        "  b: {exec: /bin/true, every: 1h}\n"
                        "  c: {exec: /bin/true}\n",
                        "f:1:20: error: job \"a\": \"except\" leaves nothing of its schedule\n"
                        "f:1:20: error: job \"b\": \"except\" leaves nothing of its schedule\n"
                        "f:1:26: error: \"except\": calendar expression \"never\": \"never\" is no "
                        "weekday, date, time or word such as \"daily\"");
        expect_job_file("defaults: [x]\n",
                        "f:1:11: error: \"defaults\" must be a mapping, not a list");
}

/* Parses a file that is good and expects these warnings. */
static void expect_warnings(const char *text, const char *warnings) {
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        _cleanup_(job_file_freep) JobFile *file = NULL;
        g_auto(GStrv) lines = NULL;
        g_autofree char *joined = NULL;

        cr_assert_eq(job_file_parse("f", text, strlen(text), diagnostics, &file), 0);
        cr_expect(file->good, "%s", text);
        lines = diagnostics_warnings_to_strv(diagnostics);
        joined = g_strjoinv("\n", lines);
        cr_expect_str_eq(joined, warnings, "%s: %s", text, joined);
}

Test(job_file, catching_up_with_all_of_the_last_minutes_alone_is_warned_of) {
        expect_warnings("jobs: {a: {exec: /bin/true, every: 1h, catch-up: all}}\n",
                        "f:1:40: warning: \"catch-up: all\" makes up for no more than the last "
                        "10min without \"start-deadline\", as in \"start-deadline: 6h\"");
        expect_warnings(
            "jobs: {a: {exec: /bin/true, every: 1h, catch-up: all, start-deadline: 10min}}\n", "");
        expect_warnings("defaults: {start-deadline: 1h}\n"
                        "jobs: {a: {exec: /bin/true, every: 1h, catch-up: all}}\n",
                        "");
        expect_warnings("jobs: {a: {exec: /bin/true, every: 1h, catch-up: latest}}\n", "");
}

/* Where "defaults" has how many, a job may say the rest, and the other way round. */
Test(job_file, keys_of_further_attempts_are_warned_of_where_there_are_none) {
        expect_warnings(
            "jobs: {a: {exec: /bin/true, every: 1h, retries: {delay: 1min}, no-retry: [2]}}\n",
            "f:1:40: warning: \"retries\" has no effect without \"attempts\": a tick is "
            "attempted once unless that says otherwise, as in \"attempts: 3\"\n"
            "f:1:64: warning: \"no-retry\" has no effect without \"retries\" that has more "
            "than one of \"attempts\"");
        expect_warnings(
            "defaults: {retries: {delay: 1min}, no-retry: [2]}\n"
            "jobs: {a: {exec: /bin/true, every: 1h, retries: {attempts: 1}, no-retry: []}}\n",
            "");
        expect_warnings("defaults: {retries: {attempts: 2}}\n"
                        "jobs: {a: {exec: /bin/true, every: 1h, no-retry: [2]}}\n",
                        "");
}

/* What is said in "defaults" is for those jobs that it concerns. */
Test(job_file, keys_of_ticks_are_warned_of_where_there_are_none) {
        expect_warnings("jobs: {a: {exec: /bin/true, retries: {attempts: 2}, catch-up: none}}\n",
                        "f:1:29: warning: \"retries\" has no effect on a job without \"schedule\" "
                        "or \"every\": it is for what comes due by itself\n"
                        "f:1:53: warning: \"catch-up\" has no effect on a job without \"schedule\" "
                        "or \"every\": it is for what comes due by itself");
        expect_warnings("defaults: {retries: {attempts: 2}}\njobs: {a: {exec: /bin/true}}\n", "");
        expect_warnings("jobs: {a: {exec: /bin/true, every: 1h, retries: {attempts: 2}}}\n", "");
}

Test(job_file, the_file_as_a_whole) {
        static const char *const nothing[] = {
            "\n", "# nothing\n", "---\n", "jobs:\n", "jobs: {}\n", "defaults:\njobs:\n", "{}\n"};

        for (size_t i = 0; i < G_N_ELEMENTS(nothing); i++) {
                _cleanup_(job_file_freep) JobFile *file = parse_job_file(nothing[i], "");

                cr_expect_eq(file->jobs->len, 0);
                expect_warnings(nothing[i], "f: warning: defines no jobs");
        }
        expect_job_file("", "f: error: is empty: to withdraw its jobs, delete it, or hide it by a "
                            "link to /dev/null");
        expect_job_file(
            "[a]\n",
            "f:1:1: error: a job file must be a mapping, not a list: write \"jobs:\" first and "
            "below it each job under its name, without \"- \"");
        expect_job_file("a: {exec: /bin/true}\nb: {exec: /bin/true}\n",
                        "f:1:1: error: \"a\" looks like a job, but there is no \"jobs:\": write "
                        "\"jobs:\" first and indent the jobs below it");
        expect_job_file(
            "defaults: {user: a}\nschedule: daily\nexec: /bin/true\n",
            "f:2:1: error: \"schedule\" belongs to a job: write \"jobs:\" first, below it "
            "the job's name, and below that its keys, each indented further");
        expect_job_file("a: {b: c}\n", "f:1:1: error: unknown key \"a\"");
        expect_job_file("job: {a: {exec: /bin/true}}\n",
                        "f:1:1: error: unknown key \"job\" (did you mean \"jobs\"?)");
        expect_job_file(
            "jobs:\na:\n  exec: /bin/true\nuser: x\n",
            "f:2:1: error: unknown key \"a\": it looks like a job: indent it and its keys "
            "below \"jobs:\"\n"
            "f:4:1: error: unknown key \"user\": it belongs to a job: indent it below the "
            "job's name");
        expect_job_file("jobs: [a]\n", "f:1:7: error: \"jobs\" must be a mapping, not a list");
        expect_job_file("jobs: {a: , b: 5}\n",
                        "f:1:11: error: a job must be a mapping, not nothing\n"
                        "f:1:16: error: a job must be a mapping, not an integer");
        expect_job_file("jobs: {a: [}\n",
                        "f:1:12: error: not valid YAML: did not find expected node "
                        "content (while parsing a flow node that begins in line 1)");
}

Test(job_file, warnings_make_no_file_bad) {
        expect_warnings("defaults: {user: a}\n",
                        "f: warning: defines no jobs: there is no \"jobs:\"");
        expect_warnings("jobs: {a: {exec: \"/bin/true > /dev/null 2>&1\"}}\n",
                        "f:1:18: warning: \"exec\" has \">\", which only a shell understands, and "
                        "there is no shell: the program gets it as an argument. For a shell write "
                        "exec: [/bin/sh, -c, \"/bin/true > /dev/null 2>&1\"]");
        expect_warnings("jobs: {a: {exec: [/bin/echo, a b, \">\", x]}}\n",
                        "f:1:35: warning: \"exec\" has \">\", which only a shell understands, and "
                        "there is no shell: the program gets it as an argument. For a shell write "
                        "exec: [/bin/sh, -c, \"/bin/echo 'a b' > x\"]");
        expect_warnings("jobs: {a: {exec: [/bin/test, a, \">\", b]}}\n", "");
        expect_warnings("jobs: {a: {exec: [/bin/sh, -c, a, \"&&\"]}}\n", "");
        expect_warnings("jobs: {a: {exec: [/bin/find, x, -exec, y, \";\"]}}\n", "");
        expect_warnings("jobs: {a: {exec: [/bin/grep, \"a|b\", \"<p>\", \"12\", \"\"]}}\n", "");
}

Test(job_file, a_forgotten_comma_between_nodes_is_told_of) {
        static const char said[] = " matches no node, because no node's name has a space or a "
                                   "comma: write a list with a comma between two names, [a, b]";
        g_autofree char *list = g_strdup_printf("f:1:37: warning: the pattern \"n1 n2\"%s", said);
        g_autofree char *text = g_strdup_printf("f:1:36: warning: the pattern \"n1, n2\"%s", said);

        expect_warnings("jobs: {a: {exec: /bin/true, nodes: [n1 n2]}}\n", list);
        expect_warnings("jobs: {a: {exec: /bin/true, nodes: \"n1, n2\"}}\n", text);
        expect_warnings("jobs: {a: {exec: /bin/true, nodes: {role: \"a b\"}}}\n", "");
        expect_warnings("jobs: {a: {exec: /bin/true, nodes: \"web-[1,2]\"}}\n", "");
}

Test(job_file, a_command_line_of_several_lines_is_one_command) {
        expect_warnings(
            "jobs:\n  a:\n    exec: |\n      /bin/echo one\n      /bin/echo two\n",
            "f:3:11: warning: \"exec\" has several lines, which are one command line: "
            "each word is an argument of the first. For a script of a shell write exec: "
            "[/bin/sh, -c, \"/bin/echo one\\n/bin/echo two\\n\"]");
        expect_warnings("jobs:\n  a:\n    exec: |\n      /bin/echo one\n", "");
        expect_warnings("jobs:\n  a:\n    exec: >\n      /bin/echo one\n      two\n", "");
        expect_warnings("jobs:\n  a:\n    exec: |\n      /bin/sh -c 'one\n      two'\n", "");
}

Test(job_file, a_home_directory_is_written_out) {
        expect_job_file(
            "jobs: {a: {exec: ~/bin/backup}}\n",
            "f:1:18: error: \"exec\" must begin with an absolute path, not "
            "\"~/bin/backup\"; \"~\" is not replaced by a home directory: write the whole "
            "path");
        expect_warnings(
            "jobs: {a: {exec: /bin/ls ~/x}}\n",
            "f:1:18: warning: \"exec\" has \"~/x\", which only a shell understands, and "
            "there is no shell: the program gets it as an argument. \"~\" is not "
            "replaced by a home directory: write the whole path");
}

/* One error, and no warning beside it that says otherwise. */
Test(job_file, a_command_for_a_shell_alone_is_told_of_once) {
        expect_job_file(
            "jobs: {a: {exec: cd /srv && make}}\n",
            "f:1:18: error: \"exec\" must begin with an absolute path, not \"cd\"; for a "
            "shell write exec: [/bin/sh, -c, \"cd /srv && make\"]");
}

/* What is wrong with a stop-timeout is judged with the other errors: the definitions stay. */
Test(job_file, a_bad_file_keeps_its_definitions_for_further_checks) {
        _cleanup_(job_file_freep) JobFile *file = parse_job_file(
            "jobs:\n  a: {exec: true, stop-timeout: 9s}\n  b: {exec: /bin/true}\n  c: {exec: "
            "/bin/true, stop-timeout: 2d}\n",
            "f:2:13: error: \"exec\" must be a text or a list, not a boolean (put it in "
            "quotes)\nf:4:38: error: \"stop-timeout\" must be from 1ms to 1h, not 2d");
        const JobSpec *spec;

        cr_assert_eq(file->refused->len, 3);
        spec = file->refused->pdata[0];
        cr_expect_eq(spec->command.stop_timeout, 9 * USEC_PER_SEC);
        spec = file->refused->pdata[2];
        cr_expect_eq(spec->command.stop_timeout, 0, "what was refused is not called the default");
}

Test(job_file, what_is_no_job_file) {
        expect_job_file(
            "# m h dom mon dow command\nSHELL=/bin/sh\n\n*/5 * * * * /usr/bin/poll -q >x\n"
            "0 2 * * * /usr/bin/backup\n",
            "f:4:1: error: this looks like a crontab. A job is written in YAML, this one as: "
            "jobs: {NAME: {schedule: \"*:0/5\", exec: [/bin/sh, -c, \"/usr/bin/poll -q "
            ">x\"]}}. Its times are UTC where no \"timezone\" is set; cron's are local");
        expect_job_file(
            "*/5 * * * * root flock -n /tmp/l /usr/bin/backup\n",
            "f:1:1: error: this looks like a crontab. A job is written in YAML, this one as: "
            "jobs: {NAME: {schedule: \"*:0/5\", exec: [/bin/sh, -c, \"flock -n /tmp/l "
            "/usr/bin/backup\"], user: root}}. Its times are UTC where no \"timezone\" is set; "
            "cron's are local");
        expect_job_file(
            "5 2 * * * root\tcd /srv && ./x\t1\n",
            "f:1:1: error: this looks like a crontab. A job is written in YAML, this one as: "
            "jobs: {NAME: {schedule: \"*-*-* 02:05\", exec: [/bin/sh, -c, \"cd /srv && "
            "./x\\t1\"], user: root}}. Its times are UTC where no \"timezone\" is set; cron's are "
            "local");
        expect_job_file(
            "@hourly deploy /usr/bin/sync-all\n",
            "f:1:1: error: this looks like a crontab. A job is written in YAML, this one as: "
            "jobs: {NAME: {schedule: \"hourly\", exec: \"/usr/bin/sync-all\", user: "
            "deploy}}. Its times are UTC where no \"timezone\" is set; cron's are local");
        expect_job_file(
            "0 5 * * 1 tar /srv\n", /* one user's */
            "f:1:1: error: this looks like a crontab. A job is written in YAML, this one as: "
            "jobs: {NAME: {schedule: \"Mon *-*-* 05:00\", exec: [/bin/sh, -c, \"tar "
            "/srv\"]}}. Its times are UTC where no \"timezone\" is set; cron's are local");
        expect_job_file(
            "[Unit]\nDescription=x\n[Service]\nExecStart=/usr/bin/backup --all\n",
            "f:1:1: error: this looks like a systemd unit. A job is written in YAML, with "
            "OnCalendar= as \"schedule\", ExecStart= as \"exec\", User= as \"user\": jobs: "
            "{NAME: {schedule: ..., exec: \"/usr/bin/backup --all\"}}");
}

Test(job_file, names) {
        expect_job_file(
            "jobs: {A: {exec: /bin/true}}\n",
            "f:1:8: error: job name \"A\" may only have the characters a-z, 0-9, '.', '_' and '-'");
        expect_job_file("jobs: {\"\": {exec: /bin/true}}\n",
                        "f:1:8: error: job name \"\" is empty");
        expect_job_file("jobs: {-a: {exec: /bin/true}}\n",
                        "f:1:8: error: job name \"-a\" must begin with a letter or a digit");
        expect_job_file("jobs: {a: {exec: /bin/true}, a: {exec: /bin/true}}\n",
                        "f:1:30: error: duplicate key \"a\" (first in line 1)");
}

Test(job_file, a_job_needs_a_command) {
        expect_job_file("jobs:\n  a: {schedule: daily}\n  b: {}\n",
                        "f:2:3: error: job \"a\" has no \"exec\"\n"
                        "f:3:3: error: job \"b\" has no \"exec\"");
        expect_job_file("jobs:\n  a: {exec: }\n",
                        "f:2:13: error: \"exec\" must be a text or a list, not nothing");
}

Test(job_file, all_faults_at_once) {
        expect_job_file(
            "jobs:\n"
            "  a:\n"
            "    retires: 3\n"
            "    exec: &x /bin/true\n"
            "    timeout: 010\n"
            "  B:\n"
            "    exec: /bin/true\n"
            "    schedule: [sometimes, 5]\n"
            "    timezone: Mars/Base\n",
            "f:3:5: error: unknown key \"retires\" (did you mean \"retries\"?)\n"
            "f:4:11: error: anchors (\"&x\") are not used here: put a text that begins with \"&\" "
            "in quotes\n"
            "f:5:14: error: \"timeout\" must be written in decimal digits without leading zeros, "
            "not 010\n"
            "f:6:3: error: job name \"B\" may only have the characters a-z, 0-9, '.', '_' and '-'\n"
            "f:8:16: error: \"schedule\": calendar expression \"sometimes\": \"sometimes\" is no "
            "weekday, date, time or word such as \"daily\"\n"
            "f:8:27: error: an entry of \"schedule\" must be a text, not an integer (put it in "
            "quotes)\n"
            "f:9:15: error: \"timezone\": \"Mars/Base\" is not the name of a time zone (such as "
            "\"Europe/Berlin\")");
}

/* Names the expression that is too much, not the first. */
Test(job_file, a_schedule_that_does_not_fit_in_the_ledger) {
        g_autoptr(GString) years = g_string_new("2001");
        g_autofree char *yaml = NULL;

        for (int year = 2003; year < 2180; year += 2)
                g_string_append_printf(years, ",%d", year);
        g_string_append(years, "-01-01");
        yaml = g_strdup_printf("jobs:\n  a:\n    exec: /bin/true\n    schedule:\n      - %s\n"
                               "      - %s\n      - %s\n      - %s\n      - %s\n      - %s\n"
                               "      - %s\n      - %s\n      - daily\n      - %s\n",
                               years->str, years->str, years->str, years->str, years->str,
                               years->str, years->str, years->str, years->str);
        job_file_free(parse_job_file(
            yaml, "f:14:9: error: \"schedule\": the expressions of a schedule have at most 4096 "
                  "characters together, in normal form with their time zones"));
}
