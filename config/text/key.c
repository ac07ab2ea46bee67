/* See key.h. Decoding a value goes: is it of one of the key's forms? For a scalar: is it well
 * written, in range, one of the choices, supported? Then it is stored. For a collection: decode
 * what is in it. Last comes the key's own `take`. */
#include "key.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "duration.h"
#include "name.h"
#include "nearest.h"

#define ACCOUNT_LENGTH_MAX 255
#define SCALAR_FORMS (KEY_TEXT | KEY_LITERAL | KEY_INTEGER | KEY_SWITCH | KEY_DURATION | KEY_CHOICE)

const char *line_fault(const char *text) {
        for (const char *c = text; *c; c++)
                if (g_ascii_iscntrl(*c))
                        return "may not have line breaks or other control characters";
        return NULL;
}

const char *path_fault(const char *text) {
        g_auto(GStrv) parts = NULL;

        if (*text != '/')
                return "is not an absolute path";
        if (strlen(text) >= PATH_MAX)
                return "is too long for a path";
        parts = g_strsplit(text, "/", -1);
        for (char **part = parts; *part; part++)
                if (g_str_equal(*part, "..") || g_str_equal(*part, "."))
                        return "may not have \".\" or \"..\" in it";
        return line_fault(text);
}

const char *account_fault(const char *text) {
        if (!*text)
                return "is empty";
        if (strlen(text) > ACCOUNT_LENGTH_MAX)
                return "is too long";
        if (*text == '-' || strpbrk(text, " \t:/"))
                return "is not a name of a user or group";
        return line_fault(text);
}

const char *resource_name_fault(const char *text) {
        if (name_is_of_job_lock(text))
                return "is a job's own: the key \"lock\" says how a job holds that";
        return name_fault(text);
}

const Key *key_table_find(const KeyTable *table, const char *name) {
        for (const Key *key = table->keys; key->name; key++)
                if (g_str_equal(key->name, name))
                        return key;
        return NULL;
}

/* Return: the forms as people would say them: "an integer", "a text or a list". */
static char *forms_to_string(const Key *key) {
        g_autoptr(GPtrArray) words = g_ptr_array_new_with_free_func(g_free);
        GString *text = g_string_new(NULL);

        if (key->forms & (KEY_TEXT | KEY_LITERAL))
                g_ptr_array_add(words, g_strdup("a text"));
        if (key->forms & KEY_INTEGER)
                g_ptr_array_add(words, g_strdup("an integer"));
        if (key->forms & KEY_SWITCH)
                g_ptr_array_add(words, g_strdup("yes or no"));
        if (key->forms & KEY_DURATION)
                g_ptr_array_add(words, g_strdup("a duration (\"1h 30min\", or whole seconds)"));
        for (const KeyChoice *choice = key->choices; choice && choice->name; choice++)
                g_ptr_array_add(words, g_strdup_printf("\"%s\"", choice->name));
        if (key->forms & KEY_LIST)
                g_ptr_array_add(words, g_strdup("a list"));
        if (key->forms & KEY_NONE)
                g_ptr_array_add(words, g_strdup("[] for none"));
        if (key->forms & (KEY_MAPPING | KEY_TABLE))
                g_ptr_array_add(words, g_strdup("a mapping"));
        for (guint i = 0; i < words->len; i++)
                g_string_append_printf(text, "%s%s",
                                       i == 0                ? ""
                                       : i + 1 == words->len ? " or "
                                                             : ", ",
                                       (const char *)words->pdata[i]);
        return g_string_free(text, FALSE);
}

static void report_form(const Key *key, const char *label, const YamlNode *node,
                        Diagnostics *diagnostics) {
        g_autofree char *forms = forms_to_string(key);
        YamlKind kind = yaml_node_kind(node);
        const char *fault = kind == YAML_KIND_TEXT && key->fault ? key->fault(node->text) : NULL;
        bool quote =
            (key->forms & KEY_TEXT) && node->type == YAML_SCALAR && kind != YAML_KIND_NOTHING;

        if (fault)
                diagnostics_add(diagnostics, &node->mark, "%s: \"%s\" %s", label, node->text,
                                fault);
        else if (kind == YAML_KIND_TEXT)
                diagnostics_add(diagnostics, &node->mark, "%s must be %s, not \"%s\"", label, forms,
                                node->text);
        else
                diagnostics_add(diagnostics, &node->mark, "%s must be %s, not %s%s", label, forms,
                                yaml_kind_to_string(kind), quote ? " (put it in quotes)" : "");
}

/* Return: 0, -EINVAL when it is not written as a decimal integer without leading zeros, -ERANGE
 * when it is too large or negative. */
static int parse_integer(const char *text, uint64_t *ret) {
        guint64 value;

        if (!*text || (text[*text == '-' ? 1 : 0] == '0' && text[1]))
                return -EINVAL;
        if (*text == '-' && g_ascii_isdigit(text[1]) && !text[1 + strspn(text + 1, "0123456789")])
                return -ERANGE;
        if (text[strspn(text, "0123456789")])
                return -EINVAL;
        errno = 0;
        value = g_ascii_strtoull(text, NULL, 10);
        if (errno == ERANGE)
                return -ERANGE;
        *ret = value;
        return 0;
}

static int parse_duration(const YamlNode *node, uint64_t *ret) {
        uint64_t seconds;
        int r;

        switch (yaml_node_kind(node)) {
        case YAML_KIND_TEXT:
                return duration_parse(node->text, ret);
        case YAML_KIND_INTEGER:
                r = parse_integer(node->text, &seconds);
                if (r < 0)
                        return r;
                return __builtin_mul_overflow(seconds, USEC_PER_SEC, ret) ? -ERANGE : 0;
        default:
                return -EINVAL;
        }
}

static int parse_switch(const YamlNode *node, uint64_t *ret) {
        if (!node->plain)
                return -EINVAL;
        if (g_str_equal(node->text, "yes") || g_str_equal(node->text, "true"))
                *ret = true;
        else if (g_str_equal(node->text, "no") || g_str_equal(node->text, "false"))
                *ret = false;
        else
                return -EINVAL;
        return 0;
}

static int parse_choice(const Key *key, const YamlNode *node, uint64_t *ret) {
        for (const KeyChoice *choice = key->choices; choice->name; choice++) {
                if (!g_str_equal(choice->name, node->text))
                        continue;
                *ret = (uint64_t)choice->value;
                return 0;
        }
        return -EINVAL;
}

/* Reads the number that a scalar stands for. Return: 0; -EINVAL when it is not of the form; -ERANGE
 * when it is far out of range. */
static int key_parse_number(const Key *key, const YamlNode *node, uint64_t *ret) {
        if (key->forms & KEY_INTEGER)
                return yaml_node_kind(node) == YAML_KIND_INTEGER ? parse_integer(node->text, ret)
                                                                 : -EINVAL;
        if (key->forms & KEY_DURATION)
                return parse_duration(node, ret);
        if (key->forms & KEY_SWITCH)
                return parse_switch(node, ret);
        return parse_choice(key, node, ret);
}

uint64_t key_number(const Key *key, const YamlNode *node) {
        uint64_t number = 0;
        int r = key_parse_number(key, node, &number);

        g_assert(r == 0);
        return number;
}

static void report_range(const Key *key, const char *label, const YamlNode *node,
                         Diagnostics *diagnostics) {
        g_autofree char *least = NULL, *most = NULL;

        if (key->forms & KEY_DURATION) {
                least = duration_to_string(key->min);
                most = duration_to_string(key->max);
        } else {
                least = g_strdup_printf("%" PRIu64, key->min);
                most = g_strdup_printf("%" PRIu64, key->max);
        }
        diagnostics_add(diagnostics, &node->mark, "%s must be from %s to %s, not %s", label, least,
                        most, node->text);
}

/* Return: whether the key's default is this number. */
static bool number_is_default(const Key *key, uint64_t number) {
        YamlNode fallback = {.type = YAML_SCALAR, .text = (char *)key->fallback, .plain = true};

        return key->fallback && key_number(key, &fallback) == number;
}

/* Return: whether a number that is written well is also one we can work with today. */
static bool check_support(const Key *key, const char *label, const YamlNode *node, uint64_t number,
                          Diagnostics *diagnostics) {
        if ((key->flags & KEY_DEFAULT_ONLY) && !number_is_default(key, number)) {
                diagnostics_add(diagnostics, &node->mark, "%s other than %s is not supported yet",
                                label, key->fallback);
                return false;
        }
        return true;
}

static void store_number(const Key *key, uint64_t number, void *target) {
        char *field = (char *)target + key->offset;

        switch (key->size) {
        case sizeof(uint64_t):
                memcpy(field, &number, sizeof number);
                break;
        case sizeof(uint32_t):
                memcpy(field, &(uint32_t){(uint32_t)number}, sizeof(uint32_t));
                break;
        case sizeof(bool):
                memcpy(field, &(bool){number != 0}, sizeof(bool));
                break;
        default:
                g_assert_not_reached();
        }
}

static bool decode_number(const Key *key, const char *label, const YamlNode *node, void *target,
                          Diagnostics *diagnostics) {
        bool ranged = key->forms & (KEY_INTEGER | KEY_DURATION);
        uint64_t number = 0;
        int r = key_parse_number(key, node, &number);

        if (r == 0 && ranged && (number < key->min || number > key->max))
                r = -ERANGE;
        if (r == -EINVAL && yaml_node_kind(node) == YAML_KIND_INTEGER && ranged) {
                diagnostics_add(
                    diagnostics, &node->mark,
                    "%s must be written in decimal digits without leading zeros, not %s", label,
                    node->text);
                return false;
        }
        if (r == -ERANGE)
                report_range(key, label, node, diagnostics);
        else if (r < 0)
                report_form(key, label, node, diagnostics);
        if (r < 0 || !check_support(key, label, node, number, diagnostics))
                return false;
        if (target && key->size > 0)
                store_number(key, number, target);
        return true;
}

static bool decode_text(const Key *key, const char *label, const YamlNode *node, void *target,
                        Diagnostics *diagnostics) {
        const char *fault = key->fault ? key->fault(node->text) : NULL;

        if (fault) {
                diagnostics_add(diagnostics, &node->mark, "%s: \"%s\" %s", label, node->text,
                                fault);
                return false;
        }
        if (target && key->size > 0) {
                char **field = (char **)(void *)((char *)target + key->offset);

                g_free(*field);
                *field = g_strdup(node->text);
        }
        return true;
}

/* Decodes each entry of a list or of a mapping with free names, without a target. Return: whether
 * all were good. */
static bool check_entries(const Key *key, const char *label, const YamlNode *node,
                          Diagnostics *diagnostics) {
        bool good = true;

        for (guint i = 0; i < node->items->len; i++) {
                const YamlNode *entry = node->items->pdata[i];
                g_autofree char *place = NULL;

                if (node->type == YAML_MAPPING) {
                        const YamlPair *pair = node->items->pdata[i];

                        entry = pair->value;
                        place = g_strdup_printf("\"%s\" of %s", pair->key->text, label);
                } else {
                        place = g_strdup_printf("an entry of %s", label);
                }
                good &= key_decode(key->entry, place, entry, NULL, diagnostics);
        }
        return good;
}

static void take_text_away(const Key *key, void *target) {
        if (target && key->size > 0)
                g_clear_pointer((char **)(void *)((char *)target + key->offset), g_free);
}

static bool decode_collection(const Key *key, const char *label, const YamlNode *node, void *target,
                              Diagnostics *diagnostics) {
        unsigned before = diagnostics_count(diagnostics);

        if (key->flags & KEY_BY_TAKE)
                return true;
        if (key->forms & KEY_NONE) {
                take_text_away(key, target);
                return true;
        }
        if (node->type == YAML_MAPPING && (key->forms & KEY_TABLE)) {
                if (target) /* what stood there before is replaced as a whole */
                        key_table_set_defaults(key->table, target);
                key_table_decode(key->table, node, target, diagnostics);
                return diagnostics_count(diagnostics) == before;
        }
        if (!check_entries(key, label, node, diagnostics))
                return false;
        if ((key->flags & KEY_DEFAULT_ONLY) && node->items->len > 0) {
                diagnostics_add(diagnostics, &node->mark, "%s is not supported yet", label);
                return false;
        }
        return true;
}

/* Return: whether the value's form is one of the key's. Choices, switches and durations are looked
 * at more closely later. */
static bool form_fits(const Key *key, const YamlNode *node) {
        switch (yaml_node_kind(node)) {
        case YAML_KIND_NOTHING:
                return key->forms & KEY_NOTHING;
        case YAML_KIND_TEXT:
                return key->forms & SCALAR_FORMS;
        case YAML_KIND_BOOLEAN:
        case YAML_KIND_INTEGER:
        case YAML_KIND_FLOAT:
                return key->forms & (SCALAR_FORMS & ~(unsigned)KEY_TEXT);
        case YAML_KIND_LIST:
                return (key->forms & KEY_LIST) ||
                       ((key->forms & KEY_NONE) && node->items->len == 0);
        case YAML_KIND_MAPPING:
                return key->forms & (KEY_MAPPING | KEY_TABLE);
        case YAML_KIND_BROKEN:
                return false;
        }
        g_assert_not_reached();
}

bool key_decode(const Key *key, const char *label, const YamlNode *node, void *target,
                Diagnostics *diagnostics) {
        bool good;

        if (node->type == YAML_BROKEN)
                return false;
        if (!form_fits(key, node)) {
                report_form(key, label, node, diagnostics);
                return false;
        }
        if (yaml_node_kind(node) == YAML_KIND_NOTHING)
                return true;
        if (node->type != YAML_SCALAR)
                good = decode_collection(key, label, node, target, diagnostics);
        else if (key->forms & (KEY_TEXT | KEY_LITERAL))
                good = decode_text(key, label, node, target, diagnostics);
        else
                good = decode_number(key, label, node, target, diagnostics);
        if (!good || !target)
                return good;
        if (key->mark_offset > 0)
                memcpy((char *)target + key->mark_offset, &node->mark, sizeof node->mark);
        if (key->take)
                key->take(key, node, target, diagnostics);
        return true;
}

/* Return: newly allocated, where the key stands instead, when a table of one of the keys has it:
 * alone, or as "KEY.INNER". */
static char *place_of_inner(const KeyTable *table, const char *name) {
        const char *dot = strchr(name, '.');

        for (const Key *key = table->keys; key->name; key++) {
                if (!key->table || (key->flags & KEY_BY_TAKE))
                        continue;
                if (key_table_find(key->table, name))
                        return g_strdup_printf("it stands below \"%s\"", key->name);
                if (dot && strncmp(name, key->name, (size_t)(dot - name)) == 0 &&
                    !key->name[dot - name] && key_table_find(key->table, dot + 1))
                        return g_strdup_printf(
                            "write \"%s:\", and below it \"%s\", indented further", key->name,
                            dot + 1);
        }
        return NULL;
}

static void report_unknown(const KeyTable *table, const YamlPair *pair, Diagnostics *diagnostics) {
        g_autoptr(GPtrArray) names = g_ptr_array_new_null_terminated(0, NULL, TRUE);
        g_autofree char *advice = table->advice ? table->advice(pair) : NULL;
        const YamlNode *key = pair->key;
        const char *nearest;

        if (!advice)
                advice = place_of_inner(table, key->text);
        if (advice) {
                diagnostics_add(diagnostics, &key->mark, "unknown key \"%s\": %s", key->text,
                                advice);
                return;
        }

        for (const Key *known = table->keys; known->name; known++)
                g_ptr_array_add(names, (gpointer)known->name);
        nearest = nearest_name(key->text, (const char *const *)names->pdata);
        if (nearest)
                diagnostics_add(diagnostics, &key->mark,
                                "unknown key \"%s\" (did you mean \"%s\"?)", key->text, nearest);
        else
                diagnostics_add(diagnostics, &key->mark, "unknown key \"%s\"", key->text);
}

void key_table_decode(const KeyTable *table, const YamlNode *node, void *target,
                      Diagnostics *diagnostics) {
        if (node->type == YAML_BROKEN)
                return;
        if (node->type != YAML_MAPPING) {
                diagnostics_add(diagnostics, &node->mark, "%s must be a mapping, not %s",
                                table->title, yaml_kind_to_string(yaml_node_kind(node)));
                return;
        }
        for (guint i = 0; i < node->items->len; i++) {
                const YamlPair *pair = node->items->pdata[i];
                const Key *key = key_table_find(table, pair->key->text);
                g_autofree char *label = g_strdup_printf("\"%s\"", pair->key->text);

                if (key)
                        (void)key_decode(key, label, pair->value, target, diagnostics);
                else
                        report_unknown(table, pair, diagnostics);
        }
}

void key_table_set_defaults(const KeyTable *table, void *target) {
        for (const Key *key = table->keys; key->name; key++) {
                YamlNode node = {.type = YAML_SCALAR, .text = (char *)key->fallback, .plain = true};

                if ((key->forms & KEY_TABLE) && !(key->flags & KEY_BY_TAKE))
                        key_table_set_defaults(key->table, target);
                if (key->size == 0 || !key->fallback)
                        continue;
                if (key->forms & (KEY_TEXT | KEY_LITERAL)) {
                        char **field = (char **)(void *)((char *)target + key->offset);

                        g_free(*field);
                        *field = g_strdup(key->fallback);
                } else {
                        store_number(key, key_number(key, &node), target);
                }
        }
}
