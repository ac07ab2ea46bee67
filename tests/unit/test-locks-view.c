/* Locks as people see them: from a survey's entries by way of JSON to the table, the tree and the
 * sentences; what foreign payloads become on the way; and the arguments of `jobkeeper lock` made a
 * task. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "json-line.h"
#include "lock-arguments.h"
#include "lock-look.h"
#include "lock-report.h"
#include "lock-task.h"
#include "locks-view.h"
#include "run-view.h"

#define NOW ((usec_t)1763700000 * USEC_PER_SEC)

/* One entry; `payload` is copied, the rest borrowed. */
static LockEntry *entry(const char *resource, bool holds, unsigned before, const char *payload) {
        LockEntry *new = g_new0(LockEntry, 1);

        *new = (LockEntry){
            .resource = (char *)resource,
            .path = (char *)"/jobkeeper/locks/x/y",
            .slots = 1,
            .holds = holds,
            .before = before,
            .payload = (char *)payload,
            .session = 0x1f,
            .token = 77,
            .since = NOW - 90 * USEC_PER_SEC,
        };
        return new;
}

static json_t *report_of_all(const char *asked, LockEntry *const *all) {
        g_autoptr(GPtrArray) entries = g_ptr_array_new_with_free_func(g_free);

        for (; *all; all++)
                g_ptr_array_add(entries, *all);
        return lock_report(entries, NULL, asked, NOW, true);
}
#define report_of(asked, ...) report_of_all((asked), (LockEntry *const[]){__VA_ARGS__})

static const json_t *entry_at(const json_t *report, size_t resource, size_t index) {
        return json_array_get(
            json_object_get(json_array_get(json_object_get(report, "resources"), resource),
                            "entries"),
            index);
}

Test(lock_report, takes_the_members_of_our_payloads) {
        json_t *report = report_of(
            NULL,
            entry("db", true, 0,
                  "{\"node\":\"n1\",\"command\":\"sh\",\"pid\":12,\"user\":\"root\",\"x\":1}"),
            NULL);
        const json_t *first = entry_at(report, 0, 0);

        cr_expect_str_eq(json_text(first, "node"), "n1");
        cr_expect_str_eq(json_text(first, "command"), "sh");
        cr_expect_str_eq(json_text(first, "user"), "root");
        cr_expect_eq(json_number(first, "pid", 0), 12);
        cr_expect_eq(json_number(first, "token", 0), 77);
        cr_expect_str_eq(json_text(first, "session"), "0x1f");
        cr_expect_null(json_object_get(first, "x"));
        cr_expect_null(json_object_get(first, "payload"));
        json_decref(report);
}

Test(lock_report, takes_the_payload_of_a_single_node_out_of_its_wrapping) {
        LockEntry *single =
            entry("db", true, 0, "{\"id\":\"u\",\"payload\":\"{\\\"node\\\":\\\"n1\\\"}\"}");
        LockEntry *foreign = entry("old", true, 0, "{\"id\":\"u\",\"payload\":5}");
        json_t *report = NULL;

        single->naming = foreign->naming = LOCK_NAMING_SINGLE_NODE;
        report = report_of(NULL, single, foreign, NULL);
        cr_expect_str_eq(json_text(entry_at(report, 0, 0), "node"), "n1");
        cr_expect_null(json_object_get(entry_at(report, 0, 0), "payload"));
        cr_expect_str_eq(json_text(entry_at(report, 1, 0), "payload"),
                         "{\"id\":\"u\",\"payload\":5}");
        json_decref(report);
}

Test(lock_report, one_that_cannot_be_looked_into_is_named) {
        g_autoptr(GPtrArray) entries = g_ptr_array_new_with_free_func(g_free),
                             unreadable = g_ptr_array_new();
        g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
        json_t *report = NULL;
        Table *table = NULL;

        g_ptr_array_add(entries, entry("db", true, 0, "x"));
        g_ptr_array_add(unreadable, (char *)"shut");
        report = lock_report(entries, unreadable, NULL, NOW, true);
        for (int tree = 0; tree <= 1; tree++) {
                table = locks_table(report, tree, (double)NOW / USEC_PER_SEC, utc);
                cr_assert_eq(table->rows->len, tree ? 3 : 2);
                table_free(table);
        }
        cr_expect(json_is_true(json_object_get(
            json_array_get(json_object_get(report, "resources"), 1), "unreadable")));
        json_decref(report);
}

/* So that nothing waits for a long one. */
Test(lock_report, is_written_one_contender_at_a_time) {
        g_autoptr(GPtrArray) entries = g_ptr_array_new_with_free_func(g_free),
                             unreadable = g_ptr_array_new();
        _cleanup_(lock_report_freep) LockReport *report = NULL;
        g_autoptr(GString) text = g_string_new(NULL);
        json_t *whole = NULL, *written = NULL;
        unsigned pieces = 1;
        size_t longest = 0, before = 0;

        for (unsigned i = 0; i < 100; i++)
                g_ptr_array_add(entries, entry(i < 50 ? "db" : "pool", i == 0, i, "{}"));
        g_ptr_array_add(unreadable, (void *)"secret");
        report = lock_report_new(entries, unreadable, "mine", NOW, false);
        for (bool more = true; more; pieces += more) {
                before = text->len;
                more = lock_report_write(report, text);
                longest = MAX(longest, text->len - before);
        }
        cr_expect_gt(pieces, 100U);
        cr_expect_lt(longest, 400U);
        whole = lock_report(entries, unreadable, "mine", NOW, false);
        written = json_loads(text->str, 0, NULL);
        cr_expect(json_equal(whole, written));
        cr_expect_eq(json_array_size(json_object_get(written, "resources")), 4U);
        json_decref(whole);
        json_decref(written);
}

Test(lock_report, the_sessions_ids_are_for_root) {
        g_autoptr(GPtrArray) entries = g_ptr_array_new_with_free_func(g_free);
        json_t *report = NULL;

        g_ptr_array_add(entries, entry("db", true, 0, "x"));
        report = lock_report(entries, NULL, NULL, NOW, true);
        cr_expect_not_null(json_object_get(entry_at(report, 0, 0), "session"));
        json_decref(report);
        report = lock_report(entries, NULL, NULL, NOW, false);
        cr_expect_null(json_object_get(entry_at(report, 0, 0), "session"));
        json_decref(report);
}

Test(lock_report, foreign_payloads_are_shown_as_they_are_and_cut) {
        g_autofree char *long_text = g_strnfill(5000, 'x');
        json_t *report =
            report_of(NULL, entry("a", true, 0, "192.0.2.7"), entry("b", true, 0, "{\"node\": 5}"),
                      entry("c", true, 0, long_text),
                      entry("d", true, 0, "{\"node\":\"n\",\"job\":[1],\"pid\":\"x\"}"),
                      entry("e", true, 0, ""), NULL);

        cr_expect_str_eq(json_text(entry_at(report, 0, 0), "payload"), "192.0.2.7");
        cr_expect_str_eq(json_text(entry_at(report, 1, 0), "payload"), "{\"node\": 5}");
        cr_expect_eq(strlen(json_text(entry_at(report, 2, 0), "payload")), SAID_TEXT_MAX);
        cr_expect_null(json_object_get(entry_at(report, 3, 0), "job"));
        cr_expect_null(json_object_get(entry_at(report, 3, 0), "pid"));
        cr_expect_null(json_object_get(entry_at(report, 4, 0), "payload"));
        json_decref(report);
}

Test(lock_report, a_cut_text_ends_with_a_whole_character) {
        g_autoptr(GString) text = g_string_new("x");
        json_t *report = NULL;

        for (unsigned i = 0; i < 200; i++)
                g_string_append(text, "ü");
        report = report_of(NULL, entry("a", true, 0, text->str), NULL);
        cr_expect_eq(strlen(json_text(entry_at(report, 0, 0), "payload")), 199);
        json_decref(report);
}

Test(lock_report, one_that_was_asked_for_appears_without_anybody) {
        json_t *report = report_of("db", NULL);
        const json_t *resources = json_object_get(report, "resources");

        cr_assert_eq(json_array_size(resources), 1);
        cr_expect_str_eq(json_text(json_array_get(resources, 0), "resource"), "db");
        json_decref(report);
}

static void assert_row(const Table *table, guint index, const char *expected) {
        g_autofree char *row = NULL;

        cr_assert_lt(index, table->rows->len);
        row = g_strjoinv("|", g_ptr_array_index(table->rows, index));
        cr_assert_str_eq(row, expected);
}

static json_t *two_queues(void) {
        LockEntry *slot = entry("pool", true, 0, "");
        LockEntry *stranger = entry("pool", false, 1, "who\033[31m");

        slot->slot = true;
        slot->slots = 3;
        stranger->foreign = true;
        return report_of(
            NULL, entry("db", true, 0, "{\"node\":\"n1\",\"job\":\"backup\",\"tick\":1763695800}"),
            entry("db", false, 1,
                  "{\"node\":\"n2\",\"command\":\"sh\",\"pid\":9,\"user\":\"ann\"}"),
            slot, stranger, NULL);
}

Test(locks_view, a_table_has_a_line_for_everybody) {
        g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
        json_t *report = two_queues();
        _cleanup_(table_freep) Table *table = locks_table(report, false, 1763700000, utc);

        cr_assert_eq(table->rows->len, 4);
        assert_row(table, 0, "db|holds|exclusive|n1|1min 30s|job backup, tick 2025-11-21 03:30:00");
        assert_row(table, 1, "db|waits (1 before)|exclusive|n2|1min 30s|sh (pid 9, ann)");
        assert_row(table, 2, "pool|holds|one of 3||1min 30s|not known");
        assert_row(table, 3, "pool|foreign|exclusive||1min 30s|who\033[31m");
        json_decref(report);
}

Test(locks_view, a_tree_has_the_resources_above) {
        g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
        json_t *report = two_queues();
        _cleanup_(table_freep) Table *table = locks_table(report, true, 1763700000, utc);
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);

        cr_assert_eq(table_print(table, out), 0);
        (void)fclose(out);
        cr_expect(g_str_has_prefix(text, "RESOURCE"), "%s", text);
        cr_expect(strstr(text, "\ndb "), "%s", text);
        cr_expect(strstr(text, "n2"), "%s", text);
        cr_expect_not(strchr(text, '\033'), "%s", text);
        cr_assert_eq(table->rows->len, 6);
        assert_row(table, 0, "db||||");
        assert_row(table, 2, "n2|waits (1 before)|exclusive|1min 30s|sh (pid 9, ann)");
        free(text);
        json_decref(report);
}

static void assert_sentences(json_t *report, const char *expected) {
        g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
        g_autofree char *sentences = locks_sentences(report, utc);

        cr_expect_str_eq(sentences, expected);
        json_decref(report);
}

Test(locks_view, sentences_say_who_holds_and_how_many_wait) {
        assert_sentences(report_of("db", NULL), "");
        assert_sentences(two_queues(),
                         "db is held by n1: job backup, tick 2025-11-21 03:30:00 since 2025-11-21 "
                         "04:38:30, 1 waits for it\n"
                         "pool is held by not known since 2025-11-21 04:38:30, 1 waits for it");
        assert_sentences(report_of(NULL, entry("a", true, 0, "1"), entry("a", true, 0, "2"),
                                   entry("a", true, 0, "3"), entry("a", true, 0, "4"),
                                   entry("a", true, 0, "5"), entry("a", false, 5, "6"),
                                   entry("a", false, 6, "7"), NULL),
                         "a is held by 1 since 2025-11-21 04:38:30; 2 since 2025-11-21 04:38:30; 3 "
                         "since 2025-11-21 04:38:30 and 2 more, 2 wait for it");
}

static void assert_look(const char *resource, const char *fault) {
        g_autofree char *got = lock_look_fault(resource);

        if (fault)
                cr_expect(got && strstr(got, fault), "%s: %s", resource, got);
        else
                cr_expect_null(got, "%s", got);
}

Test(lock_look, names_of_jobs_and_of_others) {
        assert_look("db", NULL);
        assert_look("job:orders", NULL);
        assert_look("job:", "is empty");
        assert_look("../x", "\"../x\"");
}

Test(lock_arguments, also) {
        static const struct {
                const char *text, *name;
                LockMode mode;
        } good[] = {{"db", "db", LOCK_EXCLUSIVE},
                    {"db:shared", "db", LOCK_SHARED},
                    {"db:exclusive", "db", LOCK_EXCLUSIVE}};
        static const char *const bad[] = {"db:read", "db:", "db:shared:x", "job:x", NULL};

        for (size_t i = 0; i < G_N_ELEMENTS(good); i++) {
                g_autofree char *name = NULL;
                LockMode mode = LOCK_EXCLUSIVE;

                cr_expect_null(lock_also_read(good[i].text, &name, &mode));
                cr_expect_str_eq(name, good[i].name);
                cr_expect_eq(mode, good[i].mode);
        }
        for (const char *const *text = bad; *text; text++) {
                char *name = NULL;
                LockMode mode = LOCK_SHARED;
                g_autofree char *fault = lock_also_read(*text, &name, &mode);

                cr_expect(fault && strstr(fault, *text), "%s: %s", *text, fault);
                cr_expect_null(name, "untouched on failure");
                cr_expect_eq(mode, LOCK_SHARED);
        }
}

Test(lock_arguments, on_loss) {
        bool go_on = true;

        cr_expect_eq(lock_on_loss_read(NULL, &go_on), 0);
        cr_expect_not(go_on);
        cr_expect_eq(lock_on_loss_read("continue", &go_on), 0);
        cr_expect(go_on);
        cr_expect_eq(lock_on_loss_read("die", &go_on), -EINVAL);
        cr_expect(go_on, "untouched on failure");
        cr_expect_eq(lock_on_loss_read("stop", &go_on), 0);
        cr_expect_not(go_on);
}

Test(lock_task, resources_are_in_canonical_order_and_each_once) {
        char *argv[] = {(char *)"/bin/true", (char *)"secret", NULL};
        LockTask task = {.argv = argv};
        g_auto(GStrv) environment = NULL;
        g_autofree char *twice = NULL, *job = NULL, *payload = NULL;

        cr_expect_null(lock_task_add(&task, "zoo", LOCK_SHARED, 0, NULL));
        cr_expect_null(lock_task_add(&task, "ape", LOCK_EXCLUSIVE, 2, g_strdup("kazoo")));
        lock_task_finish(&task);
        cr_expect_str_eq(task.label, "ape zoo");
        environment = lock_task_environment(&task, 42);
        cr_expect_str_eq(g_environ_getenv(environment, "JOBKEEPER_RESOURCE"), "ape zoo");
        cr_expect_str_eq(g_environ_getenv(environment, "JOBKEEPER_FENCING_TOKEN"), "42");
        payload = lock_task_payload(&task, "n1");
        cr_expect(strstr(payload, "\"node\":\"n1\"") &&
                      strstr(payload, "\"command\":\"/bin/true\""),
                  "%s", payload);
        cr_expect_not(strstr(payload, "secret"), "%s", payload);
        twice = lock_task_add(&task, "zoo", LOCK_EXCLUSIVE, 0, NULL);
        cr_expect_str_eq(twice, "the resource zoo is given twice");
        job = lock_task_add(&task, "job:x", LOCK_EXCLUSIVE, 0, NULL);
        cr_expect(job && strstr(job, "job's own lock"));
        lock_task_done(&task);
}
