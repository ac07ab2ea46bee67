/* Requests for a run, in a whole daemon (daemon-fixture.h): whom the record names as the one who
 * asked. */
#include "counted-reads.h"
#include "daemon-fixture.h"
#include "job-table.h"
#include "journal.h"
#include "read-window.h"
#include "remarks.h"
#include "requests.h"
#include "run-record.h"

#define JOB "/jobkeeper/jobs/a"

TestSuite(requests, .init = setup, .fini = teardown);

static bool is_ready(void) {
        return node_is_ready(coordinator->node) && server_node(JOB "/runs");
}

static bool has_started(void) {
        return service_newest() && service_newest()->unit;
}

static void begin(void) {
        write_job("    exec: [/bin/true]\n");
        open_daemon();
        await(is_ready, "ready");
}

static void expect_who(const char *run, const char *who) {
        g_autofree char *path = g_strconcat(JOB "/runs/", run, NULL);
        _cleanup_(run_record_freep) RunRecord *record = NULL;

        await(has_started, "a start");
        cr_assert_eq(run_record_decode(server_data(path), strlen(server_data(path)), &record), 0);
        cr_expect_str_eq(record->who, who);
}

/* Somebody puts it there who need not be a node of ours. */
static char *request_by_hand(const char *members) {
        int64_t now = (int64_t)(clock_realtime() / USEC_PER_SEC);
        char *run = g_strdup_printf("%" G_GINT64_FORMAT "-m0badcafe", now);
        g_autofree char *path = g_strconcat("/jobkeeper/requests/", run, NULL);
        g_autofree char *data = g_strdup_printf(
            "{\"job\":\"a\",\"not_after\":%" G_GINT64_FORMAT "%s}", now + 60, members);

        server_create(path, data, 0);
        server_fire_parent(path);
        return run;
}

/* Its time is over in a second. */
static void request_soon_over(char **ret_run) {
        int64_t now = (int64_t)(clock_realtime() / USEC_PER_SEC);
        g_autofree char *path = NULL, *data = NULL;

        *ret_run = g_strdup_printf("%" G_GINT64_FORMAT "-m0badcafe", now);
        path = g_strconcat("/jobkeeper/requests/", *ret_run, NULL);
        data = g_strdup_printf("{\"job\":\"a\",\"not_after\":%" G_GINT64_FORMAT "}", now + 1);
        server_create(path, data, 0);
        server_fire_parent(path);
}

Test(requests, what_somebody_else_wrote_says_nothing_of_a_user) {
        g_autofree char *run = NULL;

        begin();
        run = request_by_hand(",\"who\":\"uid 0\",\"node\":\"n2\"");
        expect_who(run, "node n2 (not verified)");
}

Test(requests, a_request_of_nobody_is_of_nobody) {
        g_autofree char *run = NULL;

        begin();
        run = request_by_hand(",\"who\":\"uid 0\",\"node\":\"$(reboot)\"");
        expect_who(run, "unknown");
}

static char *ask_by_hand(const char *kind, int64_t tick) {
        int64_t now = (int64_t)(clock_realtime() / USEC_PER_SEC);
        char *run = g_strdup_printf("%" G_GINT64_FORMAT "-m%s", now, kind);
        g_autofree char
            *path = g_strdup_printf("/jobkeeper/requests/%" G_GINT64_FORMAT "-a%s", now, kind),
            *data = g_strdup_printf(
                "{\"job\":\"a\",\"run\":\"%s\",\"why\":\"after\",\"not_after\":%" G_GINT64_FORMAT
                ",\"within\":60,\"parent\":{\"job\":\"b\",\"run\":\"5-1\",\"state\":"
                "\"succeeded\",\"tick\":%" G_GINT64_FORMAT "}}",
                run, now + 60, tick);

        server_create(path, data, 0);
        server_fire_parent(path);
        return run;
}

/* The job would work on that date. */
Test(requests, what_follows_a_tick_that_has_not_come_is_forged) {
        int64_t now = (int64_t)(clock_realtime() / USEC_PER_SEC);
        g_autofree char *forged = NULL, *run = NULL, *path = NULL;

        begin();
        forged = ask_by_hand("1", now + 3600);
        path = g_strconcat(JOB "/runs/", forged, NULL);
        run = ask_by_hand("2", now);
        expect_who(run, "after b, run 5-1");
        cr_expect_null(server_node(path));
}

static bool two_have_started(void) {
        return started->len == 2;
}

static bool three_have_started(void) {
        return started->len == 3;
}

/* Somebody who asks would be told that there is no place. */
Test(requests, what_runs_ask_for_waits_for_a_place) {
        static const char *const kinds[] = {"1", "2", "3"};
        int64_t now = (int64_t)(clock_realtime() / USEC_PER_SEC);

        write_job("    slots: 2\n    exec: [/bin/true]\n");
        open_daemon();
        await(is_ready, "ready");
        for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
                g_free(ask_by_hand(kinds[i], now));
        await(two_have_started, "as many as there are places");
        serve_for(USEC_PER_SEC);
        cr_expect_eq(started->len, 2U);
        service_exit(service_newest(), 0);
        await(three_have_started, "the third, when one is free");
}

static int submit(const char *job, const char *who, RequestWrittenFunc func, RequestCall **ret) {
        return requests_submit(coordinator->requests, &(Requested){.job = job, .who = who}, func,
                               NULL, ret);
}

static char *written;

static void on_written(int error, const char *run, void *userdata) {
        (void)userdata;
        cr_assert_eq(error, 0);
        written = g_strdup(run);
}

static bool is_written(void) {
        return written;
}

Test(requests, whom_the_bus_named_is_named) {
        RequestCall *call = NULL;

        begin();
        cr_assert_eq(submit("a", "uid 1017", on_written, &call), 0);
        await(is_written, "written");
        expect_who(written, "uid 1017");
        request_call_free(call);
        g_clear_pointer(&written, g_free);
}

static char kept_path[100];

static ServerWay keep_requests(const ZkCall *call) {
        if (!g_str_has_prefix(call->path, "/jobkeeper/requests/"))
                return SERVER_ANSWER;
        g_strlcpy(kept_path, call->path, sizeof(kept_path));
        return SERVER_LOSE;
}

static bool is_request_kept(void) {
        return *kept_path;
}

static void requests_ignore(int error, const char *run, void *userdata) {
        (void)error;
        (void)run;
        (void)userdata;
}

static bool is_recorded(void) {
        g_autofree char *path = g_strconcat(JOB "/runs/", written, NULL);

        return strstr(server_data(path), "\"who\"") != NULL;
}

/* Somebody makes it anew, for another job, before it is read. */
Test(requests, whom_the_bus_named_asked_for_that_job_alone) {
        g_autofree char *path = NULL, *data = NULL, *record = NULL;
        RequestCall *call = NULL;

        begin();
        server.way = keep_requests;
        cr_assert_eq(submit("b", "uid 0", requests_ignore, &call), 0);
        await(is_request_kept, "the request");
        path = g_strdup(kept_path);
        request_call_free(call);
        server.way = NULL;
        data = g_strdup_printf("{\"job\":\"a\",\"not_after\":%" G_GINT64_FORMAT ",\"node\":\"n2\"}",
                               (int64_t)(clock_realtime() / USEC_PER_SEC) + 60);
        server_create(path, data, 0);
        server_fire_parent(path);
        written = g_path_get_basename(path);
        await(is_recorded, "a run");
        record = g_strconcat(JOB "/runs/", written, NULL);
        cr_expect(strstr(server_data(record), "node n2 (not verified)"), "%s", server_data(record));
        g_clear_pointer(&written, g_free);
}

#define HOLDER "/jobkeeper/locks/r/_c_00000000-0000-0000-0000-000000000000-__WRIT__0000000000"

#define AHEAD "/jobkeeper/requests/1000000000-m0badcafe"

static bool is_waiting(void) {
        return scheduled_job_state(job_table_find(coordinator->jobs, "a")) == JOB_WAITING;
}

static bool is_request_gone(void) {
        return server_count("/jobkeeper/requests") == 0;
}

/* The tick's place is not given up for it. */
Test(requests, one_beside_a_tick_that_waits_without_end_is_over_in_time) {
        g_autofree char *run = NULL, *path = NULL;

        server_create("/jobkeeper", "", 0);
        server_create("/jobkeeper/locks", "", 0);
        server_create("/jobkeeper/locks/r", "", 0);
        server_create(HOLDER, "", 99);
        write_job("    every: 1s\n    exec: [/bin/true]\n    locks: {r: exclusive}\n"
                  "    lock-wait: infinity\n    start-deadline: 5s\n");
        open_daemon();
        await(is_waiting, "a tick that waits");
        request_soon_over(&run);
        await(is_request_gone, "an answer");
        path = g_strconcat(JOB "/runs/", run, NULL);
        cr_expect(strstr(server_data(path), "no node could start it in time"), "%s",
                  server_data(path));
        cr_expect_eq(server_count("/jobkeeper/locks/r"), 2U, "the tick still waits");
}

/* Nor does the job wait any longer where the clock of who asked was an hour ahead. */
Test(requests, one_of_a_clock_that_was_ahead_is_over_in_time) {
        int64_t now = (int64_t)(clock_realtime() / USEC_PER_SEC);
        g_autofree char *data = NULL;

        server_create("/jobkeeper", "", 0);
        server_create("/jobkeeper/locks", "", 0);
        server_create("/jobkeeper/locks/r", "", 0);
        server_create(HOLDER, "", 99);
        write_job("    exec: [/bin/true]\n    locks: {r: exclusive}\n");
        open_daemon();
        await(is_ready, "ready");
        data = g_strdup_printf("{\"job\":\"a\",\"not_after\":%" G_GINT64_FORMAT "}", now + 3660);
        server_create(AHEAD, data, 0);
        server_node(AHEAD)->stat.ctime_ms -= (int64_t)(REQUEST_LIFETIME / USEC_PER_MSEC) - 2000;
        server_fire_parent(AHEAD);
        await(is_waiting, "it waits");
        await(is_request_gone, "an answer");
        cr_expect(strstr(server_data(JOB "/runs/1000000000-m0badcafe"), "\"skipped\""), "%s",
                  server_data(JOB "/runs/1000000000-m0badcafe"));
        cr_expect_eq(server_count("/jobkeeper/locks/r"), 1U, "nobody waits any more");
}

/* Nor does it stand there any longer where nobody could take it. */
Test(requests, one_of_a_clock_that_was_ahead_for_nobody_goes_in_time) {
        int64_t now = (int64_t)(clock_realtime() / USEC_PER_SEC);
        g_autofree char *data = NULL;

        begin();
        data = g_strdup_printf("{\"job\":\"b\",\"not_after\":%" G_GINT64_FORMAT "}", now + 3660);
        server_create(AHEAD, data, 0);
        server_node(AHEAD)->stat.ctime_ms -= (int64_t)(REQUEST_LIFETIME / USEC_PER_MSEC);
        server_fire_parent(AHEAD);
        serve_for(USEC_PER_SEC / 2);
        cr_expect_not(is_request_gone(), "there is time for who could");
        await(is_request_gone, "its end");
        cr_expect_eq(started->len, 0U);
}

/* ---- what is no request ---- */

#define REQUESTS "/jobkeeper/requests"
#define ID "1000000000-m0badcafe"
#define REQUEST REQUESTS "/" ID

static char *request_data(const char *job, int64_t in) {
        return g_strdup_printf("{\"job\":\"%s\",\"not_after\":%" G_GINT64_FORMAT "}", job,
                               (int64_t)(clock_realtime() / USEC_PER_SEC) + in);
}

static void request(const char *job, int64_t in) {
        g_autofree char *data = request_data(job, in);

        server_write(REQUEST, data);
}

static bool is_refused(void) {
        return journal_count(MESSAGE_FOREIGN_DATA) > 0;
}

Test(requests, what_is_no_request_is_said_and_left_alone) {
        static const char *const texts[] = {
            "][",
            "{}",
            "{\"job\":\"a\"}",
            "{\"job\":\"a\",\"not_after\":\"tomorrow\"}",
            "{\"job\":\"a\",\"not_after\":0}",
            "{\"job\":\"a\",\"not_after\":1e12}",
            "{\"job\":\"../a\",\"not_after\":2000000000}",
            "{\"job\":7,\"not_after\":2000000000}",
        };

        begin();
        for (size_t i = 0; i < G_N_ELEMENTS(texts); i++) {
                g_autofree char *path = g_strdup_printf(REQUESTS "/1000000000-m%zu", i);
                server_write(path, texts[i]);
        }
        await(is_refused, "it is said");
        serve_for(USEC_PER_SEC / 10);
        cr_expect_eq(journal_count(MESSAGE_FOREIGN_DATA), (unsigned)G_N_ELEMENTS(texts));
        cr_expect(journal_has("warning: " REQUESTS
                              "/1000000000-m0: not a request of jobkeeper, ignored"));
        cr_expect_eq(server_count(REQUESTS), (unsigned)G_N_ELEMENTS(texts));
        cr_expect_eq(started->len, 0U);
        request("a", 60);
        await(has_started, "the next is one");
}

#define MANY 500

static bool are_all_read(void) {
        return !counted_reads_serve() && counted_reads_served() == MANY;
}

/* Anybody who reaches the server can put any number of them there. */
Test(requests, very_many_are_read_a_few_at_a_time_and_few_are_named) {
        begin();
        for (unsigned i = 0; i < MANY; i++) {
                g_autofree char *path = g_strdup_printf(REQUESTS "/1000000000-m%04x", i);

                server_create(path, "][", 0);
        }
        counted_reads_begin(REQUESTS);
        server_fire_parent(REQUESTS "/1000000000-m0000");
        await(are_all_read, "all are read");
        counted_reads_end();
        cr_expect_eq(counted_reads_most(), (unsigned)READ_WINDOW_SIZE);
        cr_expect_eq(journal_count(MESSAGE_FOREIGN_DATA), REMARKS_MAX + 1U);
        request("a", 60);
        await(has_started, "the next is one");
}

Test(requests, what_has_no_name_of_a_request_is_not_read) {
        begin();
        server_write(REQUESTS "/a b", "][");
        request("a", 60);
        await(has_started, "the next is one");
        cr_expect_eq(journal_count(MESSAGE_FOREIGN_DATA), 0U);
}

/* The id becomes the run's: a tick's would stand in that tick's place, and with another the run's
 * unit would be that of another job. */
Test(requests, what_cannot_be_the_id_of_a_request_is_not_taken) {
        static const char good[] = "{\"job\":\"a\",\"not_after\":2000000000}";

        begin();
        server_write(REQUESTS "/b-1000000000-1", good);
        server_write(REQUESTS "/1000000000-1", good);
        server_write(REQUESTS "/latest", good);
        request("a", 60);
        await(has_started, "the next is one");
        serve_for(USEC_PER_SEC / 10);
        cr_expect_eq(started->len, 1U);
        cr_expect_eq(server_count(REQUESTS), 3U);
}

/* ---- answers that are lost ---- */

Test(requests, one_that_could_not_be_read_is_read_again) {
        begin();
        server.broken = REQUEST;
        request("a", 60);
        serve_for(USEC_PER_SEC / 5);
        cr_expect_eq(started->len, 0U);
        server.broken = NULL;
        await(has_started, "it runs");
        cr_expect_eq(server_count(REQUESTS), 0U);
}

Test(requests, a_list_that_could_not_be_read_is_read_again) {
        begin();
        server.broken = REQUESTS;
        request("a", 60);
        serve_for(USEC_PER_SEC / 5);
        cr_expect_eq(started->len, 0U);
        server.broken = NULL;
        await(has_started, "it runs");
        /* And watched again. */
        service_exit(service_newest(), 0);
        server_write(REQUESTS "/1000000000-m2", "][");
        await(is_refused, "the next is seen");
}

static unsigned lists_of_requests;

static ServerWay goes_before_it_is_read(const ZkCall *call) {
        lists_of_requests += call->request == REQUEST_LIST && g_str_equal(call->path, REQUESTS);
        if (call->request == REQUEST_GET && g_str_equal(call->path, REQUEST))
                server_remove(REQUEST);
        return SERVER_ANSWER;
}

Test(requests, one_that_another_took_meanwhile_is_nobodys) {
        begin();
        server.way = goes_before_it_is_read;
        request("a", 60);
        serve_for(USEC_PER_SEC * 3 / 2);
        cr_expect_eq(started->len, 0U);
        cr_expect_eq(lists_of_requests, 1U, "there is nothing to read again");
        cr_expect_eq(journal_count(MESSAGE_FOREIGN_DATA), 0U);
}

/* ---- that nobody takes ---- */

#define OVER JOB "/runs/" ID

static bool is_over(void) {
        return !server_node(REQUEST);
}

static void begin_elsewhere(void) {
        write_job("    exec: [/bin/true]\n    nodes: {role: worker}\n");
        open_daemon();
        await(is_ready, "ready");
}

Test(requests, one_that_no_node_can_take_is_skipped_when_its_time_is_over) {
        _cleanup_(run_record_freep) RunRecord *record = NULL;

        begin_elsewhere();
        request("a", -60);
        serve_for(USEC_PER_SEC);
        cr_expect_not(is_over(), "others have the time to refuse it");
        await(is_over, "it is over");
        cr_assert_eq(run_record_decode(server_data(OVER), strlen(server_data(OVER)), &record), 0);
        cr_expect_eq(record->state, RUN_SKIPPED);
        cr_expect_str_eq(record->why, "no node could start it in time");
        cr_expect_str_eq(record->who, "unknown");
        cr_expect_neq(record->ended, 0U);
        cr_expect_eq(started->len, 0U);
}

/* ---- for one node alone ---- */

#define BOUND REQUESTS "/1000000000-r0badcafe"

static void request_on(const char *run, const char *node, int64_t in) {
        g_autofree char *data =
            g_strdup_printf("{\"job\":\"a\",\"run\":\"%s\",\"on\":\"%s\",\"node\":\"n2\","
                            "\"not_after\":%" G_GINT64_FORMAT "}",
                            run, node, (int64_t)(clock_realtime() / USEC_PER_SEC) + in);

        server_write(BOUND, data);
}

static bool is_bound_gone(void) {
        return !server_node(BOUND);
}

Test(requests, what_is_for_us_alone_is_run_and_its_request_gone) {
        begin();
        request_on(ID, "n1", 60);
        await(has_started, "it runs");
        cr_expect(is_bound_gone());
        cr_expect(strstr(server_data(OVER), "\"who\":\"node n2 (not verified)\""), "%s",
                  server_data(OVER));
}

/* It becomes fit while there is time. */
Test(requests, what_is_for_us_alone_waits_until_we_can_run_it) {
        write_job("    exec: [/nonexistent]\n");
        open_daemon();
        await(is_ready, "ready");
        request_on(ID, "n1", 60);
        serve_for(USEC_PER_SEC / 2);
        cr_expect_not(is_bound_gone());
        write_job("    exec: [/bin/true]\n");
        reload();
        await(has_started, "it runs");
        cr_expect(is_bound_gone());
}

Test(requests, what_is_for_another_alone_is_left_to_it_and_over_in_time) {
        begin();
        server_write("/jobkeeper/nodes/n2", "{\"machine\":\"m2\",\"boot\":\"b\"}");
        request_on(ID, "n2", 1);
        await(is_bound_gone, "it is over");
        cr_expect(strstr(server_data(OVER), "\"skipped\""), "%s", server_data(OVER));
        cr_expect(strstr(server_data(OVER), "n2 could not start it in time"), "%s",
                  server_data(OVER));
        cr_expect_eq(started->len, 0U);
}

Test(requests, what_was_for_a_node_that_left_says_so) {
        begin();
        request_on(ID, "n2", 1);
        await(is_bound_gone, "it is over");
        cr_expect(strstr(server_data(OVER), "n2 left before it had started it"), "%s",
                  server_data(OVER));
        cr_expect_eq(started->len, 0U);
}

Test(requests, what_does_not_say_which_run_is_no_request) {
        static const char *const runs[] = {
            "",    "1000000000",   "../1-m1", "1-s1", "1-r1",
            "0-1", "1000000000-0", "01-1",    "1-01", "99999999999999999999-1"};

        begin();
        for (size_t i = 0; i < G_N_ELEMENTS(runs); i++) {
                request_on(runs[i], "n1", 60);
                await(is_refused, "it is said");
                cr_expect_not(is_bound_gone());
                server_remove(BOUND);
                serve_for(200 * USEC_PER_MSEC);
        }
        request_on(ID, "$(reboot)", 60);
        serve_for(200 * USEC_PER_MSEC);
        cr_expect_eq(started->len, 0U);
}

/* ---- a further attempt of a tick ---- */

/* Somebody asks for it who did not look. */
Test(requests, of_an_undecided_tick_none_is_made) {
        int64_t tick = (int64_t)(clock_realtime() / USEC_PER_SEC) + 100;
        g_autofree char *run = g_strdup_printf("%" G_GINT64_FORMAT "-1", tick),
                        *path = g_strconcat(JOB "/runs/", run, NULL);

        begin();
        request_on(run, "n1", 60);
        await(is_bound_gone, "it is refused");
        cr_expect_null(server_node(path), "it would be in the way of the tick's own");
        cr_expect(journal_has("its tick is not settled"));
        cr_expect_eq(started->len, 0U);
}

/* Nobody who looked took it, and what became of it would be the tick's own record. */
Test(requests, of_an_undecided_tick_nothing_is_recorded_when_its_time_is_over) {
        int64_t tick = (int64_t)(clock_realtime() / USEC_PER_SEC) + 100;
        g_autofree char *run = g_strdup_printf("%" G_GINT64_FORMAT "-1", tick),
                        *path = g_strconcat(JOB "/runs/", run, NULL);

        begin();
        request_on(run, "n2", 1);
        await(is_bound_gone, "it is over");
        cr_expect_null(server_node(path), "it would be in the way of the tick's own");
        cr_expect_eq(started->len, 0U);
}

/* ---- by which clock ---- */

static unsigned probes;

static ServerWay count_probes(const ZkCall *call) {
        probes += call->request == REQUEST_SET && g_str_equal(call->path, "/jobkeeper/open/n1");
        return SERVER_ANSWER;
}

static bool is_probed(void) {
        return probes > 0;
}

/* A clock that nobody compared says nothing about whether its time is over. */
Test(requests, the_clock_is_compared_before_one_is_over) {
        begin_elsewhere();
        server.way = count_probes;
        request("a", -60);
        turn();
        coordinator->node->skew.offset -= (int64_t)USEC_PER_HOUR;
        await(is_probed, "the clock is compared");
        cr_expect_not(is_over());
        await(is_over, "it is over");
        cr_expect_eq(probes, 1U);
}

static unsigned tries;

/* What is written to say that it is over. */
static ServerWay lose_first_expiry(const ZkCall *call) {
        bool is_expiry = call_has(call, ZK_OP_DELETE, REQUEST) ||
                         (call->request == REQUEST_DELETE && g_str_equal(call->path, REQUEST));

        return is_expiry && tries++ < 2 ? SERVER_LOSE : SERVER_ANSWER;
}

Test(requests, one_is_over_also_when_that_could_not_be_written_at_first) {
        begin_elsewhere();
        server.way = lose_first_expiry;
        request("a", -60);
        await(is_over, "it is over");
        cr_expect_not_null(server_node(OVER));
        cr_expect_geq(tries, 3U);
}

static ServerWay refuse_expiry(const ZkCall *call) {
        bool is_expiry = call_has(call, ZK_OP_DELETE, REQUEST) ||
                         (call->request == REQUEST_DELETE && g_str_equal(call->path, REQUEST));

        tries += is_expiry;
        return is_expiry ? SERVER_REFUSE : SERVER_ANSWER;
}

static bool is_tried(void) {
        return tries > 0;
}

/* Somebody has put something below it. A try is two requests. */
Test(requests, one_that_cannot_be_deleted_is_tried_less_and_less_often) {
        begin_elsewhere();
        server.way = refuse_expiry;
        server.refusal = ZK_NOT_EMPTY;
        request("a", -60);
        await(is_tried, "it is over");
        serve_for(6 * USEC_PER_SEC);
        cr_expect_geq(tries, 4U, "%u", tries);
        cr_expect_leq(tries, 8U, "%u", tries);
}

/* ---- that is gone ---- */

#define QUEUE "/jobkeeper/locks/r"
#define WAITS                                                                                      \
        "    exec: [/bin/true]\n    locks: {r: exclusive}\n    start-deadline: 5s\n"               \
        "    lock-wait: 4h\n"

static unsigned claims;

static ServerWay count_claims(const ZkCall *call) {
        claims += is_claim(call);
        return SERVER_ANSWER;
}

/* Somebody else holds its lock. */
static void block_the_lock(void) {
        server_create("/jobkeeper", "", 0);
        server_create("/jobkeeper/locks", "", 0);
        server_create(QUEUE, "", 0);
        server_create(HOLDER, "", 99);
}

static bool is_in_the_queue(void) {
        return server_count(QUEUE) == 2;
}

static bool is_out_of_the_queue(void) {
        return server_count(QUEUE) == 1;
}

static void have_one_wait(const char *keys) {
        block_the_lock();
        write_job(keys);
        open_daemon();
        await(is_ready, "ready");
        server.way = count_claims;
        request("a", 60);
        await(is_in_the_queue, "it waits for the lock");
}

Test(requests, one_that_is_deleted_is_waited_for_no_more) {
        have_one_wait(WAITS);
        server_delete(REQUEST);
        await(is_out_of_the_queue, "nothing waits");
        server_delete(HOLDER);
        serve_for(USEC_PER_SEC / 2);
        cr_expect_eq(claims, 0U);
        cr_expect_eq(started->len, 0U);
        cr_expect_null(server_node(OVER));
}

Test(requests, what_stood_behind_one_that_is_deleted_runs) {
        have_one_wait(WAITS);
        server_write(REQUESTS "/1000000000-m2", "{\"job\":\"a\",\"not_after\":3000000000}");
        await_quiet();
        server_delete(REQUEST);
        server_delete(HOLDER);
        await(has_started, "the other one runs");
        cr_expect_eq(server_count(REQUESTS), 0U);
        cr_expect_null(server_node(OVER));
}

static bool is_in_line(void) {
        return gate_waits_for_place(coordinator->gate, "a");
}

static bool is_not_in_line(void) {
        return !is_in_line();
}

/* Another node ran it while there was no place for it here. */
Test(requests, one_that_is_run_elsewhere_waits_for_no_place) {
        tree_write(root, "jobkeeper.yaml", "node: {name: n1}\nmax-runs: 1\n");
        write_job_named("b", "    exec: [/bin/true, b]\n");
        write_job(WAITS);
        open_daemon();
        await(is_ready, "ready");
        server_write(REQUESTS "/1000000000-m2", "{\"job\":\"b\",\"not_after\":3000000000}");
        await(has_started, "the other job runs");
        request("a", 60);
        await(is_in_line, "it waits for a place");
        server_write(OVER, "{\"run\":\"" ID "\",\"job\":\"a\",\"attempt\":1,\"state\":"
                           "\"succeeded\",\"node\":\"n2\"}");
        server_delete(REQUEST);
        await(is_not_in_line, "it waits for none");
        server.way = count_claims;
        service_exit(service_newest(), 0);
        serve_for(USEC_PER_SEC / 2);
        cr_expect_eq(claims, 0U);
        cr_expect_eq(server_count(QUEUE), 0U);
}

/* ---- asking for one ---- */

static int refusal;

static void on_refused(int error, const char *run, void *userdata) {
        (void)run;
        (void)userdata;
        refusal = error;
}

Test(requests, none_is_asked_for_without_a_session) {
        RequestCall *call = NULL;

        begin();
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        cr_expect_eq(submit("a", "uid 0", on_refused, &call), -ENOTCONN);
        cr_expect_null(call);
}

static bool is_answered(void) {
        return refusal;
}

static ServerWay refuse_requests(const ZkCall *call) {
        server.refusal = ZK_NO_AUTH;
        return call->request == REQUEST_CREATE && g_str_has_prefix(call->path, REQUESTS)
                   ? SERVER_REFUSE
                   : SERVER_ANSWER;
}

Test(requests, one_that_zookeeper_refuses_is_refused) {
        RequestCall *call = NULL;

        begin();
        server.way = refuse_requests;
        cr_assert_eq(submit("a", "uid 0", on_refused, &call), 0);
        await(is_answered, "an answer");
        cr_expect_eq(refusal, -EIO);
        cr_expect_eq(server_count(REQUESTS), 0U);
        cr_expect_null(request_call_free(call));
        cr_expect_null(request_call_free(NULL));
}
