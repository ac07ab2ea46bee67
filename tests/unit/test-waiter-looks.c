/* Looks of many jobs together, on top of a whole daemon (daemon-fixture.h): who shares one, what
 * comes too late for one that is under way, and who does not want to know any more. */
#include "waiter-looks.h"

#include "counted-reads.h"
#include "daemon-fixture.h"

#define QUEUE "/jobkeeper/locks/database"
#define CONTENDER QUEUE "/_c_11111111-1111-1111-1111-111111111111-__WRIT__0000000001"
#define OTHER_SESSION 77

static WaiterLooks *looks;
static WaiterLook *under_way[3 * WAITER_LOOKS_TOGETHER];
static unsigned told, found_waiters;
static int last_error;

static bool is_ready(void) {
        return node_is_ready(coordinator->node) && server_node("/jobkeeper/jobs/b/runs") &&
               server_node("/jobkeeper/jobs/a/runs");
}

static void setup_looks(void) {
        setup();
        write_job("    exec: [/bin/true]\n    locks: {database: exclusive}\n");
        write_job_named("b", "    exec: [/bin/true]\n    locks: {other: exclusive}\n");
        open_daemon();
        await(is_ready, "ready");
        server_create(QUEUE, "", 0);
        server_create(CONTENDER, "{\"job\":\"a\",\"tick\":1700000000}", OTHER_SESSION);
        looks = waiter_looks_new(coordinator->node);
        counted_reads_begin(QUEUE);
}

static void teardown_looks(void) {
        counted_reads_end();
        for (unsigned i = 0; i < G_N_ELEMENTS(under_way); i++)
                under_way[i] = waiter_look_free(under_way[i]);
        looks = waiter_looks_free(looks);
        teardown();
}

TestSuite(waiter_looks, .init = setup_looks, .fini = teardown_looks);

static void on_found(int error, const GPtrArray *found, void *userdata) {
        WaiterLook **look = userdata;

        *look = waiter_look_free(*look);
        told++;
        last_error = error;
        found_waiters += error < 0 ? 0 : found->len;
}

static void ask(unsigned i, const char *job) {
        const JobSpec *spec = jobset_find(coordinator->jobset, job);

        cr_assert_eq(waiter_looks_ask(looks, spec, on_found, &under_way[i], &under_way[i]), 0);
}

static void serve_reads(void) {
        for (unsigned i = 0; i < 50; i++) {
                turn();
                (void)counted_reads_serve();
        }
}

Test(waiter_looks, those_that_name_the_same_share_one) {
        for (unsigned i = 0; i < WAITER_LOOKS_TOGETHER; i++)
                ask(i, "a");
        serve_reads();
        cr_expect_eq(told, WAITER_LOOKS_TOGETHER, "%u", told);
        cr_expect_eq(found_waiters, WAITER_LOOKS_TOGETHER, "%u", found_waiters);
        cr_expect_eq(counted_reads_served(), 1, "%u", counted_reads_served());
}

Test(waiter_looks, of_very_many_some_are_told_at_a_time) {
        for (unsigned i = 0; i < G_N_ELEMENTS(under_way); i++)
                ask(i, "a");
        serve_reads();
        cr_expect_eq(told, G_N_ELEMENTS(under_way), "%u", told);
        cr_expect_eq(counted_reads_served(), G_N_ELEMENTS(under_way) / WAITER_LOOKS_TOGETHER);
}

static bool is_reading(void) {
        return counted_reads_most() > 0;
}

/* What it found may be older than the question. */
Test(waiter_looks, who_asks_during_one_gets_the_next) {
        ask(0, "a");
        await(is_reading, "a look");
        ask(1, "a");
        serve_for(50 * USEC_PER_MSEC);
        cr_expect_eq(told, 0);
        serve_reads();
        cr_expect_eq(told, 2);
        cr_expect_eq(counted_reads_served(), 2);
}

Test(waiter_looks, who_names_another_queue_waits_for_none) {
        ask(0, "a");
        await(is_reading, "a look");
        ask(1, "b");
        serve_for(100 * USEC_PER_MSEC);
        cr_expect_eq(told, 1);
        cr_expect_not_null(under_way[0]);
        cr_expect_null(under_way[1]);
}

Test(waiter_looks, who_gave_up_is_not_told) {
        ask(0, "a");
        await(is_reading, "a look");
        ask(1, "a");
        under_way[0] = waiter_look_free(under_way[0]);
        under_way[1] = waiter_look_free(under_way[1]);
        serve_reads();
        cr_expect_eq(told, 0);
        ask(0, "a");
        under_way[0] = waiter_look_free(under_way[0]); /* before it has begun */
        serve_reads();
        ask(0, "a");
        serve_reads();
        cr_expect_eq(told, 1);
}

Test(waiter_looks, that_the_session_is_lost_is_told_to_all) {
        ask(0, "a");
        await(is_reading, "a look");
        ask(1, "a");
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        for (unsigned i = 0; i < 20; i++)
                (void)sd_event_run(event, USEC_PER_MSEC);
        cr_expect_eq(told, 2);
        cr_expect_lt(last_error, 0);
}
