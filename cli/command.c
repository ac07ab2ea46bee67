/* See command.h. */
#include "command.h"

#include <glib.h>
#include <string.h>

#include "nearest.h"

const Command *command_find(const Command *commands, const char *name) {
        for (const Command *command = commands; command->name; command++)
                if (strcmp(command->name, name) == 0)
                        return command;
        return NULL;
}

const Command *command_nearest(const Command *commands, const char *typed) {
        g_autoptr(GPtrArray) names = g_ptr_array_new_null_terminated(0, NULL, TRUE);
        const char *nearest = NULL;

        for (const Command *command = commands; command->name; command++)
                g_ptr_array_add(names, (gpointer)command->name);
        nearest = nearest_name(typed, (const char *const *)names->pdata);
        return nearest ? command_find(commands, nearest) : NULL;
}

char *command_overview(const Command *commands) {
        g_autoptr(GString) text = g_string_new("Usage:\n"
                                               "  jobkeeper COMMAND [OPTION…] [ARGUMENT…]\n"
                                               "\n"
                                               "Scheduled jobs, once in the whole cluster.\n"
                                               "\n"
                                               "Commands:\n");

        for (const Command *command = commands; command->name; command++)
                g_string_append_printf(text, "  %-10s %s\n", command->name, command->summary);
        g_string_append(
            text,
            "\n"
            "Options:\n"
            "  -h, --help     Show this, or with a command: its options\n"
            "      --version  Show the version\n"
            "\n"
            "`jobkeeper help COMMAND` shows a command's options; jobkeeper(1) is the manual.\n");
        return g_string_free(g_steal_pointer(&text), FALSE);
}
