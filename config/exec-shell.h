/* What in a command line only a shell would understand, and how a command is written for one. Pure.
 */
#pragma once

#include <stdbool.h>

/* Commands that are longer than this are not shown in a message. */
#define EXEC_SHOWN_MAX 120

/* Return: the first piece of the command line that means something to a shell alone ("|", ">",
 * "&&", "$(", "*.log"), newly allocated (g_free); NULL when there is none. What is quoted is not
 * looked at, nor is what stands in double quotes for a shell that the command itself starts. */
char *exec_shell_syntax(const char *text);

/* Return: whether words of the command line stand on several lines, outside of quotes. */
bool exec_has_lines(const char *text);

/* Return: the first argument that is nothing but a sign of a shell (">", "&&"), of a command that
 * is neither a shell nor compares anything, with its index; NULL when there is none. Borrowed. */
const char *exec_list_sign(const char *const *argv, unsigned *ret_index);

/* Return: newly allocated (g_free), the list that runs these arguments, and the signs among them,
 * in a shell. */
char *exec_list_in_shell(const char *const *argv);

/* Return: newly allocated (g_free), the text in YAML's double quotes; and as the list that runs it
 * in a shell: `[/bin/sh, -c, "..."]`. */
char *exec_quoted(const char *text);
char *exec_in_shell(const char *text);
