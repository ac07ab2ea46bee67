/* Where things stand, and the ids of runs, to the letter: other daemons and people's scripts look
 * there. */
#include <criterion/criterion.h>
#include <errno.h>
#include <glib.h>
#include <stdlib.h>
#include <string.h>

#include "name.h"
#include "paths.h"
#include "schedule-years.h"

static void expect_text(char *text, const char *expected) {
        cr_expect_str_eq(text, expected);
        g_free(text);
}

Test(paths, under_the_root) {
        expect_text(path_version("/jobkeeper"), "/jobkeeper/version");
        expect_text(path_control("/jobkeeper"), "/jobkeeper/control");
        expect_text(path_nodes("/jobkeeper"), "/jobkeeper/nodes");
        expect_text(path_node("/jobkeeper", "n1"), "/jobkeeper/nodes/n1");
        expect_text(path_locks("/jobkeeper"), "/jobkeeper/locks");
        expect_text(path_jobs("/jobkeeper"), "/jobkeeper/jobs");
        expect_text(path_job("/a/b", "dump"), "/a/b/jobs/dump");
        expect_text(path_runs("/a/b", "dump"), "/a/b/jobs/dump/runs");
        expect_text(path_run("/a/b", "dump", "1763700000-1"), "/a/b/jobs/dump/runs/1763700000-1");
        expect_text(path_open("/r"), "/r/open");
        expect_text(path_open_node("/r", "n1"), "/r/open/n1");
        expect_text(path_open_run("/r", "n1", "dump", "1763700000-1"),
                    "/r/open/n1/dump:1763700000-1");
        expect_text(path_requests("/r"), "/r/requests");
        expect_text(path_request("/r", "1763700000-m0"), "/r/requests/1763700000-m0");
        expect_text(path_sessions("/r"), "/r/sessions");
        expect_text(path_session("/r", "n1", 0x1000), "/r/sessions/n1-0x0000000000001000");
        expect_text(resource_of_job("dump"), "job:dump");
        expect_text(unit_name_for_run("dump", "1763700000-1"),
                    "jobkeeper-dump-1763700000-1.service");
}

Test(paths, units_are_known_by_their_jobs) {
        cr_expect(unit_name_is_of_job("jobkeeper-dump-1763700000-1.service", "dump"));
        cr_expect(unit_name_is_of_job("jobkeeper-dump-1763700000-m00ff.service", "dump"));
        cr_expect(unit_name_is_of_job("jobkeeper-dump-1-1763700000-1.service", "dump-1"));
        cr_expect_not(unit_name_is_of_job("jobkeeper-dump-1-1763700000-1.service", "dump"));
        cr_expect_not(unit_name_is_of_job("jobkeeper-dump-1763700000-1.service", "dum"));
        cr_expect_not(unit_name_is_of_job("jobkeeper-dump-1763700000-1.scope", "dump"));
        cr_expect_not(unit_name_is_of_job("dump.service", "dump"));
        cr_expect(unit_name_is_of_job("jobkeeper-dump@n1-1763700000-1.service", "dump@n1"));
        cr_expect_not(unit_name_is_of_job("jobkeeper-dump@n1-1763700000-1.service", "dump"));
        cr_expect_not(unit_name_is_of_job("jobkeeper-dump@n1-a-1763700000-1.service", "dump@n1"));
}

Test(paths, units_tell_their_open_entry) {
        static const char *const none[] = {"dump.service",
                                           "jobkeeper-dump.service",
                                           "jobkeeper-1763700000-1.service",
                                           "jobkeeper-dump-1763700000-1.scope",
                                           "jobkeeper-dump-later-1.service",
                                           "jobkeeper-Dump-1763700000-1.service",
                                           "jobkeeper-dump-1763700000-.service",
                                           "jobkeeper-.service",
                                           ""};

        expect_text(open_name_of_unit("jobkeeper-dump-1763700000-1.service"), "dump:1763700000-1");
        expect_text(open_name_of_unit("jobkeeper-dump@n-1-1763700000-1.service"),
                    "dump@n-1:1763700000-1");
        expect_text(open_name_of_unit("jobkeeper-a.b-1-1763700000-m00ff.service"),
                    "a.b-1:1763700000-m00ff");
        for (size_t i = 0; i < G_N_ELEMENTS(none); i++)
                cr_expect_null(open_name_of_unit(none[i]), "%s", none[i]);
}

Test(paths, open_names_are_taken_apart) {
        g_autofree char *path = path_open_run("/r", "n1", "a.b-c", "1763700000-m00ff00ff");
        g_autofree char *job = NULL, *run = NULL;

        cr_assert_eq(open_name_split(strrchr(path, '/') + 1, &job, &run), 0);
        cr_expect_str_eq(job, "a.b-c");
        cr_expect_str_eq(run, "1763700000-m00ff00ff");
}

/* systemd's names have 255 bytes, and so have files: its drop-in is NAME.d. */
Test(paths, the_longest_unit_of_an_instance_is_no_longer_than_units_may_be) {
        g_autofree char *longest = g_strnfill(NAME_LENGTH_MAX, 'a'),
                        *job = job_name_of_instance(longest, longest),
                        *by_hand = run_id_for_ask("a", "1763700000-1", "b"),
                        *far = run_id_for_tick(SCHEDULE_TICK_MAX, 100),
                        *unit = unit_name_for_run(job, by_hand),
                        *of_a_tick = unit_name_for_run(job, far);

        cr_expect_leq(strlen(unit) + strlen(".d"), 255U);
        cr_expect_leq(strlen(of_a_tick) + strlen(".d"), 255U);
}

Test(paths, other_open_names_are_refused) {
        static const char *const names[] = {"",           "a",      ":",        "a:",     ":1-1",
                                            "A:1",        "a:1:2",  "a:../",    "a/b:1",  "a b:1-1",
                                            "a::1",       ".a:1-1", "a:-1",     "a:1-1 ", "\xff:1",
                                            "a:b-1000-1", "a:1000", "a:1000-x1"};

        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                char *job = NULL, *run = NULL;

                cr_expect_eq(open_name_split(names[i], &job, &run), -EINVAL, "%s", names[i]);
                cr_expect(!job && !run, "untouched");
        }
}

Test(paths, run_ids) {
        expect_text(run_id_for_tick(1763700000, 1), "1763700000-1");
        expect_text(run_id_for_tick(INT64_MAX, UINT32_MAX), "9223372036854775807-4294967295");
        expect_text(run_id_for_skip(1763700000), "1763700000-0");
}

/* With any other a run's unit could have the name of another job's: "a" and "b-1000-1", "a-b" and
 * "1000-1". */
Test(paths, what_is_no_run_id) {
        static const char *const names[] = {"b-1000-1", "1000",     "1000-",   "-1",      "1000-m",
                                            "1000-1-1", "1000-m-1", "1000-mg", "1000-1m", "a",
                                            "",         "1000-1\n", "1000-M0", "../1-1"};
        g_autofree char *digits = g_strnfill(NAME_LENGTH_MAX, '1'),
                        *longer = g_strdup_printf("%s-1", digits);

        for (size_t i = 0; i < G_N_ELEMENTS(names); i++) {
                cr_expect_not(run_id_is_valid(names[i]), "%s", names[i]);
                cr_expect_not(run_id_is_of_request(names[i]), "%s", names[i]);
        }
        cr_expect_not(run_id_is_valid(NULL));
        cr_expect_not(run_id_is_valid(longer), "it would be no name of a znode of ours");
}

Test(paths, ids_of_requests_are_told_from_ids_of_ticks) {
        cr_expect(stop_id_is_valid("1000-s00ff") && !run_id_is_valid("1000-s00ff"));
        cr_expect_not(stop_id_is_valid("1000-m00ff") || stop_id_is_valid("1000-s") ||
                      stop_id_is_valid("1000-s0g") || stop_id_is_valid("s00") ||
                      stop_id_is_valid("1000-1"));
        cr_expect(run_id_is_of_request("1000-m00ff") && run_id_is_valid("1000-m00ff"));
        cr_expect(run_id_is_valid("1000-1") && !run_id_is_of_request("1000-1"));
        cr_expect(run_id_is_valid("1000-0"), "a skipped tick");
}

Test(paths, ids_of_requests_differ_and_sort_by_time) {
        g_autofree char *a = run_id_for_request(1763700000), *b = run_id_for_request(1763700000),
                        *later = run_id_for_request(1763700001);

        cr_expect(g_str_has_prefix(a, "1763700000-m"), "%s", a);
        cr_expect_eq(strlen(a), strlen("1763700000-m01234567"));
        cr_expect_str_neq(a, b, "once in 4 billion");
        cr_expect_lt(strcmp(a, later), 0);
        cr_expect(name_is_valid(a), "it becomes a znode's name");
}

/* By second, then by attempt; what is said beside the attempts comes last. */
Test(paths, ids_sort_by_when_they_came_about) {
        static const char *const ids[] = {
            "999-1",    "1000-1",   "1000-2",           "1000-9",
            "1000-10",  "1000-12",  "1000-99999999999", "1000-0",
            "1000-m00", "1000-mff", "1001-0",           "10000000000000000000000-1",
        };

        for (size_t i = 0; i < G_N_ELEMENTS(ids); i++)
                for (size_t j = 0; j < G_N_ELEMENTS(ids); j++) {
                        int order = run_id_compare(ids[i], ids[j]);
                        cr_expect_eq((order > 0) - (order < 0), (i > j) - (i < j), "%s, %s: %d",
                                     ids[i], ids[j], order);
                }
        cr_expect_lt(run_id_compare("1000-1", "foreign"), 0);
        cr_expect_gt(run_id_compare("foreign", "1000-1"), 0);
        cr_expect_lt(run_id_compare("", "1000-1"), 0);
}

Test(paths, names_that_are_made_are_valid_everywhere) {
        g_autofree char *job = g_strnfill(NAME_LENGTH_MAX, 'a'),
                        *run = run_id_for_tick(7258118399, UINT32_MAX), *unit = NULL;

        unit = unit_name_for_run(job, run);
        cr_expect(name_is_valid(run));
        cr_expect_leq(strlen(unit), 255, "systemd takes no longer name");
}

/* The same whoever asks, and however often; another one for another run, and another job. */
Test(paths, what_follows_a_run_has_one_name) {
        g_autofree char *id = ask_id("a", "1000-2", "b"), *again = ask_id("a", "1000-2", "b"),
                        *run = run_id_for_ask("a", "1000-2", "b"),
                        *other_job = ask_id("a", "1000-2", "c"),
                        *other_run = ask_id("a", "1000-1", "b"),
                        *other_parent = ask_id("c", "1000-2", "b"),
                        *by_hand = run_id_for_ask("a", "1000-m00ff", "b"),
                        *all = ask_id_for_all(1000, "b"), *all_again = ask_id_for_all(1000, "b"),
                        *all_run = run_id_for_ask_of_all(1000, "b"),
                        *all_later = ask_id_for_all(1001, "b"),
                        *all_other = ask_id_for_all(1000, "c");

        cr_expect(ask_id_is_valid(all) && run_id_is_of_request(all_run), "%s %s", all, all_run);
        cr_expect_str_eq(all, all_again);
        cr_expect_str_neq(all, all_later);
        cr_expect_str_neq(all, all_other);

        cr_expect_str_eq(id, again);
        cr_expect_str_neq(id, other_job);
        cr_expect_str_neq(id, other_run);
        cr_expect_str_neq(id, other_parent);
        cr_expect(ask_id_is_valid(id) && !run_id_is_valid(id) && !request_id_is_valid(id), "%s",
                  id);
        cr_expect(run_id_is_of_request(run) && !ask_id_is_valid(run), "%s", run);
        cr_expect(g_str_has_prefix(run, "1000-m"), "%s", run);
        cr_expect(run_id_is_of_request(by_hand) && g_str_has_prefix(by_hand, "1000-m"), "%s",
                  by_hand);
        cr_expect_not(ask_id_is_valid("1000-a"));
}
