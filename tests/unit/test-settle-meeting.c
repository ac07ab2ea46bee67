/* What a settle asks for together with others (store/settle-meeting.h), in a whole daemon: who has
 * come is noted, and the last one of them asks for the run. */
#include <string.h>

#include "follow-fixture.h"
#include "job-links.h"
#include "journal.h"
#include "meetings.h"
#include "paths.h"
#include "temporary-tree.h"

#define ROOT FOLLOW_ROOT
#define REQUESTS ROOT "/requests"

TestSuite(settle_meeting, .init = setup, .fini = teardown);

#define MEETINGS ROOT "/meetings"

/* Job "b" waits for "a" and "x" together, and "x" never runs here. */
static void start_a_beside_x(void) {
        write_job_named("x", "    exec: [/bin/false]\n");
        write_job_named("b", "    after: {all: [a, {job: x, on: any}]}\n    exec: [/bin/echo]\n");
        follow_start("");
}

static char *meetings_where_came(const char *job) {
        return g_strdup_printf("{\"meetings\":[{\"tick\":%" G_GINT64_FORMAT
                               ",\"come\":{\"%s\":\"%" G_GINT64_FORMAT "-1\"}}]}",
                               follow_tick, job, follow_tick);
}

static char *run_for_all(void) {
        return run_id_for_ask_of_all(follow_tick, "b");
}

static void x_has_come(void) {
        g_autofree char *data = meetings_where_came("x");

        server_create(MEETINGS "/b", data, 0);
}

static void expect_meetings(const char *data) {
        cr_expect_str_eq(server_data(MEETINGS "/b"), data);
}

#define NOBODY "{\"meetings\":[]}"

/* It is not run before the other one has come as well; that costs no further write. */
Test(settle_meeting, one_of_two_is_noted) {
        g_autofree char *data = NULL;

        start_a_beside_x();
        service_exit(service_newest(), 0);
        await(follow_is_over, "it is settled");
        await_quiet();
        data = meetings_where_came("a");
        expect_meetings(data);
        cr_expect_eq(started->len, 1U);
        cr_expect_eq(server_count(REQUESTS), 0U);
}

Test(settle_meeting, the_last_of_two_asks_for_the_run) {
        g_autofree char *run = NULL, *unit = NULL, *stamp = NULL, *path = NULL;

        start_a_beside_x();
        x_has_come();
        service_exit(service_newest(), 0);
        await(follow_has_two_starts, "the run after both");
        run = run_for_all();
        unit = unit_name_for_run("b", run);
        cr_expect_str_eq(service_newest()->name, unit);
        stamp = g_strdup_printf("JOBKEEPER_TICK_EPOCH=%" G_GINT64_FORMAT, follow_tick);
        cr_expect(follow_has_variable(stamp));
        cr_expect(follow_has_variable("JOBKEEPER_PARENT_JOB=a"), "the one that came last");
        expect_meetings(NOBODY);
        path = path_run(ROOT, "b", run);
        cr_expect_not_null(server_node(path));
        cr_expect_eq(server_count(REQUESTS), 0U, "its claim took the request away");
}

Test(settle_meeting, who_ended_otherwise_has_not_come) {
        start_a_beside_x();
        x_has_come();
        service_exit(service_newest(), 1);
        await(follow_is_over, "it is settled");
        await_quiet();
        cr_expect_not_null(strstr(server_data(MEETINGS "/b"), "\"x\""));
        cr_expect_null(strstr(server_data(MEETINGS "/b"), "\"a\""));
        cr_expect_eq(started->len, 1U);
}

/* "b" had another name when "x" came. */
static void x_has_come_for_its_old_name(void) {
        g_autofree char *data = NULL;

        write_job_named("x", "    exec: [/bin/false]\n");
        write_job_named("b", "    was: old\n    after: {all: [a, x]}\n    exec: [/bin/echo]\n");
        follow_start("");
        data = meetings_where_came("x");
        server_create(MEETINGS "/old", data, 0);
}

Test(settle_meeting, who_came_for_the_name_that_a_job_had_has_come) {
        x_has_come_for_its_old_name();
        service_exit(service_newest(), 0);
        await(follow_has_two_starts, "the run after both");
        expect_meetings(NOBODY);
}

/* "a" has another name by the time its run ends, and comes as that. */
Test(settle_meeting, a_run_of_the_name_that_it_had_comes_by_the_new_one) {
        g_autofree char *path = tree_path(root, "etc/jobkeeper/jobs.d/a.yaml"), *data = NULL;

        write_job_named("x", "    exec: [/bin/false]\n");
        write_job_named("b", "    after: {all: [new, x]}\n    exec: [/bin/echo]\n");
        follow_start("");
        data = meetings_where_came("x");
        server_create(MEETINGS "/b", data, 0);
        cr_assert_eq(unlink(path), 0);
        write_job_named("new", "    was: a\n    exec: [/bin/false]\n");
        reload();
        service_exit(service_newest(), 0);
        await(follow_has_two_starts, "the run after both");
        expect_meetings(NOBODY);
}

/* "x" had another name when it came. */
Test(settle_meeting, who_came_by_the_name_that_it_had_has_come) {
        g_autofree char *data = NULL;

        write_job_named("x", "    was: old\n    exec: [/bin/false]\n");
        write_job_named("b", "    after: {all: [a, x]}\n    exec: [/bin/echo]\n");
        follow_start("");
        data = meetings_where_came("old");
        server_create(MEETINGS "/b", data, 0);
        service_exit(service_newest(), 0);
        await(follow_has_two_starts, "the run after both");
        expect_meetings(NOBODY);
}

/* What stands there is of before. */
Test(settle_meeting, what_has_its_own_place_goes_by_that_alone) {
        g_autofree char *data = NULL;

        x_has_come_for_its_old_name();
        data = meetings_where_came("a");
        server_create(MEETINGS "/b", NOBODY, 0);
        service_exit(service_newest(), 0);
        await(follow_is_over, "it is settled");
        await_quiet();
        expect_meetings(data);
        cr_expect_eq(started->len, 1U);
}

/* Another node settles a run of "x" right between what we read and what we write. */
static ServerWay x_comes_meanwhile(const ZkCall *call) {
        if (call_has(call, ZK_OP_CREATE, MEETINGS "/") && follow_tries++ == 0)
                x_has_come();
        return SERVER_ANSWER;
}

Test(settle_meeting, two_that_come_at_the_same_moment_see_each_other) {
        start_a_beside_x();
        server.way = x_comes_meanwhile;
        service_exit(service_newest(), 0);
        await(follow_has_two_starts, "the run after both");
        cr_expect_eq(follow_tries, 1U, "the second time it is there");
        expect_meetings(NOBODY);
}

static ServerWay x_comes_again_meanwhile(const ZkCall *call) {
        g_autofree char *data = meetings_where_came("x");

        if (call_has(call, ZK_OP_SET, MEETINGS "/") && follow_tries++ == 0)
                server_write(MEETINGS "/b", data);
        return SERVER_ANSWER;
}

Test(settle_meeting, what_has_changed_since_it_was_read_is_read_again) {
        start_a_beside_x();
        server_create(MEETINGS "/b", NOBODY, 0);
        server.way = x_comes_again_meanwhile;
        service_exit(service_newest(), 0);
        await(follow_has_two_starts, "the run after both");
        cr_expect_eq(follow_tries, 2U);
        expect_meetings(NOBODY);
}

/* So many others end at the same moment, and each is quicker. */
#define QUICKER 17

static ServerWay others_are_quicker(const ZkCall *call) {
        if (call_has(call, ZK_OP_SET, MEETINGS "/") && follow_tries++ < QUICKER)
                server_write(MEETINGS "/b", NOBODY);
        return SERVER_ANSWER;
}

/* The locks of the run are held until it is settled. */
Test(settle_meeting, who_is_outrun_pauses_for_moments_alone) {
        usec_t began;

        start_a_beside_x();
        server_create(MEETINGS "/b", NOBODY, 0);
        server.way = others_are_quicker;
        began = clock_monotonic();
        service_exit(service_newest(), 0);
        await(follow_is_over, "it is settled");
        cr_expect_eq(follow_tries, QUICKER + 1U);
        cr_expect_lt(clock_monotonic() - began, 7 * USEC_PER_SEC, "four pauses are longer");
}

Test(settle_meeting, an_answer_that_was_lost_asks_for_all_once) {
        start_a_beside_x();
        x_has_come();
        server.way = follow_lose_the_answer;
        service_exit(service_newest(), 0);
        await(follow_has_two_starts, "the run after both");
        service_exit(service_newest(), 0);
        await(follow_both_are_over, "all is over");
        await_quiet();
        cr_expect_eq(started->len, 2U);
        cr_expect_eq(follow_tries, 1U);
        expect_meetings(NOBODY);
}

/* They met before, and "a" is run once more for the tick: nobody begins to wait again. */
Test(settle_meeting, who_comes_after_they_have_met_is_not_noted) {
        g_autofree char *run = NULL, *path = NULL;

        start_a_beside_x();
        run = run_for_all();
        path = path_run(ROOT, "b", run);
        server_create(path, "{}", 0);
        service_exit(service_newest(), 0);
        await(follow_is_over, "it is settled");
        await_quiet();
        cr_expect_null(server_node(MEETINGS "/b"));
        cr_expect_eq(started->len, 1U);
}

/* "x" had come before: for that tick they never meet by themselves, which is told, and for the
 * later ones they do. */
Test(settle_meeting, what_is_damaged_is_told_and_written_anew) {
        g_autofree char *data = NULL;

        start_a_beside_x();
        x_has_come();
        server_write(MEETINGS "/b", "junk");
        service_exit(service_newest(), 0);
        await(follow_is_over, "it is settled");
        await_quiet();
        data = meetings_where_came("a");
        expect_meetings(data);
        cr_expect_eq(started->len, 1U, "it is not run for the tick");
        cr_expect_eq(server_count(REQUESTS), 0U);
        cr_expect_eq(journal_count(MESSAGE_MEETING_DAMAGED), 1U);
        cr_expect(journal_has("b: " MEETINGS "/b: it is damaged"));
}

/* They have met, and "a" comes once more: what was damaged in between makes no second run. */
Test(settle_meeting, what_is_damaged_after_they_have_met_begins_nothing_anew) {
        g_autofree char *run = NULL, *path = NULL;

        start_a_beside_x();
        run = run_for_all();
        path = path_run(ROOT, "b", run);
        server_create(path, "{}", 0);
        server_create(MEETINGS "/b", "junk", 0);
        service_exit(service_newest(), 0);
        await(follow_is_over, "it is settled");
        await_quiet();
        cr_expect_eq(started->len, 1U);
        cr_expect_eq(server_count(REQUESTS), 0U);
}

/* Somebody closed it: that is told once, and holds up no run that is over. */
Test(settle_meeting, where_they_meet_may_be_closed) {
        start_a_beside_x();
        server_create(MEETINGS "/b", NOBODY, 0);
        server.unreadable = MEETINGS "/b";
        service_exit(service_newest(), 0);
        await(follow_is_over, "it is settled");
        cr_expect_eq(journal_count(MESSAGE_REFUSED), 1U);
        cr_expect(journal_has("b: " MEETINGS "/b: "));
        cr_expect_eq(server_count(REQUESTS), 0U);
}

Test(settle_meeting, or_not_to_be_changed) {
        start_a_beside_x();
        server_create(MEETINGS "/b", NOBODY, 0);
        server.unwritable = MEETINGS "/b";
        service_exit(service_newest(), 0);
        await(follow_is_over, "it is settled");
        cr_expect_eq(journal_count(MESSAGE_REFUSED), 1U);
        expect_meetings(NOBODY);
}

/* What else follows does. */
Test(settle_meeting, that_holds_up_nothing_else) {
        write_job_named("c", "    after: a\n    exec: [/bin/cat]\n");
        start_a_beside_x();
        server_create(MEETINGS "/b", NOBODY, 0);
        server.unreadable = MEETINGS "/b";
        service_exit(service_newest(), 0);
        await(follow_has_two_starts, "what follows");
        cr_expect_str_eq(started->pdata[1], "/bin/cat");
}

Test(settle_meeting, where_they_meet_is_made_again) {
        start_a_beside_x();
        server_remove(MEETINGS);
        service_exit(service_newest(), 0);
        await(follow_is_over, "it is settled");
        cr_expect_not_null(server_node(MEETINGS "/b"));
}

/* Two that wait, one of which is there: no further write of where they meet. */
Test(settle_meeting, each_that_waits_has_its_own_place) {
        write_job_named("c", "    after: {all: [x, a]}\n    exec: [/bin/cat]\n");
        start_a_beside_x();
        server_remove(MEETINGS);
        service_exit(service_newest(), 0);
        await(follow_is_over, "it is settled");
        cr_expect_eq(server_count(MEETINGS), 2U);
}

/* ---- as many as there may be ---- */

#define FOLLOWERS JOB_AFTER_MAX
#define PACKET_MAX (1024 * 1024 - 1) /* jute.maxbuffer, by default */

static size_t largest;

static ServerWay weigh(const ZkCall *call) {
        size_t size = 0;

        for (size_t i = 0; i < call->n_ops; i++)
                size +=
                    strlen(call->ops[i].path) + (call->ops[i].data ? strlen(call->ops[i].data) : 0);
        largest = MAX(largest, size);
        return SERVER_ANSWER;
}

static void write_followers(void) {
        g_autoptr(GString) followers = g_string_new("jobs:\n");

        for (unsigned i = 0; i < FOLLOWERS; i++) {
                g_string_append_printf(followers, "  b%02u: {exec: /bin/echo, after: {all: [a", i);
                for (unsigned parent = 1; parent < JOB_AFTER_ALL_MAX; parent++)
                        g_string_append_printf(followers, ", a-job-with-a-name-of-some-length-%05u",
                                               parent);
                g_string_append(followers, "]}}\n");
        }
        tree_write(root, "etc/jobkeeper/jobs.d/b.yaml", followers->str);
}

/* All but "a", and the last, which never ran. */
static void others_have_come(void) {
        g_autoptr(GString) text = g_string_new("{\"meetings\":[");

        for (unsigned tick_of = 1; tick_of <= MEETINGS_MAX; tick_of++) {
                g_string_append_printf(text, "%s{\"tick\":%u,\"come\":{", tick_of > 1 ? "," : "",
                                       1000000000 + tick_of);
                for (unsigned i = 1; i < JOB_AFTER_ALL_MAX - 1; i++)
                        g_string_append_printf(text,
                                               "%s\"a-job-with-a-name-of-some-length-%05u\":"
                                               "\"1000000000-1\"",
                                               i > 1 ? "," : "", i);
                g_string_append(text, "}}");
        }
        g_string_append(text, "]}");
        for (unsigned i = 0; i < FOLLOWERS; i++) {
                g_autofree char *path = g_strdup_printf(MEETINGS "/b%02u", i);
                server_create(path, text->str, 0);
        }
}

/* A server drops whoever sends it more, and the end would never be written. */
Test(settle_meeting, whatever_waits_goes_into_one_packet) {
        write_followers();
        follow_start("");
        others_have_come();
        largest = 0;
        server.way = weigh;
        service_exit(service_newest(), 0);
        await(follow_is_over, "it is settled");
        await_quiet();
        cr_expect_lt(largest, (size_t)PACKET_MAX);
        cr_expect_gt(largest, (size_t)PACKET_MAX / 3, "as much is kept as goes into it");
        for (unsigned i = 0; i < FOLLOWERS; i++) {
                g_autofree char *path = g_strdup_printf(MEETINGS "/b%02u", i),
                                *own = g_strdup_printf("{\"a\":\"%" G_GINT64_FORMAT "-1\"}",
                                                       follow_tick);

                cr_expect_not_null(strstr(server_data(path), own), "the newest tick is kept");
        }
}

/* By hand, and so what follows it: there is no tick to meet for. */
Test(settle_meeting, what_has_no_tick_meets_nobody) {
        write_job_named("b", "    exec: [/bin/echo]\n");
        write_job_named("c", "    after: {all: [b, a]}\n    exec: [/bin/cat]\n");
        follow_start("");
        follow_ask_for_b(1);
        await(follow_has_two_starts, "what was asked for");
        service_exit(service_newest(), 0);
        await_quiet();
        cr_expect_null(server_node(MEETINGS "/c"));
}

/* As an alarm it is told of this end alone, and as what waits for all it waits. */
Test(settle_meeting, what_waits_may_be_an_alarm_as_well) {
        write_job_named("x", "    exec: [/bin/false]\n");
        write_job_named("b", "    after: {all: [{job: a, on: any}, x]}\n    exec: [/bin/echo]\n");
        follow_start("    on-failure: b\n");
        service_exit(service_newest(), 1);
        await(follow_has_two_starts, "the alarm");
        cr_expect_not_null(server_node(MEETINGS "/b"));
}
