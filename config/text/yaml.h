/* YAML as people write configuration in it: a tree of texts, lists and mappings in which every node
 * knows its mark.
 *
 * The loader is strict. Aliases and anchors, tags, merge keys, duplicate keys, several documents,
 * invalid UTF-8, files over YAML_SIZE_MAX and nesting deeper than YAML_DEPTH_MAX are errors. After
 * an error it goes on where the tree still has a shape (not after a syntax error or too deep a
 * nesting); what was refused stands in the tree as YAML_BROKEN, about which nobody needs to
 * complain again.
 *
 * A scalar keeps its text as written; what it means is asked of yaml_node_kind(), by the core
 * schema of YAML 1.2: plain `5` is an integer, `"5"` and `5s` are texts, `yes` is a text.
 *
 * The functions are called yaml_node_...: libyaml itself exports yaml_free() and more of that kind.
 */
#pragma once

#include <glib.h>
#include <stdbool.h>

#include "cleanup.h"
#include "diagnostics.h"
#include "mark.h"

#define YAML_SIZE_MAX ((size_t)256 * 1024)
#define YAML_DEPTH_MAX 16

typedef enum YamlType { YAML_SCALAR, YAML_LIST, YAML_MAPPING, YAML_BROKEN } YamlType;

typedef enum YamlKind {
        YAML_KIND_NOTHING, /* null, ~ or empty */
        YAML_KIND_BOOLEAN,
        YAML_KIND_INTEGER,
        YAML_KIND_FLOAT,
        YAML_KIND_TEXT,
        YAML_KIND_LIST,
        YAML_KIND_MAPPING,
        YAML_KIND_BROKEN,
} YamlKind;

typedef struct YamlNode YamlNode;
typedef struct YamlPair YamlPair;

struct YamlNode {
        YamlType type;
        Mark mark;
        char *text; /* of a scalar: no zero byte in it */
        bool plain; /* of a scalar: it is neither quoted nor a block */
        GPtrArray
            *items; /* of a list: YamlNode; of a mapping: YamlPair; in the order of the file */
};

struct YamlPair {
        YamlNode *key; /* a scalar */
        YamlNode *value;
};

YamlNode *yaml_node_free(YamlNode *node);
DEFINE_CLEANUP(YamlNode, yaml_node_free);

/* Builds the tree of a text's only document. `file` is interned for the marks. An empty document is
 * a scalar of kind nothing. Return: 0 with *ret_root, also when there were errors that left a tree;
 * -EBADMSG when they did not. */
int yaml_tree_parse(const char *file, const char *text, size_t size, Diagnostics *diagnostics,
                    YamlNode **ret_root);

YamlKind yaml_node_kind(const YamlNode *node);

/* Return: how a message calls this node: "a list", "an integer", "nothing". */
const char *yaml_kind_to_string(YamlKind kind);

/* Return: the pair or the value of a key in a mapping, NULL when there is none or `node` is no
 * mapping. Borrowed. */
const YamlPair *yaml_node_pair(const YamlNode *node, const char *key);
const YamlNode *yaml_node_get(const YamlNode *node, const char *key);
