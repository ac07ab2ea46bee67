/* A service, in a whole daemon (daemon-fixture.h): it is run again after each end, here or by
 * another node; it is ended where it is not to run any more, so that others have it; and a pause
 * keeps it down. */
#include "daemon-fixture.h"
#include "job-table.h"
#include "ledger-cache.h"
#include "ledger-change.h"
#include "ledger.h"
#include "paths.h"
#include "runs.h"
#include "scheduled-job.h"

#define ROOT "/jobkeeper"
#define JOB_PATH ROOT "/jobs/a"
#define CONTROL ROOT "/control"
#define SERVICE "    mode: service\n    exec: [/bin/true]\n"
#define PAUSED "{\"paused\":{\"jobs\":{\"a\":{\"by\":\"alice\",\"since\":1763000000}}}}"
#define DRAINED "{\"drained\":{\"n1\":{\"by\":\"alice\",\"since\":1763000000}}}"

TestSuite(service, .init = setup, .fini = teardown, .timeout = 60);

static Ledger *ledger_there(void) {
        Ledger *ledger = NULL;

        cr_assert_eq(ledger_decode(server_data(JOB_PATH), strlen(server_data(JOB_PATH)), &ledger),
                     0);
        return ledger;
}

static int64_t tick_there(void) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_there();

        return ledger_service_tick(ledger);
}

static RunRecord *record_there(int64_t tick, unsigned attempt) {
        g_autofree char *run = run_id_for_tick(tick, attempt), *path = path_run(ROOT, "a", run);
        RunRecord *record = NULL;

        cr_assert_not_null(server_node(path), "%s", path);
        cr_assert_eq(run_record_decode(server_data(path), strlen(server_data(path)), &record), 0);
        return record;
}

static bool is_ready(void) {
        return node_is_ready(coordinator->node) && server_node(JOB_PATH);
}

static unsigned awaited;

static bool attempt_runs(void) {
        g_autofree char *run = NULL, *unit = NULL;

        if (!server_node(JOB_PATH))
                return false;
        run = run_id_for_tick(tick_there(), awaited);
        unit = unit_name_for_run("a", run);
        return service_newest() && service_newest()->state == SERVICE_RUNNING &&
               service_newest()->unit && g_str_equal(service_newest()->name, unit);
}

static void await_run(unsigned attempt) {
        awaited = attempt;
        await(attempt_runs, "the run");
}

static bool is_over(void) {
        return runs_count(coordinator->runs) == 0;
}

static void expect_ended_as(unsigned attempt, RunState state, const char *why) {
        _cleanup_(run_record_freep) RunRecord *record = record_there(tick_there(), attempt);

        cr_expect_eq(record->state, state, "%s", run_state_to_string(record->state));
        cr_expect_str_eq(record->why ? record->why : "", why);
}

static void expect_nothing_more(unsigned runs) {
        serve_for(1500 * USEC_PER_MSEC);
        cr_expect_eq(started->len, runs, "%u", started->len);
}

/* A ledger may be made in a second whose successor is still to come. */
static void run_service(const char *keys) {
        write_job(keys);
        open_daemon();
        await_run(1);
}

/* ---- again and again ---- */

Test(service, whatever_its_end_it_is_run_again_after_a_pause_that_doubles) {
        static const usec_t pauses[] = {1 * USEC_PER_SEC, 2 * USEC_PER_SEC};
        int64_t tick;

        run_service(SERVICE);
        tick = tick_there();
        for (unsigned attempt = 1; attempt <= 2; attempt++) {
                _cleanup_(run_record_freep) RunRecord *before = NULL, *after = NULL;

                service_exit(service_newest(), attempt == 1 ? 0 : 5);
                await_run(attempt + 1);
                before = record_there(tick, attempt);
                after = record_there(tick, attempt + 1);
                cr_expect_eq(before->state, attempt == 1 ? RUN_SUCCEEDED : RUN_FAILED);
                cr_expect_geq(after->claimed, before->ended + pauses[attempt - 1]);
                cr_expect_eq(after->terms.short_lived, attempt);
                cr_expect_gt(after->attempt, before->attempt);
        }
        cr_expect_eq(started->len, 3);
        cr_expect_eq(services_alive(), 1);
}

Test(service, its_pauses_are_as_it_says) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        _cleanup_(run_record_freep) RunRecord *record = NULL;
        usec_t pause;

        run_service(SERVICE "    restart: {delay: 1h, max-delay: 1h}\n");
        service_exit(service_newest(), 1);
        await(is_over, "it is settled");
        ledger = ledger_there();
        record = record_there(ledger_service_tick(ledger), 1);
        cr_assert_not_null(ledger_first_retry(ledger));
        pause = ledger_first_retry(ledger)->not_before - record->ended;
        cr_expect(pause > 59 * USEC_PER_MINUTE && pause < 61 * USEC_PER_MINUTE);
        expect_nothing_more(1);
}

/* A restart of the daemon is no end. */
Test(service, goes_on_over_a_restart_of_the_daemon) {
        run_service(SERVICE);
        close_daemon();
        open_daemon_again();
        await(a_run_goes_on, "it is found again");
        expect_nothing_more(1);
        service_exit(service_newest(), 0);
        await_run(2);
}

/* One that would go on without its locks is not waited for when nothing of it is here. */
Test(service, what_is_gone_and_nobody_knows_how_is_run_again) {
        run_service(SERVICE "    on-lock-loss: continue\n");
        service_end(service_newest(), UNIT_OUTCOME_UNKNOWN, 0, "");
        await_run(2);
        expect_ended_as(1, RUN_UNKNOWN, "the unit disappeared before its result could be read");
}

/* ---- whose record is lost ---- */

static char *record_path_of(unsigned attempt) {
        g_autofree char *run = run_id_for_tick(tick_there(), attempt);

        return path_run(ROOT, "a", run);
}

/* Its daemon is away when that happens to its record; `data`: what stands there then, NULL:
 * nothing.
 */
static void lose_record(const char *data) {
        g_autofree char *path = NULL;

        run_service(SERVICE);
        close_daemon();
        path = record_path_of(1);
        if (data)
                server_set(server_node(path), data);
        else
                server_remove(path);
}

/* It is gone by then, and nobody saw how. */
static void expect_run_again(const char *why) {
        service_exit(service_newest(), 0);
        open_daemon_again();
        await_run(2);
        expect_ended_as(1, RUN_UNKNOWN, why);
}

Test(service, whose_record_is_damaged_is_run_again) {
        lose_record("][");
        expect_run_again("its record in ZooKeeper was damaged");
}

Test(service, whose_record_was_deleted_is_run_again) {
        lose_record(NULL);
        expect_run_again("its record was deleted from ZooKeeper");
}

/* Nothing is known of it, but that it lives. */
Test(service, whose_record_is_damaged_is_not_run_beside_what_lives) {
        lose_record("][");
        open_daemon_again();
        await(is_ready, "ready");
        expect_nothing_more(1);
        service_exit(service_newest(), 0);
        await_run(2);
}

/* Nor where nobody can tell whether what lives there is its own. */
static void expect_not_run_beside(const char *nonce) {
        _cleanup_(run_record_freep) RunRecord *record = NULL, *after = NULL;
        g_autofree char *path = NULL, *data = NULL;

        run_service(SERVICE);
        close_daemon();
        path = record_path_of(1);
        record = record_there(tick_there(), 1);
        g_free(record->nonce);
        record->nonce = g_strdup(nonce);
        data = run_record_encode(record);
        server_set(server_node(path), data);
        open_daemon_again();
        await(is_ready, "ready");
        await(is_over, "it is settled");
        expect_nothing_more(1);
        after = record_there(tick_there(), 1);
        cr_expect_eq(after->state, RUN_UNKNOWN);
        cr_expect(after->continues, "a person is to say how it ended");
}

Test(service, that_may_be_alive_here_is_not_run_beside_it) {
        expect_not_run_beside(NULL);
}

Test(service, that_is_there_by_its_name_is_not_run_beside_it) {
        expect_not_run_beside("another");
}

/* ---- others ---- */

static RunRecord *record_elsewhere(int64_t tick) {
        g_autofree char *run = run_id_for_tick(tick, 1);
        RunRecord *record = run_record_new("a", run);

        record->tick = tick;
        record->attempt = 1;
        record->node = g_strdup("n2");
        record->claimed = (usec_t)tick * USEC_PER_SEC;
        record->terms.service = true;
        record->terms.delay = record->terms.max_delay = USEC_PER_HOUR;
        return record;
}

static void write_ledger(const Ledger *ledger) {
        g_autofree char *data = ledger_encode(ledger);

        server_write(JOB_PATH, data);
}

/* Another node has the service. Return: its tick. */
static int64_t run_elsewhere(void) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        _cleanup_(run_record_freep) RunRecord *record = NULL;

        server_create(ROOT, "", 0);
        server_create(CONTROL, PAUSED, 0);
        write_job(SERVICE);
        open_daemon();
        await(is_ready, "a ledger");
        await_quiet();
        ledger = ledger_there();
        record = record_elsewhere(ledger_service_tick(ledger));
        cr_assert_eq(ledger_claim(ledger, record), 0);
        write_ledger(ledger);
        server_write(CONTROL, "{}");
        serve_for(2 * USEC_PER_SEC);
        cr_assert_eq(started->len, 0);
        return record->tick;
}

static void end_elsewhere(int64_t tick, RunState state, bool continues) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_there();
        _cleanup_(run_record_freep) RunRecord *record = record_elsewhere(tick);

        record->state = state;
        record->continues = continues;
        record->ended = clock_realtime();
        cr_assert_eq(ledger_settle(ledger, record, NULL, record->ended), 0);
        write_ledger(ledger);
}

/* Nothing but the watch tells. */
Test(service, what_is_lost_elsewhere_is_run_here_at_once) {
        end_elsewhere(run_elsewhere(), RUN_UNKNOWN, false);
        await_run(2);
        cr_expect_eq(started->len, 1);
}

Test(service, what_fails_elsewhere_is_run_here_after_its_pause) {
        end_elsewhere(run_elsewhere(), RUN_FAILED, false);
        expect_nothing_more(0);
}

Test(service, what_may_be_alive_elsewhere_is_not_run_beside_it) {
        int64_t tick = run_elsewhere();
        g_autofree char *why = NULL;

        end_elsewhere(tick, RUN_UNKNOWN, true);
        expect_nothing_more(0);
        why = scheduled_job_why(job_table_find(coordinator->jobs, "a"));
        cr_expect(strstr(why, "-1 on n2 may be alive, and no other one is begun beside it"), "%s",
                  why);
        end_elsewhere(tick, RUN_INTERRUPTED, true);
        await_run(2);
}

static bool runs_by_another_definition(void) {
        return started->len > 0 && a_run_goes_on();
}

/* Nor by another definition, before somebody says how it ended. */
Test(service, an_edit_begins_none_beside_what_may_be_alive) {
        g_autofree char *why = NULL;
        int64_t tick = run_elsewhere();

        end_elsewhere(tick, RUN_UNKNOWN, true);
        write_job(SERVICE "    locks: {db: shared}\n");
        reload();
        serve_for(2 * USEC_PER_SEC);
        cr_expect_neq(tick_there(), tick);
        cr_expect_eq(started->len, 0);
        why = scheduled_job_why(job_table_find(coordinator->jobs, "a"));
        cr_expect(strstr(why, "-1 on n2 may be alive, and no other one is begun beside it"), "%s",
                  why);
        end_elsewhere(tick, RUN_FAILED, true);
        await(runs_by_another_definition, "it is run");
}

static void lose_definition_elsewhere(void) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_there();

        ledger_withdraw(ledger, (int64_t)(clock_realtime() / USEC_PER_SEC));
        write_ledger(ledger);
}

static bool is_resumed(void) {
        _cleanup_(ledger_freep) Ledger *ledger = ledger_there();

        return ledger->withdrawn == 0;
}

/* Else it would be nobody's a minute later, and put in force anew: that is another tick. */
Test(service, whoever_runs_it_says_that_he_has_it) {
        run_service(SERVICE);
        lose_definition_elsewhere();
        await(is_resumed, "it stays in force");
        cr_expect_eq(services_alive(), 1);
}

/* ---- what keeps it down ---- */

Test(service, a_pause_ends_nothing_and_keeps_it_from_beginning) {
        server_create(ROOT, "", 0);
        server_create(CONTROL, "{}", 0);
        run_service(SERVICE);
        server_write(CONTROL, PAUSED);
        serve_for(300 * USEC_PER_MSEC);
        cr_expect_eq(services_alive(), 1);
        service_exit(service_newest(), 0);
        expect_nothing_more(1);
        server_write(CONTROL, "{}");
        await_run(2);
}

Test(service, what_somebody_stops_comes_back) {
        g_autofree char *run = NULL, *key = NULL;

        run_service(SERVICE);
        run = run_id_for_tick(tick_there(), 1);
        key = run_key("a", run);
        run_stop_for(runs_find(coordinator->runs, key), "alice");
        await(is_over, "it is stopped");
        expect_ended_as(1, RUN_STOPPED, "stopped by alice");
        await_run(2);
}

/* ---- where it is not to run any more ---- */

Test(service, leaves_a_node_that_is_drained) {
        server_create(ROOT, "", 0);
        server_create(CONTROL, "{}", 0);
        run_service(SERVICE);
        server_write(CONTROL, DRAINED);
        await(is_over, "it is ended");
        expect_ended_as(1, RUN_INTERRUPTED, "the node is drained");
        expect_nothing_more(1);
        server_write(CONTROL, "{}");
        await_run(2);
}

/* What is found at any time after that, too. */
Test(service, leaves_a_node_that_was_drained_while_its_daemon_was_away) {
        server_create(ROOT, "", 0);
        server_create(CONTROL, "{}", 0);
        run_service(SERVICE);
        close_daemon();
        server_write(CONTROL, DRAINED);
        open_daemon_again();
        await(is_ready, "ready");
        await(is_over, "it is ended");
        expect_ended_as(1, RUN_INTERRUPTED, "the node is drained");
        expect_nothing_more(1);
}

static bool is_doubted(void) {
        return is_ready() && service_is_alive(service_newest());
}

static bool is_found(void) {
        return runs_count(coordinator->runs) == 1;
}

/* Its record can be read again only after the node was drained. */
Test(service, leaves_a_node_that_is_drained_before_it_is_found_there) {
        g_autofree char *path = NULL, *record = NULL;

        server_create(ROOT, "", 0);
        server_create(CONTROL, "{}", 0);
        run_service(SERVICE);
        close_daemon();
        path = record_path_of(1);
        record = g_strdup(server_data(path));
        server_set(server_node(path), "][");
        open_daemon_again();
        await(is_doubted, "it lives, and nothing is known of it");
        server_write(CONTROL, DRAINED);
        serve_for(300 * USEC_PER_MSEC);
        cr_expect(service_is_alive(service_newest()));
        server_write(path, record);
        await(is_found, "it is found");
        await(is_over, "it is ended");
        expect_ended_as(1, RUN_INTERRUPTED, "the node is drained");
        server_write(CONTROL, "{}");
        await_run(2);
}

/* What cannot be read drains nobody. */
Test(service, stays_where_the_control_node_is_damaged) {
        server_create(ROOT, "", 0);
        server_create(CONTROL, "{}", 0);
        run_service(SERVICE);
        server_write(CONTROL, "rubbish");
        serve_for(300 * USEC_PER_MSEC);
        cr_expect_eq(services_alive(), 1);
}

Test(service, is_ended_at_once_when_the_daemon_is_stopped) {
        tree_write(root, "jobkeeper.yaml",
                   "node: {name: n1}\ntakeover-delay: 100ms\ndrain-timeout: 1h\n");
        run_service(SERVICE);
        coordinator_stop(coordinator);
        await(is_over, "it is ended");
        expect_ended_as(1, RUN_INTERRUPTED, "the daemon was stopped");
}

static void remove_job(void) {
        g_autofree char *path = g_build_filename(root, "etc/jobkeeper/jobs.d/a.yaml", NULL);

        cr_assert_eq(unlink(path), 0);
        reload();
}

Test(service, leaves_with_its_definition) {
        run_service(SERVICE);
        remove_job();
        await(is_over, "it is ended");
        expect_ended_as(1, RUN_INTERRUPTED, "its job is not in this node's job files any more");
        expect_nothing_more(1);
}

Test(service, leaves_when_its_definition_went_while_its_daemon_was_away) {
        g_autofree char *path = g_build_filename(root, "etc/jobkeeper/jobs.d/a.yaml", NULL);

        run_service(SERVICE);
        close_daemon();
        cr_assert_eq(unlink(path), 0);
        open_daemon_again();
        await(is_ready, "ready");
        await(is_over, "it is ended");
        expect_ended_as(1, RUN_INTERRUPTED, "its job is not in this node's job files any more");
        expect_nothing_more(1);
}

static bool goes_on(void) {
        return server_count(ROOT "/jobs/b/runs") > 0;
}

/* The new name waits for the end of what runs by the old one, which would never come. */
Test(service, goes_on_by_another_name) {
        run_service(SERVICE);
        write_job_named("b", SERVICE "    was: a\n");
        remove_job();
        await(goes_on, "the next run");
        cr_expect_eq(records_that_say("its job has another name"), 1);
}

/* What a broken file does not say is not gone. */
Test(service, stays_where_its_file_is_broken) {
        run_service(SERVICE);
        write_job("    mode: service\n    exec: [/bin/true]\n    no-such: key\n");
        reload();
        serve_for(300 * USEC_PER_MSEC);
        cr_expect_eq(services_alive(), 1);
}

Test(service, leaves_when_it_is_none_any_more) {
        run_service(SERVICE);
        write_job("    exec: [/bin/true]\n    schedule: \"2096-02-29 00:00:00\"\n");
        reload();
        await(is_over, "it is ended");
        expect_nothing_more(1);
        cr_expect_eq(tick_there(), 0);
}

Test(service, leaves_a_node_that_its_definition_leaves) {
        run_service(SERVICE);
        write_job(SERVICE "    nodes: n2\n");
        reload();
        await(is_over, "it is ended");
        expect_ended_as(1, RUN_INTERRUPTED, "its job is not for this node any more");
        expect_nothing_more(1);
}

/* ---- edits ---- */

Test(service, another_command_is_for_the_next_run) {
        run_service(SERVICE);
        write_job("    mode: service\n    exec: [/bin/true, new]\n");
        reload();
        serve_for(300 * USEC_PER_MSEC);
        cr_expect_eq(started->len, 1);
        service_exit(service_newest(), 0);
        await_run(2);
        cr_expect_str_eq(started->pdata[1], "/bin/true new");
}

static int64_t tick_before;

static bool has_another_tick(void) {
        return tick_there() != tick_before;
}

static bool runs_again(void) {
        return started->len == 2 && a_run_goes_on();
}

Test(service, with_other_locks_it_is_started_anew) {
        _cleanup_(run_record_freep) RunRecord *first = NULL;

        run_service(SERVICE);
        tick_before = tick_there();
        write_job(SERVICE "    locks: {db: shared}\n");
        reload();
        await(has_another_tick, "another definition");
        await(runs_again, "it is started anew");
        serve_for(300 * USEC_PER_MSEC);
        cr_expect_eq(services_alive(), 1);
        first = record_there(tick_before, 1);
        cr_expect_eq(first->state, RUN_STOPPED);
        cr_expect_geq(first->ended, first->claimed);
}

Test(service, what_becomes_one_is_one) {
        write_job("    exec: [/bin/true]\n");
        open_daemon();
        await(is_ready, "a ledger");
        await_quiet();
        write_job(SERVICE);
        reload();
        await_run(1);
}
