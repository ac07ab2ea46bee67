/* The record of a run: every field there and back, and what is refused because it is none of ours.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "json-line.h"
#include "run-record.h"

#define SECOND USEC_PER_SEC
#define NONCE "0123456789abcdef0123456789abcdef"

/* What came after the claim is somebody else's, whatever it is called. */
Test(run_record, contenders_are_older_than_the_claim) {
        const RunRecord record = {.token = 0x10000002a};

        cr_expect(run_record_is_contender(&record, 0x100000029));
        cr_expect_not(run_record_is_contender(&record, 0x10000002b));
        cr_expect_not(run_record_is_contender(&record, 0x200000001));
}

static RunRecord *full_record(void) {
        static const char *const locks[] = {"/r/locks/job:a/_c_1-__WRIT__0000000001",
                                            "/r/locks/db/_c_2-__READ__0000000007", NULL};
        RunRecord *record = run_record_new("a", "1763700000-2");

        record->tick = 1763700000;
        record->stretch.to = 1763700060;
        record->stretch.count = 7;
        record->attempt = 2;
        record->node = g_strdup("n1");
        record->boot = g_strdup("b00t");
        record->nonce = g_strdup(NONCE);
        record->unit = g_strdup("jobkeeper-a-1763700000-2.service");
        record->invocation = g_strdup("1nv0");
        record->locks = g_strdupv((char **)locks);
        record->state = RUN_FAILED;
        record->why = g_strdup("a \"quoted\" reason,\n\xc3\xa4 and a tab\t");
        record->who = g_strdup("uid 0");
        record->exit_status = 3;
        record->signal = 9;
        record->claimed = 1763700000 * SECOND + 1;
        record->started = 1763700000 * SECOND + 999999;
        record->ended = 1763700061 * SECOND + 500000;
        record->cpu = 1234567;
        record->token = 0x10000002a;
        record->continues = true;
        record->terms.takeover_after = 3600 * SECOND;
        record->terms.attempts = 4;
        record->terms.delay = 10 * SECOND;
        record->terms.max_delay = 300 * SECOND;
        record->terms.no_retry = g_strdup("2,64..78");
        record->terms.rerun = true;
        record->terms.roll = true;
        record->terms.rejoin_timeout = 600 * SECOND;
        record->terms.reboot = JOB_REBOOT_FAIL;
        record->resolution.at = 1763700100 * SECOND;
        record->resolution.by = g_strdup("alice on n3");
        record->resolution.before = g_strdup("node n1 disappeared");
        record->terms.parent = (RunParent){.job = g_strdup("b"),
                                           .run = g_strdup("1763690000-1"),
                                           .state = g_strdup("failed"),
                                           .why = g_strdup("exit status 3"),
                                           .node = g_strdup("n2"),
                                           .tick = 1763680000,
                                           .exit_status = 3,
                                           .chain = 2};
        return record;
}

static RunRecord *decode(const char *text) {
        RunRecord *record = NULL;

        cr_assert_eq(run_record_decode(text, strlen(text), &record), 0, "%s", text);
        return record;
}

static RunRecord *there_and_back(const RunRecord *record) {
        g_autofree char *text = run_record_encode(record);

        return decode(text);
}

static void expect_same_names(const RunRecord *a, const RunRecord *b) {
        cr_expect_str_eq(a->run, b->run);
        cr_expect_str_eq(a->job, b->job);
        cr_expect_str_eq(a->node, b->node);
        cr_expect_str_eq(a->boot, b->boot);
        cr_expect_str_eq(a->nonce, b->nonce);
        cr_expect_str_eq(a->unit, b->unit);
        cr_expect_str_eq(a->invocation, b->invocation);
        cr_expect_str_eq(a->why, b->why);
        cr_expect_str_eq(a->who, b->who);
        cr_expect_str_eq(a->resolution.by, b->resolution.by);
        cr_expect_str_eq(a->resolution.before, b->resolution.before);
        cr_expect_str_eq(a->terms.no_retry, b->terms.no_retry);
        cr_expect(g_strv_equal((const char *const *)a->locks, (const char *const *)b->locks));
}

static void expect_same_parent(const RunParent *a, const RunParent *b) {
        cr_expect_str_eq(a->job, b->job);
        cr_expect_str_eq(a->run, b->run);
        cr_expect_str_eq(a->state, b->state);
        cr_expect_str_eq(a->why, b->why);
        cr_expect_str_eq(a->node, b->node);
        cr_expect_eq(a->tick, b->tick);
        cr_expect_eq(a->exit_status, b->exit_status);
        cr_expect_eq(a->chain, b->chain);
}

static void expect_same_numbers(const RunRecord *a, const RunRecord *b) {
        cr_expect_eq(a->tick, b->tick);
        cr_expect_eq(a->stretch.to, b->stretch.to);
        cr_expect_eq(a->stretch.count, b->stretch.count);
        cr_expect_eq(a->attempt, b->attempt);
        cr_expect_eq(a->state, b->state);
        cr_expect_eq(a->exit_status, b->exit_status);
        cr_expect_eq(a->signal, b->signal);
        cr_expect_eq(a->claimed, b->claimed);
        cr_expect_eq(a->started, b->started);
        cr_expect_eq(a->ended, b->ended);
        cr_expect_eq(a->cpu, b->cpu);
        cr_expect_eq(a->continues, b->continues);
        cr_expect_eq(a->resolution.at, b->resolution.at);
        cr_expect_eq(a->terms.takeover_after, b->terms.takeover_after);
        cr_expect_eq(a->terms.attempts, b->terms.attempts);
        cr_expect_eq(a->terms.delay, b->terms.delay);
        cr_expect_eq(a->terms.max_delay, b->terms.max_delay);
        cr_expect_eq(a->terms.rerun, b->terms.rerun);
        cr_expect_eq(a->terms.roll, b->terms.roll);
        cr_expect_eq(a->terms.rejoin_timeout, b->terms.rejoin_timeout);
        cr_expect_eq(a->terms.reboot, b->terms.reboot);
}

Test(run_record, every_field_there_and_back) {
        _cleanup_(run_record_freep) RunRecord *record = full_record();
        _cleanup_(run_record_freep) RunRecord *found = there_and_back(record);

        expect_same_names(record, found);
        expect_same_numbers(record, found);
        expect_same_parent(&record->terms.parent, &found->terms.parent);
        cr_expect_eq(found->token, 0, "known from the znode itself");
}

Test(run_record, token_is_shown_but_not_stored) {
        _cleanup_(run_record_freep) RunRecord *record = full_record();
        g_autofree char *text = run_record_encode(record);
        json_t *object = run_record_to_json(record);

        cr_expect_null(strstr(text, "token"), "%s", text);
        cr_expect_eq(json_integer_value(json_object_get(object, "token")), 0x10000002a);
        json_decref(object);
}

Test(run_record, one_line) {
        _cleanup_(run_record_freep) RunRecord *record = full_record();
        g_autofree char *text = run_record_encode(record);

        cr_expect_null(strchr(text, '\n'), "%s", text);
        cr_expect_lt(strlen(text), JSON_LINE_MAX);
}

/* It becomes a variable of a command. */
Test(run_record, a_parent_that_cannot_be_one) {
        static const char *const parents[] = {
            "\"parent_job\":\"B\",\"parent_run\":\"5-1\",\"parent_state\":\"failed\"",
            "\"parent_job\":\"b\",\"parent_run\":\"x\",\"parent_state\":\"failed\"",
            "\"parent_job\":\"b\",\"parent_run\":\"5-1\",\"parent_state\":\"fallen\"",
            "\"parent_job\":\"b\",\"parent_run\":\"5-1\"",
            "%s,\"parent_why\":\"\\uffff\"",
            "\"parent_run\":\"5-1\",\"parent_state\":\"failed\"",
            "%s,\"parent_node\":\"n 1\"",
            "%s,\"parent_why\":\"a\\nb\"",
            "%s,\"parent_exit\":256",
            "%s,\"chain\":101",
        };

        for (size_t i = 0; i < G_N_ELEMENTS(parents); i++) {
                const char *more = g_str_has_prefix(parents[i], "%s") ? parents[i] + 2 : parents[i];
                g_autofree char *text = g_strdup_printf(
                    "{\"run\":\"1-m2\",\"job\":\"a\",\"tick\":null,\"state\":\"claimed\",%s%s}",
                    more == parents[i]
                        ? ""
                        : "\"parent_job\":\"b\",\"parent_run\":\"5-1\",\"parent_state\":\"failed\"",
                    more);
                RunRecord *record = NULL;

                cr_expect_eq(run_record_decode(text, strlen(text), &record), -EBADMSG, "%s", text);
                record = run_record_free(record);
        }
}

Test(run_record, what_is_not_there_stays_away) {
        _cleanup_(run_record_freep) RunRecord *record = run_record_new("a", "1-m2"), *found = NULL;
        g_autofree char *text = run_record_encode(record);

        cr_expect_str_eq(text,
                         "{\"run\":\"1-m2\",\"job\":\"a\",\"tick\":null,\"state\":\"claimed\"}");
        found = decode(text);
        cr_expect(!found->node && !found->boot && !found->nonce && !found->unit &&
                  !found->invocation && !found->why && !found->who && !found->locks);
        expect_same_numbers(record, found);
        cr_expect_eq(found->exit_status, -1);
        cr_expect_eq(found->cpu, USEC_INFINITY);
        cr_expect_not(found->continues);
        cr_expect_eq(found->terms.takeover_after, USEC_INFINITY);
        cr_expect_eq(found->terms.rejoin_timeout, 0U);
        cr_expect_eq(found->terms.reboot, JOB_REBOOT_INTERRUPTS);
}

Test(run_record, exit_and_cpu_of_zero_are_not_none) {
        _cleanup_(run_record_freep) RunRecord *record = run_record_new("a", "1-1"), *found = NULL;

        record->exit_status = 0;
        record->cpu = 0;
        found = there_and_back(record);
        cr_expect_eq(found->exit_status, 0);
        cr_expect_eq(found->cpu, 0);
}

Test(run_record, every_state_there_and_back) {
        for (int state = 0; state < RUN_STATE_COUNT; state++) {
                _cleanup_(run_record_freep) RunRecord *record = run_record_new("a", "1-1");
                _cleanup_(run_record_freep) RunRecord *found = NULL;

                record->state = (RunState)state;
                found = there_and_back(record);
                cr_expect_eq(found->state, (RunState)state);
        }
}

/* The settle tells by `ended` whether a record that it finds is the one it wrote. */
Test(run_record, times_are_exact_to_the_microsecond) {
        GRand *chance = g_rand_new_with_seed(1);

        for (unsigned i = 0; i < 20000; i++) {
                _cleanup_(run_record_freep) RunRecord *record = run_record_new("a", "1-1");
                _cleanup_(run_record_freep) RunRecord *found = NULL;

                record->ended = (usec_t)(g_rand_double(chance) * 7.9e9) * SECOND +
                                (usec_t)g_rand_int_range(chance, 0, 1000000) + 1;
                found = there_and_back(record);
                cr_assert_eq(found->ended, record->ended);
        }
        g_rand_free(chance);
}

Test(run_record, copies_share_nothing) {
        _cleanup_(run_record_freep) RunRecord *record = full_record();
        _cleanup_(run_record_freep) RunRecord *copy = run_record_copy(record);

        expect_same_names(record, copy);
        expect_same_numbers(record, copy);
        cr_expect_eq(copy->token, record->token);
        cr_expect_neq(copy->run, record->run);
        cr_expect_neq(copy->locks[0], record->locks[0]);
        cr_expect_null(run_record_free(NULL));
}

static void expect_refused(const char *data, size_t size) {
        RunRecord *record = NULL;

        cr_expect_eq(run_record_decode(data, size, &record), -EBADMSG, "%.*s", (int)MIN(size, 200),
                     data ? data : "");
        cr_expect_null(record, "untouched");
}

static void expect_text_refused(const char *text) {
        expect_refused(text, strlen(text));
}

Test(run_record, broken_data_is_refused) {
        static const char *const texts[] = {
            "",
            "{",
            "null",
            "1",
            "[]",
            "\"run\"",
            "{}",
            "{\"run\":\"1-1\",\"job\":\"a\",\"state\":\"failed\"",
            "{\"run\":\"1-1\",\"job\":\"a\",\"state\":\"failed\"} {}",
            "{\"run\":\"1-1\",\"job\":\"a\",\"state\":\"failed\"}}",
            "{\"run\":\"1-1\",\"job\":\"a\",\"state\":\"failed\",}",
            "{'run':'1-1','job':'a','state':'failed'}",
            "{\"run\":\"1-1\",\"job\":\"a\",\"state\":\"failed\",\"why\":\"\xff\"}",
            "{\"run\":\"1-1\",\"job\":\"a\",\"state\":\"failed\",\"why\":\"a\\u0000b\"}",
        };

        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++)
                expect_text_refused(texts[i]);
        expect_refused(NULL, 0);
        expect_refused("{\"run\":\"1-1\",\"job\":\"a\",\"state\":\"failed\"}\0", 44);
}

Test(run_record, duplicate_keys_are_refused) {
        expect_text_refused("{\"run\":\"1-1\",\"run\":\"1-1\",\"job\":\"a\",\"state\":\"failed\"}");
        expect_text_refused(
            "{\"run\":\"1-1\",\"job\":\"a\",\"state\":\"failed\",\"state\":\"succeeded\"}");
}

/* `members` are added to those that a record must have. */
static char *record_with(const char *members) {
        return g_strdup_printf("{\"run\":\"1-1\",\"job\":\"a\",\"state\":\"failed\"%s}", members);
}

Test(run_record, what_a_record_must_have) {
        g_autofree char *least = record_with("");
        _cleanup_(run_record_freep) RunRecord *record = decode(least);

        cr_expect_eq(record->state, RUN_FAILED);
        expect_text_refused("{\"job\":\"a\",\"state\":\"failed\"}");
        expect_text_refused("{\"run\":\"1-1\",\"state\":\"failed\"}");
        expect_text_refused("{\"run\":\"1-1\",\"job\":\"a\"}");
        expect_text_refused("{\"run\":\"1-1\",\"job\":\"a\",\"state\":\"Failed\"}");
        expect_text_refused("{\"run\":\"1-1\",\"job\":\"a\",\"state\":1}");
}

Test(run_record, names_that_cannot_be_a_znode_are_refused) {
        expect_text_refused("{\"run\":\"\",\"job\":\"a\",\"state\":\"failed\"}");
        expect_text_refused("{\"run\":\"../../x\",\"job\":\"a\",\"state\":\"failed\"}");
        expect_text_refused("{\"run\":\"1-1/x\",\"job\":\"a\",\"state\":\"failed\"}");
        expect_text_refused("{\"run\":\"1-1\",\"job\":\"a/../b\",\"state\":\"failed\"}");
        expect_text_refused("{\"run\":\"1-1\",\"job\":\"\",\"state\":\"failed\"}");
}

/* The unit of a run "b-1-1" of job "a" would be that of the run "1-1" of job "a-b". */
Test(run_record, what_is_no_run_id_is_refused) {
        expect_text_refused("{\"run\":\"b-1-1\",\"job\":\"a\",\"state\":\"failed\"}");
        expect_text_refused("{\"run\":\"b-1-1\",\"job\":\"a\",\"state\":\"claimed\","
                            "\"unit\":\"jobkeeper-a-b-1-1.service\"}");
        expect_text_refused("{\"run\":\"latest\",\"job\":\"a\",\"state\":\"failed\"}");
}

Test(run_record, what_no_node_of_ours_would_have_written_is_refused) {
        static const char *const members[] = {
            "\"node\":\"$(reboot)\"",   "\"node\":\"\"",
            "\"node\":\"\\u001b[2J\"",  "\"boot\":\"a b\"",
            "\"nonce\":\"\\n\"",        "\"invocation\":\"`x`\"",
            "\"unit\":\"ssh.service\"", "\"unit\":\"jobkeeper-a-1-2.service\"",
        };

        for (size_t i = 0; i < G_N_ELEMENTS(members); i++) {
                g_autofree char *text = g_strdup_printf(
                    "{\"run\":\"1-1\",\"job\":\"a\",\"state\":\"failed\",%s}", members[i]);
                expect_text_refused(text);
        }
}

Test(run_record, wrong_types_and_values_are_refused) {
        static const char *const members[] = {
            ",\"node\":1",
            ",\"node\":null",
            ",\"boot\":[]",
            ",\"nonce\":{}",
            ",\"unit\":true",
            ",\"invocation\":1.5",
            ",\"why\":[\"a\"]",
            ",\"who\":0",
            ",\"tick\":\"1763700000\"",
            ",\"tick\":1763700000.5",
            ",\"tick\":true",
            ",\"tick\":-1",
            ",\"tick\":9223372036854775807",
            ",\"tick\":9223372036854775808",
            ",\"to\":-1",
            ",\"to\":\"x\"",
            ",\"count\":-1",
            ",\"count\":4294967296",
            ",\"attempt\":-1",
            ",\"attempt\":4294967296",
            ",\"exit\":-1",
            ",\"exit\":256",
            ",\"exit\":\"0\"",
            ",\"signal\":-1",
            ",\"signal\":256",
            ",\"claimed\":-1",
            ",\"claimed\":-0.000001",
            ",\"claimed\":\"now\"",
            ",\"started\":1e12",
            ",\"ended\":1e300",
            ",\"ended\":true",
            ",\"cpu\":-0.5",
            ",\"continues\":1",
            ",\"attempts\":-1",
            ",\"delay\":-1",
            ",\"max_delay\":\"5min\"",
            ",\"no_retry\":[2]",
            ",\"rerun\":1",
            ",\"reboot\":\"interrupted\"",
            ",\"reboot\":true",
            ",\"rejoin_timeout\":-1",
            ",\"takeover_after\":-1",
            ",\"takeover_after\":\"1h\"",
            ",\"token\":-1",
            ",\"locks\":\"/a\"",
            ",\"locks\":{}",
            ",\"locks\":null",
            ",\"locks\":[1]",
            ",\"locks\":[\"relative\"]",
            ",\"locks\":[\"\"]",
            ",\"locks\":[\"/a\",null]",
        };

        for (size_t i = 0; i < G_N_ELEMENTS(members); i++) {
                g_autofree char *text = record_with(members[i]);

                expect_text_refused(text);
        }
}

Test(run_record, members_of_later_versions_are_let_through) {
        g_autofree char *text =
            record_with(",\"tick\":null,\"exit\":null,\"later\":{\"a\":[1,2]},\"locks\":[]");
        _cleanup_(run_record_freep) RunRecord *record = decode(text);

        cr_expect_eq(record->tick, 0);
        cr_expect_eq(record->exit_status, -1);
}

Test(run_record, too_large_is_refused) {
        g_autofree char *padding = g_strnfill(JSON_LINE_MAX, ' ');
        g_autofree char *text = record_with(""), *largest = NULL, *larger = NULL;
        _cleanup_(run_record_freep) RunRecord *record = NULL;

        larger = g_strconcat(text, padding, NULL);
        largest = g_strndup(larger, JSON_LINE_MAX);
        record = decode(largest);
        cr_expect_not_null(record);
        expect_refused(larger, JSON_LINE_MAX + 1);
}

Test(run_record, depth_does_not_matter) {
        g_autofree char *deep = g_strnfill(30000, '[');

        expect_text_refused(deep);
}

Test(run_record, what_a_person_says_of_it_keeps_what_was_known) {
        _cleanup_(run_record_freep) RunRecord *record = run_record_new("a", "10-1"), *copy = NULL;

        record->state = RUN_UNKNOWN;
        record->why = g_strdup("node n1 disappeared");
        record->ended = 5 * SECOND;
        run_record_resolve(record, RUN_SUCCEEDED, "alice on n2", "it is there", 7 * SECOND);
        cr_expect_eq(record->state, RUN_SUCCEEDED);
        cr_expect_str_eq(record->why, "resolved by alice on n2: it is there");
        cr_expect_str_eq(record->resolution.by, "alice on n2");
        cr_expect_str_eq(record->resolution.before, "node n1 disappeared");
        cr_expect_eq(record->resolution.at, 7 * SECOND);
        cr_expect_eq(record->ended, 5 * SECOND);
        copy = run_record_copy(record);
        run_record_forget_resolution(copy);
        cr_expect(!copy->resolution.at && !copy->resolution.by && !copy->resolution.before);
}
