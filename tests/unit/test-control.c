/* The control node's data: which nodes are drained, there and back; what others put there is kept,
 * and shown only as far as it is fit to be. */
#include <criterion/criterion.h>
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "control.h"
#include "json-line.h"

static json_t *parse(const char *text) {
        json_t *control = control_parse(text, strlen(text));

        cr_assert_not_null(control, "%s", text);
        return control;
}

static void expect_drain(const json_t *control, const char *by, const char *why, usec_t since) {
        ControlDrain drain = {0};

        cr_assert(control_is_drained(control, "n3", &drain));
        cr_expect_str_eq(drain.by, by);
        cr_expect_str_eq(drain.why, why);
        cr_expect_eq(drain.since, since);
        statement_clear(&drain);
}

static int drain_node(json_t *control, const char *node, const char *by, const char *why) {
        const ControlDrain drain = {(char *)by, (char *)why, 1763000000 * USEC_PER_SEC};

        return control_drain(control, node, &drain);
}

Test(control, there_and_back) {
        json_t *control = parse("{}"), *found;
        g_autofree char *text = NULL;

        cr_expect_not(control_is_drained(control, "n3", NULL));
        cr_expect_eq(drain_node(control, "n3", "alice on n1", "new disk"), 0);
        text = control_encode(control);
        cr_expect_str_eq(text, "{\"drained\":{\"n3\":{\"by\":\"alice on n1\",\"why\":\"new "
                               "disk\",\"since\":1763000000.0}}}");
        found = parse(text);
        expect_drain(found, "alice on n1", "new disk", 1763000000 * USEC_PER_SEC);
        cr_expect_not(control_is_drained(found, "n2", NULL));
        json_decref(found);
        json_decref(control);
}

Test(control, what_others_put_there_is_kept) {
        json_t *control =
            parse("{\"id\": \"x\", \"drained\": {\"n3\": {\"by\": \"a\", \"more\": 1}, "
                  "\"n4\": 7}}");
        g_autofree char *text = NULL, *last = NULL;

        cr_expect_eq(drain_node(control, "n5", "b", ""), 0);
        text = control_encode(control);
        cr_expect(strstr(text, "\"id\":\"x\""));
        cr_expect(strstr(text, "\"more\":1"));
        cr_expect(strstr(text, "\"n4\":7"));
        cr_expect(control_undrain(control, "n5"));
        cr_expect_not(control_undrain(control, "n5"));
        cr_expect(control_undrain(control, "n4"));
        cr_expect(control_undrain(control, "n3"));
        last = control_encode(control);
        cr_expect_str_eq(last, "{\"id\":\"x\"}");
        json_decref(control);
}

Test(control, what_is_none_of_ours_is_refused) {
        static const char *const texts[] = {
            "",
            "x",
            "[]",
            "7",
            "{\"drained\": 7}",
            "{\"drained\": [\"n3\"]}",
            "{\"drained\": null}",
            "{\"a\": 1, \"a\": 2}",
            "{} {}",
        };

        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
                cr_expect_null(control_parse(texts[i], strlen(texts[i])), "%s", texts[i]);
        cr_expect_null(control_parse(NULL, 0));
}

/* Whoever wrote that meant it to be drained. */
Test(control, a_damaged_entry_drains_all_the_same) {
        static const char *const entries[] = {
            "7",
            "null",
            "\"alice\"",
            "{}",
            "{\"by\": 7}",
            "{\"since\": \"yesterday\"}",
            "{\"by\": \"a\", \"since\": -1}",
        };

        for (size_t i = 0; i < G_N_ELEMENTS(entries); i++) {
                g_autofree char *text = g_strdup_printf("{\"drained\": {\"n3\": %s}}", entries[i]);
                json_t *control = parse(text);

                expect_drain(control, "", "", 0);
                json_decref(control);
        }
}

Test(control, what_a_terminal_would_obey_is_not_shown) {
        json_t *control = parse("{\"drained\": {\"n3\": {\"by\": \"a\\u001b[2J\\nb\", \"why\": "
                                "\"\\u202Eevil\\u2028line\\u0085\"}}}");

        expect_drain(control, "a?[2J?b", "?evil?line?", 0);
        json_decref(control);
}

Test(control, what_we_write_is_clean_and_short) {
        json_t *control = parse("{}");
        g_autofree char *text = g_strnfill(1000, 'x'), *bad = g_strdup("a\033\xff");
        ControlDrain drain = {0};

        cr_expect_eq(drain_node(control, "n3", bad, text), 0);
        cr_assert(control_is_drained(control, "n3", &drain));
        cr_expect_eq(strlen(drain.why), SAID_TEXT_MAX);
        cr_expect_str_eq(drain.by, "a?\xef\xbf\xbd");
        statement_clear(&drain);
        json_decref(control);
}

Test(control, so_many_and_no_more) {
        json_t *control = parse("{}");
        g_autofree char *long_text = g_strnfill(SAID_TEXT_MAX, '"'), *text = NULL;

        for (unsigned i = 0; i < CONTROL_DRAINED_MAX; i++) {
                g_autofree char *tail = g_strdup_printf("%u", i), *head = g_strnfill(90, 'n');
                g_autofree char *node = g_strconcat(head, tail, NULL);

                cr_expect_eq(drain_node(control, node, long_text, long_text), 0);
                cr_expect_eq(drain_node(control, node, long_text, long_text), 0, "once more");
        }
        cr_expect_eq(drain_node(control, "n3", "", ""), -ENOSPC);
        text = control_encode(control);
        cr_expect_leq(strlen(text), JSON_LINE_MAX);
        json_decref(control);
}

Test(control, for_people) {
        json_t *control = parse(
            "{\"drained\": {\"n3\": {\"by\": \"alice on n1\", \"why\": \"new disk\", \"since\": "
            "1763000000}, \"../x\": {}, \"n4\": {}}}");
        json_t *list = control_drains_to_json(control);
        g_autofree char *said = json_dumps(list, JSON_SORT_KEYS), *sentence = NULL, *bare = NULL;
        ControlDrain drain = {0};

        cr_expect_str_eq(said, "[{\"by\": \"alice on n1\", \"node\": \"n3\", \"since\": "
                               "1763000000.0, \"why\": \"new disk\"}, {\"by\": \"\", \"node\": "
                               "\"n4\", \"since\": null, \"why\": \"\"}]");
        cr_assert(control_is_drained(control, "n3", &drain));
        sentence = control_drain_to_text(&drain);
        cr_expect_str_eq(sentence,
                         "drained since 2025-11-13 02:13:20 UTC by alice on n1: new disk");
        statement_clear(&drain);
        cr_assert(control_is_drained(control, "n4", &drain));
        bare = control_drain_to_text(&drain);
        cr_expect_str_eq(bare, "drained");
        statement_clear(&drain);
        json_decref(list);
        list = control_drains_to_json(NULL);
        cr_expect_eq(json_array_size(list), 0);
        cr_expect_not(control_is_drained(NULL, "n3", NULL));
        json_decref(list);
        json_decref(control);
}
