/* See options.h. */
#include "options.h"

#include <stdio.h>

#include "exit-code.h"

int options_error(const char *command, const char *format, ...) {
        g_autofree char *message = NULL;
        va_list arguments;

        va_start(arguments, format);
        message = g_strdup_vprintf(format, arguments);
        va_end(arguments);
        fprintf(stderr, "jobkeeper %s: %s\nTry: jobkeeper %s --help\n", command, message, command);
        return EXIT_CODE_USAGE;
}

static GOptionContext *options_context(const OptionsUse *use, const GOptionEntry *entries,
                                       const GOptionEntry *common) {
        g_autofree char *program = g_strdup_printf("jobkeeper %s", use->command);
        GOptionContext *context = g_option_context_new(NULL);

        g_set_prgname(program);
        g_option_context_set_help_enabled(context, FALSE);
        g_option_context_set_summary(context, use->summary);
        g_option_context_set_description(context, use->description);
        if (entries)
                g_option_context_add_main_entries(context, entries, NULL);
        g_option_context_add_main_entries(context, common, NULL);
        return context;
}

bool options_parse(const OptionsUse *use, const GOptionEntry *entries, int argc, char **argv,
                   char ***ret_rest, int *ret_exit) {
        gboolean help = FALSE;
        g_auto(GStrv) rest = NULL;
        const GOptionEntry common[] = {
            {"help", 'h', 0, G_OPTION_ARG_NONE, &help, "Show this", NULL},
            {G_OPTION_REMAINING, 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &rest, NULL, use->arguments},
            {0},
        };
        g_autoptr(GOptionContext) context = options_context(use, entries, common);
        g_autoptr(GError) error = NULL;

        if (!g_option_context_parse(context, &argc, &argv, &error)) {
                *ret_exit = options_error(use->command, "%s", error->message);
                return false;
        }
        if (help) {
                g_autofree char *text = g_option_context_get_help(context, TRUE, NULL);

                fputs(text, stdout);
                *ret_exit = EXIT_CODE_OK;
                return false;
        }
        *ret_rest = rest ? g_steal_pointer(&rest) : g_new0(char *, 1);
        return true;
}
