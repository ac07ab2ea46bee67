/* Requests for a run, in a whole daemon (daemon-fixture.h): whom the record names as the one who
 * asked. */
#include "daemon-fixture.h"
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
        cr_assert_eq(
            requests_submit(coordinator->requests, "a", "uid 1017", on_written, NULL, &call), 0);
        await(is_written, "written");
        expect_who(written, "uid 1017");
        request_call_free(call);
        g_clear_pointer(&written, g_free);
}
