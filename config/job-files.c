/* See job-files.h. First the names are collected, each from the first directory that has it, then
 * the files are read in the order of their names, then names of jobs that stand in several files
 * are taken out of all of them. */
#include "job-files.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "name.h"
#include "trusted-file.h"

#define SUBDIRECTORY "/jobkeeper/jobs.d"

char **job_directories(const char *prefix) {
        static const char *const roots[] = {"/etc", "/run", "/usr/local/lib", "/usr/lib"};
        char **directories = g_new0(char *, G_N_ELEMENTS(roots) + 1);

        for (size_t i = 0; i < G_N_ELEMENTS(roots); i++)
                directories[i] = g_strconcat(prefix, roots[i], SUBDIRECTORY, NULL);
        return directories;
}

static bool is_job_file_name(const char *name) {
        return *name != '.' && (g_str_has_suffix(name, ".yaml") || g_str_has_suffix(name, ".yml"));
}

/* Return: whether a file was probably meant to be a job file: by an ending that is nearly right, or
 * by having none, as in cron.d. A backup, a README and what was renamed on purpose are not. */
static bool is_nearly_job_file_name(const char *name) {
        static const char *const endings[] = {"yaml", "yml", "json", "conf", "cron", "job", NULL};
        const char *dot = strrchr(name, '.');
        g_autofree char *ending = dot ? g_ascii_strdown(dot + 1, -1) : NULL;

        if (*name == '.')
                return false;
        return ending ? g_strv_contains(endings, ending) : name_is_valid(name);
}

static void warn_of_name(Diagnostics *diagnostics, const char *directory, const char *name) {
        g_autofree char *path = g_build_filename(directory, name, NULL);
        const Mark mark = {g_intern_string(path), 0, 0};

        if (g_file_test(path, G_FILE_TEST_IS_REGULAR))
                diagnostics_warn(diagnostics, &mark,
                                 "is passed over: the name of a job file ends in .yaml or .yml");
}

/* Return: `error`. */
static int refuse_directory(Diagnostics *diagnostics, const char *directory, int error,
                            const char *fault) {
        const Mark mark = {g_intern_string(directory), 0, 0};

        if (fault)
                diagnostics_add(diagnostics, &mark, "%s", fault);
        else {
                g_autofree char *closed = trusted_file_closed(directory, -error);

                diagnostics_add(diagnostics, &mark, "cannot be read: %s%s", g_strerror(-error),
                                closed);
        }
        return error;
}

/* Adds the directory's job files to `paths` (name -> path) where the name is new. Return: 0 or
 * negative errno. */
static int collect_names(const char *directory, Diagnostics *diagnostics, GHashTable *paths) {
        g_autofree char *fault = NULL;
        struct dirent *entry;
        DIR *dir;
        int r;

        dir = opendir(directory);
        if (!dir)
                return errno == ENOENT ? 0 : refuse_directory(diagnostics, directory, -errno, NULL);
        fault = trusted_place_fault(directory);
        if (fault) {
                (void)closedir(dir);
                return refuse_directory(diagnostics, directory, -EPERM, fault);
        }
        while ((errno = 0, entry = readdir(dir)))
                if (is_job_file_name(entry->d_name)) {
                        if (!g_hash_table_contains(paths, entry->d_name))
                                g_hash_table_insert(
                                    paths, g_strdup(entry->d_name),
                                    g_build_filename(directory, entry->d_name, NULL));
                } else if (is_nearly_job_file_name(entry->d_name)) {
                        warn_of_name(diagnostics, directory, entry->d_name);
                }
        r = -errno;
        (void)closedir(dir);
        return r < 0 ? refuse_directory(diagnostics, directory, r, NULL) : 0;
}

/* Return: whether the file is hidden by a link to /dev/null, or went away since it was listed. */
static bool is_hidden(const char *path) {
        g_autofree char *fault = NULL;
        struct stat st, null;

        if (lstat(path, &st) < 0)
                return errno == ENOENT;
        if (!S_ISLNK(st.st_mode))
                return false;
        fault = trusted_place_fault(path); /* then it is read, and told of */
        return !fault && stat(path, &st) == 0 && stat("/dev/null", &null) == 0 &&
               S_ISCHR(st.st_mode) && st.st_rdev == null.st_rdev;
}

static int compare_names(gconstpointer a, gconstpointer b) {
        return strcmp(a, b);
}

static void file_free(gpointer data) {
        job_file_free(data);
}

/* Return: the file at `path`, which is not read, because there are too many before it. Of those it
 * is the first that is reported. */
static JobFile *refuse_unread(const char *path, bool first, Diagnostics *diagnostics) {
        if (first) {
                const Mark mark = {g_intern_string(path), 0, 0};

                diagnostics_add(diagnostics, &mark,
                                "is refused, and so are all that follow: there are more than %d "
                                "job files",
                                JOB_FILES_MAX);
        }
        return job_file_new_refused(path);
}

/* Loads the collected files in the order of their names. Return: 0 or negative errno. */
static int load_paths(GHashTable *paths, Diagnostics *diagnostics, GPtrArray *files) {
        g_autoptr(GList) names = g_list_sort(g_hash_table_get_keys(paths), compare_names);

        for (const GList *name = names; name; name = name->next) {
                const char *path = g_hash_table_lookup(paths, name->data);
                JobFile *file = NULL;
                int r = 0;

                if (is_hidden(path))
                        continue;
                if (files->len >= JOB_FILES_MAX)
                        file = refuse_unread(path, files->len == JOB_FILES_MAX, diagnostics);
                else
                        r = job_file_load(path, diagnostics, &file);
                if (r < 0)
                        return r;
                g_ptr_array_add(files, file);
        }
        return 0;
}

/* Reports each name that stands in a second file. Return: the set of those names (borrowed from the
 * specs). */
static GHashTable *find_duplicates(const GPtrArray *files, Diagnostics *diagnostics) {
        g_autoptr(GHashTable) first = g_hash_table_new(g_str_hash, g_str_equal);
        GHashTable *duplicates = g_hash_table_new(g_str_hash, g_str_equal);

        for (guint i = 0; i < files->len; i++) {
                const JobFile *file = files->pdata[i];

                for (guint j = 0; j < file->jobs->len; j++) {
                        JobSpec *spec = file->jobs->pdata[j];
                        const JobSpec *other = g_hash_table_lookup(first, spec->name);

                        if (!other) {
                                g_hash_table_insert(first, spec->name, spec);
                                continue;
                        }
                        diagnostics_add(diagnostics, &spec->mark,
                                        "job \"%s\" is also defined at %s:%u:%u: neither of the "
                                        "two takes effect, what "
                                        "was in force before stays",
                                        spec->name, other->mark.file, other->mark.line,
                                        other->mark.column);
                        g_hash_table_add(duplicates, other->name);
                }
        }
        return duplicates;
}

/* Moves the jobs of these names from the file's jobs to its duplicates. */
static void set_duplicates_aside(JobFile *file, GHashTable *names) {
        for (guint i = 0; i < file->jobs->len;) {
                JobSpec *spec = file->jobs->pdata[i];

                if (g_hash_table_contains(names, spec->name))
                        g_ptr_array_add(file->duplicates, g_ptr_array_steal_index(file->jobs, i));
                else
                        i++;
        }
}

void job_files_part_duplicates(const GPtrArray *files, Diagnostics *diagnostics) {
        g_autoptr(GHashTable) duplicates = find_duplicates(files, diagnostics);

        for (guint i = 0; i < files->len; i++)
                set_duplicates_aside(files->pdata[i], duplicates);
}

int job_files_load(const char *const *directories, Diagnostics *diagnostics,
                   GPtrArray **ret_files) {
        g_autoptr(GHashTable) paths =
            g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
        g_autoptr(GPtrArray) files = g_ptr_array_new_with_free_func(file_free);
        int r;

        for (; *directories; directories++) {
                r = collect_names(*directories, diagnostics, paths);
                if (r < 0)
                        return r;
        }
        r = load_paths(paths, diagnostics, files);
        if (r < 0)
                return r;
        job_files_part_duplicates(files, diagnostics);
        *ret_files = g_steal_pointer(&files);
        return 0;
}

const JobSpec *job_files_find(const GPtrArray *files, const char *name) {
        for (guint i = 0; i < files->len; i++) {
                const JobFile *file = files->pdata[i];

                for (guint j = 0; j < file->jobs->len; j++) {
                        const JobSpec *job = file->jobs->pdata[j];

                        if (g_str_equal(job->name, name))
                                return job;
                }
        }
        return NULL;
}
