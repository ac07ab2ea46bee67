/* What in a command line only a shell would understand, and how a command is written for one. Pure.
 */
#pragma once

/* Commands that are longer than this are not shown in a message. */
#define EXEC_SHOWN_MAX 120

/* Return: the first piece of the command line that means something to a shell alone ("|", ">",
 * "&&", "$(", "*.log"), newly allocated (g_free); NULL when there is none. What is quoted is not
 * looked at, nor is what stands in double quotes for a shell that the command itself starts. */
char *exec_shell_syntax(const char *text);

/* Return: newly allocated (g_free), the text in YAML's double quotes; and as the list that runs it
 * in a shell: `[/bin/sh, -c, "..."]`. */
char *exec_quoted(const char *text);
char *exec_in_shell(const char *text);
