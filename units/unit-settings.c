/* See unit-settings.h. */
#include "unit-settings.h"

#include <errno.h>
#include <string.h>

/* As start_append_lifecycle() has it, with the type. */
#define SETTINGS_OF_LIFE "Type=%s\nRemainAfterExit=yes\nKillMode=control-group\nSendSIGKILL=yes\n"

bool unit_settings_are_none(const UnitSpec *spec) {
        return (!spec->unit_settings || !*spec->unit_settings) &&
               (!spec->service_settings || !*spec->service_settings);
}

/* Return: whether it is NAME=VALUE and one line of a file, which does not go on in the next. */
static bool setting_is_a_line(const char *line) {
        size_t name = strspn(line, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");

        if (name == 0 || line[name] != '=' || g_str_has_suffix(line, "\\"))
                return false;
        for (; *line; line++)
                if (g_ascii_iscntrl(*line))
                        return false;
        return true;
}

static int settings_append_section(GString *text, const char *heading,
                                   const char *const *settings) {
        g_string_append(text, heading);
        for (; settings && *settings; settings++) {
                if (!setting_is_a_line(*settings))
                        return -EINVAL;
                g_string_append_printf(text, "%s\n", *settings);
        }
        return 0;
}

int unit_settings_append(GString *text, const UnitSpec *spec) {
        int r = 0;

        if (spec->unit_settings && *spec->unit_settings)
                r = settings_append_section(text, "[Unit]\n", spec->unit_settings);
        if (r >= 0)
                r = settings_append_section(text, "[Service]\n", spec->service_settings);
        if (r >= 0 && !unit_settings_are_none(spec))
                g_string_append_printf(text, SETTINGS_OF_LIFE, unit_type_of(spec));
        return r;
}
