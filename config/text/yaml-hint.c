/* See yaml-hint.h. Two slips are known by their place alone: a line that a tab indents, and a value
 * that begins with a character of YAML's own, such as the "*" of "*-*-* 02:30". */
#include "yaml-hint.h"

#include <glib.h>
#include <string.h>

#include "cron-hint.h"

/* What a text that stands without quotes may not begin with. */
#define RESERVED "*&!%@`|>"

/* Return: the beginning of a line (counted from 1), NULL when the text has fewer. */
static const char *line_begin(const char *text, unsigned line) {
        while (text && --line > 0) {
                text = strchr(text, '\n');
                text = text ? text + 1 : NULL;
        }
        return text;
}

/* Return: the tab that the line is indented with, NULL when there is none. */
static const char *line_tab(const char *line) {
        size_t indent = strspn(line, " \t");
        const char *tab = memchr(line, '\t', indent);

        return tab && line[indent] && line[indent] != '\n' ? tab : NULL;
}

/* Return: the value that begins at `at`, to the end of its line, without a comment; newly
 * allocated. */
static char *value_at(const char *at) {
        g_autofree char *value = g_strndup(at, strcspn(at, "\r\n"));
        char *comment = strstr(value, " #");

        if (comment)
                *comment = '\0';
        return g_strdup(g_strchomp(value));
}

/* Says how a value is written that begins with a reserved character; also what was cron's. */
static char *explain_reserved(const char *at) {
        g_autofree char *value = value_at(at);
        g_autofree char *cron = NULL;

        if (cron_explain(value, &cron))
                return g_strdup_printf("\"%s\": %s", value, cron);
        return g_strdup_printf("a text that begins with \"%c\" must be put in quotes: %s%s%s", *at,
                               strchr(value, '"') ? "'" : "\"", value,
                               strchr(value, '"') ? "'" : "\"");
}

char *yaml_hint(const char *text, Mark *mark) {
        const char *line = line_begin(text, mark->line), *at = line, *tab;

        if (!line)
                return NULL;
        tab = line_tab(line);
        if (tab) {
                mark->column = (unsigned)(tab - line) + 1;
                return g_strdup("the line is indented with a tab: YAML takes only spaces");
        }
        for (unsigned column = 1; column < mark->column && *at && *at != '\n'; column++)
                at = g_utf8_next_char(at);
        return *at && strchr(RESERVED, *at) ? explain_reserved(at) : NULL;
}
