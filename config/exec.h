/* Splitting a command line by systemd's quoting rules for ExecStart= (systemd.service(5), "Command
 * lines"): words are separated by white space, single and double quotes keep it, and C escapes
 * count inside and outside of quotes. There is no shell.
 *
 * Unlike in a unit file, an unknown escape is an error and not a warning; `%` is an ordinary
 * character, because there are no specifiers; and a lone `;` is refused, because a run has one
 * command. `$` is left alone: the service manager expands variables later.
 */
#pragma once

/* Return: 0 with a NULL-terminated vector of at least one word (g_strfreev); -EINVAL with a newly
 * allocated sentence fragment (g_free). */
int exec_split(const char *text, char ***ret_argv, char **ret_message);

/* Return: NULL when `path` can be argv[0], else a newly allocated sentence fragment (g_free): it
 * begins with one of ExecStart='s prefixes or is not absolute. */
char *exec_path_fault(const char *path);
