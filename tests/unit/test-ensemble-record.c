/* The data of /ensemble: there and back, what others put there, and what is none of ours. */
#include <criterion/criterion.h>
#include <glib.h>
#include <string.h>

#include "ensemble-record.h"
#include "json-line.h"

#define ID "0123456789abcdef0123456789abcdef"
#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define WORD "11111111111111111111111111111111"

static const Statement doubt = {(char *)"n1", (char *)"it is older", 1763000000 * USEC_PER_SEC};
static const Statement accepted = {(char *)"alice on n1", (char *)"restored",
                                   1763000001 * USEC_PER_SEC};

static json_t *parse(const char *text) {
        return ensemble_record_parse(text, strlen(text));
}

static void expect_text(const json_t *record, const char *expected) {
        g_autofree char *text = ensemble_record_encode(record);

        cr_expect_str_eq(text, expected);
}

Test(ensemble_record, there_and_back) {
        json_t *record = ensemble_record_new(ID), *found;
        Statement read = {0};

        expect_text(record, "{\"id\":\"" ID "\"}");
        cr_expect_not(ensemble_record_is_doubted(record, NULL));
        cr_expect_null(ensemble_record_accepted(record, NULL));
        ensemble_record_doubt(record, &doubt, NULL);
        expect_text(record, "{\"id\":\"" ID "\",\"doubt\":{\"by\":\"n1\",\"why\":\"it is "
                            "older\",\"since\":1763000000.0}}");
        ensemble_record_accept(record, WORD, &accepted, NULL);
        expect_text(record, "{\"id\":\"" ID "\",\"accepted\":[{\"by\":\"alice on n1\",\"why\":"
                            "\"restored\",\"since\":1763000001.0,\"word\":\"" WORD "\"}]}");
        found = parse("{\"id\":\"" ID "\",\"doubt\":{\"by\":\"n1\",\"why\":\"x\\u0007\"},"
                      "\"accepted\":[{\"by\":\"bob\",\"word\":\"" WORD "\"}]}");
        cr_assert_not_null(found);
        cr_expect_str_eq(ensemble_record_id(found), ID);
        cr_expect(ensemble_record_is_doubted(found, &read));
        cr_expect_str_eq(read.why, "x?");
        statement_clear(&read);
        cr_expect_str_eq(ensemble_record_accepted(found, &read), WORD);
        cr_expect_str_eq(read.by, "bob");
        statement_clear(&read);
        json_decref(found);
        json_decref(record);
}

Test(ensemble_record, a_doubt_that_cannot_be_read_is_one) {
        json_t *record = parse("{\"id\":\"" ID "\",\"doubt\":7,\"more\":1}");
        Statement read = {0};

        cr_assert(ensemble_record_is_doubted(record, &read));
        cr_expect_str_empty(read.by);
        statement_clear(&read);
        ensemble_record_accept(record, WORD, &accepted, NULL);
        cr_expect_not(ensemble_record_is_doubted(record, NULL));
        cr_expect_eq(json_integer_value(json_object_get(record, "more")), 1, "it is kept");
        json_decref(record);
}

Test(ensemble_record, what_is_none_of_ours) {
        static const char *const texts[] = {
            "",
            "{}",
            "[]",
            "{\"id\":7}",
            "{\"id\":\"x\"}",
            "{\"id\":\"0123456789ABCDEF0123456789ABCDEF\"}",
            "{\"id\":\"" ID "0\"}",
            "{\"id\":\"" ID "\",\"accepted\":{}}",
            "{\"id\":\"" ID "\",\"accepted\":[{}]}",
            "{\"id\":\"" ID "\",\"accepted\":[{\"word\":\"x\"}]}",
        };

        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
                cr_expect_null(parse(texts[i]), "%s", texts[i]);
}

static void draw_word(char *word, unsigned i) {
        g_snprintf(word, 33, "%032x", i);
}

Test(ensemble_record, the_newest_acceptances_are_kept_and_the_words_of_all) {
        json_t *record = ensemble_record_new(ID), *words = json_array();
        char word[33];

        for (unsigned i = 0; i < 20; i++) {
                draw_word(word, i);
                ensemble_record_accept(record, word, &accepted, NULL);
                ensemble_record_add_words(record, words, 18);
                ensemble_record_add_words(record, words, 18);
        }
        cr_expect_str_eq(ensemble_record_accepted(record, NULL), word);
        cr_expect_eq(json_array_size(json_object_get(record, "accepted")), ENSEMBLE_ACCEPTED_MAX);
        cr_expect_eq(json_array_size(words), 18, "each once");
        draw_word(word, 1);
        cr_expect_not(ensemble_words_have(words, word));
        draw_word(word, 2);
        cr_expect(ensemble_words_have(words, word), "no acceptance of the record any more");
        json_decref(words);
        json_decref(record);
}

/* The doubter knows in whose place it is accepted; the person's node need not. */
Test(ensemble_record, it_is_accepted_in_the_place_of_what_the_doubter_knew) {
        json_t *record = ensemble_record_new(ID), *words = json_array();
        char word[33];

        draw_word(word, 1);
        ensemble_record_doubt(record, &doubt, A);
        ensemble_record_accept(record, word, &accepted, B);
        cr_expect(ensemble_record_is_accepted_for(record, A, words, false));
        cr_expect_not(ensemble_record_is_accepted_for(record, B, words, true));
        draw_word(word, 2);
        ensemble_record_accept(record, word, &accepted, B);
        cr_expect(ensemble_record_is_accepted_for(record, B, words, false));
        cr_expect(ensemble_record_is_accepted_for(record, A, words, false), "not only the newest");
        ensemble_record_add_words(record, words, 8);
        cr_expect_not(ensemble_record_is_accepted_for(record, A, words, true));
        json_decref(words);
        json_decref(record);
}

/* What others have put there counts, too, for how long it is. */
Test(ensemble_record, what_is_written_can_be_read) {
        json_t *record = ensemble_record_new(ID), *found = NULL;
        g_autofree char *long_text = g_strnfill(JSON_LINE_MAX - 2000, 'x'), *text = NULL;
        char word[33];

        for (unsigned i = 0; i < ENSEMBLE_ACCEPTED_MAX; i++) {
                draw_word(word, i);
                ensemble_record_accept(record, word, &accepted, ID);
        }
        json_object_set_new(record, "more", json_string(long_text));
        text = ensemble_record_encode(record);
        found = parse(text);
        cr_assert_not_null(found);
        cr_expect_eq(json_array_size(json_object_get(found, "accepted")), ENSEMBLE_ACCEPTED_MAX);
        cr_expect(ensemble_record_is_accepted_for(found, ID, NULL, false));
        cr_expect_str_eq(ensemble_record_accepted(found, NULL), word);
        json_decref(found);
        g_free(text);
        json_object_set_new(record, "again", json_string(long_text));
        ensemble_record_doubt(record, &doubt, ID);
        text = ensemble_record_encode(record);
        found = parse(text);
        cr_assert_not_null(found);
        cr_expect(ensemble_record_is_doubted(found, NULL));
        cr_expect_str_eq(ensemble_record_accepted(found, NULL), word);
        json_decref(found);
        json_decref(record);
}
