/* Options and help of the subcommands, by GOption, with one look and one exit status for all. */
#pragma once

#include <glib.h>
#include <stdbool.h>

typedef struct OptionsUse {
        const char *command;     /* "history" */
        const char *arguments;   /* "JOB", for the usage line */
        const char *summary;     /* a paragraph below the usage line */
        const char *description; /* a paragraph below the options, or NULL */
} OptionsUse;

/* Parses the subcommand's arguments. `entries` (may be NULL) are its options; what is no option
 * comes back in *ret_rest, NULL-terminated and never NULL (g_strfreev). `-h` and `--help` are added
 * and answered here. Return: true to go on; false when the command is done, with its exit status in
 * *ret_exit: help was shown, or the error. */
bool options_parse(const OptionsUse *use, const GOptionEntry *entries, int argc, char **argv,
                   char ***ret_rest, int *ret_exit);

/* Says on standard error what is wrong with the arguments and where help is. Return:
 * EXIT_CODE_USAGE. */
int options_error(const char *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
