/* See statement.h. */
#include "statement.h"

#include <glib.h>
#include <string.h>

#include "field.h"
#include "json-line.h"

static const Field statement_fields[] = {
    {.key = "by", .kind = FIELD_STRING, .offset = offsetof(Statement, by)},
    {.key = "why", .kind = FIELD_STRING, .offset = offsetof(Statement, why)},
    {.key = "since", .kind = FIELD_TIME, .offset = offsetof(Statement, since)},
    {NULL},
};

void statement_clear(Statement *statement) {
        field_table_clear(statement_fields, statement);
}

/* D-Bus (and systemd) takes no text that has one of these: nor an answer with it, nor a unit. */
static bool is_no_character(gunichar character) {
        return (character >= 0xfdd0 && character <= 0xfdef) || (character & 0xfffe) == 0xfffe;
}

char *text_for_bus(const char *text) {
        g_autofree char *valid = g_utf8_make_valid(text, -1);
        GString *carried = g_string_sized_new(strlen(valid));

        for (const char *at = valid; *at; at = g_utf8_next_char(at))
                if (is_no_character(g_utf8_get_char(at)))
                        g_string_append(carried, "\xef\xbf\xbd");
                else
                        g_string_append_len(carried, at, g_utf8_next_char(at) - at);
        return g_string_free(carried, FALSE);
}

/* What a terminal or a log would take for more than a text is replaced. */
char *statement_clean(const char *text) {
        g_autofree char *valid = g_utf8_make_valid(text ? text : "", -1);
        GString *clean = g_string_new(NULL);

        for (const char *at = valid; *at; at = g_utf8_next_char(at)) {
                gunichar character = g_utf8_get_char(at);
                bool bad = g_unichar_iscntrl(character) || is_no_character(character) ||
                           g_unichar_type(character) == G_UNICODE_FORMAT ||
                           g_unichar_type(character) == G_UNICODE_LINE_SEPARATOR ||
                           g_unichar_type(character) == G_UNICODE_PARAGRAPH_SEPARATOR;
                const char *next = bad ? "?" : NULL;
                gsize size = next ? 1 : (gsize)(g_utf8_next_char(at) - at);

                if (clean->len + size > SAID_TEXT_MAX)
                        break;
                g_string_append_len(clean, next ? next : at, (gssize)size);
        }
        return g_string_free(clean, FALSE);
}

void statement_read(const json_t *entry, Statement *ret_statement) {
        Statement read = {0};
        bool good = json_is_object(entry) && field_table_from_json(statement_fields, entry, &read);

        *ret_statement = (Statement){
            .by = statement_clean(good ? read.by : NULL),
            .why = statement_clean(good ? read.why : NULL),
            .since = good ? read.since : 0,
        };
        statement_clear(&read);
}

json_t *statement_write(const Statement *statement) {
        Statement clean = {statement_clean(statement->by), statement_clean(statement->why),
                           statement->since};
        json_t *entry = field_table_to_json(statement_fields, &clean);

        statement_clear(&clean);
        return entry;
}

json_t *statement_to_json(const Statement *statement) {
        json_t *object = json_object();

        json_object_set_new(object, "by", said_to_json(statement->by));
        json_object_set_new(object, "why", said_to_json(statement->why));
        json_object_set_new(object, "since",
                            statement->since ? seconds_to_json(statement->since) : json_null());
        return object;
}

char *statement_to_text(const Statement *statement) {
        g_autoptr(GDateTime) since =
            g_date_time_new_from_unix_utc((gint64)(statement->since / USEC_PER_SEC));
        g_autofree char *when =
            statement->since && since ? g_date_time_format(since, " since %F %T UTC") : NULL;

        return g_strdup_printf("%s%s%s%s%s", when ? when : "", *statement->by ? " by " : "",
                               statement->by, *statement->why ? ": " : "", statement->why);
}
