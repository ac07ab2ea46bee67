/* See foreign-file.h. A file is judged by its first line that says something. Neither "[Unit]" nor
 * a crontab's line can begin a mapping with the keys of a job file, so nothing good is mistaken. */
#include "foreign-file.h"

#include <glib.h>
#include <stdbool.h>
#include <string.h>

#include "cron-hint.h"
#include "cron.h"
#include "exec-shell.h"

#define WHITESPACE " \t"

/* Return: the command as `exec` takes it: by itself where no shell is needed. */
static char *command_for_exec(const char *command) {
        g_autofree char *syntax = exec_shell_syntax(command);

        if (*command != '/' || syntax || strlen(command) > EXEC_SHOWN_MAX)
                return exec_in_shell(command);
        return exec_quoted(command);
}

/* What crontabs of one user begin a command with, where the word behind it may be a path. */
static const char *const usual_commands[] = {
    "cd",    "test",    "exec",   "command", "nice",      "ionice", "nohup", "sudo",  "env",
    "time",  "timeout", "flock",  "chronic", "run-parts", "sh",     "bash",  "dash",  "zsh",
    "ksh",   "perl",    "python", "python3", "php",       "ruby",   "node",  "java",  "find",
    "rm",    "cp",      "mv",     "cat",     "ls",        "ln",     "tar",   "rsync", "touch",
    "mkdir", "chmod",   "chown",  "source",  "echo",      "logger", "curl",  "wget",  NULL};

/* Users that a system has whoever administers it. */
static const char *const usual_users[] = {"root", "daemon", "nobody", "www-data", "backup", NULL};

/* Return: whether the word is probably a user's name, and `rest` the command. */
static bool is_user(const char *word, const char *rest) {
        if (g_strv_contains(usual_users, word))
                return *rest && *rest != '-';
        if (*rest != '/' || g_strv_contains(usual_commands, word) || !g_ascii_isalpha(*word))
                return false;
        for (; *word; word++)
                if (!g_ascii_isalnum(*word) && !strchr("_-.", *word))
                        return false;
        return true;
}

/* /etc/crontab and cron.d have a user in front of the command. Return: the command, with the user
 * newly allocated in *ret_user. */
static const char *skip_user(const char *command, char **ret_user) {
        size_t length = strcspn(command, WHITESPACE);
        const char *rest = command + length + strspn(command + length, WHITESPACE);
        g_autofree char *word = g_strndup(command, length);

        if (!is_user(word, rest))
                return command;
        *ret_user = g_steal_pointer(&word);
        return rest;
}

/* Return: the message about a crontab whose first entry this line is; NULL when it is none. */
static char *explain_crontab(const char *line) {
        CronTimes times = {0};
        unsigned length = cron_times_parse(line, &times);
        g_autofree char *user = NULL, *exec = NULL, *first = times.first, *second = times.second;
        const char *command;

        if (length == 0 || !line[length])
                return NULL;
        command = skip_user(line + length, &user);
        exec = command_for_exec(command);
        return g_strdup_printf(
            "this looks like a crontab. A job is written in YAML, this one as: "
            "jobs: {NAME: {schedule: %s%s%s%s%s, exec: %s%s%s}}. " CRON_ZONE_HINT,
            second ? "[\"" : "\"", first ? first : "...", second ? "\", \"" : "",
            second ? second : "", second ? "\"]" : "\"", exec, user ? ", user: " : "",
            user ? user : "");
}

/* Return: the value of the first "KEY=" of the unit, newly allocated; NULL when it has none. */
static char *unit_value(char **lines, const char *key) {
        for (; *lines; lines++) {
                if (!g_str_has_prefix(*lines, key))
                        continue;
                return g_strndup(*lines + strlen(key),
                                 MIN(strlen(*lines + strlen(key)), EXEC_SHOWN_MAX));
        }
        return NULL;
}

static char *explain_unit(char **lines) {
        g_autofree char *exec = unit_value(lines, "ExecStart=");
        g_autofree char *calendar = unit_value(lines, "OnCalendar=");
        g_autofree char *shown_exec = exec ? exec_quoted(exec) : g_strdup("...");
        g_autofree char *shown_calendar = calendar ? exec_quoted(calendar) : g_strdup("...");

        return g_strdup_printf("this looks like a systemd unit. A job is written in YAML, with "
                               "OnCalendar= as \"schedule\", ExecStart= as \"exec\", User= as "
                               "\"user\": jobs: {NAME: {schedule: %s, exec: %s}}",
                               shown_calendar, shown_exec);
}

/* Return: whether the line is the heading of a unit file's section. */
static bool is_unit_section(const char *line) {
        static const char *const sections[] = {"[Unit]",   "[Service]", "[Timer]", "[Install]",
                                               "[Socket]", "[Path]",    "[Mount]", "[Slice]",
                                               "[Target]", NULL};

        return g_strv_contains(sections, line);
}

/* Return: whether the line sets a variable, as crontabs may before their entries. */
static bool is_assignment(const char *line) {
        size_t name =
            strspn(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");

        return name > 0 && line[name + strspn(line + name, WHITESPACE)] == '=';
}

char *foreign_file_explain(const char *text, Mark *mark) {
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);

        for (unsigned i = 0; lines[i]; i++) {
                const char *line = i == 0 && g_str_has_prefix(lines[0], "\xef\xbb\xbf")
                                       ? g_strstrip(lines[0] + 3) /* a byte order mark */
                                       : g_strstrip(lines[i]);
                char *message;

                if (!*line || *line == '#' || *line == ';' || is_assignment(line))
                        continue;
                message = is_unit_section(line) ? explain_unit(lines + i) : explain_crontab(line);
                if (message)
                        *mark = (Mark){mark->file, i + 1, 1};
                return message;
        }
        return NULL;
}
