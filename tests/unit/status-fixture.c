/* See status-fixture.h. */
#include "status-fixture.h"
#include "ledger-change.h"

#include <criterion/criterion.h>

void begin_with_a(void) {
        write_job("    every: 1h\n    exec: [/bin/true]\n    description: Does nothing\n");
        open_daemon_on_bus();
}

json_t *ask_status(void) {
        ask_as(bus, BUS_NAME_ROOT, "Status", NULL);
        return expect_json();
}

const char *string_of(const json_t *object, const char *member) {
        const char *text = json_string_value(json_object_get(object, member));

        return text ? text : "(none)";
}

json_t *find_with(const json_t *array, const char *member, const char *value) {
        json_t *item;
        size_t i;

        json_array_foreach(array, i,
                           item) if (g_str_equal(string_of(item, member), value)) return item;
        return NULL;
}

static char *text_of(const json_t *value) {
        char *text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);
        char *copy = g_strdup(text ? text : "(none)");

        free(text);
        return copy;
}

void expect_text(const json_t *value, const char *expected) {
        g_autofree char *text = text_of(value);

        cr_expect_str_eq(text, expected, "%s rather than %s", text, expected);
}

json_t *job_of(const json_t *object, const char *name) {
        return find_with(json_object_get(object, "jobs"), "job", name);
}

Ledger *ledger_with_claim(void) {
        _cleanup_(run_record_freep) RunRecord *claimed = run_record_new("a", "2000000000-1"),
                                              *skipped = run_record_new("a", "2000003600-1");
        Ledger *ledger = NULL;

        cr_assert_eq(ledger_decode(server_data(JOB), strlen(server_data(JOB)), &ledger), 0);
        claimed->tick = 2000000000;
        claimed->attempt = 1;
        claimed->node = g_strdup("n2");
        claimed->state = RUN_CLAIMED;
        claimed->claimed = 2000000001 * USEC_PER_SEC;
        cr_assert_eq(ledger_claim(ledger, claimed), 0);
        skipped->tick = 2000003600;
        skipped->attempt = 1;
        skipped->node = g_strdup("n3");
        skipped->state = RUN_CLAIMED;
        cr_assert_eq(ledger_claim(ledger, skipped), 0);
        skipped->state = RUN_FAILED;
        skipped->why = g_strdup("exit status 3");
        cr_assert_eq(ledger_settle(ledger, skipped, NULL, 0), 0);
        return ledger;
}
