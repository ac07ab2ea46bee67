/* The strict YAML loader: what it builds, and everything that it refuses, with its place. */
#include "expect-errors.h"

#include <errno.h>
#include <string.h>

#include "yaml.h"

/* Shows a tree: texts as 'text', with * before plain ones; lists in brackets; mappings in braces.
 */
static void show(const YamlNode *node, GString *out) {
        if (node->type == YAML_BROKEN)
                g_string_append(out, "BROKEN");
        if (node->type == YAML_SCALAR)
                g_string_append_printf(out, "%s'%s'", node->plain ? "*" : "", node->text);
        if (node->type == YAML_LIST) {
                g_string_append(out, "[ ");
                for (guint i = 0; i < node->items->len; i++) {
                        show(node->items->pdata[i], out);
                        g_string_append(out, " ");
                }
                g_string_append(out, "]");
        }
        if (node->type == YAML_MAPPING) {
                g_string_append(out, "{ ");
                for (guint i = 0; i < node->items->len; i++) {
                        const YamlPair *pair = node->items->pdata[i];

                        g_string_append_printf(out, "%s: ", pair->key->text);
                        show(pair->value, out);
                        g_string_append(out, " ");
                }
                g_string_append(out, "}");
        }
}

static int parse(const char *text, size_t size, Diagnostics *diagnostics, YamlNode **ret) {
        return yaml_tree_parse("f", text, size, diagnostics, ret);
}

/* The text gives this tree, or none where it is NULL, and these errors. */
static void expect(const char *text, const char *tree, const char *errors) {
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        _cleanup_(yaml_node_freep) YamlNode *root = NULL;
        g_autoptr(GString) shown = g_string_new(NULL);
        int r = parse(text, strlen(text), diagnostics, &root);

        cr_expect_eq(r, tree ? 0 : -EBADMSG, "%s", text);
        if (root)
                show(root, shown);
        cr_expect_str_eq(shown->str, tree ? tree : "", "%s: %s", text, shown->str);
        expect_errors(diagnostics, errors);
}

Test(yaml, trees) {
        expect("", "*''", "");
        expect("# only a comment\n", "*''", "");
        expect("---\n", "*''", "");
        expect("---\na: b\n...\n", "{ a: *'b' }", "");
        expect("%YAML 1.2\n---\na: b\n", "{ a: *'b' }", "");
        expect("a: {b: [1, \"2\", '3'], c: }\nd: |\n  x\n  y\n",
               "{ a: { b: [ *'1' '2' '3' ] c: *'' } d: 'x\ny\n' }", "");
        expect("\xef\xbb\xbf"
               "a: \xc3\xa4\n",
               "{ a: *'\xc3\xa4' }", "");
        expect("\xef\xbb\xbf"
               "a: 1\nb:\n  c: 2\nd: 3\n",
               "{ a: *'1' b: { c: *'2' } d: *'3' }", "");
        expect("\xef\xbb\xbf", "*''", "");
        expect("\"<<\": 1\n", "{ <<: *'1' }", "");
}

Test(yaml, marks) {
        static const char text[] = "a:\n  \xc3\xa4: [x, 5]\n";
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        _cleanup_(yaml_node_freep) YamlNode *root = NULL;
        const YamlPair *pair;
        const YamlNode *five;

        cr_assert_eq(parse(text, strlen(text), diagnostics, &root), 0);
        pair = yaml_node_pair(yaml_node_get(root, "a"), "\xc3\xa4");
        cr_expect(pair->key->mark.line == 2 && pair->key->mark.column == 3);
        five = pair->value->items->pdata[1];
        cr_expect(five->mark.line == 2 && five->mark.column == 10);
        cr_expect_str_eq(five->mark.file, "f");
        cr_expect_null(yaml_node_get(root, "b"));
        cr_expect_null(yaml_node_get(five, "b"));
        cr_expect_null(yaml_node_get(NULL, "b"));
}

Test(yaml, refused_and_gone_on) {
        expect("a: &x 1\nb: *x\nc: 3\n", "{ a: BROKEN b: BROKEN c: *'3' }",
               "f:1:4: error: anchors (\"&x\") are not used here: put a text that "
               "begins with \"&\" in quotes\n"
               "f:2:4: error: aliases (\"*x\") are not used here: put a text that begins "
               "with \"*\" in quotes");
        expect("a: !!str 1\nb: ! 2\nc: !x [1]\nd: &y {e: f}\n",
               "{ a: BROKEN b: BROKEN c: BROKEN d: BROKEN }",
               "f:1:4: error: tags (\"tag:yaml.org,2002:str\") are not used here: put a text "
               "that begins with \"!\" in quotes\n"
               "f:2:4: error: tags (\"!\") are not used here: put a text "
               "that begins with \"!\" in quotes\n"
               "f:3:4: error: tags (\"!x\") are not used here: put a text "
               "that begins with \"!\" in quotes\n"
               "f:4:4: error: anchors (\"&y\") are not used here: put a text that "
               "begins with \"&\" in quotes");
        expect("%TAG !e! tag:x,2000:\n---\na: 1\n", "{ a: *'1' }",
               "f:1:1: error: tags (\"%TAG\") are not used here");
        expect("a: 1\nb: 2\na: 3\n'a': 4\n", "{ a: *'1' b: *'2' }",
               "f:3:1: error: duplicate key \"a\" (first in line 1)\n"
               "f:4:1: error: duplicate key \"a\" (first in line 1)");
        expect("a: {b: 1}\n<<: {c: 2}\n", "{ a: { b: *'1' } }",
               "f:2:1: error: merge keys (\"<<\") are not used here");
        expect("? [x]\n: 1\n? {y: z}\n: 2\nb: 3\n", "{ b: *'3' }",
               "f:1:3: error: a key must be a text, not a list\n"
               "f:3:3: error: a key must be a text, not a mapping");
        expect("a: 1\n---\nb: 2\n", "{ a: *'1' }",
               "f:2:1: error: a second document begins here: only one is allowed");
        expect("a: \"x\\0y\"\nb: 2\n", "{ a: BROKEN b: *'2' }",
               "f:1:4: error: a text must not have a zero byte");
}

Test(yaml, depth) {
        expect("[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]",
               "[ [ [ [ [ [ [ [ [ [ [ [ [ [ [ [ *'1' ] ] ] ] ] ] ] ] ] ] ] ] ] ] ] ]", "");
        expect("a: &x 1\nb: [[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]\n", NULL,
               "f:1:4: error: anchors (\"&x\") are not used here: put a text that "
               "begins with \"&\" in quotes\n"
               "f:2:19: error: is nested deeper than 16 levels");
}

/* libyaml alone would need minutes for this. */
Test(yaml, depth_costs_no_time, .timeout = 20) {
        g_autofree char *text = g_strnfill(YAML_SIZE_MAX, '[');

        expect(text, NULL, "f:1:17: error: is nested deeper than 16 levels");
}

Test(yaml, not_valid) {
        expect("a: [1\nb: 2\n", NULL,
               "f:2:2: error: not valid YAML: did not find expected ',' or ']' (while parsing a "
               "flow sequence that begins in line 1)");
        expect("a: 1\n b: 2\n", NULL,
               "f:2:3: error: a second \":\" in one value: put a text that has \": \" in it in "
               "quotes, or check how the line is indented");
        expect("a:\n\tb: 2\n", NULL,
               "f:2:1: error: the line is indented with a tab: YAML takes only spaces");
        expect("a: \"x\n", NULL,
               "f:2:1: error: not valid YAML: found unexpected end of stream (while scanning a "
               "quoted scalar that begins in line 1)");
        expect("a: \x01\n", NULL,
               "f:1:4: error: not valid YAML: control characters are not allowed");
        expect("a: 1\nb: \xff\n", NULL, "f:2:4: error: is not valid UTF-8 here");
        expect("\xc3\xa4: \xc3", NULL, "f:1:4: error: is not valid UTF-8 here");
        expect("\xff\xfe\x61", NULL, "f:1:1: error: is not valid UTF-8 here");
        expect("a: 1\n}\n", NULL,
               "f:2:1: error: not valid YAML: did not find expected key (while parsing a block "
               "mapping that begins in line 1)");
}

/* What everybody gets wrong once is answered with what to write. */
Test(yaml, slips) {
        expect(
            "a: *-*-* 02:30 # at night\n", NULL,
            "f:1:4: error: a text that begins with \"*\" must be put in quotes: \"*-*-* 02:30\"");
        expect("b: 1\na: *:0/15\n", NULL,
               "f:2:4: error: a text that begins with \"*\" must be put in quotes: \"*:0/15\"");
        expect("a: */5 * * * *\n", NULL,
               "f:1:4: error: \"*/5 * * * *\": this is cron's form; here it is \"*:0/5\"");
        expect("a: @daily\n", NULL,
               "f:1:4: error: \"@daily\": this is cron's form; here it is \"daily\""
               ". Its times are UTC where no \"timezone\" is set; cron's are local");
        expect("a: @me\n", NULL,
               "f:1:4: error: a text that begins with \"@\" must be put in quotes: \"@me\"");
        expect("\xc3\xa4: %x \"y\"\n", NULL,
               "f:1:4: error: a text that begins with \"%\" must be put in quotes: '%x \"y\"'");
        expect("a:\n  b: 1\n \t c: 2\n", NULL,
               "f:3:2: error: the line is indented with a tab: YAML takes only spaces");
        expect("a: [*, b]\n", NULL,
               "f:1:5: error: a text that begins with \"*\" must be put in quotes: \"*, b]\"");
}

/* The parser stops between the root and the document's end. */
Test(yaml, an_error_right_after_the_root) {
        expect("{a: b}\n}\n", NULL,
               "f:2:1: error: not valid YAML: did not find expected <document start>");
        expect("|\n  x\n@x\n", NULL,
               "f:3:1: error: a text that begins with \"@\" must be put in quotes: \"@x\"");
}

Test(yaml, zero_byte_and_size) {
        _cleanup_(diagnostics_freep) Diagnostics *diagnostics = diagnostics_new();
        g_autofree char *large = g_strnfill(YAML_SIZE_MAX + 1, '#');
        YamlNode *root = NULL;

        cr_expect_eq(parse("a: \0b", 5, diagnostics, &root), -EBADMSG);
        cr_expect_eq(yaml_tree_parse("g", large, YAML_SIZE_MAX + 1, diagnostics, &root), -EBADMSG);
        cr_expect_null(root);
        expect_errors(diagnostics, "f:1:4: error: has a zero byte here\n"
                                   "g: error: is larger than 256 KiB");
        cr_expect_eq(yaml_tree_parse("g", large, YAML_SIZE_MAX, diagnostics, &root), 0);
        root = yaml_node_free(root);
}

Test(yaml, kinds) {
        static const struct {
                const char *text;
                YamlKind kind;
        } kinds[] = {
            {"", YAML_KIND_NOTHING},      {"~", YAML_KIND_NOTHING},    {"null", YAML_KIND_NOTHING},
            {"nullx", YAML_KIND_TEXT},    {"true", YAML_KIND_BOOLEAN}, {"False", YAML_KIND_BOOLEAN},
            {"yes", YAML_KIND_TEXT},      {"on", YAML_KIND_TEXT},      {"5", YAML_KIND_INTEGER},
            {"-5", YAML_KIND_INTEGER},    {"+5", YAML_KIND_INTEGER},   {"010", YAML_KIND_INTEGER},
            {"0o17", YAML_KIND_INTEGER},  {"0x1f", YAML_KIND_INTEGER}, {"0o8", YAML_KIND_TEXT},
            {"0x", YAML_KIND_TEXT},       {"1.5", YAML_KIND_FLOAT},    {".5", YAML_KIND_FLOAT},
            {"1.", YAML_KIND_FLOAT},      {"1e3", YAML_KIND_FLOAT},    {"1e", YAML_KIND_TEXT},
            {"-1.5E-3", YAML_KIND_FLOAT}, {".inf", YAML_KIND_FLOAT},   {"-.inf", YAML_KIND_FLOAT},
            {".nan", YAML_KIND_FLOAT},    {".", YAML_KIND_TEXT},       {"-", YAML_KIND_TEXT},
            {"1.5.2", YAML_KIND_TEXT},    {"5s", YAML_KIND_TEXT},      {"1_000", YAML_KIND_TEXT},
            {"12:30", YAML_KIND_TEXT},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++) {
                YamlNode node = {.type = YAML_SCALAR, .text = (char *)kinds[i].text, .plain = true};

                cr_expect_eq(yaml_node_kind(&node), kinds[i].kind, "%s", kinds[i].text);
                node.plain = false;
                cr_expect_eq(yaml_node_kind(&node), YAML_KIND_TEXT, "\"%s\"", kinds[i].text);
        }
}
