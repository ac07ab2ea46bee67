/* A subcommand of `jobkeeper`, and how one is found by what was typed. Pure. */
#pragma once

typedef struct Command {
        const char *name;
        const char *summary; /* one line for --help */
        int (*run)(int argc,
                   char **argv); /* argv[0] is the subcommand's name; returns the exit status */
} Command;

/* `commands` ends with an entry whose name is NULL. Return: the command of that name, or NULL. */
const Command *command_find(const Command *commands, const char *name);

/* Return: the command whose name is nearest to a mistyped one, or NULL when none is near. */
const Command *command_nearest(const Command *commands, const char *typed);

/* Return: newly allocated (g_free), the text of `jobkeeper --help`. */
char *command_overview(const Command *commands);
