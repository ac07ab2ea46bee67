/* See unit-check.h.
 *
 * systemd-analyze exits with a status that says little: bad values may be 0, and a fault in
 * somebody else's drop-in for all services 1. What counts is the lines that name our file. The last
 * setting in it is one that systemd does not know: where that is not named, nothing was checked.
 */
#include "unit-check.h"

#include <errno.h>
#include <glib.h>
#include <glib/gstdio.h>
#include <string.h>
#include <unistd.h>

#include "limited-child.h"

/* It takes well under a second, and some on a machine that is busy. */
#define CHECK_LIMIT (30 * USEC_PER_SEC)
#define CHECK_FILE "jobkeeper-settings.service"
#define CHECK_CANARY "JobkeeperChecked"
#define CHECK_WORDS_MAX 300

/* ---- the file ---- */

static void check_add_lines(GString *text, char *const *lines) {
        for (; *lines; lines++)
                g_string_append_printf(text, "%s\n", *lines);
}

char *unit_check_text(const JobSpec *spec) {
        const JobSettings *settings = &spec->command.settings;
        GString *text = NULL;

        if (!*settings->unit && !*settings->service)
                return NULL;
        text = g_string_new("[Unit]\n");
        check_add_lines(text, settings->unit);
        g_string_append(text, "[Service]\nType=oneshot\nExecStart=/bin/sh\n");
        check_add_lines(text, settings->service);
        g_string_append(text, CHECK_CANARY "=yes\n");
        return g_string_free(text, FALSE);
}

/* Return: the directory that the file is in, newly allocated; NULL, and why. */
static char *check_write(const char *text, char **ret_path, GError **error) {
        /* systemd-analyze has to have a directory of its own there, too, and looks nowhere else. */
        g_autofree char *directory = g_strdup("/tmp/jobkeeper-unit-XXXXXX"), *path = NULL;

        if (!g_mkdtemp(directory)) {
                g_set_error(error, G_FILE_ERROR, (gint)g_file_error_from_errno(errno), "/tmp: %s",
                            g_strerror(errno));
                return NULL;
        }
        path = g_build_filename(directory, CHECK_FILE, NULL);
        if (!g_file_set_contents(path, text, -1, error)) {
                (void)g_rmdir(directory);
                return NULL;
        }
        *ret_path = g_steal_pointer(&path);
        return g_steal_pointer(&directory);
}

/* ---- the answer ---- */

/* Return: newly allocated, what may be shown of it. */
static char *check_printable(const char *text) {
        g_autofree char *valid = g_utf8_make_valid(text, (gssize)strnlen(text, CHECK_WORDS_MAX));

        char *ignoring = strstr(valid, ", ignoring");

        if (ignoring) /* that is what would become of it, but the job does not run */
                *ignoring = '\0';
        for (char *c = valid; *c; c++)
                if (g_ascii_iscntrl(*c))
                        *c = ' ';
        return g_strdup(g_strstrip(valid));
}

/* Return: newly allocated, the name of the setting in that line of the file; NULL: none is. */
static char *check_setting_of(const char *text, const char *number) {
        guint64 n = g_ascii_strtoull(number, NULL, 10);
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        char **parts = NULL;
        char *name = NULL;

        if (n == 0 || n > g_strv_length(lines) || !strchr(lines[n - 1], '='))
                return NULL;
        parts = g_strsplit(lines[n - 1], "=", 2);
        name = g_strdup(parts[0]);
        g_strfreev(parts);
        return name;
}

/* `said`: a line that names our file, from behind the name. Return: as unit_check_run(). */
static char *check_fault_of(const char *text, const char *said) {
        g_autofree char *setting = *said == ':' ? check_setting_of(text, said + 1) : NULL;
        const char *words = strstr(said, ": ");
        g_autofree char *shown = check_printable(words ? words + 2 : said);

        return setting
                   ? g_strdup_printf("systemd does not take the setting %s of \"unit\": %s",
                                     setting, shown)
                   : g_strdup_printf("systemd does not take the settings of \"unit\": %s", shown);
}

/* Return: newly allocated, how a line begins that names the last setting. */
static char *check_canary(const char *text) {
        unsigned n = 0;

        for (; *text; text++)
                n += *text == '\n';
        return g_strdup_printf(CHECK_FILE ":%u: ", n);
}

static char *check_judge(const char *text, const char *answer, bool *ret_certain) {
        g_autofree char *canary = check_canary(text);
        g_auto(GStrv) lines = g_strsplit(answer, "\n", -1);
        char *why = NULL;

        *ret_certain = false;
        for (char **line = lines; *line; line++) {
                const char *ours = strstr(*line, CHECK_FILE);

                if (ours && g_str_has_prefix(ours, canary) && strstr(ours, CHECK_CANARY))
                        *ret_certain = true;
                else if (ours && !why)
                        why = check_fault_of(text, ours + strlen(CHECK_FILE));
        }
        if (!*ret_certain) {
                g_autofree char *shown = check_printable(lines[0] ? lines[0] : "");

                g_free(why);
                why = g_strdup_printf("the settings of \"unit\" could not be checked with "
                                      "systemd-analyze: %s",
                                      *shown ? shown : "it says nothing of them");
        }
        return why;
}

/* ---- asking ---- */

static bool check_spawn(const UnitCheckProgram *program, const char *path, char **ret_answer,
                        GError **error) {
        const char *const argv[] = {program->name,           "verify", "--man=no",
                                    "--recursive-errors=no", path,     NULL};
        const char *const environment[] = {"PATH=/usr/bin:/bin",         "LC_ALL=C",
                                           "SYSTEMD_LOG_TARGET=console", "SYSTEMD_LOG_LEVEL=info",
                                           "SYSTEMD_LOG_COLOR=0",        "SYSTEMD_LOG_LOCATION=0",
                                           "SYSTEMD_LOG_TIME=0",         NULL};

        return limited_child_ask(argv, environment, program->limit, ret_answer, error);
}

UnitCheckProgram unit_check_program(void) {
        return (UnitCheckProgram){.name = "systemd-analyze", .limit = CHECK_LIMIT};
}

char *unit_check_run(const UnitCheckProgram *program, const char *text, bool *ret_certain) {
        g_autofree char *path = NULL, *directory = NULL, *answer = NULL;
        g_autoptr(GError) error = NULL;
        bool asked = false;

        *ret_certain = false;
        directory = check_write(text, &path, &error);
        if (directory) {
                asked = check_spawn(program, path, &answer, &error);
                (void)g_unlink(path);
                (void)g_rmdir(directory);
        }
        if (!asked)
                return g_strdup_printf("the settings of \"unit\" could not be checked: %s",
                                       error->message);
        return check_judge(text, answer, ret_certain);
}
