/* See heard.h. */
#include "heard.h"

#include "daemon-fixture.h"

static GString *words;

void heard_begin(void) {
        words = g_string_new(NULL);
}

void heard_end(void) {
        g_string_free(g_steal_pointer(&words), TRUE);
}

void hear(const char *word) {
        g_string_append_printf(words, "%s%s", words->len ? " " : "", word);
}

const char *heard(void) {
        return words->str;
}

bool has_heard(void) {
        return words->len > 0;
}

void expect_heard(const char *expected) {
        await(has_heard, expected);
        cr_expect_str_eq(words->str, expected);
        g_string_truncate(words, 0);
}

void expect_silence(void) {
        await_quiet();
        cr_expect_str_eq(words->str, "");
}
