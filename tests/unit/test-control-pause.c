/* What the control node says of paused jobs: there and back, one by one and all; which pause
 * counts; what others put there is kept, and shown only as far as it is fit to be. */
#include <criterion/criterion.h>
#include <errno.h>
#include <glib.h>
#include <string.h>
#include <time.h>

#include "control-pause.h"
#include "control.h"
#include "decision-pause.h"
#include "json-line.h"

#define SECONDS(n) ((usec_t)(n)*USEC_PER_SEC)
/* Later than all that follows. */
#define NOW SECONDS(10000)

static json_t *parse(const char *text) {
        json_t *control = control_parse(text, strlen(text));

        cr_assert_not_null(control, "%s", text);
        return control;
}

static int pause_job(json_t *control, const char *job, const char *by, const char *why,
                     usec_t since) {
        const ControlPause pause = {.said = {(char *)by, (char *)why, since}};

        return control_pause(control, job, NOW, &pause);
}

static void expect_text(const json_t *control, const char *expected) {
        g_autofree char *text = control_encode(control);

        cr_expect_str_eq(text, expected);
}

static void expect_pause_of(const json_t *control, const char *job, const char *text,
                            usec_t until) {
        ControlPause pause = {0};
        g_autofree char *found = NULL;

        cr_assert(control_pause_of(control, job, NOW, &pause));
        found = control_pause_to_text(&pause);
        cr_expect_str_eq(found, text);
        cr_expect_eq(pause.until, until);
        control_pause_clear(&pause);
}

Test(control_pause, there_and_back) {
        json_t *control = parse("{}");
        ControlPause pause = {0};

        cr_expect_not(control_pause_of(control, "a", NOW, &pause));
        cr_expect_not(control_pause_of(NULL, "a", NOW, &pause));
        cr_expect_eq(pause_job(control, "a", "alice on n1", "new db", SECONDS(100)), 0);
        expect_text(control, "{\"paused\":{\"jobs\":{\"a\":{\"by\":\"alice on n1\",\"why\":\"new "
                             "db\",\"since\":100.0}}}}");
        expect_pause_of(control, "a", "paused by alice on n1: new db", 0);
        cr_expect_not(control_pause_of(control, "b", NOW, &pause));
        cr_expect(control_resume(control, "a", SECONDS(200)));
        cr_expect_not(control_is_paused(control, "a", NOW, NULL));
        expect_pause_of(control, "a", "paused by alice on n1: new db", SECONDS(200));
        cr_expect_not(control_resume(control, "a", SECONDS(300)), "it is over");
        expect_pause_of(control, "a", "paused by alice on n1: new db", SECONDS(200));
        json_decref(control);
}

Test(control_pause, it_goes_along_with_another_name) {
        json_t *control = parse("{}");

        cr_expect_not(control_pause_move(NULL, "a", "b", NOW));
        cr_expect_not(control_pause_move(control, "a", "b", NOW));
        cr_expect_eq(pause_job(control, "a", "alice", "", SECONDS(100)), 0);
        cr_expect_not(control_pause_move(control, "b", "a", NOW));
        cr_expect(control_pause_move(control, "a", "b", NOW));
        expect_pause_of(control, "b", "paused by alice", 0);
        cr_expect_not(control_is_paused(control, "a", NOW, NULL));
        cr_expect(control_resume(control, "b", SECONDS(200)));
        cr_expect(control_pause_move(control, "b", "c", NOW));
        expect_pause_of(control, "c", "paused by alice", SECONDS(200));
        json_decref(control);
}

/* Of two pauses that which lasts longer goes on; `from_until`, `to_until` 0: it lasts. */
static void expect_moved(usec_t from_until, usec_t to_until, const char *text, usec_t until) {
        json_t *control = parse("{}");

        cr_expect_eq(pause_job(control, "from", "alice", "", SECONDS(100)), 0);
        cr_expect_eq(pause_job(control, "to", "bob", "", SECONDS(110)), 0);
        if (from_until)
                cr_expect(control_resume(control, "from", from_until));
        if (to_until)
                cr_expect(control_resume(control, "to", to_until));
        cr_expect(control_pause_move(control, "from", "to", NOW));
        expect_pause_of(control, "to", text, until);
        cr_expect_not(control_pause_move(control, "from", "to", NOW), "nothing is left of it");
        json_decref(control);
}

Test(control_pause, who_pauses_the_new_name_meanwhile_is_heard) {
        expect_moved(SECONDS(200), 0, "paused by bob", 0);
        expect_moved(0, SECONDS(200), "paused by alice", 0);
        expect_moved(0, 0, "paused by bob", 0);
        expect_moved(SECONDS(200), SECONDS(300), "paused by bob", SECONDS(300));
        expect_moved(SECONDS(300), SECONDS(200), "paused by alice", SECONDS(300));
}

Test(control_pause, what_pauses_a_job_pauses_all_its_instances) {
        json_t *control = parse("{}");
        ControlPause pause = {0};

        cr_expect_eq(pause_job(control, "a", "bob", "", SECONDS(100)), 0);
        expect_pause_of(control, "a@n1", "paused by bob", 0);
        cr_expect_not(control_pause_of(control, "b@n1", NOW, &pause));
        cr_expect_not(control_is_paused(control, "a@n1", NOW, NULL), "not by itself");
        cr_expect_eq(pause_job(control, "a@n1", "alice", "", SECONDS(110)), 0);
        expect_pause_of(control, "a@n1", "paused by alice", 0);
        expect_pause_of(control, "a@n2", "paused by bob", 0);
        cr_expect(control_resume(control, "a", SECONDS(200)));
        expect_pause_of(control, "a@n1", "paused by alice", 0);
        expect_pause_of(control, "a@n2", "paused by bob", SECONDS(200));
        cr_expect(control_resume(control, "a@n1", SECONDS(150)));
        expect_pause_of(control, "a@n1", "paused by bob", SECONDS(200));
        json_decref(control);
}

Test(control_pause, all_and_one_are_two_things) {
        json_t *control = parse("{}");

        cr_expect_eq(pause_job(control, NULL, "bob", "", SECONDS(100)), 0);
        expect_pause_of(control, "a", "all jobs are paused by bob", 0);
        cr_expect_not(control_is_paused(control, "a", NOW, NULL));
        cr_expect(control_is_paused(control, NULL, NOW, NULL));
        cr_expect_eq(pause_job(control, "a", "alice", "", SECONDS(110)), 0);
        expect_pause_of(control, "a", "paused by alice", 0);
        cr_expect(control_resume(control, NULL, SECONDS(120)));
        expect_pause_of(control, "a", "paused by alice", 0);
        expect_pause_of(control, "b", "all jobs are paused by bob", SECONDS(120));
        cr_expect(control_resume(control, "a", SECONDS(130)));
        expect_pause_of(control, "a", "paused by alice", SECONDS(130));
        cr_expect_eq(pause_job(control, NULL, "bob", "", SECONDS(140)), 0);
        expect_pause_of(control, "a", "all jobs are paused by bob", 0);
        cr_expect(control_resume(control, NULL, SECONDS(150)));
        expect_pause_of(control, "a", "all jobs are paused by bob", SECONDS(150));
        json_decref(control);
}

Test(control_pause, who_is_told_anew_and_since_when_is_not) {
        json_t *control = parse("{}");

        (void)pause_job(control, "a", "alice", "", SECONDS(100));
        (void)pause_job(control, "a", "bob", "for good", SECONDS(200));
        expect_text(control, "{\"paused\":{\"jobs\":{\"a\":{\"by\":\"bob\",\"why\":\"for "
                             "good\",\"since\":100.0}}}}");
        (void)control_resume(control, "a", SECONDS(300));
        (void)pause_job(control, "a", "bob", "", SECONDS(400));
        expect_text(control, "{\"paused\":{\"jobs\":{\"a\":{\"by\":\"bob\",\"since\":400.0}}}}");
        json_decref(control);
}

/* What cannot be read of a pause does not end it. */
Test(control_pause, what_others_put_there) {
        static const char *const lasting[] = {
            "{\"paused\":{\"jobs\":{\"a\":7}}}",
            "{\"paused\":{\"jobs\":{\"a\":null}}}",
            "{\"paused\":{\"all\":[]}}",
            "{\"paused\":{\"all\":{\"until\":\"soon\"}}}",
            "{\"paused\":{\"all\":{\"until\":-1}}}",
            "{\"paused\":{\"all\":{\"until\":\"200\",\"by\":7}}}",
        };
        static const char *const refused[] = {"{\"paused\":7}", "{\"paused\":[]}",
                                              "{\"paused\":null}", "{\"paused\":{\"jobs\":[]}}",
                                              "{\"paused\":{\"jobs\":null}}"};
        json_t *control = NULL;

        for (size_t i = 0; i < G_N_ELEMENTS(lasting); i++) {
                ControlPause pause = {0};

                control = parse(lasting[i]);
                cr_expect(control_pause_of(control, "a", NOW, &pause), "%s", lasting[i]);
                cr_expect_eq(pause.until, 0U, "%s", lasting[i]);
                control_pause_clear(&pause);
                json_decref(control);
        }
        for (size_t i = 0; i < G_N_ELEMENTS(refused); i++)
                cr_expect_null(control_parse(refused[i], strlen(refused[i])), "%s", refused[i]);
        control = parse("{\"id\":\"x\",\"paused\":{\"more\":1,\"jobs\":{\"b\":{\"by\":\"a\\u001B["
                        "31m\\u202e\",\"extra\":1}}}}");
        expect_pause_of(control, "b", "paused by a?[31m?", 0);
        (void)pause_job(control, "a", "x", "", 0);
        expect_text(control,
                    "{\"id\":\"x\",\"paused\":{\"more\":1,\"jobs\":{\"b\":{\"by\":\"a\\u001B["
                    "31m\xe2\x80\xae\",\"extra\":1},\"a\":{\"by\":\"x\"}}}}");
        json_decref(control);
}

/* One stretch of many that a ledger has. */
Test(control_pause, as_the_reason_of_a_skip_it_is_as_long_as_a_statement) {
        g_autofree char *text = g_strnfill(SAID_TEXT_MAX, 'x');
        json_t *control = parse("{}");
        _cleanup_(decision_pause_freep) DecisionPause *pause = NULL;

        cr_expect_eq(pause_job(control, "a", text, text, SECONDS(1)), 0);
        pause = decision_pause_new(control, "a", NOW);
        cr_assert_not_null(pause);
        cr_expect(g_str_has_prefix(pause->why, "paused by xxx"));
        cr_expect_eq(strlen(pause->why), SAID_TEXT_MAX);
        json_decref(control);
}

/* Somebody put it there, or a clock was ahead: it is shown, counts for all jobs, and can be ended.
 */
Test(control_pause, an_end_far_ahead_is_none) {
        json_t *control = parse("{\"paused\":{\"all\":{\"by\":\"x\",\"until\":9061},\"jobs\":{"
                                "\"a\":{\"by\":\"y\",\"until\":9060}}}}");
        ControlPause pause = {0};

        cr_expect_not(control_is_paused(control, "a", SECONDS(9000), NULL));
        cr_expect(control_is_paused(control, NULL, SECONDS(9000), NULL));
        cr_assert(control_pause_of(control, "a", SECONDS(9000), &pause));
        cr_expect(pause.all);
        cr_expect_eq(pause.until, 0U);
        control_pause_clear(&pause);
        cr_expect_not(control_is_paused(control, NULL, SECONDS(9001), NULL), "clocks differ");
        cr_expect(control_resume(control, NULL, SECONDS(9000)));
        cr_expect_not(control_is_paused(control, NULL, SECONDS(9000), NULL));
        expect_text(control, "{\"paused\":{\"all\":{\"by\":\"x\",\"until\":9000.0},\"jobs\":{"
                             "\"a\":{\"by\":\"y\",\"until\":9060}}}}");
        json_decref(control);
}

/* As many as the control node has room for, put there by others. */
#define WRITINGS 20

/* Return: the time of the processor that it takes to write it, whatever the machine. */
static clock_t cost_of_writing(const json_t *control) {
        clock_t began = clock();

        for (unsigned i = 0; i < WRITINGS; i++)
                g_free(control_encode(control));
        return (clock() - began) / WRITINGS;
}

/* One by one it would be written some 2,000 times, by and by a third of it. */
Test(control_pause, many_that_are_over_are_dropped_at_once) {
        json_t *control = parse("{\"paused\":{\"jobs\":{}}}");
        json_t *jobs = json_object_get(json_object_get(control, "paused"), "jobs");
        clock_t began, one;

        for (unsigned i = 0; i < 3000; i++) {
                g_autofree char *job = g_strdup_printf("j%u", i);

                json_object_set_new(jobs, job, json_pack("{s:i}", "until", (int)i + 1));
        }
        one = cost_of_writing(control);
        began = clock(); /* of this process: others may have the machine meanwhile */
        cr_expect_eq(pause_job(control, "more", "a", "b", SECONDS(1)), 0);
        cr_expect_lt((clock() - began) / one, 900);
        cr_expect_leq(json_object_size(jobs), (size_t)CONTROL_PAUSED_MAX);
        cr_expect_geq(json_object_size(jobs), (size_t)CONTROL_PAUSED_MAX - 24);
        cr_expect_not_null(json_object_get(jobs, "j2999"));
        cr_expect_not_null(json_object_get(jobs, "more"));
        cr_expect_null(json_object_get(jobs, "j0"));
        json_decref(control);
}

/* Those that last stay; of those that are over, the ones that ended last. */
Test(control_pause, there_is_a_most_of_them) {
        json_t *control = parse("{\"drained\":{\"n1\":{}}}");
        ControlPause pause = {0};
        g_autofree char *before = NULL, *after = NULL;

        for (unsigned i = 0; i < CONTROL_PAUSED_MAX; i++) {
                g_autofree char *job = g_strdup_printf("j%u", i);

                cr_expect_eq(pause_job(control, job, "a", "b", SECONDS(i)), 0);
        }
        before = control_encode(control);
        cr_expect_eq(pause_job(control, "more", "a", "b", SECONDS(1000)), -ENOSPC);
        after = control_encode(control);
        cr_expect_str_eq(before, after);
        cr_expect_eq(pause_job(control, "j5", "bob", "again", SECONDS(1000)), 0);
        cr_expect(control_resume(control, "j7", SECONDS(1002)));
        cr_expect(control_resume(control, "j6", SECONDS(1001)));
        cr_expect_eq(pause_job(control, "more", "a", "b", SECONDS(1003)), 0);
        cr_expect_not(control_pause_of(control, "j6", NOW, &pause));
        expect_pause_of(control, "j7", "paused by a: b", SECONDS(1002));
        cr_expect_eq(pause_job(control, NULL, "a", "b", SECONDS(1003)), 0, "beside them");
        json_decref(control);
}

/* Where texts are long there is room for fewer; what is written can be read again. */
Test(control_pause, it_is_never_longer_than_can_be_read) {
        json_t *control = parse("{}");
        g_autofree char *quotes = g_strnfill(SAID_TEXT_MAX, '"'), *text = NULL;
        unsigned n = 0;
        int r = 0;

        for (; r == 0 && n < 2 * CONTROL_PAUSED_MAX; n++) {
                g_autofree char *job = g_strdup_printf("%0100u", n);

                r = pause_job(control, job, quotes, quotes, SECONDS(n));
        }
        cr_expect_eq(r, -ENOSPC);
        cr_expect_gt(n, 50U);
        cr_expect_lt(n, CONTROL_PAUSED_MAX);
        text = control_encode(control);
        cr_assert_not_null(text);
        json_decref(control);
        control = control_parse(text, strlen(text));
        cr_assert_not_null(control);
        cr_expect(control_resume(control, NULL, 1) == false);
        for (unsigned i = 0; i + 1 < n; i++) {
                g_autofree char *job = g_strdup_printf("%0100u", i), *now = NULL;

                cr_expect(control_resume(control, job, SECONDS(5000 + i)), "%u", i);
                now = control_encode(control);
                cr_expect_not_null(now);
        }
        json_decref(control);
}

Test(control_pause, for_people) {
        const ControlPause pause = {.said = {(char *)"a", (char *)"", SECONDS(5)}},
                           all = {.said = {(char *)"", (char *)"db", 0}, .all = true};
        json_t *object = control_pause_to_json(&pause), *unknown = control_pause_to_json(&all);
        g_autofree char *text = control_pause_to_text(&all), *line = json_line_dump(object),
                        *other = json_line_dump(unknown);

        cr_expect_str_eq(text, "all jobs are paused: db");
        cr_expect_str_eq(line, "{\"all\":false,\"by\":\"a\",\"why\":\"\",\"since\":5.0}");
        cr_expect_str_eq(other, "{\"all\":true,\"by\":\"\",\"why\":\"db\",\"since\":null}");
}
