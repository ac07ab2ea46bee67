/* The work of a job where something comes between, in a whole daemon (daemon-fixture.h): a run of
 * another node in the way, locks that go or cannot be had, claims that are stale, reads and writes
 * that fail. */
#include "clock-watch.h"
#include "daemon-fixture.h"
#include "gate.h"
#include "job-table.h"
#include "journal.h"
#include "ledger-cache.h"
#include "ledger-change.h"
#include "ledger.h"
#include "paths.h"
#include "placement.h"
#include "runs.h"

#define ROOT "/jobkeeper"
#define JOB_PATH ROOT "/jobs/a"
#define RUNS_PATH JOB_PATH "/runs"
#define OWN_LOCK ROOT "/locks/job:a"
#define BLOCKER OWN_LOCK "/_c_00000000-0000-0000-0000-000000000000-__WRIT__0000000000"
#define EVERY_SECOND "    every: 1s\n    exec: [/bin/true]\n"

TestSuite(job_work, .init = setup, .fini = teardown);

static ScheduledJob *job(void) {
        return job_table_find(coordinator->jobs, "a");
}

static ScheduledJobState state(void) {
        return scheduled_job_state(job());
}

static const char *why(void) {
        g_autofree char *found = scheduled_job_why(job());

        return g_intern_string(found);
}

static bool has_ledger(void) {
        return node_is_ready(coordinator->node) && server_node(JOB_PATH);
}

static bool is_idle(void) {
        return node_is_ready(coordinator->node) && state() == JOB_IDLE;
}

static bool is_drifted(void) {
        return node_is_ready(coordinator->node) && state() == JOB_DRIFTED;
}

static bool is_waiting(void) {
        return state() == JOB_WAITING;
}

static bool has_started(void) {
        return started->len > 0;
}

static int64_t now(void) {
        return (int64_t)(clock_realtime() / USEC_PER_SEC);
}

static Ledger *ledger_there(void) {
        Ledger *ledger = NULL;

        cr_assert_eq(ledger_decode(server_data(JOB_PATH), strlen(server_data(JOB_PATH)), &ledger),
                     0);
        return ledger;
}

/* Somebody else writes it. */
static void write_ledger(const Ledger *ledger) {
        g_autofree char *data = ledger_encode(ledger);

        server_write(JOB_PATH, data);
}

/* Return: whether a record says so. */
static bool is_recorded(const char *text) {
        GHashTableIter iterator;
        gpointer path, node;

        g_hash_table_iter_init(&iterator, server.nodes);
        while (g_hash_table_iter_next(&iterator, &path, &node))
                if (g_str_has_prefix(path, RUNS_PATH "/") &&
                    strstr(((ServerNode *)node)->data, text))
                        return true;
        return false;
}

/* Deletes all that stands in the job's own queue. */
static void empty_queue(void) {
        g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
        GHashTableIter iterator;
        gpointer path;

        g_hash_table_iter_init(&iterator, server.nodes);
        while (g_hash_table_iter_next(&iterator, &path, NULL))
                if (g_str_has_prefix(path, OWN_LOCK "/"))
                        g_ptr_array_add(paths, g_strdup(path));
        for (guint i = 0; i < paths->len; i++)
                server_delete(paths->pdata[i]);
}

/* Asks for a manual run. */
static void ask(void) {
        g_autofree char *data =
            g_strdup_printf("{\"job\":\"a\",\"not_after\":%" G_GINT64_FORMAT "}", now() + 60);

        server_write(ROOT "/requests/1000000000-m0badcafe", data);
}

static bool is_nothing_asked(void) {
        return server_count(ROOT "/requests") == 0;
}

/* ---- a run of another node ---- */

static int64_t other_tick;

/* Another node runs a tick of the job, and is a member. */
static void run_elsewhere(const char *keys) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        _cleanup_(run_record_freep) RunRecord *record = NULL;
        g_autofree char *run = NULL;

        write_job(keys);
        open_daemon();
        await(has_ledger, "a ledger");
        ledger = ledger_there();
        other_tick = now() - 1;
        run = run_id_for_tick(other_tick, 1);
        record = run_record_new("a", run);
        record->tick = other_tick;
        record->attempt = 1;
        record->node = g_strdup("n2");
        record->state = RUN_CLAIMED;
        ledger->from = other_tick - 1;
        cr_assert_eq(ledger_claim(ledger, record), 0);
        write_ledger(ledger);
}

static bool is_overlap_recorded(void) {
        return is_recorded("overlap");
}

static bool knows_of_a_run(void) {
        return state() == JOB_RUNNING;
}

/* It knows that the run stands there, and not whether it lives. */
Test(job_work, what_another_node_runs_is_waited_for) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        unsigned reads;

        run_elsewhere(EVERY_SECOND);
        await(knows_of_a_run, "the other run is known");
        serve_for(1500 * USEC_PER_MSEC);
        reads = server.reads;
        serve_for(USEC_PER_SEC);
        cr_expect_lt(server.reads - reads, 4, "it is watched: %u reads", server.reads - reads);
        cr_expect_not(is_overlap_recorded());
        cr_expect_eq(started->len, 0);
        ledger = ledger_there();
        ledger->mark = now() - 1;
        g_ptr_array_set_size(ledger->open, 0);
        write_ledger(ledger);
        await(has_started, "a start once it is settled");
}

/* It stands there longer than a dead node can have its session. */
Test(job_work, what_stands_in_the_way_for_too_long_makes_a_tick_overlap) {
        run_elsewhere(EVERY_SECOND);
        coordinator->config->session_timeout = coordinator->config->tick_time = 0;
        await(is_overlap_recorded, "the tick is skipped");
        cr_expect_eq(started->len, 0);
}

static bool is_who_is_gone_recorded(void) {
        g_autofree char *words =
            g_strdup_printf("overlap: the previous run was still under way (%" G_GINT64_FORMAT
                            "-1 on n2, which is out of touch)",
                            other_tick);

        return is_recorded(words);
}

/* Nobody can be asked about it: who reads the record finds where to look. */
Test(job_work, what_is_out_of_touch_is_named_in_what_is_skipped_for_it) {
        run_elsewhere(EVERY_SECOND);
        coordinator->config->session_timeout = coordinator->config->tick_time = 0;
        await(is_who_is_gone_recorded, "the tick is skipped");
}

Test(job_work, a_manual_run_beside_another_is_refused) {
        run_elsewhere("    exec: [/bin/true]\n");
        ask();
        await(is_nothing_asked, "it is refused");
        cr_expect(is_who_is_gone_recorded());
        cr_expect_eq(started->len, 0);
}

static bool was_out_of_date;

static ServerWay refuse_once(const ZkCall *call) {
        bool is_one = !was_out_of_date && call_has(call, ZK_OP_DELETE, "/requests/");

        was_out_of_date |= is_one;
        return is_one ? SERVER_REFUSE : SERVER_ANSWER;
}

/* Nothing else would have it tried again. */
Test(job_work, what_was_written_on_something_out_of_date_is_written_again) {
        run_elsewhere("    exec: [/bin/true]\n");
        server.refusal = ZK_BAD_VERSION;
        server.way = refuse_once;
        ask();
        await(is_nothing_asked, "it is refused");
        cr_expect(was_out_of_date);
        cr_expect(is_overlap_recorded());
}

static unsigned refusals;

static ServerWay keep_refusals(const ZkCall *call) {
        bool is_one = call_has(call, ZK_OP_DELETE, "/requests/");

        refusals += is_one;
        return is_one ? SERVER_KEEP : SERVER_ANSWER;
}

static bool is_kept(void) {
        return g_queue_get_length(&server.kept) > 0;
}

static bool has_refused(void) {
        return refusals > 0;
}

/* A write that is on its way is answered before anything else begins, whatever is read again. */
Test(job_work, what_is_being_written_is_answered_though_the_definition_changes) {
        run_elsewhere("    exec: [/bin/true]\n");
        server.way = keep_refusals;
        ask();
        await(has_refused, "a refusal");
        write_job("    exec: [/bin/true]\n    locks: {r: exclusive}\n");
        reload();
        serve_for(300 * USEC_PER_MSEC);
        cr_expect_eq(refusals, 1, "nothing is written beside it");
        server_release();
        await(is_nothing_asked, "it is refused");
        serve_for(300 * USEC_PER_MSEC);
        cr_expect_eq(refusals, 1, "%u", refusals);
}

/* ---- locks ---- */

static bool has_lock_fault(void) {
        return strstr(why(), "/locks/r/nonsense") != NULL;
}

static bool is_missed_for_locks(void) {
        return is_recorded("missed: its locks could not be had");
}

/* What the job needs is somebody's who does not queue as we do. */
Test(job_work, locks_that_cannot_be_had_are_said_and_what_is_missed_for_them) {
        server_create(ROOT, "", 0);
        server_create(ROOT "/locks", "", 0);
        server_create(ROOT "/locks/r", "", 0);
        server_create(ROOT "/locks/r/nonsense", "", 99);
        write_job("    every: 1s\n    exec: [/bin/true]\n    locks: {r: exclusive}\n"
                  "    start-deadline: 2s\n");
        open_daemon();
        await(has_lock_fault, "it is said");
        cr_expect(journal_has("error: a: its locks cannot be had: "));
        cr_expect_eq(started->len, 0);
        for (unsigned i = 0; i < 6 && !is_missed_for_locks(); i++) {
                serve_for(USEC_PER_SEC);
                scheduled_job_consider(job()); /* for it to be noticed at once */
        }
        cr_expect(is_missed_for_locks());
        cr_expect_eq(journal_count(MESSAGE_FOREIGN_DATA), 1U, "once, however often they are tried");
        server_delete(ROOT "/locks/r/nonsense");
        for (unsigned i = 0; i < 6 && !has_started(); i++) {
                scheduled_job_consider(job());
                serve_for(USEC_PER_SEC);
        }
        cr_expect(has_started());
        cr_expect_str_eq(why(), "");
}

#define OTHERS_PLACE ROOT "/locks/r/_c_00000000-0000-0000-0000-000000000000-__WRIT__0000000000"

static bool is_missed_for_a_lock(void) {
        return is_recorded("missed: no node started it in time, and a newer tick came (it waited "
                           "for the lock r)");
}

/* ... or has it for longer than a tick is waited for where newer ones come. */
Test(job_work, what_is_missed_for_a_lock_names_it) {
        server_create(ROOT, "", 0);
        server_create(ROOT "/locks", "", 0);
        server_create(ROOT "/locks/r", "", 0);
        server_create(OTHERS_PLACE, "", 99);
        write_job("    every: 1s\n    exec: [/bin/true]\n    locks: {r: exclusive}\n");
        open_daemon();
        serve_for(5 * USEC_PER_SEC);
        server_delete(OTHERS_PLACE);
        await(is_missed_for_a_lock, "it is said");
}

static ServerWay keep_reads(const ZkCall *call) {
        return call->request == REQUEST_GET && strcmp(call->path, JOB_PATH) == 0 ? SERVER_KEEP
                                                                                 : SERVER_ANSWER;
}

/* Both were asked for in one flight. */
Test(job_work, a_ledger_that_comes_after_its_locks_have_failed_is_nobodys) {
        g_autoptr(GDateTime) when = g_date_time_new_from_unix_utc(now() + 2);
        g_autofree char *text = g_date_time_format(when, "%Y-%m-%d %H:%M:%S"),
                        *keys = g_strdup_printf("    schedule: \"%s\"\n    exec: [/bin/true]\n"
                                                "    locks: {r: exclusive}\n",
                                                text);

        write_job(keys);
        open_daemon();
        await(is_idle, "idle");
        server_create(ROOT "/locks/r", "", 0);
        server_create(ROOT "/locks/r/nonsense", "", 99);
        server.way = keep_reads;
        await(has_lock_fault, "its locks have failed");
        cr_expect(is_kept());
        server.way = NULL;
        server_release();
        serve_for(500 * USEC_PER_MSEC);
        cr_expect_eq(started->len, 0);
        server_delete(ROOT "/locks/r/nonsense");
        scheduled_job_consider(job());
        await(has_started, "a start");
}

static void block_resource(void) {
        server_create(ROOT, "", 0);
        server_create(ROOT "/locks", "", 0);
        server_create(ROOT "/locks/r", "", 0);
        server_create(ROOT "/locks/r/_c_00000000-0000-0000-0000-000000000000-__WRIT__0000000000",
                      "", 99);
}

static unsigned asked; /* requests of the job's ledger, and in the queues */

static ServerWay count_asked(const ZkCall *call) {
        asked += g_str_equal(call->path, JOB_PATH) || g_str_has_prefix(call->path, ROOT "/locks/");
        return SERVER_ANSWER;
}

/* So many ledgers are watched already. */
Test(job_work, what_waits_keeps_its_place_where_there_is_no_room_for_a_watch) {
        block_resource();
        write_job("    every: 1h\n    exec: [/bin/true]\n    locks: {r: exclusive}\n"
                  "    start-deadline: 1h\n");
        open_daemon();
        await(is_idle, "idle");
        while (ledger_cache_take_watch(coordinator->store.ledgers, JOB_PATH)) {
        }
        ask();
        await(is_waiting, "it waits");
        await_quiet();
        server.way = count_asked;
        serve_for(2500 * USEC_PER_MSEC);
        cr_expect_eq(asked, 0, "%u", asked);
        server_delete(ROOT "/locks/r/_c_00000000-0000-0000-0000-000000000000-__WRIT__0000000000");
        await(has_started, "a start");
}

/* An administrator deletes the contender of a tick that waits. */
Test(job_work, a_place_in_the_queue_that_is_taken_away_is_taken_again) {
        block_resource();
        write_job("    every: 1h\n    exec: [/bin/true]\n    locks: {r: exclusive}\n"
                  "    start-deadline: 1h\n");
        open_daemon();
        await(is_idle, "idle");
        ask();
        await(is_waiting, "it waits");
        serve_for(200 * USEC_PER_MSEC);
        empty_queue();
        serve_for(1500 * USEC_PER_MSEC);
        await(is_waiting, "it waits again");
        server_delete(ROOT "/locks/r/_c_00000000-0000-0000-0000-000000000000-__WRIT__0000000000");
        await(has_started, "a start");
}

/* ---- claims ---- */

static ServerWay keep_claims(const ZkCall *call) {
        return is_claim(call) ? SERVER_KEEP : SERVER_ANSWER;
}

static void hold_a_claim(const char *keys) {
        write_job(keys);
        server.way = keep_claims;
        open_daemon();
        await(is_kept, "a claim");
        server.way = NULL;
}

/* It was claimed as it was; what comes next is run as it is now. */
Test(job_work, what_is_claimed_runs_as_it_was_when_it_was_claimed) {
        hold_a_claim("    every: 1s\n    exec: [/bin/true, before]\n");
        write_job("    every: 1s\n    exec: [/bin/true, after]\n");
        reload();
        server_release();
        await(has_started, "a start");
        cr_expect_str_eq(started->pdata[0], "/bin/true before");
}

/* Somebody wrote the ledger meanwhile. */
Test(job_work, a_stale_claim_is_made_again_with_the_same_locks) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        hold_a_claim(EVERY_SECOND);
        ledger = ledger_there();
        write_ledger(ledger);
        server_release();
        cr_expect_eq(started->len, 0);
        await(has_started, "a start");
        cr_expect_eq(runs_count(coordinator->runs), 1);
        cr_expect_eq(server_count(OWN_LOCK), 1);
}

/* ... where they are gone as well, with others. */
Test(job_work, a_stale_claim_whose_locks_are_lost_is_made_again_with_others) {
        hold_a_claim(EVERY_SECOND);
        empty_queue();
        serve_for(100 * USEC_PER_MSEC);
        cr_expect_eq(server_count(OWN_LOCK), 0, "its own check tells, and nothing else is done");
        server_release();
        await(has_started, "a start");
        cr_expect_eq(server_count(OWN_LOCK), 1);
}

static unsigned stale_claims;

static ServerWay refuse_claims(const ZkCall *call) {
        stale_claims += is_claim(call);
        return is_claim(call) ? SERVER_REFUSE : SERVER_ANSWER;
}

static bool has_tried_often(void) {
        return stale_claims >= 5;
}

Test(job_work, claims_that_are_stale_time_and_again_are_paused) {
        write_job("    exec: [/bin/true]\n");
        open_daemon();
        await(is_idle, "idle");
        server.refusal = ZK_BAD_VERSION;
        server.way = refuse_claims;
        ask();
        await(has_tried_often, "five claims");
        serve_for(300 * USEC_PER_MSEC);
        cr_expect_eq(stale_claims, 5, "%u", stale_claims);
        server.way = NULL;
        await(has_started, "a start");
}

static bool is_claim_refused(void) {
        return strstr(why(), "/jobkeeper/jobs/a: no run can be claimed") != NULL;
}

static bool is_missed_for_claims(void) {
        return is_recorded("missed: ZooKeeper refused to have it claimed");
}

/* Each tick that comes is due anew. */
Test(job_work, claims_that_are_refused_are_given_up_for_a_while_and_said) {
        write_job("    every: 1s\n    exec: [/bin/true]\n    start-deadline: 2s\n");
        server.refusal = ZK_NO_AUTH;
        server.way = refuse_claims;
        open_daemon();
        await(is_claim_refused, "it is said");
        await(is_missed_for_claims, "a tick is missed for it");
        cr_expect_eq(stale_claims, 1, "%u", stale_claims);
        cr_expect_eq(server_count(OWN_LOCK), 0, "no lock is held meanwhile");
        ask();
        serve_for(3 * USEC_PER_SEC);
        cr_expect_eq(stale_claims, 2, "what people ask for is tried at once: %u", stale_claims);
        server.way = NULL;
        write_job("    every: 1s\n    exec: [/bin/true, other]\n    timeout: 20s\n");
        reload();
        await(has_started, "another definition is claimed at once");
        cr_expect_str_eq(why(), "");
}

/* ... for longer than we wait for anything here. */
static void have_a_claim_refused(void) {
        write_job(EVERY_SECOND);
        server.refusal = ZK_NO_AUTH;
        server.way = refuse_claims;
        open_daemon();
        await(is_claim_refused, "a claim is refused");
        server.way = NULL;
}

/* People had the server let us, and want to see it. */
Test(job_work, a_reload_has_refused_claims_tried_at_once) {
        have_a_claim_refused();
        reload();
        await(has_started, "a start");
        cr_expect_str_eq(why(), "");
        cr_expect_eq(stale_claims, 1, "%u", stale_claims);
}

static bool is_nothing_wrong(void) {
        return !*why();
}

/* One that waits for the same as before. */
Test(job_work, another_definition_has_refused_claims_tried_at_once) {
        have_a_claim_refused();
        write_job("    every: 1s\n    exec: [/bin/true, other]\n");
        reload();
        await(has_started, "a start");
}

/* Others ran all that was due meanwhile: nothing is wrong any more. */
Test(job_work, what_was_refused_is_not_told_for_ever) {
        _cleanup_(ledger_freep) Ledger *ledger = NULL;

        have_a_claim_refused();
        ledger = ledger_there();
        ledger->mark = now() + 3600;
        write_ledger(ledger);
        reload();
        await(is_nothing_wrong, "nothing is wrong");
}

Test(job_work, the_next_session_has_refused_claims_tried_at_once) {
        have_a_claim_refused();
        server_expire(last_session);
        server_forget_watches();
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_EXPIRED);
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_CONNECTED);
        await(has_started, "a start");
}

static bool is_drift_published(void) {
        return strstr(server_data(ROOT "/nodes/n1"), "\"drifted\":[\"a\"]") != NULL;
}

static bool is_gate_quiet(void) {
        return !gate_is_waiting(coordinator->gate);
}

/* Of the others nobody is a member that would tell us. */
Test(job_work, a_reload_has_the_ledger_of_a_drifted_job_read) {
        _cleanup_(ledger_freep) Ledger *ours = NULL, *theirs = NULL;
        g_autofree char *data = NULL;

        write_job("    every: 1h\n    exec: [/bin/true]\n");
        open_daemon();
        await(is_idle, "idle");
        ours = ledger_there();
        theirs = ledger_there();
        close_daemon();
        server_forget_watches();
        ledger_adopt_digest(theirs, "other", now());
        data = ledger_encode(theirs);
        server_set(server_node(JOB_PATH), data);
        open_daemon_again();
        await(is_drifted, "drifted");
        await(is_drift_published, "that the others are told");
        await(is_gate_quiet, "that nothing else has it read");
        serve_for(300 * USEC_PER_MSEC);
        write_ledger(ours);
        reload();
        await(is_idle, "idle again");
}

/* No locks, so that only the member node is checked. */
Test(job_work, a_job_without_locks_claims_as_soon_as_its_ledger_is_read) {
        write_job("    every: 1s\n    exec: [/bin/true]\n    lock: none\n");
        open_daemon();
        await(has_started, "a start");
        cr_expect_eq(server_count(OWN_LOCK), 0);
}

static ServerWay keep_probes(const ZkCall *call) {
        return call->request == REQUEST_SET && strcmp(call->path, ROOT "/open/n1") == 0
                   ? SERVER_KEEP
                   : SERVER_ANSWER;
}

/* Return: who stands in the job's own queue and is not `other`, newly allocated; or NULL. */
static char *contender_but(const char *other) {
        GHashTableIter iterator;
        gpointer path;

        g_hash_table_iter_init(&iterator, server.nodes);
        while (g_hash_table_iter_next(&iterator, &path, NULL))
                if (g_str_has_prefix(path, OWN_LOCK "/") && strcmp(path, other) != 0)
                        return g_strdup(path);
        return NULL;
}

static char *ours_before;

static bool is_in_queue(void) {
        g_free(ours_before);
        ours_before = contender_but(BLOCKER);
        return ours_before && is_waiting();
}

/* Whoever has waited for long would have to go behind all who came since. */
Test(job_work, locks_that_are_held_are_kept_while_the_clock_is_measured) {
        server_create(ROOT, "", 0);
        server_create(ROOT "/locks", "", 0);
        server_create(OWN_LOCK, "", 0);
        server_create(BLOCKER, "", 99);
        write_job("    every: 1h\n    exec: [/bin/true]\n    start-deadline: 1h\n");
        open_daemon();
        await(is_idle, "idle");
        ask();
        await(is_in_queue, "it waits");
        serve_for(1200 * USEC_PER_MSEC); /* what its own writes said of the clock is old by then */
        clock_watch_reset(coordinator->clock);
        server.way = keep_probes;
        server_delete(BLOCKER);
        await(is_kept, "a look at the clock");
        serve_for(300 * USEC_PER_MSEC);
        cr_expect_not_null(server_node(ours_before));
        cr_expect_eq(started->len, 0);
        server.way = NULL;
        server_release();
        await(has_started, "a start");
        cr_expect_not_null(server_node(ours_before));
        g_clear_pointer(&ours_before, g_free);
}

/* What holds its locks waits for the clock, and a settle finds another definition meanwhile. */
Test(job_work, a_ledger_that_was_not_checked_is_no_ground_for_a_claim) {
        g_autoptr(GDateTime) when = g_date_time_new_from_unix_utc(now() + 2);
        g_autofree char *text = g_date_time_format(when, "%Y-%m-%d %H:%M:%S"),
                        *keys = g_strdup_printf("    schedule: \"%s\"\n    exec: [/bin/true]\n"
                                                "    lock: none\n",
                                                text);
        Ledger *ledger = NULL;

        write_job(keys);
        open_daemon();
        await(is_idle, "idle");
        server.way = keep_probes;
        clock_watch_reset(coordinator->clock);
        await(is_kept, "a look at the clock");
        ledger = ledger_there();
        ledger_adopt_digest(ledger, "another", now() - 60);
        write_ledger(ledger);
        ledger_cache_set(coordinator->store.ledgers, "a", ledger,
                         server_node(JOB_PATH)->stat.version);
        server.way = NULL;
        server_release();
        await(is_drifted, "it is read again");
        cr_expect_eq(started->len, 0);
}

/* ---- reads and writes that fail ---- */

static unsigned refused;

static ServerWay refuse_reads(const ZkCall *call) {
        bool is_one = call->request == REQUEST_GET && strcmp(call->path, JOB_PATH) == 0;

        refused += is_one;
        return is_one ? SERVER_REFUSE : SERVER_ANSWER;
}

static bool was_refused(void) {
        return refused > 0;
}

Test(job_work, a_ledger_that_cannot_be_read_is_read_later) {
        server.refusal = ZK_FAULT;
        server.way = refuse_reads;
        write_job(EVERY_SECOND);
        open_daemon();
        await(was_refused, "a read");
        serve_for(300 * USEC_PER_MSEC);
        cr_expect_leq(refused, 2, "not over and over: %u", refused);
        cr_expect_eq(state(), JOB_UNREAD);
        server.way = NULL;
        await(has_started, "a start");
}

static ServerWay refuse_new_ledgers(const ZkCall *call) {
        bool is_one = call_has(call, ZK_OP_CREATE, JOB_PATH);

        refused += is_one;
        return is_one ? SERVER_REFUSE : SERVER_ANSWER;
}

Test(job_work, a_ledger_that_cannot_be_made_is_made_later) {
        server.refusal = ZK_NO_AUTH;
        server.way = refuse_new_ledgers;
        write_job(EVERY_SECOND);
        open_daemon();
        await(was_refused, "a write");
        serve_for(300 * USEC_PER_MSEC);
        cr_expect_leq(refused, 2, "not over and over: %u", refused);
        server.way = NULL;
        await(has_started, "a start");
}

/* ---- ranks ---- */

/* A node that is before this one by its name. */
static void add_better_node(void) {
        for (unsigned i = 0;; i++) {
                g_autofree char *name = g_strdup_printf("p%u", i),
                                *path = g_strconcat(ROOT "/nodes/", name, NULL);

                if (placement_score("a", name) < placement_score("a", "n1"))
                        continue;
                server_create(path, "{\"machine\":\"m\",\"boot\":\"b\"}", 99);
                return;
        }
}

/* ... and does nothing. */
Test(job_work, lower_ranks_go_first_and_only_for_a_while) {
        usec_t before;

        tree_write(root, "jobkeeper.yaml", "node: {name: n1}\ntakeover-delay: 1s\n");
        server_create(ROOT, "", 0);
        server_create(ROOT "/nodes", "", 0);
        add_better_node();
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        open_daemon();
        await(is_idle, "idle");
        ask();
        await(has_started, "a manual run waits for nobody");
        service_exit(service_newest(), 0);
        await(is_idle, "idle");
        write_job(EVERY_SECOND);
        before = clock_monotonic();
        reload();
        cr_expect_eq(started->len, 1);
        while (started->len < 2 && clock_monotonic() < before + LIMIT)
                turn();
        cr_expect_eq(started->len, 2);
        cr_expect_geq(clock_monotonic() - before, USEC_PER_SEC);
}
