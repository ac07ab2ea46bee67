/* `jobkeeper verify`: what it prints for good, bad and unfit files, word for word. The files are
 * made in a directory of the test's, because a checkout's may belong to somebody whom the loader
 * does not trust. */
#include <criterion/criterion.h>
#include <glib.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "helper-cli.h"

static char *directory;
static GPtrArray *made; /* paths, in the order of their making */

static void make_directory(const char *name) {
        char *path = g_build_filename(directory, name, NULL);

        cr_assert_eq(mkdir(path, 0755), 0);
        g_ptr_array_add(made, path);
}

static void make_file(const char *name, const char *text) {
        char *path = g_build_filename(directory, name, NULL);

        cr_assert(
            g_file_set_contents_full(path, text, -1, G_FILE_SET_CONTENTS_CONSISTENT, 0644, NULL));
        g_ptr_array_add(made, path);
}

static void setup(void) {
        directory = g_dir_make_tmp("jobkeeper-verify-XXXXXX", NULL);
        made = g_ptr_array_new_with_free_func(g_free);
        cr_assert_eq(chdir(directory), 0);
}

static void teardown(void) {
        for (guint i = made->len; i > 0; i--)
                (void)remove(g_ptr_array_index(made, i - 1));
        (void)rmdir(directory);
        g_ptr_array_unref(made);
        g_free(directory);
}

TestSuite(cli_verify, .init = setup, .fini = teardown);

#define EXPECT(status, out, err, ...)                                                              \
        cli_expect((status), (out), (err), (const char *const[]){"verify", __VA_ARGS__, NULL})

static const char good[] = "jobs:\n"
                           "  backup:\n"
                           "    schedule: daily\n"
                           "    exec: [/bin/true]\n"
                           "  report:\n"
                           "    every: 15min\n"
                           "    exec: /bin/true\n";

Test(cli_verify, good_files_are_counted) {
        make_file("good.yaml", good);
        EXPECT(0, "2 jobs in 1 file are good\n", "", "good.yaml");
}

/* As they will take effect together; elsewhere the same names mean other jobs. */
Test(cli_verify, files_of_one_directory_are_judged_together) {
        cr_assert_eq(mkdir("other", 0755), 0);
        make_file("a.yaml", "jobs: {a: {exec: /bin/true, after: {job: b}}}\n");
        make_file("b.yaml", "jobs: {b: {exec: /bin/true, after: {job: a}}}\n");
        make_file("c.yaml", "jobs: {a: {exec: /bin/true}}\n");
        make_file("other/b.yaml", "jobs: {b: {exec: /bin/true, after: {job: a}}}\n");
        make_file("other/c.yaml", "jobs: {d: {exec: /bin/true}}\n");
        EXPECT(1, "",
               "a.yaml:1:36: error: job \"a\" is in a circle that would never end: a → b → a: take "
               "one of these links out; what was in force of the job before stays\n"
               "b.yaml:1:36: error: job \"b\" is in a circle that would never end: a → b → a: take "
               "one of these links out; what was in force of the job before stays\n",
               "a.yaml", "b.yaml");
        EXPECT(1, "",
               "./c.yaml:1:8: error: job \"a\" is also defined at a.yaml:1:8: neither of the two "
               "takes effect, what was in force before stays\n",
               "a.yaml", "./c.yaml");
        EXPECT(0, "3 jobs in 3 files are good\n", "", "a.yaml", "other/b.yaml", "other/c.yaml");
        EXPECT(0, "2 jobs in 2 files are good\n", "", "a.yaml", "a.yaml");
}

/* `jobkeeper verify -` with a file as its standard input. */
static void expect_stdin(const char *file, int status, const char *out, const char *err) {
        g_autofree char *command =
            g_strdup_printf("sh -c \"exec '" JOBKEEPER_BINARY "' verify - < %s\"", file);
        g_autofree char *got_out = NULL, *got_err = NULL;
        int got = -1;

        cr_assert(g_spawn_command_line_sync(command, &got_out, &got_err, &got, NULL));
        cr_expect_eq(WEXITSTATUS(got), status);
        cr_expect_str_eq(got_out, out);
        cr_expect_str_eq(got_err, err);
}

Test(cli_verify, a_file_may_come_on_standard_input) {
        make_file("good.yaml", good);
        make_file("bad.yaml", "jobs:\n  a:\n    exce: /bin/true\n    exec: /bin/true\n");
        expect_stdin("good.yaml", 0, "2 jobs in 1 file are good\n", "");
        expect_stdin("bad.yaml", 1, "",
                     "(standard input):3:5: error: unknown key \"exce\" (did you mean "
                     "\"exec\"?)\n");
}

static const char bad[] = "jobs:\n"
                          "  backup:\n"
                          "    schedule: \"Sun 25:00\"\n"
                          "    exec: [/bin/true]\n"
                          "    timout: 5s\n"
                          "  Report:\n"
                          "    exec: [/bin/true]\n"
                          "  slow:\n"
                          "    exec: [/bin/true]\n"
                          "    timezone: Mars/Olympus\n";

Test(cli_verify, all_errors_of_all_files_are_listed_in_order) {
        _cleanup_(cli_run_freep) CliRun *run = NULL;
        g_autofree char *err = NULL, *out = NULL;
        g_auto(GStrv) lines = NULL;

        make_file("good.yaml", good);
        make_file("bad.yaml", bad);
        run = cli_run(NULL, "verify", "good.yaml", "bad.yaml");
        err = cli_err(run);
        out = cli_out(run);
        lines = g_strsplit(err, "\n", -1);
        cr_assert_eq(run->status, 1);
        cr_assert_str_eq(out, "");
        cr_assert_eq(g_strv_length(lines), 5, "%s", err);
        cr_expect(g_str_has_prefix(lines[0], "bad.yaml:3:15: error: "), "%s", err);
        cr_expect_str_eq(lines[1],
                         "bad.yaml:5:5: error: unknown key \"timout\" (did you mean \"timeout\"?)");
        cr_expect(g_str_has_prefix(lines[2], "bad.yaml:6:3: error: "), "%s", err);
        cr_expect(g_str_has_prefix(lines[3], "bad.yaml:10:15: error: "), "%s", err);
}

Test(cli_verify, shell_syntax_is_a_warning_that_says_what_to_write) {
        make_file("shell.yaml", "jobs: {a: {exec: /bin/true > /dev/null}}\n");
        EXPECT(0, "1 job in 1 file is good\n",
               "shell.yaml:1:18: warning: \"exec\" has \">\", which only a shell understands, and "
               "there is no shell: the program gets it as an argument. For a shell write exec: "
               "[/bin/sh, -c, \"/bin/true > /dev/null\"]\n",
               "shell.yaml");
}

Test(cli_verify, a_file_without_jobs) {
        make_file("empty.yaml", "");
        EXPECT(1, "",
               "empty.yaml: error: is empty: to withdraw its jobs, delete it, or hide it by a link "
               "to /dev/null\n",
               "empty.yaml");
        expect_stdin("empty.yaml", 1, "",
                     "(standard input): error: is empty: to withdraw its jobs, delete it, or hide "
                     "it by a link to /dev/null\n");
        make_file("none.yaml", "# none yet\n");
        EXPECT(0, "0 jobs in 1 file are good\n", "none.yaml: warning: defines no jobs\n",
               "none.yaml");
        EXPECT(0, "0 jobs in 1 file are good\n", "", "/dev/null");
}

Test(cli_verify, a_file_that_is_not_there) {
        g_autofree char *link = g_build_filename(directory, "link.yaml", NULL);

        EXPECT(1, "", ".: error: is a directory, not a file\n", ".");
        cr_assert_eq(symlink("nowhere.yaml", link), 0);
        g_ptr_array_add(made, g_steal_pointer(&link));
        EXPECT(1, "", "link.yaml: error: is a link to nowhere.yaml, which does not exist\n",
               "link.yaml");
        EXPECT(1, "", "absent.yaml: error: does not exist\n", "absent.yaml");
        EXPECT(1, "", "./jobkeeper.yaml: error: No such file or directory\n", "./jobkeeper.yaml");
}

Test(cli_verify, a_file_that_others_can_write_is_refused) {
        _cleanup_(cli_run_freep) CliRun *run = NULL;
        g_autofree char *err = NULL;

        make_file("open.yaml", good);
        cr_assert_eq(chmod("open.yaml", 0666), 0);
        run = cli_run(NULL, "verify", "open.yaml");
        err = cli_err(run);
        cr_expect_eq(run->status, 1);
        cr_expect(g_str_has_prefix(err, "open.yaml: error: "), "%s", err);
}

Test(cli_verify, what_this_machine_cannot_run_is_a_warning) {
        _cleanup_(cli_run_freep) CliRun *run = NULL;
        g_autofree char *err = NULL, *out = NULL;

        make_file("unfit.yaml", "jobs:\n  backup:\n    exec: [/nonexistent/backup]\n  elsewhere:\n "
                                "   exec: [/nonexistent/backup]\n"
                                "    nodes: {role: no-such-role}\n");
        run = cli_run(NULL, "verify", "unfit.yaml");
        err = cli_err(run);
        out = cli_out(run);
        cr_expect_eq(run->status, 0);
        cr_expect_str_eq(out, "2 jobs in 1 file are good\n");
        cr_expect(
            g_str_has_prefix(err, "unfit.yaml:2:3: warning: this machine cannot run backup: "),
            "%s", err);
        cr_expect_null(strstr(err, "elsewhere"));
}

/* Its links may be in several files. */
Test(cli_verify, a_chain_that_is_too_long_is_a_warning) {
        GString *one = g_string_new("jobs:\n"), *other = g_string_new("jobs:\n");
        g_autofree char *err = NULL, *out = NULL;
        _cleanup_(cli_run_freep) CliRun *run = NULL;

        g_string_append(one, "  j0: {exec: /bin/true}\n");
        for (unsigned i = 1; i <= 101; i++)
                g_string_append_printf(i % 2 ? other : one,
                                       "  j%u: {exec: /bin/true, after: j%u}\n", i, i - 1);
        make_file("one.yaml", one->str);
        make_file("other.yaml", other->str);
        g_string_free(one, TRUE);
        g_string_free(other, TRUE);
        run = cli_run(NULL, "verify", "one.yaml", "other.yaml");
        err = cli_err(run);
        out = cli_out(run);
        cr_expect_eq(run->status, 0);
        cr_expect_str_eq(out, "102 jobs in 2 files are good\n");
        cr_expect_not_null(strstr(err, "other.yaml:52:3: warning: a chain of 102 jobs, from \"j0\" "
                                       "to \"j101\", is too long"),
                           "%s", err);
}

/* A job cannot go on from one that is defined still. */
Test(cli_verify, a_name_that_a_job_had_and_another_has_is_an_error) {
        make_file("one.yaml", "jobs:\n  old: {exec: /bin/true}\n");
        make_file("new.yaml", "jobs:\n  new: {exec: /bin/true, was: old}\n");
        EXPECT(1, "",
               "one.yaml:2:3: error: job \"old\" has the name that job \"new\" had before, as "
               "\"was\" says in line 2 of new.yaml: give it another one, or take that out; it does "
               "not take effect\n",
               "one.yaml", "new.yaml");
}

Test(cli_verify, json_has_every_finding) {
        _cleanup_(cli_run_freep) CliRun *run = NULL;
        g_autofree char *out = NULL;
        const char *file = NULL, *severity = NULL, *message = NULL;
        json_t *array = NULL;
        int line = 0, column = 0;

        make_file("bad.yaml", "jobs:\n  backup:\n    exec: [/bin/true]\n    timout: 5s\n");
        run = cli_run(NULL, "verify", "--json", "bad.yaml");
        out = cli_out(run);
        cr_expect_eq(run->status, 1);
        array = json_loads(out, 0, NULL);
        cr_assert_eq(json_array_size(array), 1, "%s", out);
        cr_assert_eq(json_unpack(json_array_get(array, 0), "{s:s, s:i, s:i, s:s, s:s !}", "file",
                                 &file, "line", &line, "column", &column, "severity", &severity,
                                 "message", &message),
                     0, "%s", out);
        cr_expect_str_eq(file, "bad.yaml");
        cr_expect_eq(line, 4);
        cr_expect_eq(column, 5);
        cr_expect_str_eq(severity, "error");
        json_decref(array);
        make_directory("etc");
        make_directory("etc/jobkeeper");
        make_directory("etc/jobkeeper/jobs.d");
        EXPECT(0, "[]\n", "", "--json", "--root", ".");
}

Test(cli_verify, without_files_it_judges_the_whole_system) {
        make_directory("etc");
        make_directory("etc/jobkeeper");
        make_directory("etc/jobkeeper/jobs.d");
        make_file("etc/jobkeeper/jobs.d/a.yaml", good);
        EXPECT(0, "2 jobs in 1 file are good\n", "", "--root", ".");
        make_file("etc/jobkeeper/jobkeeper.yaml", "zookeeper: {sessions: 30s}\n");
        EXPECT(1, "", "./etc/jobkeeper/jobkeeper.yaml:1:13: error: unknown key \"sessions\"\n",
               "--root", ".");
}

/* As at a daemon's start: files find room in the order of their names. One that is named is judged
 * for itself. */
Test(cli_verify, a_file_with_which_there_are_too_many_jobs_is_an_error) {
        g_autoptr(GString) text = g_string_new("jobs:\n");

        for (unsigned i = 0; i < 9999; i++)
                g_string_append_printf(text, " j%u: {exec: /bin/true}\n", i);
        make_directory("etc");
        make_directory("etc/jobkeeper");
        make_directory("etc/jobkeeper/jobs.d");
        make_file("etc/jobkeeper/jobs.d/a.yaml", text->str);
        make_file("etc/jobkeeper/jobs.d/b.yaml", good);
        EXPECT(1, "",
               "./etc/jobkeeper/jobs.d/b.yaml: error: is refused as a whole: with the 2 jobs in it "
               "there would be more than 10000 jobs\n",
               "--root", ".");
        EXPECT(0, "10001 jobs in 2 files are good\n", "", "etc/jobkeeper/jobs.d/a.yaml",
               "etc/jobkeeper/jobs.d/b.yaml");
}

Test(cli_verify, a_job_must_fit_the_configuration_that_is_named) {
        _cleanup_(cli_run_freep) CliRun *run = NULL;
        g_autofree char *err = NULL;

        make_file("tight.yaml", "fence-budget: 6s\n");
        make_file("good.yaml", good);
        run = cli_run(NULL, "verify", "--config", "tight.yaml", "good.yaml");
        err = cli_err(run);
        cr_expect_eq(run->status, 1);
        cr_expect(strstr(err, "good.yaml:2:3: error: job \"backup\" could not be stopped in time"),
                  "%s", err);
        EXPECT(64, "",
               "jobkeeper verify: absent.yaml: No such file or directory\nTry: jobkeeper verify "
               "--help\n",
               "--config", "absent.yaml", "good.yaml");
}

/* Each key is right by itself; the daemon would not start. */
Test(cli_verify, a_sum_that_leaves_no_time_is_an_error) {
        _cleanup_(cli_run_freep) CliRun *run = NULL;
        g_autofree char *err = NULL;

        make_file("jobkeeper.yaml", "zookeeper: {session-timeout: 20s}\n");
        run = cli_run(NULL, "verify", "jobkeeper.yaml");
        err = cli_err(run);
        cr_expect_eq(run->status, 1);
        cr_expect(g_str_has_prefix(err, "jobkeeper.yaml:1:30: error: runs could not be stopped"),
                  "%s", err);
}

Test(cli_verify, verbose_prints_the_deadline_sum) {
        _cleanup_(cli_run_freep) CliRun *run =
            cli_run(NULL, "verify", "--verbose", "--root", directory);
        g_autofree char *out = cli_out(run);

        cr_expect_eq(run->status, 0);
        cr_expect(g_str_has_prefix(out, "deadline: "), "%s", out);
        cr_expect(g_str_has_suffix(out, "\n0 jobs in 0 files are good\n"), "%s", out);
}

Test(cli_verify, what_is_not_there_is_not_good) {
        EXPECT(64, "",
               "jobkeeper verify: /nonexistent: No such file or directory\nTry: jobkeeper verify "
               "--help\n",
               "--root", "/nonexistent");
        EXPECT(0, "0 jobs in 0 files are good\n",
               "./etc/jobkeeper/jobs.d: warning: does not exist, and neither do the other job "
               "directories: there are no jobs here\n",
               "--root", ".");
}

Test(cli_verify, a_configuration_that_is_named_and_broken_is_told_of) {
        make_file("good.yaml", good);
        make_file("broken.yaml", "heartbeat: soon\n");
        make_file("tight.yaml", "heartbeat: 1s\nfence-budget: 9s\nzookeeper:\n  root: /x\n  "
                                "session-timeout: 20s\n");
        EXPECT(1, "",
               "broken.yaml:1:12: error: \"heartbeat\" must be a duration (\"1h 30min\", or whole "
               "seconds), not \"soon\"\n",
               "--config", "broken.yaml", "good.yaml");
        EXPECT(1, "",
               "tight.yaml:5:20: error: runs could not be stopped in time before the locks are "
               "given up: at least 2s (2 heartbeats) must be left, not -2.9s (session-timeout 20s "
               "- (sync-limit 5 + 1) x tick 2s - heartbeat 1s - drift 0.2s - margin 0.7s = 6.1s; "
               "6.1s - fence-budget 9s = -2.9s). To mend it, set session-timeout to 25s or more\n",
               "--config", "tight.yaml", "good.yaml");
}

Test(cli_verify, a_broken_configuration_of_the_system_is_a_warning_beside_a_job_file) {
        make_directory("etc");
        make_directory("etc/jobkeeper");
        make_file("etc/jobkeeper/jobkeeper.yaml", "heartbeat: 1s\nmax-runs: many\n");
        make_file("good.yaml", good);
        EXPECT(0, "2 jobs in 1 file are good\n",
               "./etc/jobkeeper/jobkeeper.yaml:2:11: warning: jobs are judged against the default "
               "configuration, because this one cannot be used: \"max-runs\" must be an integer, "
               "not \"many\"\n",
               "--root", ".", "good.yaml");
        EXPECT(1, "",
               "etc/jobkeeper/jobkeeper.yaml:2:11: error: \"max-runs\" must be an integer, not "
               "\"many\"\n",
               "--root", ".", "etc/jobkeeper/jobkeeper.yaml");
}

Test(cli_verify, in_a_job_directory_every_file_is_a_job_file) {
        make_directory("jobs.d");
        make_file("jobs.d/jobkeeper.yaml", good);
        EXPECT(0, "2 jobs in 1 file are good\n", "", "jobs.d/jobkeeper.yaml");
}
