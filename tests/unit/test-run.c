/* Runs from the claim to the settle, in a whole daemon (daemon-fixture.h): what a unit's end makes
 * of the record, the ledger, and the locks. */
#include "daemon-fixture.h"
#include "ledger.h"
#include "run.h"

#define LEDGER_PATH "/jobkeeper/jobs/a"
#define RUNS_PATH LEDGER_PATH "/runs"
#define OPEN_PATH "/jobkeeper/open/n1"
#define LOCK_PATH "/jobkeeper/locks/job:a"

TestSuite(run, .init = setup, .fini = teardown);

static char *run_name; /* of the one that is looked at */

static bool has_started(void) {
        return service_newest() && service_newest()->unit &&
               service_newest()->state == SERVICE_RUNNING;
}

/* A tick of job "a" is due soon, and no other for a long time. */
static void start_one(const char *more) {
        g_autoptr(GDateTime) when =
            g_date_time_new_from_unix_utc((gint64)(clock_realtime() / USEC_PER_SEC) + 2);
        g_autofree char *text = g_date_time_format(when, "%Y-%m-%d %H:%M:%S"),
                        *keys = g_strdup_printf("    schedule: \"%s\"\n    exec: [/bin/true]\n%s",
                                                text, more);

        write_job(keys);
        open_daemon();
        await(has_started, "a start");
        g_free(run_name);
        run_name = g_strdup_printf("%" G_GINT64_FORMAT "-1", g_date_time_to_unix(when));
}

static RunRecord *record_there(void) {
        g_autofree char *path = g_strconcat(RUNS_PATH "/", run_name, NULL);
        RunRecord *record = NULL;

        cr_assert_eq(run_record_decode(server_data(path), strlen(server_data(path)), &record), 0,
                     "%s", server_data(path));
        return record;
}

static bool is_settled(void) {
        _cleanup_(run_record_freep) RunRecord *record = record_there();

        return record->state != RUN_CLAIMED && g_hash_table_size(coordinator->runs) == 0 &&
               coordinator->settled->len == 0;
}

/* Nothing stands open, and nobody stands in the queue. */
static void expect_settled(RunState state, const char *why) {
        _cleanup_(run_record_freep) RunRecord *record = NULL;
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        await(is_settled, "it is settled");
        record = record_there();
        cr_expect_eq(record->state, state, "%s", run_state_to_string(record->state));
        cr_expect_str_eq(record->why ? record->why : "", why);
        cr_expect_eq(server_count(OPEN_PATH), 0);
        cr_expect_eq(server_count(LOCK_PATH), 0);
        cr_assert_eq(
            ledger_decode(server_data(LEDGER_PATH), strlen(server_data(LEDGER_PATH)), &ledger), 0);
        cr_expect_eq(ledger->open->len, 0);
        cr_expect_eq(ledger->mark, record->tick);
        cr_expect_eq(ledger->last->state, state);
        cr_expect_eq(service_newest()->state, SERVICE_FORGOTTEN);
        g_clear_pointer(&run_name, g_free);
}

/* ---- tests ---- */

Test(run, one_that_succeeds) {
        unsigned writes;

        start_one("");
        writes = server.writes;
        service_exit(service_newest(), 0);
        expect_settled(RUN_SUCCEEDED, "");
        cr_expect_eq(server.writes, writes + 1, "one transaction");
}
