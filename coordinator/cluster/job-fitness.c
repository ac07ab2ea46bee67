/* See job-fitness.h. */
#include "job-fitness.h"

#include <errno.h>
#include <glob.h>
#include <grp.h>
#include <pwd.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>

#include "resource.h"

#define DATABASE_BUFFER_SIZE ((size_t)64 * 1024)

/* Return: 0 with *ret_st; -ENOENT when there is certainly no such thing; other negative errno when
 * that cannot be told. */
static int look_at(const char *path, struct stat *ret_st) {
        if (stat(path, ret_st) == 0)
                return 0;
        return errno == ENOTDIR || errno == ELOOP || errno == ENAMETOOLONG ? -ENOENT : -errno;
}

static char *executable_fault(const char *path) {
        struct stat st;
        int r = look_at(path, &st);

        if (r == -ENOENT)
                return g_strdup_printf("the executable %s does not exist", path);
        if (r < 0)
                return NULL;
        if (!S_ISREG(st.st_mode) || !(st.st_mode & 0111))
                return g_strdup_printf("%s is not executable", path);
        return NULL;
}

static char *directory_fault(const char *path) {
        struct stat st;
        int r = look_at(path, &st);

        if (r == -ENOENT)
                return g_strdup_printf("the working directory %s does not exist", path);
        if (r == 0 && !S_ISDIR(st.st_mode))
                return g_strdup_printf("the working directory %s is not a directory", path);
        return NULL;
}

static bool is_number(const char *text) {
        return *text && !text[strspn(text, "0123456789")];
}

/* The databases answer "no such entry" with 0 and no result, or with one of these (getpwnam(3));
 * other codes mean that they could not be asked. */
static bool means_unknown(int code) {
        return code == 0 || code == ENOENT || code == ESRCH;
}

static bool user_is_unknown(const char *name) {
        g_autofree char *buffer = g_malloc(DATABASE_BUFFER_SIZE);
        struct passwd entry, *found = NULL;
        int code = getpwnam_r(name, &entry, buffer, DATABASE_BUFFER_SIZE, &found);

        return !found && means_unknown(code);
}

static bool group_is_unknown(const char *name) {
        g_autofree char *buffer = g_malloc(DATABASE_BUFFER_SIZE);
        struct group entry, *found = NULL;
        int code = getgrnam_r(name, &entry, buffer, DATABASE_BUFFER_SIZE, &found);

        return !found && means_unknown(code);
}

/* The first resource of which the two files of this machine disagree: both places are named. */
char *resource_unfit_reason(const JobSpec *spec, const DaemonConfig *config) {
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        const char *message;
        Mark mark;

        resource_check_job(config, spec, diagnostics);
        if (!diagnostics_get(diagnostics, DIAGNOSTIC_ERROR, 0, &mark, &message))
                return NULL;
        return g_strdup_printf("%s:%u:%u: %s", mark.file, mark.line, mark.column, message);
}

char *machine_unfit_reason(const char *executable, const char *user, const char *group,
                           const char *working_directory) {
        char *reason = executable_fault(executable);

        if (!reason && user && !is_number(user) && user_is_unknown(user))
                reason = g_strdup_printf("the user %s does not exist", user);
        if (!reason && group && !is_number(group) && group_is_unknown(group))
                reason = g_strdup_printf("the group %s does not exist", group);
        if (!reason && working_directory)
                reason = directory_fault(working_directory);
        return reason;
}

/* ---- what root reads for a job ---- */

#define LINKS_MAX 40

/* Return: whether somebody but root may have a say in what stands there: what a group may do is
 * also what an access control list lets any of those do that it names. */
static bool is_others(const struct stat *st) {
        return st->st_uid != 0 || (!S_ISLNK(st->st_mode) && (st->st_mode & (S_IWGRP | S_IWOTH)));
}

/* Return: newly allocated, where the link at `part` leads, with the rest of the path; or NULL. */
static char *link_followed(const char *part, const char *rest) {
        g_autofree char *target = g_file_read_link(part, NULL),
                        *directory = g_path_get_dirname(part),
                        *whole = target ? g_strconcat(target, rest, NULL) : NULL;

        return whole ? g_canonicalize_filename(whole, directory) : NULL;
}

/* Return: newly allocated, what is wrong with a part of the path, which is taken as it is written,
 * a sentence; NULL: nothing is, or it cannot be told. What does not exist, root alone can make. */
static char *input_fault(const char *path, unsigned links) {
        for (const char *end = path; *end;) {
                g_autofree char *part = NULL, *other = NULL;
                struct stat st;

                end += strcspn(end + 1, "/") + 1;
                part = g_strndup(path, (gsize)(end - path));
                if (lstat(part, &st) < 0)
                        return NULL;
                if (is_others(&st))
                        return g_strdup_printf(
                            "%s is not root's alone, and root would read what somebody else puts "
                            "there",
                            part);
                if (S_ISLNK(st.st_mode)) {
                        other = links < LINKS_MAX ? link_followed(part, end) : NULL;
                        return other ? input_fault(other, links + 1) : NULL;
                }
                if (!*end && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
                        return g_strdup_printf("%s is no file", part);
        }
        return NULL;
}

/* As input_fault(), of all that PID 1 finds by a path of which it takes each part for a glob(7):
 * each directory that is found counts, since what its owner puts there is found later. */
static char *pattern_fault(const char *pattern) {
        char *reason = NULL;

        for (const char *end = pattern; *end && !reason;) {
                g_autofree char *part = NULL;
                glob_t found = {0};

                end += strcspn(end + 1, "/") + 1;
                part = g_strndup(pattern, (gsize)(end - pattern));
                if (glob(part, GLOB_NOSORT | GLOB_NOCHECK, NULL, &found) == 0)
                        for (size_t i = 0; i < found.gl_pathc && !reason; i++)
                                reason = input_fault(found.gl_pathv[i], 0);
                globfree(&found);
        }
        return reason;
}

char *inputs_unfit_reason(char *const *environment_files, char *const *credentials) {
        char *reason = NULL;

        for (; !reason && environment_files && *environment_files; environment_files++)
                reason = pattern_fault(*environment_files + (**environment_files == '-' ? 1 : 0));
        for (; !reason && credentials && *credentials; credentials++)
                reason = input_fault(strchr(*credentials, '/'), 0);
        return reason;
}

static char *unit_unfit_reason(const JobSpec *spec, UnitChecks *checks) {
        g_autofree char *text = unit_check_text(spec);
        bool certain; /* who asks once hears either way */

        return text ? unit_checks_ask(checks, text, &certain) : NULL;
}

char *job_unfit_reason(const JobSpec *spec, const DaemonConfig *config, UnitChecks *checks) {
        char *reason = machine_unfit_reason(spec->command.argv[0], spec->command.user,
                                            spec->command.group, spec->command.working_directory);

        if (!reason)
                reason =
                    inputs_unfit_reason(spec->command.environment_files, spec->command.credentials);
        if (!reason)
                reason = resource_unfit_reason(spec, config);
        return reason ? reason : unit_unfit_reason(spec, checks);
}
