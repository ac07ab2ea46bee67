/* Whose node stands under our name, and whether it is replaced, in a whole daemon
 * (daemon-fixture.h). */
#include "clock-watch.h"
#include "daemon-fixture.h"
#include "members.h"

#define PATH "/jobkeeper/nodes/n1"
#define STRANGER 77

TestSuite(registration, .init = setup, .fini = teardown);

static bool is_ready(void) {
        return node_is_ready(coordinator->node);
}

static bool is_refused(void) {
        return *registration_fault(coordinator->registration);
}

static void begin(void) {
        write_job("    every: 1h\n    exec: [/bin/true]\n");
        open_daemon();
        await(is_ready, "ready");
}

/* Another session has the node, whose data is as ours. */
static void restart_beside(int64_t owner) {
        close_daemon();
        server_forget_watches();
        server_node(PATH)->stat.ephemeral_owner = owner;
        open_daemon();
}

Test(registration, what_the_session_in_the_state_file_left_is_replaced) {
        begin();
        restart_beside(last_session);
        await(is_ready, "ready");
        cr_expect_eq(server_node(PATH)->stat.ephemeral_owner, last_session);
        cr_expect_str_empty(registration_fault(coordinator->registration));
}

/* A clone of this machine, or what it left itself before it crashed. */
Test(registration, another_session_of_the_same_machine_id_is_left_alone) {
        begin();
        restart_beside(STRANGER);
        await(is_refused, "it is refused");
        cr_expect_eq(server_node(PATH)->stat.ephemeral_owner, STRANGER);
        cr_expect_not(is_ready());
        /* Its session ends. */
        server_remove(PATH);
        await(is_ready, "ready");
        cr_expect_str_empty(registration_fault(coordinator->registration));
        cr_expect_eq(server_node(PATH)->stat.ephemeral_owner, last_session);
}

static bool is_called_a_clone(void) {
        return strstr(registration_fault(coordinator->registration),
                      "another machine with this machine's id");
}

Test(registration, one_that_stays_is_a_clone_and_is_called_so) {
        begin();
        restart_beside(STRANGER);
        coordinator->config->session_timeout = USEC_PER_SEC;
        coordinator->config->tick_time = USEC_PER_SEC / 2;
        await(is_called_a_clone, "it is called a clone");
        cr_expect_eq(server_node(PATH)->stat.ephemeral_owner, STRANGER);
}

/* This process lost its session, and the server has not noticed: the node is its own. */
Test(registration, what_the_session_lost_in_this_process_left_is_replaced) {
        int64_t before;

        begin();
        before = server_node(PATH)->stat.ephemeral_owner;
        port_tell(ports->pdata[0], ZK_STATE_EXPIRED);
        server_forget_watches();
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_CONNECTED);
        await(is_ready, "ready");
        cr_expect_neq(server_node(PATH)->stat.ephemeral_owner, before);
}

/* ---- what it costs the others ---- */

static usec_t measured_before;

static bool is_measured_anew(void) {
        return coordinator->node->skew.measured > measured_before;
}

/* Each change of our node is read by all of them. */
Test(registration, measuring_the_clock_disturbs_nobody) {
        int32_t version;

        begin();
        serve_for(USEC_PER_SEC / 5);
        version = server_node(PATH)->stat.version;
        measured_before = coordinator->node->skew.measured;
        clock_watch_measure(coordinator->clock);
        await(is_measured_anew, "it is measured");
        cr_expect_eq(server_node(PATH)->stat.version, version);
}

/* Its directory is made again where somebody deleted it. */
Test(registration, the_clock_is_measured_again_after_its_node_was_deleted) {
        begin();
        server_delete("/jobkeeper/open/n1");
        measured_before = coordinator->node->skew.measured;
        for (unsigned i = 0; i < 30 && !is_measured_anew(); i++) {
                clock_watch_measure(coordinator->clock);
                serve_for(USEC_PER_SEC / 10);
        }
        cr_expect(is_measured_anew());
}

static bool says_all(void) {
        return strstr(server_data(PATH), "\"job-49\"");
}

Test(registration, much_that_changes_is_written_once) {
        int32_t version;

        begin();
        serve_for(USEC_PER_SEC / 5);
        version = server_node(PATH)->stat.version;
        for (unsigned i = 0; i < 50; i++) {
                g_autofree char *job = g_strdup_printf("job-%u", i);
                registration_set_unfit(coordinator->registration, job, "why");
                registration_publish(coordinator->registration);
                turn();
        }
        await(says_all, "it says all");
        cr_expect_leq(server_node(PATH)->stat.version - version, 2);
}
