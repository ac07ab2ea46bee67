/* What a process before this one left running and that does not end, in a whole daemon
 * (daemon-fixture.h): whom it keeps from running, and what people are told. */
#include "daemon-fixture.h"
#include "gate.h"
#include "job-table.h"
#include "leftovers.h"

#define UNIT "jobkeeper-a-1700000000-1.service"
#define SLICE "system-jobkeeper.slice"
#define NONCE "00000000000000000000000000000001"

static void setup_leftover(void) {
        setup();
        (void)service_add(UNIT, NONCE, SLICE);
        service_manager.deaf = true;
        service_manager.patience = 100 * USEC_PER_MSEC;
}

TestSuite(leftovers, .init = setup_leftover, .fini = teardown);

static const char *why_not(const char *job) {
        g_autofree char *why = scheduled_job_why(job_table_find(coordinator->jobs, job));

        return g_intern_string(why);
}

static bool is_started(const char *command) {
        return g_ptr_array_find_with_equal_func(started, command, g_str_equal, NULL);
}

static bool other_has_started(void) {
        return is_started("/bin/true other");
}

static bool own_has_started(void) {
        return is_started("/bin/true own");
}

static bool reader_has_started(void) {
        return is_started("/bin/true reader");
}

static bool nothing_keeps_it(void) {
        return g_str_equal(why_not("a"), "");
}

static void write_jobs(void) {
        write_job("    every: 1s\n    exec: [/bin/true, own]\n    locks: {data: shared}\n");
        write_job_named("other", "    every: 1s\n    exec: [/bin/true, other]\n");
        write_job_named("reader", "    every: 1s\n    exec: [/bin/true, reader]\n"
                                  "    locks: {data: shared}\n");
        write_job_named("writer", "    every: 1s\n    exec: [/bin/true, writer]\n"
                                  "    locks: {data: exclusive}\n");
}

Test(leftovers, one_that_does_not_end_keeps_out_only_what_it_excludes) {
        write_jobs();
        open_daemon();
        await(other_has_started, "a job that it does not concern");
        await(reader_has_started, "a job that may run beside it");
        serve_for(2 * USEC_PER_SEC);
        cr_expect_not(own_has_started());
        cr_expect_not(is_started("/bin/true writer"));
        cr_expect_str_eq(why_not("a"), UNIT ", left by the previous daemon process, does not end");
        cr_expect_str_eq(why_not("writer"), why_not("a"));
        cr_expect_str_eq(why_not("other"), "");
        service_obey(service_find(UNIT));
        await(nothing_keeps_it, "it is gone");
}

/* It was started under the name that the job had before. */
Test(leftovers, one_of_the_job_s_former_name_keeps_it_out) {
        write_job_named("b", "    was: a\n    every: 1s\n    exec: [/bin/true, own]\n");
        write_job_named("other", "    every: 1s\n    exec: [/bin/true, other]\n");
        open_daemon();
        await(other_has_started, "a job that it does not concern");
        serve_for(2 * USEC_PER_SEC);
        cr_expect_not(own_has_started());
        cr_expect_str_eq(why_not("b"), UNIT ", left by the previous daemon process, does not end");
        service_obey(service_find(UNIT));
        await(own_has_started, "it is gone");
}

static bool writer_has_started(void) {
        return is_started("/bin/true writer");
}

/* Nobody knows any more what it excludes. */
Test(leftovers, one_of_a_job_that_left_the_files_keeps_out_who_names_resources) {
        write_job_named("other", "    every: 1s\n    exec: [/bin/true, other]\n");
        write_job_named("writer", "    every: 1s\n    exec: [/bin/true, writer]\n"
                                  "    locks: {data: exclusive}\n");
        open_daemon();
        await(other_has_started, "a job that names nothing");
        serve_for(2 * USEC_PER_SEC);
        cr_expect_not(writer_has_started());
        service_obey(service_find(UNIT));
        await(writer_has_started, "it is gone");
}

static bool is_registered(void) {
        return server_count("/jobkeeper/nodes") > 0;
}

Test(leftovers, before_it_is_known_which_do_not_end_nothing_begins) {
        service_manager.patience = LIMIT;
        write_jobs();
        open_daemon();
        serve_for(USEC_PER_SEC);
        cr_expect_eq(started->len, 0);
        cr_expect_not(is_registered());
        cr_expect_not(gate_is_open(coordinator->gate));
        cr_expect_str_eq(leftovers_busy(coordinator->left.leftovers),
                         "runs left by the previous daemon process have not ended yet");
        service_obey(service_find(UNIT));
        await(other_has_started, "it is gone");
}

static bool is_held_back(void) {
        return coordinator->node->session_phase == SESSION_PHASE_HELD_BACK;
}

/* What was held back begins with the next session, and not without one. */
Test(leftovers, that_end_while_there_is_no_session_begin_nothing) {
        service_manager.patience = LIMIT;
        write_jobs();
        open_daemon();
        await(is_held_back, "a session");
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_EXPIRED);
        serve_for(100 * USEC_PER_MSEC);
        service_obey(service_find(UNIT));
        serve_for(100 * USEC_PER_MSEC);
        cr_expect_not(is_registered());
        port_tell(ports->pdata[ports->len - 1], ZK_STATE_CONNECTED);
        await(other_has_started, "with the next session");
}
