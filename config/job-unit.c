/* See job-unit.h. */
#include "job-unit.h"

#include <string.h>

#include "job.h"
#include "unit-setting.h"

/* The lines of the two sections, and their bytes together. */
typedef struct SettingLines {
        GPtrArray *unit, *service;
        size_t size;
} SettingLines;

/* Return: what is wrong with a value, as a sentence fragment; or NULL. A line that ends in a
 * backslash goes on in the next. */
static const char *setting_value_fault(const char *value) {
        g_autofree char *stripped = g_strchomp(g_strdup(value));

        if (strlen(value) > JOB_UNIT_VALUE_MAX)
                return "has a value of more than 2048 bytes";
        if (g_str_has_suffix(stripped, "\\"))
                return "may not have a backslash at the end of its value";
        return line_fault(value);
}

/* systemd passes over what is none, and a check of the file says nothing of it. Return: the first
 * word that names no unit, newly allocated; NULL: there is none. */
static char *find_no_unit(const char *value) {
        static const char *const kinds[] = {".service",   ".socket", ".target", ".mount",
                                            ".automount", ".swap",   ".path",   ".timer",
                                            ".device",    ".slice"};
        g_auto(GStrv) words = g_strsplit_set(value, " \t", -1);

        for (char **word = words; *word; word++) {
                size_t i = 0;

                while (i < G_N_ELEMENTS(kinds) && !g_str_has_suffix(*word, kinds[i]))
                        i++;
                if (**word && i == G_N_ELEMENTS(kinds))
                        return g_strdup(*word);
        }
        return NULL;
}

static void add_setting_line(SettingLines *lines, UnitSection section, const char *name,
                             const YamlNode *value, Diagnostics *diagnostics) {
        const char *fault = setting_value_fault(value->text);
        g_autofree char *no_unit =
            section == UNIT_SECTION_UNIT && !fault ? find_no_unit(value->text) : NULL;
        char *line = NULL;

        if (fault) {
                diagnostics_add(diagnostics, &value->mark, "setting \"%s\" %s", name, fault);
                return;
        }
        if (no_unit) {
                diagnostics_add(diagnostics, &value->mark,
                                "setting \"%s\": \"%s\" is no name of a unit (such as "
                                "\"postgresql.service\")",
                                name, no_unit);
                return;
        }
        line = g_strconcat(name, "=", value->text, NULL);
        lines->size += strlen(line) + 1;
        g_ptr_array_add(section == UNIT_SECTION_UNIT ? lines->unit : lines->service, line);
}

static void refuse_setting(const YamlNode *key, Diagnostics *diagnostics) {
        const char *nearest = unit_setting_nearest(key->text);
        g_autofree char *refusal = unit_setting_refusal(key->text);

        if (refusal)
                diagnostics_add(diagnostics, &key->mark, "\"%s\" cannot be set in \"unit\": %s",
                                key->text, refusal);
        else if (nearest)
                diagnostics_add(diagnostics, &key->mark,
                                "unknown setting \"%s\" (did you mean \"%s\"?)", key->text,
                                nearest);
        else
                diagnostics_add(diagnostics, &key->mark, "unknown setting \"%s\"", key->text);
}

/* A list is a line an entry. */
static void add_setting(SettingLines *lines, const YamlPair *pair, Diagnostics *diagnostics) {
        const char *name = pair->key->text;
        UnitSection section = unit_setting_section(name);

        if (section == UNIT_SECTION_NONE) {
                refuse_setting(pair->key, diagnostics);
                return;
        }
        if (pair->value->type == YAML_SCALAR)
                add_setting_line(lines, section, name, pair->value, diagnostics);
        for (guint i = 0; pair->value->type == YAML_LIST && i < pair->value->items->len; i++)
                add_setting_line(lines, section, name, pair->value->items->pdata[i], diagnostics);
}

void job_take_unit(const Key *key, const YamlNode *node, void *target, Diagnostics *diagnostics) {
        SettingLines lines = {.unit = g_ptr_array_new_null_terminated(0, NULL, TRUE),
                              .service = g_ptr_array_new_null_terminated(0, NULL, TRUE)};
        JobSettings *settings = &((JobSpec *)target)->command.settings;

        for (guint i = 0; i < node->items->len; i++)
                add_setting(&lines, node->items->pdata[i], diagnostics);
        if (lines.unit->len + lines.service->len > JOB_UNIT_LINES_MAX)
                diagnostics_add(diagnostics, &node->mark, "\"%s\" has more than %d settings",
                                key->name, JOB_UNIT_LINES_MAX);
        if (lines.size > JOB_UNIT_SIZE_MAX)
                diagnostics_add(diagnostics, &node->mark, "\"%s\" has more than %zu KiB", key->name,
                                JOB_UNIT_SIZE_MAX / 1024);
        g_strfreev(settings->unit);
        g_strfreev(settings->service);
        settings->unit = (char **)g_ptr_array_free(lines.unit, FALSE);
        settings->service = (char **)g_ptr_array_free(lines.service, FALSE);
}
