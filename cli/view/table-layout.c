/* See table-layout.h. */
#include "table-layout.h"

#include <string.h>

/* Behind these a word may be broken. */
#define JOINTS "-./_:,"

static guint character_width(gunichar character) {
        if (g_unichar_iszerowidth(character))
                return 0;
        return g_unichar_iswide(character) ? 2 : 1;
}

guint text_width(const char *text) {
        guint width = 0;

        for (; *text; text = g_utf8_next_char(text))
                width += character_width(g_utf8_get_char(text));
        return width;
}

/* Return: how many bytes of a word that is too long by itself go on a line of that width; at least
 * one character. */
static size_t word_break(const char *word, guint width) {
        const char *at = word, *joint = NULL;
        guint used = 0;

        while (*at && *at != ' ') {
                const char *next = g_utf8_next_char(at);

                used += character_width(g_utf8_get_char(at));
                if (used > width && at > word)
                        break;
                if (strchr(JOINTS, *at))
                        joint = next;
                at = next;
        }
        return (size_t)((joint && *at && *at != ' ' ? joint : at) - word);
}

char *text_wrap(const char *text, guint width) {
        GString *out = g_string_new(NULL);
        guint used = 0;

        while (width > 0 && *text) {
                size_t length = strcspn(text, " ");
                g_autofree char *word = g_strndup(text, length);
                guint needed = text_width(word);

                if (used > 0 && used + 1 + needed > width) {
                        g_string_append_c(out, '\n');
                        used = 0;
                } else if (used > 0) {
                        g_string_append_c(out, ' ');
                        used++;
                }
                if (needed > width)
                        length = word_break(text, width);
                g_string_append_len(out, text, (gssize)length);
                text += length;
                if (needed > width && *text && *text != ' ') {
                        g_string_append_c(out, '\n');
                        used = 0;
                        continue;
                }
                used = needed > width ? width : used + needed;
                text += strspn(text, " ");
        }
        g_string_append(out, text);
        return g_string_free(out, FALSE);
}

char *text_wrap_hanging(const char *text, guint width, guint indent) {
        g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
        g_autofree char *margin = g_strnfill(indent, ' ');
        GString *out = g_string_new(NULL);

        for (char **line = lines; *line; line++) {
                size_t head = MIN(strlen(*line), indent);
                g_autofree char *rest = width > 2 * indent && text_width(*line) > width
                                            ? text_wrap(*line + head, width - indent)
                                            : g_strdup(*line + head);
                g_auto(GStrv) parts = g_strsplit(rest, "\n", -1);

                g_string_append_printf(out, "%s%.*s", line > lines ? "\n" : "", (int)head, *line);
                for (char **part = parts; *part; part++)
                        g_string_append_printf(out, "%s%s%s", part > parts ? "\n" : "",
                                               part > parts ? margin : "", *part);
        }
        return g_string_free(out, FALSE);
}

char *text_in_brief(const char *text) {
        const char *open = strrchr(text, '(');
        size_t length = strlen(text);

        if (!open || open == text || text[length - 1] != ')')
                return g_strdup(text);
        return g_strndup(open + 1, length - 2 - (size_t)(open - text));
}

static guint widths_sum(const guint *widths, guint count, guint level) {
        guint sum = 0;

        for (guint i = 0; i < count; i++)
                sum += MIN(widths[i], level);
        return sum;
}

guint layout_level(guint *widths, guint count, guint room) {
        guint level = 0;

        if (widths_sum(widths, count, G_MAXUINT) <= room)
                return G_MAXUINT;
        while (widths_sum(widths, count, level + 1) <= room)
                level++;
        for (guint i = 0; i < count; i++)
                widths[i] = MIN(widths[i], level);
        return level;
}
