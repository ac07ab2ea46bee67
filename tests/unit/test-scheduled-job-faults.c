/* What goes wrong around a scheduled job, in a whole daemon (daemon-fixture.h): claims whose job or
 * session goes, ledgers that somebody damages, parts of the layout that somebody deletes. */
#include "daemon-fixture.h"
#include "job-table.h"
#include "ledger-cache.h"
#include "runs.h"

#define LEDGER_PATH "/jobkeeper/jobs/a"

TestSuite(scheduled_job_faults, .init = setup, .fini = teardown);

static ScheduledJob *job(void) {
        return job_table_find(coordinator->jobs, "a");
}

static ScheduledJobState state(void) {
        return scheduled_job_state(job());
}

static bool is_idle(void) {
        return node_is_ready(coordinator->node) && state() == JOB_IDLE;
}

static bool is_claiming(void) {
        return server.held;
}

static void hold_a_claim(void) {
        write_job("    every: 1s\n    exec: [/bin/true]\n");
        server.hold_claims = true;
        open_daemon();
        await(is_claiming, "a claim");
        server.hold_claims = false;
        cr_assert_eq(runs_count_claims(coordinator->runs), 1);
}

/* Its answer comes to nobody. */
Test(scheduled_job_faults, a_claim_goes_with_its_job) {
        hold_a_claim();
        tree_delete(root, "etc/jobkeeper/jobs.d/a.yaml");
        reload();
        cr_expect_eq(runs_count_claims(coordinator->runs), 0);
        server_release();
        serve_for(200 * USEC_PER_MSEC);
}

Test(scheduled_job_faults, a_claim_goes_with_its_session) {
        hold_a_claim();
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        cr_expect_eq(runs_count_claims(coordinator->runs), 0);
        server_release();
        cr_expect_eq(runs_count(coordinator->runs), 0);
}

static bool is_known(void) {
        return runs_count(coordinator->runs) == 1;
}

/* It was done, and nobody knows: also where nothing would have us read the ledger again. */
Test(scheduled_job_faults, a_claim_that_may_have_been_done_is_looked_for) {
        ZkCall *call;

        server_create("/jobkeeper", "", 0);
        server_create("/jobkeeper/nodes", "", 0);
        server_create("/jobkeeper/nodes/another", "{\"machine\":\"m\",\"boot\":\"b\"}", 99);
        hold_a_claim();
        write_job("    every: 1s\n    exec: [/bin/true]\n    nodes: [another]\n");
        reload();
        serve_for(2 * USEC_PER_SEC); /* the reload itself looks once */
        call = g_steal_pointer(&server.held);
        cr_assert_not_null(ledger_cache_get(coordinator->store.ledgers, "a", NULL));
        port_reply(call, (ZkReply){.code = ZK_CLOSED});
        cr_expect_null(ledger_cache_get(coordinator->store.ledgers, "a", NULL),
                       "what it was before the claim is nothing to go by");
        g_clear_pointer(&server.results, g_free);
        cr_assert_eq(runs_count_claims(coordinator->runs), 0);
        await(is_known, "it is found");
}

static bool is_unread(void) {
        g_autofree char *why = scheduled_job_why(job());

        return state() == JOB_UNREAD && strstr(why, "not a ledger");
}

static void look_again(void) {
        ledger_cache_forget(coordinator->store.ledgers, "a");
        scheduled_job_consider(job());
}

Test(scheduled_job_faults, a_ledger_that_was_repaired_is_read) {
        g_autofree char *data = NULL;

        write_job("    every: 1h\n    exec: [/bin/true]\n");
        open_daemon();
        await(is_idle, "idle");
        data = g_strdup(server_data(LEDGER_PATH));
        server_set(server_node(LEDGER_PATH), "][");
        look_again();
        await(is_unread, "it is no ledger");
        server_set(server_node(LEDGER_PATH), data);
        look_again();
        await(is_idle, "it is one again");
}

static int64_t missed;

static bool is_skipped(void) {
        g_autofree char *path = g_strdup_printf(LEDGER_PATH "/runs/%" G_GINT64_FORMAT "-0", missed);

        return server_node(path);
}

static bool is_overdue(void) {
        return clock_realtime() > (usec_t)(missed + 1) * USEC_PER_SEC + USEC_PER_SEC / 10;
}

/* What a skip is checked against was deleted while nobody looked: it is made again. */
Test(scheduled_job_faults, a_skip_repairs_the_layout) {
        missed = due_soon("    nodes: [another]\n    start-deadline: 1s\n");
        while (!node_is_ready(coordinator->node))
                turn();
        server_remove("/jobkeeper/control");
        await(is_overdue, "it is overdue");
        await(is_skipped, "it is said that nobody could run it");
        cr_expect_not_null(server_node("/jobkeeper/control"));
}

static unsigned lost;

/* What puts another definition in force is done, and its answer lost. */
static ServerWay lose_definition(const ZkCall *call) {
        if (!call_has(call, ZK_OP_SET, LEDGER_PATH) || call_has(call, ZK_OP_CREATE, "/runs/") ||
            call_has(call, ZK_OP_SET, "/runs/"))
                return SERVER_ANSWER;
        lost++;
        return SERVER_LOSE_ANSWER;
}

static bool is_lost(void) {
        return lost > 0;
}

static bool is_taken_back(void) {
        return strstr(server_data(LEDGER_PATH), "2099") != NULL;
}

/* Whoever sent it knows that it may be written, and that it was no other node's. */
Test(scheduled_job_faults, a_definition_that_is_taken_back_before_it_is_known_to_be_written) {
        write_job("    schedule: \"2099-01-01\"\n    exec: [/bin/true]\n");
        open_daemon();
        await(is_idle, "idle");
        server.way = lose_definition;
        write_job("    schedule: \"2098-01-01\"\n    exec: [/bin/true]\n");
        reload();
        await(is_lost, "the loss");
        server.way = NULL;
        write_job("    schedule: \"2099-01-01\"\n    exec: [/bin/true]\n");
        reload();
        await(is_taken_back, "the former definition in force");
        await(is_idle, "idle");
}

static char *digests_now(void) {
        g_autofree char *path = tree_path(root, "state/digests.json");
        char *text = NULL;

        (void)g_file_get_contents(path, &text, NULL, NULL);
        return text;
}

/* The process dies: what is not on the disk by then is forgotten. */
static void die(void) {
        g_autofree char *digests = digests_now();

        close_daemon();
        if (digests)
                tree_write(root, "state/digests.json", digests);
        else
                tree_delete(root, "state/digests.json");
        server_forget_watches();
}

/* ... also whoever comes after it. */
Test(scheduled_job_faults, a_definition_that_is_taken_back_while_nobody_was_there) {
        write_job("    schedule: \"2099-01-01\"\n    exec: [/bin/true]\n");
        open_daemon();
        await(is_idle, "idle");
        serve_for(USEC_PER_SEC); /* it remembers that */
        server.way = lose_definition;
        write_job("    schedule: \"2098-01-01\"\n    exec: [/bin/true]\n");
        reload();
        await(is_lost, "the loss");
        die();
        server.way = NULL;
        write_job("    schedule: \"2099-01-01\"\n    exec: [/bin/true]\n");
        open_daemon_again();
        await(is_taken_back, "the former definition in force");
        await(is_idle, "idle");
}

static ServerWay lose_new_ledgers(const ZkCall *call) {
        if (!call_has(call, ZK_OP_CREATE, LEDGER_PATH))
                return SERVER_ANSWER;
        lost++;
        return SERVER_LOSE_ANSWER;
}

/* Another node is there that cannot run the job, and does not say whether it has it. */
Test(scheduled_job_faults, a_new_ledger_whose_definition_is_taken_back_while_nobody_was_there) {
        server_create("/jobkeeper", "", 0);
        server_create("/jobkeeper/nodes", "", 0);
        server_create("/jobkeeper/nodes/another", "{\"machine\":\"m\",\"boot\":\"b\"}", 99);
        server.way = lose_new_ledgers;
        write_job("    schedule: \"2098-01-01\"\n    exec: [/bin/true]\n");
        open_daemon();
        await(is_lost, "the loss");
        die();
        server.way = NULL;
        write_job("    schedule: \"2099-01-01\"\n    exec: [/bin/true]\n");
        open_daemon_again();
        await(is_taken_back, "the later definition in force");
        await(is_idle, "idle");
}

static bool is_withdrawn(void) {
        return strstr(server_data(LEDGER_PATH), "\"withdrawn\":") != NULL;
}

/* Added again one day, it begins at its re-adding. */
Test(scheduled_job_faults, a_new_ledger_whose_job_goes_before_it_is_known_to_be_made) {
        server.way = lose_new_ledgers;
        write_job("    schedule: \"2098-01-01\"\n    exec: [/bin/true]\n");
        open_daemon();
        await(is_lost, "the loss");
        server.way = NULL;
        tree_delete(root, "etc/jobkeeper/jobs.d/a.yaml");
        reload();
        await(is_withdrawn, "it is withdrawn");
}
