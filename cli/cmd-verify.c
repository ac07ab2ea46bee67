/* See cmd-verify.h.
 *
 * The same loaders and checks as the daemon's, run once. With no FILE it judges what this machine's
 * daemon would load: its own configuration and all job directories. A FILE called jobkeeper.yaml is
 * a daemon configuration, any other a job file, judged against the configuration of this machine
 * because the deadline sum needs both. What only this machine cannot do (a missing executable, an
 * unknown user) is a warning: the definition is right, and another node may run it. Where a job and
 * this machine's configuration say different things of a resource, one of the two is wrong: an
 * error, although the daemon takes it for a job that only this machine cannot run. */
#include "cmd-verify.h"

#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/syscall.h>

#include "daemon-file.h"
#include "exit-code.h"
#include "job-chain.h"
#include "job-files.h"
#include "job-fitness.h"
#include "job-room.h"
#include "jobset.h"
#include "linked-jobs.h"
#include "options.h"
#include "output.h"
#include "renamed-jobs.h"
#include "resource.h"
#include "verify-report.h"

#define DAEMON_CONFIG_NAME "jobkeeper.yaml"
#define JOB_DIRECTORY "/jobs.d"
#define STDIN_NAME "(standard input)"

typedef struct Verify {
        char *config_path; /* the daemon configuration to judge jobs against */
        bool config_named; /* by who asks */
        char *root;        /* "" or where another system's files are */
        gboolean json;
        gboolean verbose;
        VerifyReport *report;
        JobRoom room;         /* for what is good */
        DaemonConfig *config; /* the defaults where the file is broken */
        int config_error;     /* why it is, until the first job was judged without it; or 0 */
        Diagnostics *unheard; /* what is wrong with it */
        UnitChecks *units;
} Verify;

/* Loaders say themselves what is wrong; where they have said nothing more than `before`, we do. */
static void verify_fault(Verify *verify, const char *file, int error, unsigned before) {
        const Mark mark = {.file = g_intern_string(file)};

        if (diagnostics_count(verify->report->found) == before)
                diagnostics_add(verify->report->found, &mark, "%s", g_strerror(-error));
}

/* What the daemon checks before it starts, and no key alone can say: is there time to stop runs? */
static void verify_sum(Verify *verify, const DaemonConfig *config) {
        DeadlineRule rule = deadline_rule_of(config);
        g_autofree char *fault = deadline_fault(&rule, config->session_timeout);

        if (fault)
                diagnostics_add(verify->report->found, &config->sum_mark, "%s", fault);
}

/* What is wrong with a configuration that nobody asked about does not make a job bad, but it is
 * not what the job was judged against. */
static void verify_warn_of_config(Verify *verify) {
        const char *message = g_strerror(-verify->config_error);
        Mark mark = {.file = g_intern_string(verify->config_path)};

        if (verify->config_error == 0)
                return;
        (void)diagnostics_get(verify->unheard, DIAGNOSTIC_ERROR, 0, &mark, &message);
        diagnostics_warn(verify->report->found, &mark,
                         "jobs are judged against the default configuration, because this one "
                         "cannot be used: %s",
                         message);
        verify->config_error = 0;
}

/* Loads the daemon's configuration; where it is broken, jobs are judged against the defaults. Its
 * errors count where it is itself to be judged, and where somebody has named it. */
static void verify_load_config(Verify *verify, bool judged) {
        static const char defaults[] = "node: {name: localhost}\n";
        Diagnostics *errors = judged ? verify->report->found : verify->unheard;
        unsigned before = diagnostics_count(verify->report->found);
        int r = daemon_config_load(verify->config_path, errors, &verify->config);

        if (r < 0 && judged)
                verify_fault(verify, verify->config_path, r, before);
        else if (r < 0)
                verify->config_error = r;
        else if (judged)
                verify_sum(verify, verify->config);
        if (r < 0)
                (void)daemon_config_parse("", defaults, strlen(defaults), verify->unheard,
                                          &verify->config);
        g_assert(verify->config);
}

static void verify_deadline(Verify *verify) {
        DeadlineRule rule = deadline_rule_of(verify->config);
        g_autofree char *sum = deadline_explain(&rule, verify->config->session_timeout);

        if (verify->verbose)
                fprintf(verify->json ? stderr : stdout, "deadline: %s\n", sum);
}

/* A configuration file of its own, given as an argument. */
static void verify_config_file(Verify *verify, const char *path) {
        _cleanup_(daemon_config_freep) DaemonConfig *config = NULL;
        unsigned before = diagnostics_count(verify->report->found);
        int r = daemon_config_load(path, verify->report->found, &config);

        if (r >= 0 && access(path, F_OK) < 0)
                r = -errno; /* to the daemon that means the defaults, but not to who names it */
        if (r < 0) {
                verify_fault(verify, path, r, before);
                return;
        }
        verify->report->files++;
        verify_sum(verify, config);
}

static void verify_fitness(Verify *verify, const JobSpec *job) {
        g_autofree char *reason = NULL;

        if (!job_spec_matches_node(job, verify->config->node_name, verify->config->labels))
                return;
        reason = job_unfit_reason(job, verify->config, verify->units);
        if (reason)
                diagnostics_warn(verify->report->found, &job->mark,
                                 "this machine cannot run %s: %s", job->name, reason);
}

static void verify_loaded_file(Verify *verify, const JobFile *file) {
        unsigned before = diagnostics_count(verify->report->found);

        verify_warn_of_config(verify);
        jobset_check_file(file, verify->config, verify->report->found);
        for (guint i = 0; i < file->jobs->len; i++)
                resource_check_job(verify->config, g_ptr_array_index(file->jobs, i),
                                   verify->report->found);
        if (!file->good || diagnostics_count(verify->report->found) > before)
                return;
        if (!job_room_take(&verify->room, file, file->jobs->len, 0, verify->report->found))
                return;
        verify->report->files++;
        verify->report->jobs += file->jobs->len;
        for (guint i = 0; !verify->root[0] && i < file->jobs->len; i++)
                verify_fitness(verify, g_ptr_array_index(file->jobs, i));
}

/* Return: newly allocated, the jobs of files that have errors: what they are linked to is theirs.
 */
static GPtrArray *verify_refused_jobs(const GPtrArray *files) {
        GPtrArray *jobs = g_ptr_array_new();

        for (guint i = 0; i < files->len; i++) {
                const GPtrArray *refused = ((const JobFile *)files->pdata[i])->refused;

                for (guint j = 0; j < refused->len; j++)
                        g_ptr_array_add(jobs, refused->pdata[j]);
        }
        return jobs;
}

static void verify_chains(Verify *verify, const GPtrArray *files) {
        g_autoptr(GPtrArray) jobs = g_ptr_array_new();

        for (guint i = 0; i < files->len; i++) {
                const JobFile *file = files->pdata[i];

                for (guint j = 0; j < file->jobs->len; j++)
                        g_ptr_array_add(jobs, file->jobs->pdata[j]);
        }
        job_chain_check(jobs, verify->report->found);
}

static void verify_circles(Verify *verify, const GPtrArray *files) {
        g_autoptr(GPtrArray) refused = verify_refused_jobs(files);
        g_autoptr(GHashTable) before = g_hash_table_new(g_str_hash, g_str_equal);

        /* By the files alone: as at a first load. */
        renamed_jobs_check(files, refused, before, verify->report->found);
        while (linked_jobs_break_circle(files, refused, verify->report->found))
                continue;
        verify_chains(verify, files);
}

/* What a file alone names may be defined in another. */
static void verify_links(Verify *verify, const GPtrArray *files) {
        _cleanup_(linked_names_freep) LinkedNames *names = linked_names_new(files, NULL);
        g_autoptr(GPtrArray) jobs = g_ptr_array_new();

        verify_circles(verify, files);
        for (guint i = 0; i < files->len; i++) {
                const JobFile *file = files->pdata[i];

                for (guint j = 0; j < file->jobs->len; j++) {
                        linked_jobs_check_names(file->jobs->pdata[j], names, verify->report->found);
                        g_ptr_array_add(jobs, file->jobs->pdata[j]);
                }
        }
        g_hash_table_unref(linked_jobs_index(jobs, NULL, verify->report->found));
}

/* What somebody names is judged as far as it will take effect together: what is in one directory.
 */
typedef struct VerifyGroups {
        GPtrArray *all;       /* GPtrArray of JobFile, in the order in which they were named */
        GHashTable *by_place; /* directory → of these */
        GHashTable *seen;     /* paths: a file may be named twice */
} VerifyGroups;

static void verify_group(VerifyGroups *groups, JobFile *file) {
        char *whole = g_canonicalize_filename(file->path, NULL);
        g_autofree char *place = g_path_get_dirname(whole);
        GPtrArray *group = g_hash_table_lookup(groups->by_place, place);

        if (!g_hash_table_add(groups->seen, whole))
                return;
        if (!group) {
                group = g_ptr_array_new();
                g_ptr_array_add(groups->all, group);
                g_hash_table_insert(groups->by_place, g_steal_pointer(&place), group);
        }
        g_ptr_array_add(group, file);
}

static void verify_groups(Verify *verify, const GPtrArray *files) {
        g_autoptr(GPtrArray) all =
            g_ptr_array_new_with_free_func((GDestroyNotify)g_ptr_array_unref);
        g_autoptr(GHashTable) by_place =
            g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
                              seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
        VerifyGroups groups = {.all = all, .by_place = by_place, .seen = seen};

        for (guint i = 0; i < files->len; i++)
                verify_group(&groups, files->pdata[i]);
        for (guint i = 0; i < all->len; i++) {
                job_files_part_duplicates(all->pdata[i], verify->report->found);
                verify_circles(verify, all->pdata[i]);
        }
}

/* Return: the file, of which all that can be said without others was said; NULL: it cannot be
 * read. */
static JobFile *verify_read(Verify *verify, const char *path) {
        JobFile *file = NULL;
        unsigned before = diagnostics_count(verify->report->found);
        int r = job_file_load(path, verify->report->found, &file);

        if (r < 0)
                verify_fault(verify, path, r, before);
        return file;
}

/* The same of what comes on standard input, before it is a file. */
static JobFile *verify_read_stdin(Verify *verify) {
        g_autofree char *text = g_malloc(JOB_FILE_SIZE_MAX + 1);
        JobFile *file = NULL;
        unsigned before = diagnostics_count(verify->report->found);
        size_t size = fread(text, 1, JOB_FILE_SIZE_MAX + 1, stdin);
        int r = ferror(stdin) ? -EIO
                : size > JOB_FILE_SIZE_MAX
                    ? -EFBIG
                    : job_file_parse(STDIN_NAME, text, size, verify->report->found, &file);

        if (r < 0)
                verify_fault(verify, STDIN_NAME, r, before);
        return file;
}

/* The daemon is a root without capabilities, and what only another user may open is closed to it.
 * Whoever types this may be a root who has them all. */
static void lose_capabilities(void) {
        struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};

        (void)syscall(SYS_capset, &header, none);
}

/* That there is nothing to judge is not the same as that all is good. */
static void verify_have_directory(Verify *verify, char **directories) {
        const Mark mark = {.file = g_intern_string(directories[0])};

        for (char **directory = directories; *directory; directory++)
                if (access(*directory, F_OK) == 0 || errno != ENOENT)
                        return;
        diagnostics_warn(verify->report->found, &mark,
                         "does not exist, and neither do the other job directories: there are no "
                         "jobs here");
}

static void verify_directories(Verify *verify) {
        g_auto(GStrv) directories = job_directories(verify->root);
        unsigned before = diagnostics_count(verify->report->found);
        g_autoptr(GPtrArray) files = NULL;
        int r = 0;

        verify_have_directory(verify, directories);
        if (!verify->root[0])
                lose_capabilities();
        r = job_files_load((const char *const *)directories, verify->report->found, &files);
        if (r < 0) {
                verify_fault(verify, directories[0], r, before);
                return;
        }
        verify_links(verify, files);
        for (guint i = 0; i < files->len; i++)
                verify_loaded_file(verify, g_ptr_array_index(files, i));
}

/* Return: whether a file is the daemon's by its name; in a job directory no name makes it that. */
static bool is_daemon_config(const char *path) {
        g_autofree char *name = g_path_get_basename(path);
        g_autofree char *whole = g_canonicalize_filename(path, NULL);
        g_autofree char *place = g_path_get_dirname(whole);

        return g_str_equal(name, DAEMON_CONFIG_NAME) && !g_str_has_suffix(place, JOB_DIRECTORY);
}

static void verify_free_file(void *file) {
        job_file_free(file);
}

static void verify_files(Verify *verify, char **names) {
        g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(verify_free_file);

        for (char **name = names; *name; name++) {
                JobFile *file = NULL;

                if (g_str_equal(*name, "-"))
                        file = verify_read_stdin(verify);
                else if (is_daemon_config(*name))
                        verify_config_file(verify, *name);
                else
                        file = verify_read(verify, *name);
                if (file)
                        g_ptr_array_add(files, file);
        }
        verify_groups(verify, files);
        for (guint i = 0; i < files->len; i++) {
                verify->room.left = JOBS_MAX; /* each is judged for itself */
                verify_loaded_file(verify, files->pdata[i]);
        }
}

static void verify_print(const Verify *verify) {
        g_autofree char *lines = verify_report_lines(verify->report);
        g_autofree char *shown = printable(lines);
        g_autofree char *summary = verify_report_summary(verify->report);

        if (verify->json) {
                output_json(verify_report_json(verify->report));
                return;
        }
        fputs(shown, stderr);
        if (verify_report_exit(verify->report) == EXIT_CODE_OK)
                (void)puts(summary);
}

static int verify(Verify *verify, char **files) {
        verify_load_config(verify, verify->config_named || !files[0]);
        if (files[0])
                verify_files(verify, files);
        else
                verify_directories(verify);
        verify_deadline(verify);
        verify_print(verify);
        return verify_report_exit(verify->report);
}

int cmd_verify(int argc, char **argv) {
        static const OptionsUse use = {
            "verify",
            "[FILE…]",
            "Checks job files (or the daemon's configuration, where FILE is called "
            "jobkeeper.yaml)\nwithout running anything. With no FILE: this machine's daemon "
            "configuration and all its\njob directories. A FILE of \"-\" is a job file on standard "
            "input.",
            "Errors go to standard error as FILE:LINE:COLUMN: error: MESSAGE, and the exit status\n"
            "is then 1. Warnings do not change the exit status.",
        };
        g_autofree char *config_path = NULL, *root = NULL;
        _cleanup_(verify_report_freep) VerifyReport *report = verify_report_new();
        _cleanup_(diagnostics_freep) Diagnostics *unheard = diagnostics_new();
        _cleanup_(unit_checks_freep) UnitChecks *units = unit_checks_new();
        Verify verify_state = {
            .report = report, .unheard = unheard, .units = units, .room = {JOBS_MAX}};
        const GOptionEntry entries[] = {
            {"config", 'c', 0, G_OPTION_ARG_FILENAME, &config_path,
             "Check jobs against this daemon configuration", "FILE"},
            {"root", 0, 0, G_OPTION_ARG_FILENAME, &root,
             "Read the directories of the system below DIRECTORY", "DIRECTORY"},
            {"verbose", 'v', 0, G_OPTION_ARG_NONE, &verify_state.verbose,
             "Also print the deadline sum", NULL},
            {"json", 'j', 0, G_OPTION_ARG_NONE, &verify_state.json,
             "Print all findings as a JSON array", NULL},
            {0},
        };
        g_auto(GStrv) rest = NULL;
        int code = EXIT_CODE_OK;

        if (!options_parse(&use, entries, argc, argv, &rest, &code))
                return code;
        if (config_path && access(config_path, R_OK) < 0)
                return options_error("verify", "%s: %s", config_path, g_strerror(errno));
        if (root && access(root, F_OK) < 0)
                return options_error("verify", "%s: %s", root, g_strerror(errno));
        verify_state.config_named = config_path != NULL;
        verify_state.root = root ? root : (root = g_strdup(""));
        if (!config_path)
                config_path = g_strdup_printf("%s%s", root, DAEMON_CONFIG_PATH);
        verify_state.config_path = config_path;
        code = verify(&verify_state, rest);
        daemon_config_free(verify_state.config);
        return code;
}
