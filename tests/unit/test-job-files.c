/* Job files on disk: which of them count, whose they must be, and jobs that stand in two of them.
 */
#include "expect-errors.h"
#include "temporary-tree.h"

#include <errno.h>

#include "job-files.h"
#include "trusted-file.h"

#define JOB(name) "jobs: {" name ": {exec: /bin/true}}\n"

static char *root;

static void setup(void) {
        root = tree_make();
}

static void teardown(void) {
        tree_remove(root);
        g_free(root);
}

TestSuite(job_files, .init = setup, .fini = teardown);

/* Loads the root's four directories. Expects these errors, where ROOT stands for the root. Return:
 * the files. */
static GPtrArray *load(const char *errors) {
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        g_auto(GStrv) directories = job_directories(root);
        g_auto(GStrv) lines = NULL;
        g_autofree char *text = NULL, *stripped = NULL;
        GPtrArray *files = NULL;

        cr_assert_eq(job_files_load((const char *const *)directories, diagnostics, &files), 0);
        lines = diagnostics_to_strv(diagnostics);
        text = g_strjoinv("\n", lines);
        stripped = tree_strip(root, text);
        cr_expect_str_eq(stripped, errors, "\n   got: %s\nwanted: %s\n", stripped, errors);
        return files;
}

/* Return: newly allocated: "PATH: JOB JOB; ..." with ! after the path of a bad file. */
static char *show(const GPtrArray *files) {
        g_autoptr(GString) text = g_string_new(NULL);

        for (guint i = 0; i < files->len; i++) {
                const JobFile *file = files->pdata[i];

                g_string_append_printf(text, "%s%s%s:", i > 0 ? "; " : "", file->path,
                                       file->good ? "" : "!");
                for (guint j = 0; j < file->jobs->len; j++)
                        g_string_append_printf(text, " %s",
                                               ((const JobSpec *)file->jobs->pdata[j])->name);
        }
        return tree_strip(root, text->str);
}

static void expect(const char *shown, const char *errors) {
        g_autoptr(GPtrArray) files = load(errors);
        g_autofree char *text = show(files);

        cr_expect_str_eq(text, shown, "\n   got: %s\nwanted: %s\n", text, shown);
}

Test(job_files, directories) {
        g_auto(GStrv) directories = job_directories("");
        g_autofree char *joined = g_strjoinv(" ", directories);

        cr_expect_str_eq(joined, "/etc/jobkeeper/jobs.d /run/jobkeeper/jobs.d "
                                 "/usr/local/lib/jobkeeper/jobs.d /usr/lib/jobkeeper/jobs.d");
}

Test(job_files, missing_directories_are_no_error) {
        expect("", "");
}

Test(job_files, which_files_count) {
        tree_write(root, "etc/jobkeeper/jobs.d/b.yaml", JOB("b"));
        tree_write(root, "etc/jobkeeper/jobs.d/a.yml", JOB("a"));
        tree_write(root, "etc/jobkeeper/jobs.d/.hidden.yaml", JOB("c"));
        tree_write(root, "etc/jobkeeper/jobs.d/d.yaml~", JOB("d"));
        tree_write(root, "etc/jobkeeper/jobs.d/e.yaml.dpkg-old", JOB("e"));
        tree_write(root, "etc/jobkeeper/jobs.d/README", "x");
        tree_write(root, "etc/jobkeeper/jobs.d/sub/f.yaml", JOB("f"));
        expect("ROOT/etc/jobkeeper/jobs.d/a.yml: a; ROOT/etc/jobkeeper/jobs.d/b.yaml: b", "");
}

/* Who comes from cron.d writes no ending. */
Test(job_files, a_name_that_is_nearly_right_is_told_of) {
        static const char *const names[] = {
            "backup",       "b.YAML",          "c.json", "d.yaml~",         "README",
            ".hidden.yaml", "e.yaml.dpkg-old", "f.bak",  "g.yaml.disabled", "notes.txt"};
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        g_auto(GStrv) directories = job_directories(root), lines = NULL;
        g_autofree char *text = NULL, *stripped = NULL;
        g_autoptr(GPtrArray) files = NULL;

        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                g_autofree char *path = g_build_filename("etc/jobkeeper/jobs.d", names[i], NULL);

                tree_write(root, path, JOB("a"));
        }
        tree_write(root, "etc/jobkeeper/jobs.d/sub/x", "");
        cr_assert_eq(job_files_load((const char *const *)directories, diagnostics, &files), 0);
        cr_expect_eq(files->len, 0);
        lines = diagnostics_warnings_to_strv(diagnostics);
        text = g_strjoinv("\n", lines);
        stripped = tree_strip(root, text);
        cr_expect_str_eq(
            stripped,
            "ROOT/etc/jobkeeper/jobs.d/b.YAML: warning: is passed over: the name of a job file "
            "ends in .yaml or .yml\n"
            "ROOT/etc/jobkeeper/jobs.d/backup: warning: is passed over: the name of a job file "
            "ends in .yaml or .yml\n"
            "ROOT/etc/jobkeeper/jobs.d/c.json: warning: is passed over: the name of a job file "
            "ends in .yaml or .yml",
            "%s", stripped);
}

Test(job_files, precedence) {
        tree_write(root, "usr/lib/jobkeeper/jobs.d/a.yaml", JOB("lib"));
        tree_write(root, "usr/local/lib/jobkeeper/jobs.d/a.yaml", JOB("local"));
        tree_write(root, "usr/local/lib/jobkeeper/jobs.d/b.yaml", JOB("b"));
        expect("ROOT/usr/local/lib/jobkeeper/jobs.d/a.yaml: local; "
               "ROOT/usr/local/lib/jobkeeper/jobs.d/b.yaml: b",
               "");
        tree_write(root, "run/jobkeeper/jobs.d/a.yaml", JOB("run"));
        expect(
            "ROOT/run/jobkeeper/jobs.d/a.yaml: run; ROOT/usr/local/lib/jobkeeper/jobs.d/b.yaml: b",
            "");
        tree_write(root, "etc/jobkeeper/jobs.d/a.yaml", JOB("etc"));
        expect(
            "ROOT/etc/jobkeeper/jobs.d/a.yaml: etc; ROOT/usr/local/lib/jobkeeper/jobs.d/b.yaml: b",
            "");
        tree_write(root, "etc/jobkeeper/jobs.d/a.yaml", "jobs: [broken");
        expect("ROOT/etc/jobkeeper/jobs.d/a.yaml!:; ROOT/usr/local/lib/jobkeeper/jobs.d/b.yaml: b",
               "ROOT/etc/jobkeeper/jobs.d/a.yaml:2:1: error: not valid YAML: did not find expected "
               "',' or ']' "
               "(while parsing a flow sequence that begins in line 1)");
}

Test(job_files, a_link_to_dev_null_hides) {
        tree_write(root, "usr/lib/jobkeeper/jobs.d/a.yaml", JOB("a"));
        tree_write(root, "usr/lib/jobkeeper/jobs.d/b.yaml", JOB("b"));
        tree_link(root, "etc/jobkeeper/jobs.d/a.yaml", "/dev/null");
        expect("ROOT/usr/lib/jobkeeper/jobs.d/b.yaml: b", "");
        tree_write(root, "run/jobkeeper/jobs.d/b.yaml",
                   "jobs:\n"); /* not hidden, but says no jobs */
        expect("ROOT/run/jobkeeper/jobs.d/b.yaml:", "");
}

Test(job_files, links_are_followed) {
        tree_write(root, "shared/jobs.yaml", JOB("a"));
        tree_link(root, "etc/jobkeeper/jobs.d/a.yaml", "../../../shared/jobs.yaml");
        tree_link(root, "etc/jobkeeper/jobs.d/b.yaml", "nowhere");
        tree_link(root, "etc/jobkeeper/jobs.d/c.yaml", "/dev/zero");
        expect(
            "ROOT/etc/jobkeeper/jobs.d/a.yaml: a; ROOT/etc/jobkeeper/jobs.d/b.yaml!:; "
            "ROOT/etc/jobkeeper/jobs.d/c.yaml!:",
            "ROOT/etc/jobkeeper/jobs.d/b.yaml: error: is a link to nowhere, which does not exist\n"
            "ROOT/etc/jobkeeper/jobs.d/c.yaml: error: is not a regular file");
}

Test(job_files, modes_and_types) {
        static const struct {
                const char *name;
                mode_t mode;
        } modes[] = {{"a", 0664}, {"b", 0646}, {"c", 0644}, {"d", 0600}, {"e", 0444}};
        g_autofree char *fifo = tree_path(root, "etc/jobkeeper/jobs.d/f.yaml");

        for (size_t i = 0; i < G_N_ELEMENTS(modes); i++) {
                g_autofree char *name =
                    g_strdup_printf("etc/jobkeeper/jobs.d/%s.yaml", modes[i].name);
                g_autofree char *path = tree_path(root, name);
                g_autofree char *text = g_strdup_printf(JOB("%s"), modes[i].name);

                tree_write(root, name, text);
                cr_assert_eq(chmod(path, modes[i].mode), 0);
        }
        cr_assert_eq(mkfifo(fifo, 0644), 0);
        tree_write(root, "etc/jobkeeper/jobs.d/g.yaml/x", ""); /* a directory by that name */
        expect("ROOT/etc/jobkeeper/jobs.d/a.yaml!:; ROOT/etc/jobkeeper/jobs.d/b.yaml!:; "
               "ROOT/etc/jobkeeper/jobs.d/c.yaml: c; ROOT/etc/jobkeeper/jobs.d/d.yaml: d; "
               "ROOT/etc/jobkeeper/jobs.d/e.yaml: e; ROOT/etc/jobkeeper/jobs.d/f.yaml!:; "
               "ROOT/etc/jobkeeper/jobs.d/g.yaml!:",
               "ROOT/etc/jobkeeper/jobs.d/a.yaml: error: is writable by others than its owner "
               "(mode 0664)\n"
               "ROOT/etc/jobkeeper/jobs.d/b.yaml: error: is writable by others than its owner "
               "(mode 0646)\n"
               "ROOT/etc/jobkeeper/jobs.d/f.yaml: error: is not a regular file\n"
               "ROOT/etc/jobkeeper/jobs.d/g.yaml: error: is a directory, not a file");
}

Test(job_files, one_that_its_owner_may_not_read) {
        g_autofree char *path = tree_path(root, "etc/jobkeeper/jobs.d/a.yaml");

        tree_write(root, "etc/jobkeeper/jobs.d/a.yaml", JOB("a"));
        tree_write(root, "etc/jobkeeper/jobs.d/b.yaml", JOB("b"));
        cr_assert_eq(chmod(path, 0044), 0);
        expect(
            "ROOT/etc/jobkeeper/jobs.d/a.yaml!:; ROOT/etc/jobkeeper/jobs.d/b.yaml: b",
            geteuid() == 0
                ? "ROOT/etc/jobkeeper/jobs.d/a.yaml: error: cannot be read by its owner (mode "
                  "0044), and so not by jobkeeperd, which has no special rights"
                : "ROOT/etc/jobkeeper/jobs.d/a.yaml: error: cannot be opened: Permission denied "
                  "(mode 0044; jobkeeperd has no special rights: the mode must let root read it)");
}

Test(job_files, why_a_path_is_closed) {
        g_autofree char *path = tree_path(root, "etc/jobkeeper/jobs.d/a.yaml"), *other = NULL;
        g_autofree char *closed = NULL, *others = NULL;

        tree_write(root, "etc/jobkeeper/jobs.d/a.yaml", JOB("a"));
        cr_assert_eq(chmod(path, 0600), 0);
        others = trusted_file_closed(path, EACCES);
        cr_expect_str_eq(others, "", "it is not for who asks, but root could");
        cr_assert_eq(chmod(path, 0), 0);
        closed = trusted_file_closed(path, EACCES);
        other = trusted_file_closed(path, EIO);
        cr_expect_str_eq(closed, " (mode 0000; jobkeeperd has no special rights: the mode must let "
                                 "root read it)");
        cr_expect_str_eq(other, "");
}

/* Only root can give a file away; for anybody else the rule is about files that are there already.
 */
Test(job_files, owners) {
        if (geteuid() != 0) {
                _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
                g_autofree char *text = NULL;
                size_t size;

                cr_expect_eq(trusted_file_read("/etc/passwd", 1 << 20, diagnostics, &text, &size),
                             0, "root's are good");
                return;
        }
        tree_write(root, "etc/jobkeeper/jobs.d/a.yaml", JOB("a"));
        tree_write(root, "etc/jobkeeper/jobs.d/b.yaml", JOB("b"));
        {
                g_autofree char *path = tree_path(root, "etc/jobkeeper/jobs.d/a.yaml");

                cr_assert_eq(chown(path, 65534, 0), 0);
        }
        expect("ROOT/etc/jobkeeper/jobs.d/a.yaml!:; ROOT/etc/jobkeeper/jobs.d/b.yaml: b",
               "ROOT/etc/jobkeeper/jobs.d/a.yaml: error: belongs to user 65534, not to root");
}

static void set_mode(const char *name, mode_t mode) {
        g_autofree char *path = tree_path(root, name);

        cr_assert_eq(chmod(path, mode), 0);
}

/* Return: newly allocated, what is said when nothing is loaded. */
static char *refusal(void) {
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        g_auto(GStrv) directories = job_directories(root), lines = NULL;
        g_autofree char *text = NULL;
        GPtrArray *files = NULL;

        cr_expect_eq(job_files_load((const char *const *)directories, diagnostics, &files), -EPERM);
        cr_expect_null(files);
        lines = diagnostics_to_strv(diagnostics);
        text = g_strjoinv("\n", lines);
        return tree_strip(root, text);
}

/* Whoever may write there may hide a job, or put another one's old file in its place. */
Test(job_files, a_directory_that_others_may_write_to_is_refused) {
        static const char *const names[] = {"etc/jobkeeper/jobs.d", "etc/jobkeeper"};

        tree_write(root, "etc/jobkeeper/jobs.d/a.yaml", JOB("a"));
        tree_write(root, "usr/lib/jobkeeper/jobs.d/b.yaml", JOB("b"));
        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                g_autofree char *said = NULL, *wanted = NULL;

                set_mode(names[i], 0775);
                said = refusal();
                wanted = g_strdup_printf("ROOT/etc/jobkeeper/jobs.d: error: the directory ROOT/%s "
                                         "is writable by others than its owner (mode 0775)",
                                         names[i]);
                cr_expect_str_eq(said, wanted);
                set_mode(names[i], 0755);
        }
        set_mode("etc/jobkeeper/jobs.d", 01777);
        g_free(refusal());
        set_mode("etc/jobkeeper/jobs.d", 0755);
        set_mode("etc", 0775); /* as Debian's /usr/local is: whose it is, is not ours to say */
        expect("ROOT/etc/jobkeeper/jobs.d/a.yaml: a; ROOT/usr/lib/jobkeeper/jobs.d/b.yaml: b", "");
}

Test(job_files, links_that_root_made_are_followed_anywhere_that_is_root_s) {
        tree_write(root, "srv/config/jobs/a.yaml", JOB("a"));
        tree_write(root, "srv/one/b.yaml", JOB("b"));
        tree_link(root, "etc/jobkeeper/jobs.d", "../../srv/config/jobs");
        tree_link(root, "srv/config/jobs/b.yaml", "../../one/current");
        tree_link(root, "srv/one/current", "b.yaml");
        expect("ROOT/etc/jobkeeper/jobs.d/a.yaml: a; ROOT/etc/jobkeeper/jobs.d/b.yaml: b", "");
        set_mode("srv/one", 0777);
        expect("ROOT/etc/jobkeeper/jobs.d/a.yaml: a; ROOT/etc/jobkeeper/jobs.d/b.yaml!:",
               "ROOT/etc/jobkeeper/jobs.d/b.yaml: error: the directory "
               "ROOT/etc/jobkeeper/jobs.d/../../one is writable by others than its owner (mode "
               "0777)");
        set_mode("srv/one", 01777); /* /tmp */
        expect("ROOT/etc/jobkeeper/jobs.d/a.yaml: a; ROOT/etc/jobkeeper/jobs.d/b.yaml: b", "");
}

/* Only root can give a link away; for anybody else there is none to be refused. */
Test(job_files, a_link_of_somebody_else_hides_nothing) {
        g_autofree char *link = tree_path(root, "etc/jobkeeper/jobs.d/a.yaml");

        tree_write(root, "usr/lib/jobkeeper/jobs.d/a.yaml", JOB("a"));
        tree_link(root, "etc/jobkeeper/jobs.d/a.yaml", "/dev/null");
        if (geteuid() != 0 || lchown(link, 65534, 65534) < 0) {
                expect("", "");
                return;
        }
        expect("ROOT/etc/jobkeeper/jobs.d/a.yaml!:",
               "ROOT/etc/jobkeeper/jobs.d/a.yaml: error: the link "
               "ROOT/etc/jobkeeper/jobs.d/a.yaml belongs to user 65534, not to root");
}

Test(job_files, size) {
        g_autofree char *large = g_strnfill(JOB_FILE_SIZE_MAX + 1, '#');

        tree_write(root, "etc/jobkeeper/jobs.d/a.yaml", large);
        tree_write(root, "etc/jobkeeper/jobs.d/b.yaml", large + 1);
        expect("ROOT/etc/jobkeeper/jobs.d/a.yaml!:; ROOT/etc/jobkeeper/jobs.d/b.yaml:",
               "ROOT/etc/jobkeeper/jobs.d/a.yaml: error: is larger than 256 KiB");
}

Test(job_files, a_name_in_two_files_is_no_job) {
        tree_write(root, "etc/jobkeeper/jobs.d/a.yaml",
                   "jobs:\n  x: {exec: /bin/true}\n  a: {exec: /bin/true}\n");
        tree_write(root, "usr/lib/jobkeeper/jobs.d/b.yaml",
                   "jobs:\n  b: {exec: /bin/true}\n  x: {exec: /bin/true}\n");
        tree_write(root, "usr/lib/jobkeeper/jobs.d/c.yaml", "jobs:\n  x: {exec: /bin/true}\n");
        {
                g_autoptr(GPtrArray) files = load(
                    "ROOT/usr/lib/jobkeeper/jobs.d/b.yaml:3:3: error: job \"x\" is also defined at "
                    "ROOT/etc/jobkeeper/jobs.d/a.yaml:2:3: neither of the two takes "
                    "effect, what was in force before "
                    "stays\nROOT/usr/lib/jobkeeper/jobs.d/c.yaml:2:3: error: job \"x\" is also "
                    "defined at ROOT/etc/jobkeeper/jobs.d/a.yaml:2:3: neither of the two takes "
                    "effect, what was in force before stays");
                g_autofree char *text = show(files);

                cr_expect_str_eq(
                    text,
                    "ROOT/etc/jobkeeper/jobs.d/a.yaml: a; ROOT/usr/lib/jobkeeper/jobs.d/b.yaml: b; "
                    "ROOT/usr/lib/jobkeeper/jobs.d/c.yaml:");
                for (guint i = 0; i < files->len; i++)
                        cr_expect_eq(((const JobFile *)files->pdata[i])->duplicates->len, 1);
        }
}

/* A name in a masked file is nobody's rival. */
Test(job_files, a_masked_file_makes_no_duplicates) {
        tree_write(root, "etc/jobkeeper/jobs.d/a.yaml", JOB("x"));
        tree_write(root, "usr/lib/jobkeeper/jobs.d/b.yaml", JOB("x"));
        tree_link(root, "etc/jobkeeper/jobs.d/b.yaml", "/dev/null");
        expect("ROOT/etc/jobkeeper/jobs.d/a.yaml: x", "");
}

Test(job_files, a_directory_that_is_none) {
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        g_auto(GStrv) directories = job_directories(root);
        GPtrArray *files = NULL;

        tree_write(root, "etc/jobkeeper/jobs.d", "");
        cr_expect_eq(job_files_load((const char *const *)directories, diagnostics, &files),
                     -ENOTDIR);
        cr_expect_null(files);
        cr_expect_eq(diagnostics_count(diagnostics), 1);
}

Test(job_files, one_file) {
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        g_autofree char *missing = tree_path(root, "missing.yaml"),
                        *good = tree_path(root, "good.yaml");
        JobFile *file = NULL;

        cr_assert_eq(job_file_load(missing, diagnostics, &file), 0);
        cr_expect_not(file->good);
        file = job_file_free(file);
        cr_expect_eq(diagnostics_count(diagnostics), 1);

        tree_write(root, "good.yaml", JOB("a"));
        cr_assert_eq(job_file_load(good, diagnostics, &file), 0);
        cr_expect(file->good);
        cr_expect_str_eq(file->name, "good.yaml");
        cr_expect_str_eq(file->path, good);
        file = job_file_free(file);

        cr_assert_eq(job_file_load("/dev/null", diagnostics, &file), 0);
        cr_expect(file->good);
        file = job_file_free(file);
        cr_expect_eq(diagnostics_count(diagnostics), 1);
}

Test(job_files, a_job_is_found_by_its_whole_name) {
        g_autoptr(GPtrArray) files = NULL;

        tree_write(root, "etc/jobkeeper/jobs.d/a.yaml",
                   "jobs: {a: {exec: /bin/true}, ab: {exec: /bin/true}}\n");
        tree_write(root, "etc/jobkeeper/jobs.d/b.yaml", JOB("b"));
        files = load("");
        cr_assert_not_null(job_files_find(files, "ab"));
        cr_expect_str_eq(job_files_find(files, "ab")->name, "ab");
        cr_assert_not_null(job_files_find(files, "b"));
        cr_expect_str_eq(job_files_find(files, "b")->name, "b");
        cr_expect_null(job_files_find(files, "c"));
}
