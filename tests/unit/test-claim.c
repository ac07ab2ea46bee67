/* The claim by itself, on top of a whole daemon (daemon-fixture.h): what it finds where somebody
 * was quicker, and what it makes of answers that are lost. */
#include "claim.h"

#include "daemon-fixture.h"
#include "ledger-change.h"
#include "paths.h"
#include "tree.h"

#define ROOT "/jobkeeper"
#define JOB ROOT "/jobs/a"
#define RUN "1000-1"
#define RECORD JOB "/runs/" RUN
#define OPEN ROOT "/open/n1/a:" RUN
#define REQUEST ROOT "/requests/" RUN
#define LOCK ROOT "/locks/r"

TestSuite(claim, .init = setup, .fini = teardown);

static Claim *claim;
static bool is_over;
static ClaimOutcome outcome;
static char *ledger_before;

static bool is_ready(void) {
        return node_is_ready(coordinator->node) && server_node(JOB "/runs");
}

static void on_claim(ClaimOutcome result, void *userdata) {
        (void)userdata;
        cr_assert_not(is_over, "told twice");
        is_over = true;
        outcome = result;
}

static bool claim_is_over(void) {
        return is_over;
}

static void begin(void) {
        write_job("    exec: [/bin/true]\n");
        open_daemon();
        await(is_ready, "ready");
        ledger_before = g_strdup(server_data(JOB));
}

static void end(void) {
        claim = claim_free(claim);
        g_clear_pointer(&ledger_before, g_free);
}

/* Return: what claim_start() does. */
static int send(const char *const *contenders, const char *request) {
        Ledger *ledger = NULL;
        RunRecord *record = run_record_for_claim(coordinator->node, "a", RUN, 1000, 1);
        int r;

        cr_assert_eq(ledger_decode(ledger_before, strlen(ledger_before), &ledger), 0);
        ledger->from = 0;
        cr_assert_eq(ledger_claim(ledger, record), 0);
        is_over = false;
        r = claim_start(coordinator->node, coordinator->tree, record, ledger,
                        server_node(JOB)->stat.version, contenders, request, NULL, on_claim, NULL,
                        &claim);
        if (r < 0) {
                run_record_free(record);
                ledger_free(ledger);
        }
        return r;
}

static void expect_outcome(ClaimOutcome expected) {
        await(claim_is_over, "an outcome");
        cr_expect_eq(outcome, expected, "%u rather than %u", outcome, expected);
}

static void expect_nothing_written(void) {
        cr_expect_null(server_node(RECORD));
        cr_expect_null(server_node(OPEN));
        cr_expect_str_eq(server_data(JOB), ledger_before);
}

/* It is ours: what was handed out is what stands there. */
static void expect_won(void) {
        _cleanup_(run_record_freep) RunRecord *record = NULL, *there = NULL;
        _cleanup_(ledger_freep) Ledger *ledger = NULL;
        g_autofree char *text = NULL;
        int32_t version = -1;

        expect_outcome(CLAIM_WON);
        cr_assert_not_null(server_node(RECORD));
        cr_assert_not_null(server_node(OPEN));
        record = claim_steal_record(claim);
        ledger = claim_steal_ledger(claim, &version);
        cr_assert_eq(run_record_decode(server_data(RECORD), strlen(server_data(RECORD)), &there),
                     0);
        cr_expect_str_eq(there->nonce, record->nonce);
        cr_expect_eq(there->state, RUN_CLAIMED);
        cr_expect_str_eq(there->node, "n1");
        cr_expect_eq(record->token, server_node(RECORD)->stat.czxid);
        cr_expect_eq(version, server_node(JOB)->stat.version);
        text = ledger_encode(ledger);
        cr_expect_str_eq(server_data(JOB), text);
        cr_expect_not_null(ledger_find_run(ledger, RUN));
}

Test(claim, one_that_succeeds_hands_out_what_stands_there) {
        const char *const contenders[] = {LOCK "/c-0000000001", NULL};

        begin();
        server_create(LOCK, "", 0);
        server_create(LOCK "/c-0000000001", "", last_session);
        server_create(REQUEST, "{}", 0);
        cr_assert_eq(send(contenders, REQUEST), 0);
        expect_won();
        cr_expect_null(server_node(REQUEST), "its request is gone with it");
        end();
}

Test(claim, the_record_says_which_locks_it_was_made_with) {
        const char *const contenders[] = {LOCK "/c-0000000001", NULL};
        _cleanup_(run_record_freep) RunRecord *there = NULL;

        begin();
        server_create(LOCK, "", 0);
        server_create(LOCK "/c-0000000001", "", last_session);
        cr_assert_eq(send(contenders, NULL), 0);
        expect_outcome(CLAIM_WON);
        cr_assert_eq(run_record_decode(server_data(RECORD), strlen(server_data(RECORD)), &there),
                     0);
        cr_assert_not_null(there->locks);
        cr_expect_str_eq(there->locks[0], LOCK "/c-0000000001");
        cr_expect_null(there->locks[1]);
        end();
}

/* ---- who is late ---- */

Test(claim, nothing_is_claimed_without_the_lock) {
        const char *const contenders[] = {LOCK "/c-0000000001", NULL};

        begin();
        server_create(LOCK, "", 0);
        cr_assert_eq(send(contenders, NULL), 0);
        expect_outcome(CLAIM_STALE);
        expect_nothing_written();
        end();
}

/* Without locks our own node is what dies with the session. */
Test(claim, nothing_is_claimed_by_who_is_no_member) {
        begin();
        server_remove(ROOT "/nodes/n1");
        cr_assert_eq(send(NULL, NULL), 0);
        expect_outcome(CLAIM_STALE);
        expect_nothing_written();
        end();
}

/* ... and another session of ours may stand there under our name. */
Test(claim, nothing_is_claimed_in_a_session_that_another_has_ended) {
        g_autofree char *mark = NULL;

        begin();
        mark = path_session(ROOT, "n1", last_session);
        server_remove(mark);
        cr_assert_eq(send(NULL, NULL), 0);
        expect_outcome(CLAIM_STALE);
        expect_nothing_written();
        end();
}

Test(claim, nothing_is_claimed_on_top_of_another_ledger) {
        begin();
        cr_assert_eq(send(NULL, NULL), 0);
        server_set(server_node(JOB), ledger_before);
        expect_outcome(CLAIM_STALE);
        expect_nothing_written();
        end();
}

static unsigned controls_read;

static ServerWay count_controls(const ZkCall *call) {
        controls_read += call->request == REQUEST_GET && g_str_equal(call->path, ROOT "/control");
        return SERVER_ANSWER;
}

/* The fleet was told something while the watch's word of it was on its way. */
Test(claim, what_was_told_to_the_fleet_is_read_before_the_next_claim) {
        begin();
        server_set(server_node(ROOT "/control"), "{}");
        server.way = count_controls;
        cr_assert_eq(send(NULL, NULL), 0);
        expect_outcome(CLAIM_STALE);
        expect_nothing_written();
        turn();
        cr_expect_eq(controls_read, 1U);
        claim = claim_free(claim);
        cr_assert_eq(send(NULL, NULL), 0);
        expect_won();
        end();
}

Test(claim, a_run_that_has_a_record_is_somebody_elses) {
        begin();
        server_create(RECORD, "{\"run\":\"" RUN "\",\"job\":\"a\",\"state\":\"claimed\"}", 0);
        cr_assert_eq(send(NULL, NULL), 0);
        expect_outcome(CLAIM_LOST);
        cr_expect_str_eq(server_data(JOB), ledger_before);
        cr_expect_null(server_node(OPEN));
        end();
}

static ServerWay refuse_claims(const ZkCall *call) {
        server.refusal = ZK_NO_AUTH;
        return is_claim(call) ? SERVER_REFUSE : count_controls(call);
}

Test(claim, one_that_is_refused_is_no_claim) {
        begin();
        server.way = refuse_claims;
        cr_assert_eq(send(NULL, NULL), 0);
        expect_outcome(CLAIM_REFUSED);
        cr_expect_not_null(claim_fault(claim));
        expect_nothing_written();
        turn();
        cr_expect_eq(controls_read, 1U);
        end();
}

static ServerWay end_claims(const ZkCall *call) {
        server.refusal = ZK_CLOSED;
        return is_claim(call) ? SERVER_REFUSE : SERVER_ANSWER;
}

Test(claim, one_of_a_session_that_ended_is_over) {
        begin();
        server.way = end_claims;
        cr_assert_eq(send(NULL, NULL), 0);
        expect_outcome(CLAIM_OVER);
        end();
}

Test(claim, nothing_is_sent_before_the_node_is_ready) {
        unsigned before;

        begin();
        coordinator->node->session_phase = SESSION_PHASE_PREPARING;
        before = n_requests;
        cr_expect_eq(send(NULL, NULL), -ENOTCONN);
        cr_expect_null(claim);
        cr_expect_eq(n_requests, before);
        coordinator->node->session_phase = SESSION_PHASE_READY;
        end();
}

#define OPEN_NODE ROOT "/open/n1"

static bool is_made_again(void) {
        return server_node(OPEN_NODE);
}

Test(claim, what_a_claim_needs_is_made_again) {
        begin();
        server_remove(OPEN_NODE);
        cr_assert_eq(send(NULL, NULL), 0);
        expect_outcome(CLAIM_STALE);
        expect_nothing_written();
        await(is_made_again, "it is there again");
        claim = claim_free(claim);
        cr_assert_eq(send(NULL, NULL), 0);
        expect_won();
        end();
}

/* ---- answers that are lost ---- */

static ServerWay lose_claims(const ZkCall *call) {
        return is_claim(call) ? SERVER_LOSE : SERVER_ANSWER;
}

static ServerWay lose_answers_to_claims(const ZkCall *call) {
        return is_claim(call) ? SERVER_LOSE_ANSWER : SERVER_ANSWER;
}

Test(claim, one_that_was_done_although_its_answer_was_lost_is_ours) {
        begin();
        server.way = lose_answers_to_claims;
        cr_assert_eq(send(NULL, NULL), 0);
        expect_won();
        end();
}

Test(claim, one_that_was_not_done_is_decided_again) {
        begin();
        server.way = lose_claims;
        cr_assert_eq(send(NULL, NULL), 0);
        expect_outcome(CLAIM_STALE);
        expect_nothing_written();
        end();
}

/* Ours was lost, and another node's came through. */
static ServerWay lose_claims_to_another(const ZkCall *call) {
        if (!is_claim(call))
                return SERVER_ANSWER;
        server_create(RECORD,
                      "{\"run\":\"" RUN "\",\"job\":\"a\",\"state\":\"claimed\",\"node\":\"n2\","
                      "\"nonce\":\"0123456789abcdef0123456789abcdef\"}",
                      0);
        return SERVER_LOSE;
}

Test(claim, another_ones_nonce_is_not_ours) {
        begin();
        server.way = lose_claims_to_another;
        cr_assert_eq(send(NULL, NULL), 0);
        expect_outcome(CLAIM_LOST);
        end();
}

static ServerWay lose_claims_to_garbage(const ZkCall *call) {
        if (!is_claim(call))
                return SERVER_ANSWER;
        server_create(RECORD, "][", 0);
        return SERVER_LOSE;
}

Test(claim, what_cannot_be_read_is_not_ours) {
        begin();
        server.way = lose_claims_to_garbage;
        cr_assert_eq(send(NULL, NULL), 0);
        expect_outcome(CLAIM_LOST);
        end();
}

static unsigned syncs, records_read;

/* The first sync's answer is lost, too: what was read with it may be of a server that is behind. */
static ServerWay lose_first_sync(const ZkCall *call) {
        records_read += call->request == REQUEST_GET && g_str_equal(call->path, RECORD);
        if (call->request == REQUEST_SYNC && g_str_equal(call->path, RECORD))
                return ++syncs == 1 ? SERVER_LOSE : SERVER_ANSWER;
        if (call->request == REQUEST_GET && syncs == 1 && g_str_equal(call->path, RECORD)) {
                server.refusal = ZK_NO_NODE;
                return SERVER_REFUSE;
        }
        return lose_answers_to_claims(call);
}

Test(claim, what_was_read_without_a_sync_does_not_count) {
        begin();
        server.way = lose_first_sync;
        cr_assert_eq(send(NULL, NULL), 0);
        expect_won();
        cr_expect_eq(syncs, 2U);
        cr_expect_eq(records_read, 2U);
        end();
}

Test(claim, one_whose_records_reads_are_lost_is_read_again) {
        begin();
        server.way = lose_answers_to_claims;
        server.broken = RECORD;
        cr_assert_eq(send(NULL, NULL), 0);
        serve_for(USEC_PER_SEC / 2);
        cr_expect_not(is_over, "nobody can tell yet");
        server.broken = NULL;
        expect_won();
        end();
}

static ServerWay keep_claims(const ZkCall *call) {
        return is_claim(call) ? SERVER_KEEP : SERVER_ANSWER;
}

/* What was sent is never known: who has the next session decides again. */
Test(claim, one_whose_answer_is_lost_with_the_session_is_over) {
        begin();
        server.way = keep_claims;
        cr_assert_eq(send(NULL, NULL), 0);
        turn();
        cr_assert_eq(g_queue_get_length(&server.kept), 1U);
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        cr_assert_null(session_zk(coordinator->session));
        port_reply(g_queue_pop_head(&server.kept), (ZkReply){.code = ZK_UNKNOWN});
        cr_expect(is_over);
        cr_expect_eq(outcome, CLAIM_OVER);
        end();
}

static bool is_ended;

static ServerWay end_what_is_read_back(const ZkCall *call) {
        server.refusal = ZK_CLOSED;
        is_ended |= call->request == REQUEST_SYNC;
        return is_ended ? SERVER_REFUSE : lose_answers_to_claims(call);
}

Test(claim, one_that_is_read_back_when_the_session_ends_is_over) {
        begin();
        server.way = end_what_is_read_back;
        cr_assert_eq(send(NULL, NULL), 0);
        expect_outcome(CLAIM_OVER);
        end();
}
