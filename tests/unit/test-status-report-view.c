/* What is said of a job's state, by a view of the test's own: what is remembered, what was just
 * read, and what is in force. */
#include "status-report.h"

#include "digest-memory.h"
#include "ledger-change.h"
#include "status-fixture.h"
#include "tree.h"

TestSuite(status_report, .init = setup_bus, .fini = teardown_bus);

static ScheduledJobState state;
static const char *why;

static const JobSpec *view_job(const void *userdata, const char *name) {
        return jobset_find(userdata, name);
}

static ScheduledJobState view_job_state(const void *userdata, const char *name) {
        (void)userdata;
        (void)name;
        return state;
}

static char *view_job_why(const void *userdata, const char *name) {
        (void)userdata;
        (void)name;
        return g_strdup(why);
}

static unsigned looks;

static void view_look_again(void *userdata, const char *name) {
        (void)userdata;
        (void)name;
        looks++;
}

static bool view_can_run(const void *userdata, const char *name) {
        (void)userdata;
        (void)name;
        return false;
}

static const ViewCalls view_calls = {.job = view_job,
                                     .job_state = view_job_state,
                                     .job_why = view_job_why,
                                     .look_again = view_look_again,
                                     .can_run = view_can_run};

static bool is_agreed(void) {
        return digest_memory_get(coordinator->digests, "a");
}

static View own_view(void) {
        return (View){.node = coordinator->node,
                      .tree = coordinator->tree,
                      .jobset = coordinator->jobset,
                      .digests = coordinator->digests,
                      .runs = coordinator->runs,
                      .calls = &view_calls,
                      .userdata = coordinator->jobset};
}

/* What the job remembers, what its ledger says that was just read, and what is shown. */
Test(status_report, what_was_just_read_is_newer_than_what_is_remembered) {
        enum { NONE, EMPTY, CLAIMED };
        static const struct {
                ScheduledJobState state;
                const char *why;
                int read;
                const char *word;
        } cases[] = {
            {JOB_UNREAD, "", NONE, "unread"},
            {JOB_UNREAD, "", EMPTY, "idle"},
            {JOB_UNREAD, "damaged", EMPTY, "unread"},
            {JOB_UNREAD, "", CLAIMED, "running"},
            {JOB_IDLE, "", NONE, "idle"},
            {JOB_IDLE, "", CLAIMED, "running"},
            {JOB_RUNNING, "", NONE,
             "unread"}, /* elsewhere, and nobody knows whether it still does */
            {JOB_RUNNING, "", EMPTY, "idle"},
            {JOB_NO_NODE, "x", EMPTY, "no-node"},
            {JOB_NO_NODE, "x", CLAIMED, "running"},
            {JOB_WAITING, "x", CLAIMED, "waiting"},
            {JOB_DRIFTED, "x", CLAIMED, "drifted"},
            {JOB_UNFIT, "x", CLAIMED, "unfit"},
        };
        _cleanup_(ledger_freep) Ledger *empty = NULL, *claimed = NULL;
        const Ledger *ledgers[] = {NULL, NULL, NULL};
        View view;

        begin_with_a();
        await(is_agreed, "our definition is in force");
        view = own_view();
        empty = ledger_new(0, digest_memory_get(coordinator->digests, "a"));
        ledgers[EMPTY] = empty;
        claimed = ledger_with_claim();
        ledgers[CLAIMED] = claimed;
        for (size_t i = 0; i < G_N_ELEMENTS(cases); i++) {
                json_t *job = NULL;

                state = cases[i].state;
                why = cases[i].why;
                job = status_report_job(&view, "a", ledgers[cases[i].read]);
                cr_expect_str_eq(string_of(job, "state"), cases[i].word, "case %zu: %s", i,
                                 string_of(job, "state"));
                if (cases[i].state != JOB_RUNNING || cases[i].read != NONE)
                        cr_expect_str_eq(string_of(job, "why"), cases[i].why);
                else
                        cr_expect_str_eq(string_of(job, "why"),
                                         "it was running when ZooKeeper last answered");
                cr_expect(json_is_false(json_object_get(job, "fit")));
                json_decref(job);
        }
}

/* By our file the ticks are others, which never come. */
Test(status_report, where_it_is_drifted_the_next_tick_is_that_in_force) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        json_t *job = NULL;
        View view;

        begin_with_a();
        view = own_view();
        cr_assert_eq(ledger_decode(server_data(JOB), strlen(server_data(JOB)), &ledger), 0);
        g_free(ledger->schedule);
        ledger->schedule = g_strdup("2099-01-01 12:00:00 UTC");
        state = JOB_DRIFTED;
        why = "";
        job = status_report_job(&view, "a", ledger);
        expect_text(json_object_get(job, "next"), "4070952000");
        json_decref(job);
        job = status_report_job(&view, "a", NULL);
        expect_text(json_object_get(job, "next"), "null");
        json_decref(job);
        state = JOB_IDLE;
        job = status_report_job(&view, "a", ledger);
        cr_expect_lt(json_integer_value(json_object_get(job, "next")), 4070952000);
        json_decref(job);
}

static Ledger *ledger_there(void) {
        Ledger *ledger = NULL;

        cr_assert_eq(ledger_decode(server_data(JOB), strlen(server_data(JOB)), &ledger), 0);
        return ledger;
}

static bool is_drift_told(void) {
        return strstr(server_data(NODES "/n1"), "\"drifted\":[\"a\"]");
}

/* Another node's file has changed, and its job is due in an hour. */
Test(status_report, what_another_node_put_in_force_shows_at_once) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        g_autofree char *data = NULL;
        json_t *object = NULL, *job = NULL;

        begin_with_a();
        await(is_agreed, "our definition is in force");
        await_quiet();
        ledger = ledger_there();
        ledger_adopt_digest(ledger, "other", (int64_t)(clock_realtime() / USEC_PER_SEC));
        g_free(ledger->schedule);
        ledger->schedule = g_strdup("2099-01-01 12:00:00 UTC");
        data = ledger_encode(ledger);
        server_set(server_node(JOB), data);
        object = ask_status();
        job = job_of(object, "a");
        cr_expect_str_eq(string_of(job, "state"), "drifted");
        expect_text(json_object_get(job, "next"), "4070952000");
        json_decref(object);
        await(is_drift_told, "the others are told");
}

/* Where our own file has changed, ours is about to be put in force; and the job is asked to look
 * only where there is something to see. */
Test(status_report, what_was_read_is_compared_with_what_was_agreed_on) {
        static const char *const digests[] = {NULL, "other", ""};
        static const char *const states[] = {"idle", "drifted", "idle"};
        View view;

        begin_with_a();
        await(is_agreed, "our definition is in force");
        view = own_view();
        state = JOB_IDLE;
        why = "";
        for (size_t i = 0; i < G_N_ELEMENTS(digests); i++) {
                _cleanup_(ledger_freep) Ledger *ledger = ledger_there();
                json_t *job = NULL;

                looks = 0;
                if (digests[i]) {
                        g_free(ledger->digest);
                        ledger->digest = g_strdup(digests[i]);
                }
                job = status_report_job(&view, "a", ledger);
                cr_expect_str_eq(string_of(job, "state"), states[i]);
                cr_expect_eq(looks, i == 1);
                json_decref(job);
                if (i != 1)
                        continue;
                digest_memory_set(coordinator->digests, "a", "agreed");
                job = status_report_job(&view, "a", ledger);
                cr_expect_str_eq(string_of(job, "state"), "idle", "ours has changed");
                cr_expect_eq(looks, 1);
                json_decref(job);
        }
}

Test(status_report, a_job_that_left_meanwhile_is_not_shown) {
        View view;

        begin_with_a();
        view = own_view();
        cr_expect_null(status_report_job(&view, "gone", NULL));
}
