/* See yaml.h. libyaml's events are turned into the tree by one function a kind of node. The
 * recursion ends at YAML_DEPTH_MAX, and the parse with it: libyaml's time grows with the square of
 * the depth, so that what lies below is not even skipped. */
#include "yaml.h"

#include <errno.h>
#include <string.h>
#include <yaml.h>

#include "yaml-hint.h"

/* What editors of other systems put before a text. */
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

typedef struct Loader {
        yaml_parser_t parser;
        const char *file; /* interned */
        Diagnostics *diagnostics;
} Loader;

YamlNode *yaml_node_free(YamlNode *node) {
        if (!node)
                return NULL;
        g_free(node->text);
        if (node->items)
                g_ptr_array_unref(node->items);
        g_free(node);
        return NULL;
}

static void item_free(gpointer data) {
        yaml_node_free(data);
}

static void pair_free(gpointer data) {
        YamlPair *pair = data;

        yaml_node_free(pair->key);
        yaml_node_free(pair->value);
        g_free(pair);
}

static Mark loader_mark(const Loader *loader, const yaml_mark_t *mark) {
        return (Mark){loader->file, (unsigned)mark->line + 1, (unsigned)mark->column + 1};
}

static YamlNode *yaml_node_new(const Loader *loader, YamlType type, const yaml_event_t *event) {
        YamlNode *node = g_new0(YamlNode, 1);

        node->type = type;
        node->mark = loader_mark(loader, &event->start_mark);
        return node;
}

/* Return: the mark of the byte at `offset`. */
static Mark mark_at(const char *file, const char *text, size_t offset) {
        Mark mark = {file, 1, 1};

        for (size_t i = 0; i < offset; i++) {
                if (text[i] == '\n') {
                        mark.line++;
                        mark.column = 1;
                } else if (((unsigned char)text[i] & 0xc0) != 0x80) {
                        mark.column++; /* columns count characters, so not the later bytes of one */
                }
        }
        return mark;
}

/* Checks what concerns the text as a whole. Return: 0 or -EBADMSG. */
static int check_text(const char *file, const char *text, size_t size, Diagnostics *diagnostics) {
        const char *end;
        Mark mark = {file, 0, 0};

        if (size > YAML_SIZE_MAX) {
                diagnostics_add(diagnostics, &mark, "is larger than %zu KiB", YAML_SIZE_MAX / 1024);
                return -EBADMSG;
        }
        if (g_utf8_validate(text, (gssize)size, &end))
                return 0;
        mark = mark_at(file, text, (size_t)(end - text));
        diagnostics_add(diagnostics, &mark,
                        *end ? "is not valid UTF-8 here" : "has a zero byte here");
        return -EBADMSG;
}

/* Return: what to do about it, with *mark at its place; NULL where we only know what libyaml says.
 * The place of an alias that cannot be read is that of its "*". */
static char *explain_syntax(const yaml_parser_t *parser, const char *text, Mark *mark) {
        Mark context = {mark->file, (unsigned)parser->context_mark.line + 1,
                        (unsigned)parser->context_mark.column + 1};
        char *hint = NULL;

        if (parser->context && g_str_has_prefix(parser->context, "while scanning a"))
                hint = yaml_hint(text, &context);
        if (!hint)
                return yaml_hint(text, mark);
        *mark = context;
        return hint;
}

/* Reports why libyaml stopped; nothing where it was we who did. */
static void report_syntax(const Loader *loader, const char *text, size_t size) {
        const yaml_parser_t *parser = &loader->parser;
        const char *problem = parser->problem ? parser->problem : "cannot be read";
        g_autofree char *whole = NULL, *hint = NULL;
        Mark mark;

        if (parser->error == YAML_NO_ERROR)
                return;
        if (parser->error == YAML_READER_ERROR) {
                mark = mark_at(loader->file, text, parser->problem_offset);
                diagnostics_add(loader->diagnostics, &mark, "not valid YAML: %s", problem);
                return;
        }
        mark = loader_mark(loader, &parser->problem_mark);
        whole = g_strndup(text, size);
        hint = explain_syntax(parser, whole, &mark);
        if (hint)
                diagnostics_add(loader->diagnostics, &mark, "%s", hint);
        else if (strstr(problem, "mapping values are not allowed"))
                diagnostics_add(loader->diagnostics, &mark,
                                "a second \":\" in one value: put a text that has \": \" in it in "
                                "quotes, or check how the line is indented");
        else if (parser->context)
                diagnostics_add(loader->diagnostics, &mark,
                                "not valid YAML: %s (%s that begins in line %zu)", problem,
                                parser->context, parser->context_mark.line + 1);
        else
                diagnostics_add(loader->diagnostics, &mark, "not valid YAML: %s", problem);
}

/* Refuses what may decorate any node. Return: whether the node is acceptable. */
static bool check_decoration(const Loader *loader, const Mark *mark, const yaml_char_t *anchor,
                             const yaml_char_t *tag) {
        if (anchor)
                diagnostics_add(loader->diagnostics, mark,
                                "anchors (\"&%s\") are not used here: put a text that begins with "
                                "\"&\" in quotes",
                                (const char *)anchor);
        if (tag)
                diagnostics_add(
                    loader->diagnostics, mark,
                    "tags (\"%s\") are not used here: put a text that begins with \"!\" "
                    "in quotes",
                    (const char *)tag);
        return !anchor && !tag;
}

static YamlNode *build_scalar(const Loader *loader, const yaml_event_t *event) {
        const char *value = (const char *)event->data.scalar.value;
        YamlNode *node = yaml_node_new(loader, YAML_SCALAR, event);

        if (!check_decoration(loader, &node->mark, event->data.scalar.anchor,
                              event->data.scalar.tag))
                node->type = YAML_BROKEN;
        if (strlen(value) != event->data.scalar.length) {
                diagnostics_add(loader->diagnostics, &node->mark,
                                "a text must not have a zero byte");
                node->type = YAML_BROKEN;
        }
        node->text = g_strdup(value);
        node->plain = event->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
        return node;
}

static YamlNode *build_node(Loader *loader, unsigned depth, bool *ret_end);

/* Reads the items of a list. Return: false on a syntax error. */
static bool build_list(Loader *loader, YamlNode *list, unsigned depth) {
        list->items = g_ptr_array_new_with_free_func(item_free);
        for (;;) {
                bool end = false;
                YamlNode *item = build_node(loader, depth + 1, &end);

                if (!item)
                        return end;
                g_ptr_array_add(list->items, item);
        }
}

/* Return: whether the key can be one of the mapping whose keys so far are in `seen` (text ->
 * YamlNode). */
static bool check_key(const Loader *loader, GHashTable *seen, const YamlNode *key) {
        const YamlNode *first;

        if (key->type == YAML_BROKEN)
                return false;
        if (key->type != YAML_SCALAR) {
                diagnostics_add(loader->diagnostics, &key->mark, "a key must be a text, not %s",
                                yaml_kind_to_string(yaml_node_kind(key)));
                return false;
        }
        if (key->plain && g_str_equal(key->text, "<<")) {
                diagnostics_add(loader->diagnostics, &key->mark,
                                "merge keys (\"<<\") are not used here");
                return false;
        }
        first = g_hash_table_lookup(seen, key->text);
        if (first) {
                diagnostics_add(loader->diagnostics, &key->mark,
                                "duplicate key \"%s\" (first in line %u)", key->text,
                                first->mark.line);
                return false;
        }
        return true;
}

/* Reads the pairs of a mapping. Return: false on a syntax error. */
static bool build_mapping(Loader *loader, YamlNode *mapping, unsigned depth) {
        g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);

        mapping->items = g_ptr_array_new_with_free_func(pair_free);
        for (;;) {
                bool end = false;
                _cleanup_(yaml_node_freep) YamlNode *key = build_node(loader, depth + 1, &end);
                _cleanup_(yaml_node_freep) YamlNode *value = NULL;
                YamlPair *pair;

                if (!key)
                        return end;
                value = build_node(loader, depth + 1, &end);
                if (!value)
                        return false;
                if (!check_key(loader, seen, key))
                        continue;
                g_hash_table_insert(seen, key->text, key);
                pair = g_new0(YamlPair, 1);
                pair->key = g_steal_pointer(&key);
                pair->value = g_steal_pointer(&value);
                g_ptr_array_add(mapping->items, pair);
        }
}

/* Makes a list or a mapping of what has begun. Return: NULL on a syntax error, and when it lies too
 * deep. */
static YamlNode *build_collection(Loader *loader, const yaml_event_t *event, unsigned depth) {
        bool is_list = event->type == YAML_SEQUENCE_START_EVENT;
        _cleanup_(yaml_node_freep) YamlNode *node =
            yaml_node_new(loader, is_list ? YAML_LIST : YAML_MAPPING, event);
        bool ok;

        if (depth > YAML_DEPTH_MAX) {
                diagnostics_add(loader->diagnostics, &node->mark, "is nested deeper than %d levels",
                                YAML_DEPTH_MAX);
                return NULL;
        }
        ok = is_list ? build_list(loader, node, depth) : build_mapping(loader, node, depth);
        if (!ok)
                return NULL;
        if (is_list ? !check_decoration(loader, &node->mark, event->data.sequence_start.anchor,
                                        event->data.sequence_start.tag)
                    : !check_decoration(loader, &node->mark, event->data.mapping_start.anchor,
                                        event->data.mapping_start.tag))
                node->type = YAML_BROKEN;
        return g_steal_pointer(&node);
}

static YamlNode *build_alias(const Loader *loader, const yaml_event_t *event) {
        YamlNode *node = yaml_node_new(loader, YAML_BROKEN, event);

        diagnostics_add(loader->diagnostics, &node->mark,
                        "aliases (\"*%s\") are not used here: put a text that begins with \"*\" in "
                        "quotes",
                        (const char *)event->data.alias.anchor);
        return node;
}

/* Return: the next node; NULL with *ret_end set when the collection around it ends, NULL without on
 * a syntax error. */
static YamlNode *build_node(Loader *loader, unsigned depth, bool *ret_end) {
        YamlNode *node = NULL;
        yaml_event_t event;

        if (!yaml_parser_parse(&loader->parser, &event))
                return NULL;
        if (event.type == YAML_SCALAR_EVENT)
                node = build_scalar(loader, &event);
        else if (event.type == YAML_ALIAS_EVENT)
                node = build_alias(loader, &event);
        else if (event.type == YAML_SEQUENCE_START_EVENT || event.type == YAML_MAPPING_START_EVENT)
                node = build_collection(loader, &event, depth);
        else
                *ret_end = true;
        yaml_event_delete(&event);
        return node;
}

/* Moves on to the next event of the stream. Return: false on a syntax error. */
static bool next_type(Loader *loader, yaml_event_type_t *ret_type, Mark *ret_mark) {
        yaml_event_t event;

        if (!yaml_parser_parse(&loader->parser, &event))
                return false;
        *ret_type = event.type;
        *ret_mark = loader_mark(loader, &event.start_mark);
        if (event.type == YAML_DOCUMENT_START_EVENT &&
            event.data.document_start.tag_directives.start !=
                event.data.document_start.tag_directives.end)
                diagnostics_add(loader->diagnostics, ret_mark,
                                "tags (\"%%TAG\") are not used here");
        yaml_event_delete(&event);
        return true;
}

/* Return: the root of the only document; NULL on a syntax error. */
static YamlNode *build_document(Loader *loader) {
        _cleanup_(yaml_node_freep) YamlNode *root = NULL;
        yaml_event_type_t type;
        bool end = false;
        Mark mark;

        if (!next_type(loader, &type, &mark)) /* the stream's beginning */
                return NULL;
        if (!next_type(loader, &type, &mark))
                return NULL;
        if (type == YAML_STREAM_END_EVENT) {
                root = g_new0(YamlNode, 1); /* YAML_SCALAR */
                root->mark = mark;
                root->text = g_strdup("");
                root->plain = true;
                return g_steal_pointer(&root);
        }
        root = build_node(loader, 1, &end);
        if (!root || !next_type(loader, &type, &mark)) /* the document's end */
                return NULL;
        if (!next_type(loader, &type, &mark))
                return NULL;
        if (type == YAML_DOCUMENT_START_EVENT)
                diagnostics_add(loader->diagnostics, &mark,
                                "a second document begins here: only one is allowed");
        return g_steal_pointer(&root);
}

int yaml_tree_parse(const char *file, const char *text, size_t size, Diagnostics *diagnostics,
                    YamlNode **ret_root) {
        Loader loader = {.file = g_intern_string(file), .diagnostics = diagnostics};
        YamlNode *root;
        int r;

        if (size >= strlen(BYTE_ORDER_MARK) &&
            memcmp(text, BYTE_ORDER_MARK, strlen(BYTE_ORDER_MARK)) == 0) {
                text += strlen(BYTE_ORDER_MARK); /* libyaml would count it as an indentation */
                size -= strlen(BYTE_ORDER_MARK);
        }
        r = check_text(loader.file, text, size, diagnostics);
        if (r < 0)
                return r;
        if (!yaml_parser_initialize(&loader.parser))
                return -ENOMEM;
        yaml_parser_set_encoding(&loader.parser, YAML_UTF8_ENCODING);
        yaml_parser_set_input_string(&loader.parser, (const unsigned char *)text, size);
        root = build_document(&loader);
        if (!root)
                report_syntax(&loader, text, size);
        yaml_parser_delete(&loader.parser);
        if (!root)
                return -EBADMSG;
        *ret_root = root;
        return 0;
}

/* Return: whether `text` is one of the NULL-terminated words. */
static bool is_one_of(const char *text, const char *const *words) {
        return g_strv_contains(words, text);
}

/* [-+]? [0-9]+, and the octal and hexadecimal forms of the core schema. */
static bool is_integer(const char *text) {
        const char *digits = text + (*text == '-' || *text == '+');

        if (g_str_has_prefix(text, "0o"))
                return text[2] && !text[2 + strspn(text + 2, "01234567")];
        if (g_str_has_prefix(text, "0x"))
                return text[2] && !text[2 + strspn(text + 2, "0123456789abcdefABCDEF")];
        return *digits && !digits[strspn(digits, "0123456789")];
}

/* [-+]? ( .[0-9]+ | [0-9]+ ( .[0-9]* )? ) ( [eE] [-+]? [0-9]+ )?, and the words for infinity and
 * not-a-number. */
static bool is_float(const char *text) {
        static const char *const words[] = {".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN", NULL};
        const char *rest = text + (*text == '-' || *text == '+');
        size_t whole, fraction = 0;

        if (is_one_of(rest, words))
                return true;
        whole = strspn(rest, "0123456789");
        rest += whole;
        if (*rest == '.') {
                fraction = strspn(rest + 1, "0123456789");
                rest += 1 + fraction;
        }
        if (whole + fraction == 0)
                return false;
        if (*rest == 'e' || *rest == 'E') {
                rest += 1 + (rest[1] == '-' || rest[1] == '+');
                if (!*rest)
                        return false;
                rest += strspn(rest, "0123456789");
        }
        return !*rest;
}

static YamlKind plain_kind(const char *text) {
        static const char *const nothing[] = {"", "~", "null", "Null", "NULL", NULL};
        static const char *const boolean[] = {"true",  "True",  "TRUE", "false",
                                              "False", "FALSE", NULL};

        if (is_one_of(text, nothing))
                return YAML_KIND_NOTHING;
        if (is_one_of(text, boolean))
                return YAML_KIND_BOOLEAN;
        if (is_integer(text))
                return YAML_KIND_INTEGER;
        return is_float(text) ? YAML_KIND_FLOAT : YAML_KIND_TEXT;
}

YamlKind yaml_node_kind(const YamlNode *node) {
        switch (node->type) {
        case YAML_SCALAR:
                return node->plain ? plain_kind(node->text) : YAML_KIND_TEXT;
        case YAML_LIST:
                return YAML_KIND_LIST;
        case YAML_MAPPING:
                return YAML_KIND_MAPPING;
        case YAML_BROKEN:
                return YAML_KIND_BROKEN;
        }
        g_assert_not_reached();
}

const char *yaml_kind_to_string(YamlKind kind) {
        static const char *const words[] = {
            [YAML_KIND_NOTHING] = "nothing",    [YAML_KIND_BOOLEAN] = "a boolean",
            [YAML_KIND_INTEGER] = "an integer", [YAML_KIND_FLOAT] = "a fraction",
            [YAML_KIND_TEXT] = "a text",        [YAML_KIND_LIST] = "a list",
            [YAML_KIND_MAPPING] = "a mapping",  [YAML_KIND_BROKEN] = "something refused",
        };

        return words[kind];
}

const YamlPair *yaml_node_pair(const YamlNode *node, const char *key) {
        if (!node || node->type != YAML_MAPPING)
                return NULL;
        for (guint i = 0; i < node->items->len; i++) {
                const YamlPair *pair = g_ptr_array_index(node->items, i);

                if (g_str_equal(pair->key->text, key))
                        return pair;
        }
        return NULL;
}

const YamlNode *yaml_node_get(const YamlNode *node, const char *key) {
        const YamlPair *pair = yaml_node_pair(node, key);

        return pair ? pair->value : NULL;
}
