/* Documents that are made of the tables of keys at build time, so that they cannot say anything
 * else than the parser: the JSON schemas for editors, and the tables of the manuals.
 *
 *     key-documents schema jobs|daemon            a JSON schema on standard output
 *     key-documents manual < PAGE.scd             the page, with its lines "@keys jobs@" and the
 * like replaced: @keys@ by the table of keys, @reserved@ by what is refused as not supported yet
 *     key-documents list jobs|daemon              name, default and "reserved" of each key, for
 * tests
 */
#include <errno.h>
#include <glib.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "daemon-keys.h"
#include "duration.h"
#include "job-keys.h"
#include "name.h"

#define SCHEMA_DIALECT "http://json-schema.org/draft-07/schema#"
#define BLANKS_PATTERN "[" DURATION_WHITESPACE "]*"
#define NUMBER_PATTERN "(?:[0-9]+(?:\\.[0-9]+)?|\\.[0-9]+)(?![0-9.])"
#define ZERO_PATTERN "(?:0+(?:\\.0+)?|\\.0+)(?![0-9.])"
/* So many decimals are more than any unit has that a person would write a default in. */
#define DECIMALS_MAX 9
#define NAME_PATTERN "^[a-z0-9][a-z0-9._-]*$"

typedef struct Document {
        const char *name;
        const char *id;
        const char *title;
        const KeyTable *keys;  /* what a person writes at the place that the manual describes */
        const KeyTable *whole; /* the file */
} Document;

static const Document documents[] = {
    {"jobs", "jobs.schema.json", "A job file of jobkeeper", &job_table, &job_file_table},
    {"daemon", "jobkeeper.schema.json", "The configuration of jobkeeperd", &daemon_table,
     &daemon_table},
};

static const Document *document_find(const char *name) {
        for (size_t i = 0; i < G_N_ELEMENTS(documents); i++)
                if (g_strcmp0(documents[i].name, name) == 0)
                        return &documents[i];
        return NULL;
}

/* ---- the schemas: whatever they refuse the parser refuses too ---- */

static json_t *table_schema(const KeyTable *table, unsigned without);
static json_t *key_schema(const Key *key, unsigned without);

static json_t *type_schema(const char *type) {
        return json_pack("{s:s}", "type", type);
}

static json_t *text_schema(const Key *key) {
        if (key->forms & KEY_LITERAL) /* a pattern says nothing of what is no string */
                return json_pack("{s:[s,s,s], s:s*}", "type", "string", "number", "boolean",
                                 "pattern", key->pattern);
        return key->pattern ? json_pack("{s:s, s:s}", "type", "string", "pattern", key->pattern)
                            : type_schema("string");
}

static json_t *integer_schema(const Key *key) {
        json_t *schema = type_schema("integer");

        if (key->flags & KEY_DEFAULT_ONLY) {
                json_object_set_new(schema, "const",
                                    json_integer(g_ascii_strtoll(key->fallback, NULL, 10)));
                return schema;
        }
        json_object_set_new(schema, "minimum", json_integer((json_int_t)key->min));
        json_object_set_new(schema, "maximum", json_integer((json_int_t)key->max));
        return schema;
}

/* Return: newly allocated, a pattern for the names of the units of this length (0: of any), which
 * may be missing where it is a second. */
static char *units_pattern(usec_t length) {
        GString *text = g_string_new("(?:");

        for (const DurationUnit *unit = duration_units(); unit->name; unit++)
                if (length == 0 || unit->length == length)
                        g_string_append_printf(text, "%s|", unit->name);
        if (length == 0 || length == USEC_PER_SEC)
                g_string_append_c(text, ')'); /* after its last "|": nothing */
        else
                text->str[text->len - 1] = ')';
        return g_string_free(text, FALSE);
}

/* Return: whether an earlier unit has the same length. */
static bool unit_is_a_synonym(const DurationUnit *unit) {
        for (const DurationUnit *earlier = duration_units(); earlier != unit; earlier++)
                if (earlier->length == unit->length)
                        return true;
        return false;
}

/* Return: newly allocated, a pattern for the number that makes `duration` with that unit; NULL
 * where no number of a few decimals does. The parser says which does. */
static char *number_pattern(usec_t duration, const DurationUnit *unit) {
        g_autoptr(GString) decimals = g_string_new(NULL);
        usec_t rest = duration % unit->length, parsed = 0;
        g_autofree char *whole = g_strdup_printf("%" PRIu64, duration / unit->length),
                        *written = NULL;

        for (unsigned i = 0; i < DECIMALS_MAX && rest > 0; i++) {
                g_string_append_printf(decimals, "%" PRIu64, rest * 10 / unit->length);
                rest = rest * 10 % unit->length;
        }
        written = g_strdup_printf("%s.%s0%s", whole, decimals->str, unit->name);
        if (duration_parse(written, &parsed) < 0 || parsed != duration)
                return NULL;
        if (decimals->len == 0)
                return g_strdup_printf("0*%s(?:\\.0+)?", whole);
        return g_strdup_printf("0*%s\\.%s0*", g_str_equal(whole, "0") ? "" : whole, decimals->str);
}

/* Return: newly allocated, a pattern for the ways to write this one duration: one number and a
 * unit, to the letter. A sum of several is any: it is the parser's to add them up. */
static char *one_duration_pattern(usec_t duration) {
        g_autofree char *any = units_pattern(0);
        GString *text = g_string_new("^" BLANKS_PATTERN "(?:");

        if (duration == 0) {
                g_string_append_printf(
                    text, "(?:" ZERO_PATTERN BLANKS_PATTERN "%s" BLANKS_PATTERN ")+)$", any);
                return g_string_free(text, FALSE);
        }
        for (const DurationUnit *unit = duration_units(); unit->name; unit++) {
                g_autofree char *number = number_pattern(duration, unit),
                                *names = units_pattern(unit->length);

                if (number && !unit_is_a_synonym(unit))
                        g_string_append_printf(
                            text, "%s(?![0-9.])" BLANKS_PATTERN "%s" BLANKS_PATTERN "|", number,
                            names);
        }
        g_string_append_printf(
            text, "(?:" NUMBER_PATTERN BLANKS_PATTERN "%s" BLANKS_PATTERN "){2,})$", any);
        return g_string_free(text, FALSE);
}

/* Return: newly allocated, a pattern for durations. */
static char *duration_pattern(const Key *key) {
        g_autofree char *any = units_pattern(0);

        return g_strdup_printf(
            "^" BLANKS_PATTERN "(?:" NUMBER_PATTERN BLANKS_PATTERN "%s" BLANKS_PATTERN ")+$%s", any,
            key->max == USEC_INFINITY ? "|^" BLANKS_PATTERN "infinity" BLANKS_PATTERN "$" : "");
}

/* Return: the schema of a duration that is written as whole seconds. */
static json_t *seconds_schema(const Key *key) {
        json_t *schema = json_pack("{s:s, s:I}", "type", "integer", "minimum",
                                   (json_int_t)((key->min + USEC_PER_SEC - 1) / USEC_PER_SEC));

        if (key->max != USEC_INFINITY)
                json_object_set_new(schema, "maximum",
                                    json_integer((json_int_t)(key->max / USEC_PER_SEC)));
        return schema;
}

/* Durations are texts of systemd's form, or whole seconds. The range of a text is the parser's to
 * check, but where there is only one. */
static void add_duration(json_t *forms, const Key *key) {
        const bool one = key->flags & KEY_DEFAULT_ONLY;
        g_autofree char *pattern = NULL;
        usec_t only = 0;

        if (one && duration_parse(key->fallback, &only) < 0)
                g_assert_not_reached();
        pattern = one ? one_duration_pattern(only) : duration_pattern(key);
        json_array_append_new(forms, json_pack("{s:s, s:s}", "type", "string", "pattern", pattern));
        if (!one)
                json_array_append_new(forms, seconds_schema(key));
        else if (only % USEC_PER_SEC == 0)
                json_array_append_new(
                    forms, json_pack("{s:I}", "const", (json_int_t)(only / USEC_PER_SEC)));
}

static void add_switch(json_t *forms, const Key *key) {
        const bool only = (key->flags & KEY_DEFAULT_ONLY) && key->fallback,
                   yes = !only || g_str_equal(key->fallback, "yes"),
                   no = !only || g_str_equal(key->fallback, "no");

        if (yes)
                json_array_append_new(forms, json_pack("{s:[b,s]}", "enum", true, "yes"));
        if (no)
                json_array_append_new(forms, json_pack("{s:[b,s]}", "enum", false, "no"));
}

static json_t *choice_schema(const Key *key) {
        json_t *names = json_array();

        for (const KeyChoice *choice = key->choices; choice->name; choice++)
                json_array_append_new(names, json_string(choice->name));
        return json_pack("{s:o}", "enum", names);
}

static json_t *list_schema(const Key *key) {
        json_t *schema = type_schema("array");

        if (key->flags & KEY_DEFAULT_ONLY)
                json_object_set_new(schema, "maxItems", json_integer(0));
        json_object_set_new(schema, "items", key_schema(key->entry, 0));
        return schema;
}

static json_t *names_schema(char **names) {
        json_t *list = json_array();

        for (char **name = names; *name; name++)
                json_array_append_new(list, json_string(*name));
        g_strfreev(names);
        return json_pack("{s:o}", "enum", list);
}

static json_t *mapping_schema(const Key *key) {
        json_t *schema = type_schema("object");

        if (key->flags & KEY_DEFAULT_ONLY)
                json_object_set_new(schema, "maxProperties", json_integer(0));
        if (key->flags & KEY_NAMES)
                json_object_set_new(
                    schema, "propertyNames",
                    json_pack("{s:s, s:i}", "pattern", NAME_PATTERN, "maxLength", NAME_LENGTH_MAX));
        if (key->names)
                json_object_set_new(schema, "propertyNames", names_schema(key->names()));
        json_object_set_new(schema, "additionalProperties", key_schema(key->entry, 0));
        return schema;
}

static json_t *key_schema(const Key *key, unsigned without) {
        json_t *forms = json_array(), *schema;

        if (key->forms & (KEY_TEXT | KEY_LITERAL))
                json_array_append_new(forms, text_schema(key));
        if (key->forms & KEY_INTEGER)
                json_array_append_new(forms, integer_schema(key));
        if (key->forms & KEY_SWITCH)
                add_switch(forms, key);
        if (key->forms & KEY_DURATION)
                add_duration(forms, key);
        if (key->forms & KEY_CHOICE)
                json_array_append_new(forms, choice_schema(key));
        if (key->forms & KEY_LIST)
                json_array_append_new(forms, list_schema(key));
        if (key->forms & KEY_NONE)
                json_array_append_new(forms,
                                      json_pack("{s:s, s:i}", "type", "array", "maxItems", 0));
        if (key->forms & KEY_MAPPING)
                json_array_append_new(forms, mapping_schema(key));
        if (key->forms & KEY_TABLE)
                json_array_append_new(forms, table_schema(key->table, without));
        if (key->forms & KEY_NOTHING)
                json_array_append_new(forms, type_schema("null"));
        if (json_array_size(forms) > 1)
                return json_pack("{s:o}", "anyOf", forms);
        schema = json_incref(json_array_get(forms, 0));
        json_decref(forms);
        return schema;
}

/* Return: the schema of a mapping with the table's keys, but for those with a flag of `without`. */
static json_t *table_schema(const KeyTable *table, unsigned without) {
        json_t *schema = type_schema("object"), *properties = json_object(), *needs = json_object();

        for (const Key *key = table->keys; key->name; key++) {
                unsigned inner = g_str_equal(key->name, "defaults") ? KEY_JOB_ONLY : 0;
                json_t *value;

                if (key->flags & without)
                        continue;
                value = key_schema(key, inner);
                if (key->documentation)
                        json_object_set_new(value, "description", json_string(key->documentation));
                if (key->fallback && !(key->forms & (KEY_LIST | KEY_MAPPING | KEY_TABLE)))
                        json_object_set_new(value, "default", json_string(key->fallback));
                if (key->needs)
                        json_object_set_new(needs, key->name, json_pack("[s]", key->needs));
                json_object_set_new(properties, key->name, value);
        }
        json_object_set_new(schema, "properties", properties);
        json_object_set_new(schema, "additionalProperties", json_false());
        if (json_object_size(needs) > 0)
                json_object_set(schema, "dependencies", needs);
        json_decref(needs);
        if (table == &job_table && !without) {
                json_object_set_new(schema, "required", json_pack("[s]", "exec"));
                json_object_set_new(schema, "not",
                                    json_pack("{s:[s,s]}", "required", "schedule", "every"));
        }
        return schema;
}

static int print_schema(const Document *document) {
        json_t *schema = json_object(), *table = table_schema(document->whole, 0);

        json_object_set_new(schema, "$schema", json_string(SCHEMA_DIALECT));
        json_object_set_new(schema, "$id", json_string(document->id));
        json_object_set_new(schema, "title", json_string(document->title));
        json_object_set_new(table, "type", json_pack("[s,s]", "object", "null")); /* or empty */
        json_object_update(schema, table);
        json_decref(table);
        (void)json_dumpf(schema, stdout, JSON_INDENT(2));
        (void)putchar('\n');
        json_decref(schema);
        return 0;
}

/* ---- the manuals, in scdoc ---- */

/* Return: the text with scdoc's own characters escaped; newly allocated. */
static char *escaped(const char *text) {
        GString *out = g_string_new(NULL);

        for (; *text; text++) {
                if (strchr("\\*_~`#<>|[]", *text))
                        g_string_append_c(out, '\\');
                g_string_append_c(out, *text);
        }
        return g_string_free(out, FALSE);
}

static void append_form(GString *text, const char *word) {
        g_string_append_printf(text, "%s%s", text->len > 0 ? ", " : "", word);
}

/* Return: newly allocated, what of a value's form the sentence cannot say: " (1 to 1000)",
 * " (exclusive, shared, none)"; "" when there is nothing. */
static char *values_of(const Key *key) {
        g_autoptr(GString) text = g_string_new(NULL);
        g_autofree char *low = duration_to_string(key->min), *high = duration_to_string(key->max);

        if (key->forms & KEY_SWITCH)
                append_form(text, "yes, no");
        if (key->forms & KEY_INTEGER)
                g_string_append_printf(text, "%" G_GUINT64_FORMAT " to %" G_GUINT64_FORMAT,
                                       key->min, key->max);
        if ((key->forms & KEY_DURATION) && key->max != USEC_INFINITY)
                g_string_append_printf(text, "%s to %s", low, high);
        for (const KeyChoice *choice = key->choices; choice && choice->name; choice++)
                append_form(text, choice->name);
        if (key->fallback && g_str_equal(text->str, key->fallback))
                g_string_truncate(text, 0); /* the default is the only value */
        return text->len > 0 ? g_strdup_printf(" (%s)", text->str) : g_strdup("");
}

static bool is_reserved(const Key *key) {
        return key->flags & KEY_DEFAULT_ONLY;
}

typedef void (*KeyVisit)(const Key *key, const char *name, GString *out);

/* Visits the keys, and those of nested tables by their full name, "zookeeper.root"; a table that
 * `take` decodes has names of people's own and a section of its own. */
static void keys_walk(const KeyTable *table, const char *prefix, KeyVisit visit, GString *out) {
        for (const Key *key = table->keys; key->name; key++) {
                g_autofree char *name = g_strconcat(prefix, key->name, NULL);

                if ((key->forms & KEY_TABLE) && !(key->flags & KEY_BY_TAKE)) {
                        g_autofree char *inner = g_strconcat(name, ".", NULL);

                        keys_walk(key->table, inner, visit, out);
                        continue;
                }
                visit(key, name, out);
        }
}

/* Return: newly allocated, the key's sentence without its full stop, with its values. */
static char *meaning_of(const Key *key) {
        g_autofree char *values = values_of(key);
        g_autofree char *sentence = g_strdup(key->documentation ? key->documentation : "");

        if (g_str_has_suffix(sentence, "."))
                sentence[strlen(sentence) - 1] = '\0';
        return g_strconcat(sentence, values, NULL);
}

static void visit_key(const Key *key, const char *name, GString *out) {
        g_autofree char *meaning = meaning_of(key), *shown = escaped(meaning);
        g_autofree char *fallback = escaped(key->fallback ? key->fallback : "");

        if (!is_reserved(key))
                g_string_append_printf(out, "|  *%s*\n:  %s\n:  %s\n", name, fallback, shown);
}

static void visit_reserved(const Key *key, const char *name, GString *out) {
        g_autofree char *fallback = escaped(key->fallback ? key->fallback : "");

        if (is_reserved(key))
                g_string_append_printf(out, "|  *%s*\n:  %s\n:  anything but the default\n", name,
                                       fallback);
}

static void print_table(const Document *document, KeyVisit visit, const char *last) {
        g_autoptr(GString) rows = g_string_new(NULL);

        keys_walk(document->keys, "", visit, rows);
        printf("|[ *Key*\n:[ *Default*\n:< *%s*\n%s", last, rows->str);
}

static int print_manual(void) {
        char line[8192], kind[16], name[16];

        while (fgets(line, sizeof line, stdin)) {
                const Document *document;

                if (sscanf(line, "@%15[a-z] %15[a-z]@", kind, name) != 2) {
                        (void)fputs(line, stdout);
                        continue;
                }
                document = document_find(name);
                if (!document)
                        return -EINVAL;
                if (g_str_equal(kind, "reserved"))
                        print_table(document, visit_reserved, "Refused");
                else
                        print_table(document, visit_key, "Meaning");
        }
        return ferror(stdin) || ferror(stdout) ? -EIO : 0;
}

/* ---- for tests ---- */

static void visit_list(const Key *key, const char *name, GString *out) {
        g_string_append_printf(out, "%s\t%s\t%s\n", name, key->fallback ? key->fallback : "",
                               is_reserved(key) ? "reserved" : "");
}

static int print_list(const Document *document) {
        g_autoptr(GString) rows = g_string_new(NULL);

        keys_walk(document->keys, "", visit_list, rows);
        (void)fputs(rows->str, stdout);
        return 0;
}

int main(int argc, char **argv) {
        const Document *document = argc == 3 ? document_find(argv[2]) : NULL;
        int r = -EINVAL;

        if (argc == 2 && g_str_equal(argv[1], "manual"))
                r = print_manual();
        else if (document && g_str_equal(argv[1], "schema"))
                r = print_schema(document);
        else if (document && g_str_equal(argv[1], "list"))
                r = print_list(document);
        if (r < 0)
                (void)fprintf(stderr, "key-documents: %s\n", g_strerror(-r));
        return r < 0 ? 1 : 0;
}
