/* What the command shows of the daemon's JSON: the texts, the tables' cells, the exit statuses. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <string.h>

#include "explain-view.h"
#include "next-view.h"
#include "output.h"
#include "overdue-view.h"
#include "run-view.h"
#include "status-view.h"
#include "time-text.h"

#define NOW 1763700000.0

static json_t *json(const char *text) {
        json_error_t error;
        json_t *parsed = json_loads(text, 0, &error);

        cr_assert(parsed, "%s", error.text);
        return parsed;
}

static void assert_row(const Table *table, guint index, const char *expected) {
        g_autofree char *row = NULL;

        cr_assert_lt(index, table->rows->len);
        row = g_strjoinv("|", g_ptr_array_index(table->rows, index));
        cr_assert_str_eq(row, expected);
}

static void assert_span(double seconds, const char *expected) {
        g_autofree char *span = span_to_text(seconds);

        cr_assert_str_eq(span, expected);
}

Test(time_text, spans_have_two_units) {
        assert_span(0, "0s");
        assert_span(0.0009, "0ms");
        assert_span(0.0129, "12ms");
        assert_span(4.19, "4.1s");
        assert_span(59.9, "59s");
        assert_span(200, "3min 20s");
        assert_span(3600, "1h");
        assert_span(3600 + 59, "1h");
        assert_span(2 * 86400 + 4 * 3600 + 1, "2d 4h");
        assert_span(366 * 86400, "1y");
        assert_span(-1, "-");
}

static void assert_relative(double epoch, const char *expected) {
        g_autofree char *text = time_relative(epoch, NOW);

        cr_assert_str_eq(text, expected);
}

Test(time_text, relative_times) {
        assert_relative(NOW + 0.5, "now");
        assert_relative(NOW + 5.7, "in 5s");
        assert_relative(NOW - 250, "4min 10s ago");
        assert_relative(NOW + 10920, "in 3h 2min");
}

Test(time_text, times_are_shown_in_the_zone) {
        g_autoptr(GTimeZone) berlin = g_time_zone_new_identifier("Europe/Berlin");
        g_autofree char *text = time_to_text(NOW, berlin);
        g_autofree char *absurd = time_to_text(1e18, berlin);

        cr_assert_str_eq(text, "2025-11-21 05:40:00");
        cr_assert_str_eq(absurd, "-");
}

static const char status_text[] =
    "{'node': 'n1', 'version': '0.1.0', 'started': 1763696400.5,"
    " 'session': {'state': 'connected', 'id': '0x10000d4', 'server': '127.0.0.1:2181', 'timeout': "
    "30.0, 'held_for': 15.25},"
    " 'clock': {'skew': 0.002, 'skewed': false},"
    " 'members': [{'node': 'n1', 'self': true}, {'node': 'n2', 'skewed': true}],"
    " 'jobs': ["
    "  {'job': 'backup', 'schedule': 'daily', 'next': 1763710000, 'next_start': 1763710920, "
    "'state': 'idle', 'why': '', "
    "'running': [],"
    "   'last': {'run': '1-1', 'state': 'failed', 'exit': 3, 'node': 'n2', 'started': 1763699750}},"
    "  {'job': 'report', 'schedule': 'hourly', 'next': 1763703600, 'state': 'running', 'why': '', "
    "'last': null,"
    "   'running': [{'node': 'n1', 'state': 'running', 'started': 1763699940}, {'node': 'n2'}]},"
    "  {'job': 'manual', 'schedule': null, 'next': null, 'state': 'unfit', 'why': 'the user "
    "\\'x\\' is unknown', 'last': null}],"
    " 'errors': ['a.yaml:1:2: error: no']}";

/* JSON with its quotes written as ' (and ' as \'), so that it can be read here. */
static json_t *quoted_json(const char *text) {
        g_autoptr(GString) string = g_string_new(text);

        g_string_replace(string, "\\'", "\001", 0);
        g_string_replace(string, "'", "\"", 0);
        g_string_replace(string, "\001", "'", 0);
        return json(string->str);
}

Test(status, head_lines) {
        json_t *status = quoted_json(status_text);
        g_autofree char *head = status_head(status, NOW);

        cr_assert_str_eq(head, "node     n1, jobkeeperd 0.1.0, up 59min 59s\nsession  connected to "
                               "127.0.0.1:2181, 0x10000d4, locks guaranteed for 15.2s\nclock    "
                               "+0.002s against ZooKeeper's\nmembers  n1 (this), n2 (skewed)\n");
        json_decref(status);
}

Test(status, a_clock_that_was_compared_long_ago) {
        json_t *status = quoted_json("{'clock': {'skew': -0.5, 'known': false, 'skewed': false}}");
        g_autofree char *head = status_head(status, NOW);

        cr_expect(strstr(head, "clock    -0.500s against ZooKeeper's, to be compared again before "
                               "a run starts\n"),
                  "%s", head);
        json_decref(status);
}

Test(status, head_of_a_daemon_that_knows_nothing) {
        json_t *status = quoted_json("{'node': 'n1', 'version': '0.1.0', 'session': {'state': "
                                     "'connecting', 'id': '0x0', 'fault': 'no such host'},"
                                     " 'clock': {'skew': null, 'skewed': true}, 'members': []}");
        g_autofree char *head = status_head(status, NOW);

        cr_assert_str_eq(
            head, "node     n1, jobkeeperd 0.1.0\nsession  connecting: no such host\nclock    not "
                  "known until ZooKeeper is connected: SKEWED, this node starts no runs\nmembers  "
                  "not known\n");
        json_decref(status);
}

Test(status, a_clock_that_is_waited_for) {
        json_t *status = quoted_json(
            "{'clock': {'skew': 0.5, 'known': true, 'skewed': false, 'waited_for': true}}");
        char *head = status_head(status, 0);

        cr_expect(strstr(head, "clock    +0.500s against ZooKeeper's: NOT SYNCHRONISED yet, this "
                               "node starts no runs until it is (wait-for-clock in "
                               "jobkeeper.yaml)\n"),
                  "%s", head);
        g_free(head);
        json_decref(status);
}

Test(status, a_clock_that_was_just_not_measured) {
        json_t *status = quoted_json("{'node': 'n1', 'version': '0.1.0', 'session': {'state': "
                                     "'connected', 'server': 'z:2181', 'id': '0x0'},"
                                     " 'clock': {'skew': null, 'skewed': false}, 'members': []}");
        g_autofree char *head = status_head(status, NOW);

        cr_assert_str_eq(head, "node     n1, jobkeeperd 0.1.0\nsession  connected to z:2181\n"
                               "clock    not measured yet\nmembers  not known\n");
        json_decref(status);
}

Test(output, json_sends_no_control_character_to_a_terminal) {
        const char raw[] = "{\"a\": \"\x7f\xc2\x9b"
                           "31m\\u001b \xc3\xbc \xc2\x80\xe2\x80\xae\xf0\x9d\x85\xb3\"}";
        g_autofree char *shown = json_printable(raw);
        json_t *before = json_loads(raw, 0, NULL), *after = json_loads(shown, 0, NULL);

        cr_expect_str_eq(
            shown, "{\"a\": \"\\u007f\\u009b31m\\u001b \xc3\xbc \\u0080\\u202e\\ud834\\udd73\"}");
        cr_expect(before && json_equal(before, after), "it means the same");
        json_decref(before);
        json_decref(after);
}

Test(status, head_warns) {
        json_t *status = quoted_json("{'node': 'n1', 'version': '0.1.0', 'members': [], "
                                     "'warnings': ['all is open', 5]}");
        g_autofree char *head = status_head(status, NOW);

        cr_assert_not_null(strstr(head, "\nwarning  all is open\nwarning  ?\n"));
        json_decref(status);
}

Test(status, head_says_what_keeps_this_node_from_beginning) {
        json_t *status =
            quoted_json("{'node': 'n1', 'version': '0.1.0', 'members': [{'node': 'n1', "
                        "'self': true, 'busy': 'stopping'}, {'node': 'n2', 'self': "
                        "false, 'busy': 'max-runs'}]}");
        g_autofree char *head = status_head(status, NOW);

        cr_expect(strstr(head, "\nbusy     jobkeeperd is stopping, and waits for what runs here: "
                               "nothing begins\n"),
                  "%s", head);
        cr_expect_null(strstr(head, "max-runs"));
        json_decref(status);
}

Test(status, rows) {
        json_t *status = quoted_json(status_text);
        g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
        Table *table = status_table(status, NOW, utc);

        cr_assert_eq(table->rows->len, 3);
        assert_row(table, 0,
                   "backup|idle|07:42:00 (in 3h 2min)|04:35:50 (4min 10s "
                   "ago)|failed (exit status 3)|n2|");
        assert_row(table, 1, "report|running|05:40:00 (in 1h)|04:39:00 (1min ago)|running|n1, n2|");
        assert_row(table, 2, "manual|unfit|manual|never|||the user 'x' is unknown");
        table_free(table);
        json_decref(status);
}

Test(status, what_runs_after_others_says_so) {
        json_t *status = quoted_json(
            "{'session': {'state': 'connected'}, 'jobs': [{'job': 'a', 'schedule': null, 'state': "
            "'idle', 'after': ['x']}, {'job': 'b', 'schedule': null, 'state': 'idle', 'after': "
            "['x', 'y']}, {'job': 'c', 'schedule': 'daily', 'state': 'idle', 'after': ['x']}, "
            "{'job': 'd', 'schedule': null, 'state': 'idle', 'after': [1]}]}");
        g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
        Table *table = status_table(status, NOW, utc);

        assert_row(table, 0, "a|idle|after x|never|||");
        assert_row(table, 1, "b|idle|after 2 jobs|never|||");
        assert_row(table, 2, "c|idle|-|never|||");
        assert_row(table, 3, "d|idle|manual|never|||");
        table_free(table);
        json_decref(status);
}

Test(status, a_service_says_so_and_when_it_is_started_again) {
        json_t *status = quoted_json(
            "{'session': {'state': 'connected'}, 'jobs': [{'job': 'a', 'schedule': null, 'state': "
            "'idle', 'mode': 'service', 'why': '', 'running': [], 'retry': {'tick': 5, 'attempt': "
            "7, 'not_before': 1763700060}, 'last': {'state': 'failed', 'exit': 3, 'node': 'n1', "
            "'started': 1763699880}}]}");
        g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
        Table *table = status_table(status, NOW, utc);

        assert_row(table, 0,
                   "a|idle|service|04:38:00 (2min ago)|failed (exit status 3)|n1|started again: "
                   "in 1min");
        table_free(table);
        json_decref(status);
}

/* The run that is under way is the news; how the one before it ended is told beside it. */
Test(status, a_run_under_way_is_shown_with_its_age_and_the_result_before_it) {
        json_t *status = quoted_json(
            "{'session': {'state': 'connected'}, 'jobs': [{'job': 'a', 'schedule': null, 'state': "
            "'running', 'why': '', 'running': [{'state': 'claimed', 'node': 'n2', 'claimed': "
            "1763699880}], 'last': {'state': 'failed', 'exit': 3, 'node': 'n1', 'started': 5}}]}");
        g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
        Table *table = status_table(status, NOW, utc);

        assert_row(table, 0,
                   "a|running|manual|04:38:00 (2min ago)|in progress|n2|the run before: failed "
                   "(exit status 3)");
        table_free(table);
        json_decref(status);
}

Test(status, nodes_that_are_away_and_what_was_not_read_are_said) {
        json_t *status = quoted_json(
            "{'node': 'n1', 'version': '0.1.0', 'complete': false, 'session': {'state': "
            "'connected', 'fault': 'ZooKeeper has not answered for 7 s'}, 'clock': {'skew': "
            "0.002}, 'members': [{'node': 'n1', 'self': true, 'outside': {'until': 1763700060}}, "
            "{'node': 'n5', 'outside': {'until': null}}, {'node': 'n6', 'outside': null}], 'away': "
            "[{'node': 'n2', 'since': "
            "1763699880}, {'node': 'n3', 'since': null}], 'drained': [{'node': 'n2', 'by': 'alice "
            "on "
            "n1', 'why': 'new disk', 'since': 1763699880}, {'node': 'n4', 'by': '', 'why': '', "
            "'since': null}], 'paused': {'all': true, 'by': 'bob', 'why': 'db', 'since': "
            "1763699880}, "
            "'jobs': [{'job': 'a', 'state': 'unread'}]}");
        g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
        g_autofree char *head = status_head(status, NOW);
        Table *table = status_table(status, NOW, utc);

        cr_assert_str_eq(
            head,
            "node     n1, jobkeeperd 0.1.0\n"
            "session  connected: ZooKeeper has not answered for 7 s\n"
            "clock    +0.002s against ZooKeeper's\n"
            "members  n1 (this), n5, n6, n2 (away for 2min), n3 (away)\n"
            "drained  n2 by alice on n1, 2min ago: new disk\n"
            "drained  n4\n"
            "window   n1 is outside of its window until 2025-11-21 04:41:00 UTC (in 1min)\n"
            "window   n5 is outside of its window, which does not open any more\n"
            "paused   all jobs by bob, 2min ago: db\n"
            "jobs     as far as this node knows by itself, without what stands in ZooKeeper\n");
        assert_row(table, 0, "a|unread|manual|-|||");
        table_free(table);
        json_decref(status);
}

/* Its next tick is none that is run. Where its state is another, as that of what runs, it has to be
 * seen all the same that nothing comes after it. */
Test(status, a_job_that_is_paused) {
        json_t *status = quoted_json(
            "{'session': {'state': 'connected'}, 'jobs': [{'job': 'a', 'schedule': 'x', 'next': "
            "1763700060, 'state': 'paused', 'why': 'paused by bob: db', 'paused': {'all': false, "
            "'by': 'bob', 'why': 'db', 'since': 1763699880}, 'running': [], 'last': null}, {'job': "
            "'b', 'schedule': 'x', 'next': 1763700060, 'state': 'paused', 'why': 'paused', "
            "'paused': {}}, {'job': 'c', 'state': 'running', 'why': '', 'mode': 'service', "
            "'paused': {'by': 'bob', 'why': 'db', 'since': 1763699880}}, {'job': 'd', 'state': "
            "'invalid', 'why': 'no such key', 'mode': 'service', 'paused': {'all': true}}]}");
        g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
        Table *table = status_table(status, NOW, utc);

        assert_row(table, 0, "a|paused|-|never|||paused by bob: db (2min ago)");
        assert_row(table, 1, "b|paused|-|never|||paused");
        assert_row(table, 2, "c|running|service|never|||paused by bob: db (2min ago)");
        assert_row(table, 3, "d|invalid|service|never|||paused; no such key");
        table_free(table);
        json_decref(status);
}

#define OVERDUE_JOBS                                                                               \
        "'jobs': [{'job': 'late', 'state': 'paused', 'why': 'paused by a', 'paused': {},"          \
        " 'expected': {'within': 86400, 'since': 1763600000, 'succeeded': true, "                  \
        "'overdue': true}},"                                                                       \
        " {'job': 'new', 'state': 'idle', 'expected': {'within': 60, 'since': 1763699880,"         \
        " 'succeeded': false, 'overdue': true}},"                                                  \
        " {'job': 'good', 'state': 'idle', 'why': 'w', 'expected': {'within': 60,"                 \
        " 'since': 1763699990, 'succeeded': true, 'overdue': false}},"                             \
        " {'job': 'free', 'state': 'idle'}]"

Test(status, what_is_overdue) {
        json_t *status = quoted_json("{" OVERDUE_JOBS "}");
        g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
        _cleanup_(table_freep) Table *table = status_table(status, NOW, utc);
        g_autofree char *head = status_head(status, NOW);
        static const char *const whys[] = {
            "overdue: the last success was 1d 3h ago, and one is expected within 1d; paused by a",
            "overdue: no success since the job came, 2min ago, and one is expected within 1min",
            "w", ""};

        for (guint i = 0; i < G_N_ELEMENTS(whys); i++)
                cr_expect_str_eq(((char **)table->rows->pdata[i])[6], whys[i]);
        cr_expect(strstr(head, "overdue  2 jobs: see WHY\n"), "%s", head);
        json_decref(status);
}

Test(status, a_check_for_what_is_overdue) {
        static const struct {
                const char *status, *text;
                int code;
        } cases[] = {
            {"{'complete': true, " OVERDUE_JOBS "}",
             "late: overdue: the last success was 1d 3h ago, and one is expected within 1d; it is "
             "paused\n"
             "new: overdue: no success since the job came, 2min ago, and one is expected within "
             "1min\n",
             1},
            {"{'complete': true, 'jobs': [{'job': 'a'}, {'job': 'b', 'expected': {'within': 60, "
             "'since': 1, 'succeeded': true, 'overdue': false}}]}",
             "no job is overdue\n", 0},
            {"{'complete': true, 'jobs': [{'job': 'b', 'expected': {'within': 60, 'overdue': "
             "null}}]}",
             "b: not known\nnot all is known: jobkeeper status says why\n", 69},
            {"{'complete': false, 'jobs': []}", "not all is known: jobkeeper status says why\n",
             69},
            {"{'complete': false, 'jobs': [{'job': 'b', 'expected': {'within': 60, 'overdue': "
             "true}}, {'job': 'c', 'expected': {}}]}",
             "b: overdue: no success since the job came, long ago, and one is expected within "
             "1min\nc: not known\n",
             1},
        };

        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                json_t *status = quoted_json(cases[i].status);
                g_autofree char *text = NULL;

                cr_expect_eq(overdue_check(status, NOW, &text), cases[i].code, "%zu", i);
                cr_expect_str_eq(text, cases[i].text);
                json_decref(status);
        }
}

Test(status, what_is_left_out_is_said) {
        json_t *status = quoted_json(
            "{'node': 'n1', 'version': '0.1.0', 'complete': false, 'note': 'the answer would be "
            "too long: 7 jobs and 0 members are left out', 'session': {'state': 'connected'}, "
            "'clock': {'skew': 0.002}, 'members': [{'node': 'n1', 'self': true}], 'jobs': []}");
        g_autofree char *head = status_head(status, NOW);

        cr_expect(g_str_has_suffix(head, "\njobs     the answer would be too long: 7 jobs and 0 "
                                         "members are left out\n"),
                  "%s", head);
        json_decref(status);
}

Test(status, without_a_connection_nothing_is_said_about_the_past) {
        json_t *status =
            quoted_json("{'session': {'state': 'suspended'}, 'jobs': [{'job': 'a', 'schedule': "
                        "null, 'state': 'unread', 'last': null}]}");
        g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
        Table *table = status_table(status, NOW, utc);

        assert_row(table, 0, "a|unread|manual|-|||");
        table_free(table);
        json_decref(status);
}

Test(status, errors_are_listed_and_foreign_ones_survived) {
        json_t *status = quoted_json("{'errors': ['a.yaml:1:2: error: no', 7]}"),
               *fine = quoted_json("{'errors': []}");
        g_autofree char *text = status_errors(status);
        g_autofree char *none = status_errors(fine);

        cr_assert(strstr(text, "\n  a.yaml:1:2: error: no\n  ?\n"));
        cr_assert_str_eq(none, "");
        json_decref(status);
        json_decref(fine);
}

/* That the jobs of a file stay as they last were is said only where they do. */
Test(status, a_file_that_was_never_good_is_named) {
        json_t *status = quoted_json("{'errors': ['a.yaml:1:2: error: no'], 'unloaded': []}"),
               *never = quoted_json("{'errors': ['a.yaml:1:2: error: no'], 'unloaded': ['a.yaml'], "
                                    "'left_out': ['x', 'y']}");
        g_autofree char *text = status_errors(status), *other = status_errors(never);

        cr_expect_str_eq(
            text, "1 error in the job files; the jobs of a file with errors stay as "
                  "they last were, unless the error says otherwise:\n  a.yaml:1:2: error: no\n");
        cr_expect_str_eq(other, "1 error in the job files:\n  a.yaml:1:2: error: no\n"
                                "Not loaded on this node are the jobs of a.yaml: it has had errors "
                                "since jobkeeperd was started. The jobs of other files with errors "
                                "stay as they last were, unless the error says otherwise.\n"
                                "Not loaded on this node, since nothing of it was in force before: "
                                "x, y.\n");
        json_decref(status);
        json_decref(never);
}

Test(status, an_answer_of_another_shape_is_survived) {
        json_t *status = quoted_json("{'node': 1, 'session': [], 'members': {}, 'jobs': [7, "
                                     "{'job': [], 'last': 1, 'running': 'x'}]}");
        g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
        g_autofree char *head = status_head(status, NOW);
        Table *table = status_table(status, NOW, utc);

        cr_assert_not_null(head);
        cr_assert_eq(table->rows->len, 2);
        table_free(table);
        json_decref(status);
}

Test(history, rows) {
        json_t *runs =
            quoted_json("[{'run': '1763699700-2', 'tick': 1763699700, 'attempt': 2, 'node': 'n1', "
                        "'state': 'running', 'started': 1763699750},"
                        " {'run': 'ab12', 'tick': null, 'node': 'n2', 'state': 'failed', 'signal': "
                        "9, 'why': 'signal', 'started': 1763690000.5, 'ended': 1763690004.6},"
                        " {'run': '1763600400', 'tick': 1763600400, 'to': 1763607600, 'count': 3, "
                        "'state': 'skipped', 'why': 'nobody was there'},"
                        " {'run': '1763699700-1', 'tick': 1763699700, 'node': 'n2', 'state': "
                        "'claimed', 'claimed': 1763699880}]");
        g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
        Table *table = run_table(runs, NOW, utc);

        assert_row(table, 0,
                   "2025-11-21 04:35:00|1763699700-2|n1|04:35:50 (4min 10s ago)|4min "
                   "10s|running|");
        assert_row(table, 1, "manual|ab12|n2|01:53:20 (2h 46min ago)|4.0s|failed (SIGKILL)|");
        assert_row(table, 2,
                   "2025-11-20 01:00:00 to 03:00:00 (3 "
                   "ticks)|1763600400||||skipped|nobody was there");
        assert_row(table, 3,
                   "2025-11-21 04:35:00|1763699700-1|n2|04:38:00 (2min ago)|2min|in progress|");
        table_free(table);
        json_decref(runs);
}

static void assert_run(const char *text, const char *sentence, int status) {
        json_t *run = quoted_json(text);
        g_autofree char *got = run_sentence(run);

        cr_assert_str_eq(got, sentence);
        cr_assert_eq(run_exit(run), status);
        json_decref(run);
}

/* What was only settled is told by that time. */
Test(history, a_manual_run_that_never_began_has_a_time_all_the_same) {
        g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
        json_t *runs = quoted_json(
            "[{'run': 'm1', 'tick': null, 'state': 'skipped', 'ended': 1763699750, 'why': 'no "
            "lock'},"
            " {'run': 'm2', 'tick': null, 'node': 'n1', 'state': 'succeeded', 'started': "
            "1763699750,"
            " 'ended': 1763699751},"
            " {'run': '1-1', 'tick': 1763699700, 'state': 'skipped', 'ended': 1763699750},"
            " {'run': '1-m1', 'tick': null, 'state': 'skipped', 'ended': 1763699750,"
            " 'who': 'after b, run 5-1', 'parent_job': 'b'}]");
        _cleanup_(table_freep) Table *table = run_table(runs, NOW, utc);

        cr_expect_str_eq(((char **)table->rows->pdata[3])[0],
                         "after b, run 5-1, settled 2025-11-21 04:35:50");
        assert_row(table, 0, "manual, settled 2025-11-21 04:35:50|m1||||skipped|no lock");
        cr_expect_str_eq(((char **)table->rows->pdata[1])[0], "manual");
        cr_expect_str_eq(((char **)table->rows->pdata[2])[0], "2025-11-21 04:35:00");
        json_decref(runs);
}

Test(run, sentence_and_exit_status) {
        assert_run("{'run': 'a', 'job': 'backup', 'node': 'n1', 'state': 'succeeded', 'exit': 0, "
                   "'started': 1, 'ended': 3.5}",
                   "run a of backup on n1: succeeded after 2.5s", 0);
        assert_run("{'run': 'a', 'job': 'backup', 'node': 'n1', 'state': 'failed', 'exit': 3, "
                   "'started': 1, 'ended': 61}",
                   "run a of backup on n1: failed (exit status 3) after 1min", 1);
        assert_run("{'run': 'a', 'job': 'backup', 'node': 'n1', 'state': 'timed-out', 'signal': "
                   "99, 'why': 'timeout'}",
                   "run a of backup on n1: timed-out (signal 99)", 1);
        assert_run("{'run': 'a', 'job': 'backup', 'node': 'n1', 'state': 'failed', 'exit': 1, "
                   "'why': 'oom-kill'}",
                   "run a of backup on n1: failed (exit status 1): oom-kill", 1);
        assert_run("{'run': 'a', 'job': 'backup', 'state': 'skipped', 'why': 'no node took it'}",
                   "run a of backup: skipped: no node took it", 1);
        assert_run("{}", "run  of : ", 1);
}

Test(next, ticks_of_a_schedule) {
        g_autoptr(GTimeZone) berlin = g_time_zone_new_identifier("Europe/Berlin");
        static const char *const headings[] = {"Europe/Berlin", "UTC", "IN", NULL};
        _cleanup_(schedule_freep) Schedule *schedule = NULL;
        json_t *next = NULL;
        Table *table = NULL;

        cr_assert_eq(schedule_new(NULL, &schedule, NULL), 0);
        cr_assert_eq(schedule_add_every(schedule, 3600 * USEC_PER_SEC, NULL), 0);
        next = next_compute(schedule, NULL, (int64_t)NOW, 2);
        table = next_table(next, NOW, berlin, headings);
        cr_assert_eq(table->rows->len, 2);
        assert_row(table, 0, "2025-11-21 06:00:00|2025-11-21 05:00:00|in 20min");
        cr_assert_null(json_object_get(next, "job"));
        table_free(table);
        json_decref(next);
}

Test(next, delayed_starts_have_a_column) {
        static const char *const headings[] = {"LOCAL", "UTC", "IN", NULL};
        g_autoptr(GTimeZone) zone = g_time_zone_new_offset(3600);
        g_autofree char *message = NULL, *start = NULL, *row = NULL, *when = NULL;
        Schedule *schedule = NULL;
        json_t *next = NULL;
        Table *table = NULL;
        double begins;

        cr_assert_eq(schedule_new(NULL, &schedule, &message), 0);
        cr_assert_eq(schedule_add_calendar(schedule, "hourly", &message), 0);
        cr_assert_eq(schedule_set_random_delay(schedule, 600 * USEC_PER_SEC, &message), 0);
        next = next_compute(schedule, "a", (int64_t)NOW, 2);
        cr_assert_str_eq(json_text(next, "schedule"), "*-*-* *:00:00 UTC random-delay 10min");
        cr_assert_eq(json_array_size(json_object_get(next, "starts")), 2);
        begins = json_number_value(json_array_get(json_object_get(next, "starts"), 0));
        cr_assert_eq((int64_t)begins, schedule_start(schedule, "a", 1763701200));
        table = next_table(next, NOW, zone, headings);
        start = time_to_text(begins, zone);
        when = time_relative(begins, NOW);
        row = g_strdup_printf("2025-11-21 06:00:00|2025-11-21 05:00:00|%s|%s", when,
                              start + strlen("2025-11-21 "));
        assert_row(table, 0, row);
        table_free(table);
        json_decref(next);
        /* One that has come and not started yet is still to come. */
        next = next_compute(schedule, "a", (int64_t)begins - 1, 1);
        cr_assert_eq(json_integer_value(json_array_get(json_object_get(next, "ticks"), 0)),
                     1763701200);
        json_decref(next);
        schedule_free(schedule);
}

Test(next, a_job_without_schedule) {
        json_t *next = next_compute(NULL, "manual", (int64_t)NOW, 2);

        cr_assert_str_eq(json_text(next, "job"), "manual");
        cr_assert(json_is_null(json_object_get(next, "schedule")));
        cr_assert_eq(json_array_size(json_object_get(next, "ticks")), 0);
        json_decref(next);
}

Test(next, links_are_lines_and_none_is_none) {
        json_t *next = quoted_json("{'links': {'after': [{'job': 'a', 'on': 'success'}, {'job': "
                                   "'b', 'on': 'any'}], 'followers': ['x', 'y'], 'on_failure': "
                                   "'mail', 'on_recovery': 'well'}}"),
               *together = quoted_json("{'links': {'after': [{'job': 'a', 'on': 'success'}, "
                                       "{'job': 'b', 'on': 'any'}], 'all': true}}"),
               *one = quoted_json("{'links': {'after': [], 'followers': ['x'], 'on_failure': "
                                  "null, 'on_recovery': null, 'serves': [{'job': 'a', 'on': "
                                  "'on-failure'}, {'job': 'b', 'on': 'on-recovery'}]}}"),
               *none = quoted_json("{'links': 7}");
        g_autofree char *all = next_links(next), *follower = next_links(one),
                        *nothing = next_links(none), *waits = next_links(together);

        cr_expect_str_eq(all, "It runs after a (success), b (any).\nAfter it run x, y.\n"
                              "When it fails runs mail.\nWhen it succeeds again runs well.\n");
        cr_expect_str_eq(waits, "It runs after all of a (success), b (any).\n");
        cr_expect_str_eq(follower, "After it run x.\nIt is run for a (on-failure), b "
                                   "(on-recovery).\n");
        cr_expect_str_eq(nothing, "");
        json_decref(next);
        json_decref(one);
        json_decref(together);
        json_decref(none);
}

Test(status, a_clock_that_cannot_be_right) {
        json_t *status = quoted_json(
            "{'clock': {'skew': 0.0, 'known': true, 'skewed': true, 'impossible': true}}");
        g_autofree char *head = status_head(status, 0);

        cr_expect(strstr(head, "clock    +0.000s against ZooKeeper's: IMPOSSIBLE, it shows a time "
                               "before 2000 or after 2099; this node starts no runs\n"),
                  "%s", head);
        json_decref(status);
}

/* ---- explain ---- */

static void assert_explained(const char *members, const char *expected) {
        g_autofree char *text =
            g_strdup_printf("{'job': 'a', 'tick': 1763699700, 'start': 1763699700, %s}", members);
        g_autoptr(GTimeZone) zone = g_time_zone_new_utc();
        json_t *explanation = NULL;
        g_autofree char *sentences = NULL;

        g_strdelimit(text, "'", '"');
        explanation = json(text);
        sentences = explain_sentences(explanation, NOW, zone);
        cr_expect_str_eq(sentences, expected, "%s", sentences);
        json_decref(explanation);
}

#define TICK "a, tick 2025-11-21 04:35:00 (5min ago)\n"

Test(explain, each_state_in_words) {
        assert_explained("'state': 'no-tick', 'before': 1763699000, 'after': null",
                         TICK "The job has no such tick. The one before is 2025-11-21 04:23:20.");
        assert_explained("'state': 'no-tick', 'before': null, 'after': 1763699000",
                         TICK "The job has no such tick. The next one is 2025-11-21 04:23:20.");
        assert_explained("'state': 'not-owed'",
                         TICK "It was due before the definition in force took effect, or the job "
                              "was first seen: nobody owes it a run.");
        assert_explained("'state': 'settled', 'runs': []",
                         TICK "Nothing is kept of it: it was before the job was, or is settled and "
                              "older than what the job's \"history\" keeps.");
        assert_explained("'state': 'settled', 'runs': [{}]",
                         TICK "It is settled, and this is what became of it:");
        assert_explained("'state': 'under-way', 'node': 'n2', 'run': '1-1'",
                         TICK "It was claimed by n2, and is not settled yet: run 1-1.");
        assert_explained("'state': 'retry', 'attempt': 2, 'when': 1763700060",
                         TICK "Attempt 2 follows, not before 2025-11-21 04:41:00.");
        assert_explained("'state': 'retry', 'attempt': 2, 'when': 1763700060, 'why': 'it waits'",
                         TICK "Attempt 2 follows, not before 2025-11-21 04:41:00: it waits.");
        assert_explained("'state': 'due', 'begins': false, 'why': 'overlap'",
                         TICK "It is due, and no node has decided it yet: it is about to be "
                              "skipped (overlap).");
        assert_explained("'state': 'due', 'begins': true, 'why': 'it waits', 'when': 1763700060",
                         TICK "It is due, and no node has decided it yet: it waits, and is looked "
                              "at again at 2025-11-21 04:41:00.");
        assert_explained("'state': 'due', 'begins': true, 'why': '', 'nodes': [{'node': 'n1', "
                         "'rank': 1}, {'node': 'n2', 'rank': 0}], 'here': 'it is full'",
                         TICK "It is due, and no node has decided it yet: n2 is the first to run "
                              "it.\nOn this node: it is full.");
        assert_explained("'state': 'coming', 'begins': true, 'why': '', 'nodes': [{'node': 'n2', "
                         "'rank': 0}]",
                         TICK "It is to begin at 2025-11-21 04:35:00. As things stand, it will be "
                              "run, by n2 first.");
        assert_explained("'state': 'coming', 'begins': true, 'why': 'it waits', 'drifted': true",
                         TICK "It is to begin at 2025-11-21 04:35:00. As things stand, it will "
                              "wait: it waits.\nThis node's job file has another definition than "
                              "the one in force (drifted): it decides nothing of the job.");
        assert_explained("'state': 'coming', 'begins': false, 'why': 'paused'",
                         TICK "It is to begin at 2025-11-21 04:35:00. As things stand, it will be "
                              "skipped (paused).");
        assert_explained("'state': 'coming', 'begins': true, 'why': '', 'nodes': []",
                         TICK "It is to begin at 2025-11-21 04:35:00. As things stand, it will be "
                              "run.");
        assert_explained("'state': 'coming', 'begins': true, 'why': '', 'nodes': [{'node': 'n2', "
                         "'rank': 0, 'why': 'it is drained'}]",
                         TICK "It is to begin at 2025-11-21 04:35:00. As things stand, it will be "
                              "run, once a node can begin it (WHY NOT says what keeps them).");
        assert_explained("'state': 'of a newer version'", TICK);
}

/* Of what runs after several together: who has come, and who has not. */
Test(explain, what_waits_for_others) {
        assert_explained("'state': 'of a newer version', 'waits': [{'tick': 1763699700, 'come': "
                         "[{'job': 'b', 'run': '1763699700-1'}], 'missing': ['c', 'd']}, {'tick': "
                         "1763700000, 'come': [{'job': 'b', 'run': '1-1'}, {'job': 'd', 'run': "
                         "'2-1'}], 'missing': ['c']}, {'tick': 1763700300, 'come': [], 'missing': "
                         "['e', 'f']}]",
                         TICK
                         "\nFor the tick 2025-11-21 04:35:00 b (run 1763699700-1) has come; it "
                         "waits for c, d.\nAnd 2 other ticks wait.");
        assert_explained(
            "'state': 'of a newer version', 'waits': [{'tick': 1763700000, 'come': [], "
            "'missing': ['c']}]",
            TICK "\nAnd 1 other tick waits.");
}

/* Where it has no tick itself all of them are told. */
Test(explain, what_waits_for_others_and_has_no_tick) {
        json_t *none =
            quoted_json("{'job': 'a', 'tick': null, 'state': 'no-tick', 'here': 'no user x', "
                        "'drifted': true, 'waits': [{'tick': 1763700000, 'come': [{'job': 'b', "
                        "'run': '1-1'}, {'job': 'd', 'run': '2-1'}], 'missing': ['c']}, {'tick': "
                        "1763700300, 'come': [], 'missing': ['e', 'f']}]}");
        g_autoptr(GTimeZone) zone = g_time_zone_new_utc();
        g_autofree char *text = explain_sentences(none, NOW, zone);

        cr_expect_str_eq(
            text,
            "a has no tick that is due or to come.\nFor the tick 2025-11-21 04:40:00 b (run 1-1), "
            "d "
            "(run 2-1) have come; it waits for c.\nFor the tick 2025-11-21 04:45:00 nobody has "
            "come; it waits for e, f.\nOn this node: no user x.\nThis node's job file has another "
            "definition than the one in force (drifted): it decides nothing of the job.");
        json_decref(none);
}

Test(explain, what_runs_after_others) {
        assert_explained(
            "'state': 'no-tick', 'before': null, 'after': null, 'follows': [{'job': 'b', 'on': "
            "'success', 'runs': [{'run': '1-1', 'node': 'n1', 'state': 'failed', 'exit': 3}, "
            "{'run': '1-2', 'node': 'n2', 'state': 'failed', 'why': 'its machine was lost'}]}, "
            "{'job': 'c', 'on': 'any', 'runs': []}, {'job': 'd', 'on': 'failure', 'runs': "
            "[{'run': '1-0', 'state': 'skipped', 'why': 'paused'}]}]",
            TICK "The job has no such tick of its own.\n"
                 "It runs after b (success): run 1-1 on n1 failed (exit status 3), run 1-2 on n2 "
                 "failed: its machine was lost.\n"
                 "It runs after c (any), which has no record of that tick.\n"
                 "It runs after d (failure): run 1-0 skipped: paused.");
}

Test(explain, what_runs_after_others_and_has_no_tick) {
        json_t *none = json("{\"job\": \"a\", \"tick\": null, \"state\": \"no-tick\", "
                            "\"follows\": [{\"job\": \"b\", \"on\": \"any\", \"runs\": []}]}");
        g_autofree char *text = explain_sentences(none, NOW, NULL);

        cr_expect_str_eq(text, "a has no tick that is due or to come.\nIt runs after b (any).");
        json_decref(none);
}

Test(explain, where_there_is_no_tick_at_all) {
        json_t *none = json("{\"job\": \"a\", \"tick\": null, \"state\": \"no-tick\"}");
        g_autofree char *text = explain_sentences(none, NOW, NULL);

        cr_expect_str_eq(text, "a has no tick that is due or to come.");
        json_decref(none);
}

Test(explain, the_nodes_by_rank_and_then_the_others) {
        json_t *explanation = json(
            "{\"nodes\": [{\"node\": \"n1\", \"rank\": null, \"why\": \"no such user\"}, "
            "{\"node\": "
            "\"n3\", \"rank\": 1, \"why\": \"\"}, {\"node\": \"n2\", \"rank\": 0, \"why\": \"\"}, "
            "{\"node\": \"n0\", \"rank\": null, \"why\": \"x\"}]}");
        _cleanup_(table_freep) Table *table = explain_nodes(explanation);

        assert_row(table, 0, "n2|0|");
        assert_row(table, 1, "n3|1|");
        assert_row(table, 2, "n0|-|x");
        assert_row(table, 3, "n1|-|no such user");
        json_decref(explanation);
}

Test(time_text, what_is_shown_can_be_read) {
        static const struct {
                const char *text;
                int64_t epoch; /* 0: it cannot */
        } cells[] = {
            {"2025-11-21 04:40:00", 1763700000},
            {"2025-11-21 04:40", 1763700000},
            {"@1763700000", 1763700000},
            {"2025-11-21", 0},
            {"04:40:00", 0},
            {"@", 0},
            {"@-1", 0},
            {"@1x", 0},
            {"2025-13-21 04:40:00", 0},
            {"yesterday 04:40", 0},
            {"", 0},
        };
        g_autoptr(GTimeZone) utc = g_time_zone_new_utc(),
                             berlin = g_time_zone_new_identifier("Europe/Berlin");
        int64_t epoch = 0;

        for (size_t i = 0; i < G_N_ELEMENTS(cells); i++) {
                bool read = time_from_text(cells[i].text, utc, &epoch);

                cr_expect_eq(read, cells[i].epoch != 0, "%s", cells[i].text);
                if (read)
                        cr_expect_eq(epoch, cells[i].epoch, "%s", cells[i].text);
        }
        cr_expect(time_from_text("2025-11-21 05:40", berlin, &epoch));
        cr_expect_eq(epoch, 1763700000);
}
