/* The model of PID 1, as the daemon sees it: units that begin, end, are ended, and are found again;
 * and what becomes of messages when the connection breaks. */
#include <criterion/criterion.h>
#include <errno.h>
#include <glib.h>
#include <string.h>

#include "clearing.h"
#include "event.h"
#include "fence-protocol.h"
#include "launch.h"
#include "pid1.h"
#include "session-file.h"
#include "unit.h"

static char name_of_it[] = "a.service", spared[] = "spared.service",
            nonce[] = "00000000000000000000000000000001",
            other_nonce[] = "00000000000000000000000000000002";

#define SLICE "system-jobkeeper.slice"
#define LEAVING 50 /* a message has left by then, and not arrived */

static const char *const slices[] = {FENCE_SLICE, SLICE, NULL};
static World *world;
static Machine *machine;
static Pid1 *pid1;
static Process *process;
static sd_event *event;
static UnitManager *manager;
static Unit *unit;
static ServiceConduct conduct;
static bool fenced;
static UnitReady ready_when;
static char happened[16]; /* at PID 1: (b)egun, read(y), (o)ver, (e)mpty, o(r)dered */
static char told[16];     /* to who watches */
static unsigned gone;
static const char *const *launch; /* its launch step */

/* ---- around it ---- */

static void note(char *list, size_t size, char what) {
        if (strlen(list) + 1 < size)
                list[strlen(list)] = what;
}

static void on_conduct(const Service *service, ServiceConduct *ret_conduct, void *userdata) {
        *ret_conduct = conduct;
}

static void on_begun(const Service *service, void *userdata) {
        note(happened, sizeof(happened), 'b');
}

static void on_ready(const Service *service, void *userdata) {
        note(happened, sizeof(happened), 'y');
}

static void on_over(const Service *service, void *userdata) {
        note(happened, sizeof(happened), 'o');
}

static void on_ordered(const Service *service, void *userdata) {
        note(happened, sizeof(happened), 'r');
}

static void on_empty(const Service *service, void *userdata) {
        note(happened, sizeof(happened), 'e');
}

static const ServiceWatcher watcher = {.conduct = on_conduct,
                                       .begun = on_begun,
                                       .ready = on_ready,
                                       .over = on_over,
                                       .ordered = on_ordered,
                                       .empty = on_empty};

static void daemon_begins(void *userdata) {
        cr_assert_geq(sd_event_new(&event), 0);
        cr_assert_geq(unit_manager_new(event, &manager), 0);
}

static void daemon_clears(void *userdata) {
        unit = unit_free(unit);
        manager = unit_manager_free(manager);
        event = sd_event_unref(event);
}

static void daemon_starts(void) {
        process = process_new(machine);
        process_do(process, daemon_begins, NULL);
}

static void daemon_is_killed(void) {
        process_end(process);
        process_do(process, daemon_clears, NULL);
        process = process_free(process);
}

static void setup(void) {
        g_autofree char *directory = g_dir_make_tmp("simulation-XXXXXX", NULL);

        world = world_new(1);
        machine = machine_new(world, "n1", directory);
        pid1 = pid1_new(machine, &watcher);
        conduct = (ServiceConduct){.start = 1000, .duration = USEC_PER_SEC};
        fenced = false;
        ready_when = UNIT_READY_AT_END;
        daemon_starts();
}

static void teardown(void) {
        if (process)
                daemon_is_killed();
        pid1 = pid1_free(pid1);
        machine = machine_free(machine);
        world = world_free(world);
}

TestSuite(service_manager, .init = setup, .fini = teardown);

static void pass(usec_t span) {
        usec_t until = world_now(world) + span;

        while (world_step(world, until))
                ;
}

static void on_unit(Unit *which, UnitEvent what, void *userdata) {
        cr_expect_eq(which, unit);
        note(told, sizeof(told), "sxea"[what]);
}

static void start_it(void *userdata) {
        static const char *const argv[] = {"/bin/true", NULL}, *const environment[] = {"A=b", NULL};
        const UnitSpec spec = {.name = userdata,
                               .argv = argv,
                               .environment = environment,
                               .slice = fenced ? FENCE_SLICE : SLICE,
                               .fenced = fenced,
                               .nonce = nonce,
                               .launch = launch,
                               .ready = ready_when,
                               .timeout = 5 * USEC_PER_SEC,
                               .stop_timeout = 2 * USEC_PER_SEC};

        cr_assert_eq(unit_start(manager, &spec, on_unit, NULL, &unit), 0);
}

static void start(void) {
        process_do(process, start_it, name_of_it);
}

static void stop_it(void *userdata) {
        unit_stop(unit);
}

static void kill_it(void *userdata) {
        unit_kill(unit);
}

static void discard_it(void *userdata) {
        unit_discard(unit);
}

static void adopt_it(void *userdata) {
        cr_assert_eq(unit_adopt(manager, "a.service", userdata, on_unit, NULL, &unit), 0);
}

static void expect(const char *at_pid1, const char *to_us) {
        cr_expect_str_eq(happened, at_pid1);
        cr_expect_str_eq(told, to_us);
        memset(told, 0, sizeof(told));
        memset(happened, 0, sizeof(happened));
}

static void expect_result(UnitOutcome outcome, UnitStop stop) {
        cr_expect_eq(unit_result(unit)->outcome, outcome, "%s",
                     unit_outcome_to_string(unit_result(unit)->outcome));
        cr_expect_eq(unit_result(unit)->stop, stop, "%d", (int)unit_result(unit)->stop);
}

/* ---- tests ---- */

Test(service_manager, a_unit_begins_and_ends_and_is_forgotten) {
        start();
        pass(100 * USEC_PER_MSEC);
        expect("b", "s");
        cr_expect_str_eq(service_variable(pid1_find(pid1, "a.service"), "A"), "b");
        pass(2 * USEC_PER_SEC);
        expect("oe", "xe");
        expect_result(UNIT_OUTCOME_SUCCESS, UNIT_STOP_NONE);
        cr_expect_not_null(pid1_find(pid1, "a.service"));
        process_do(process, discard_it, NULL);
        cr_expect(unit_manager_busy(manager));
        pass(100 * USEC_PER_MSEC);
        cr_expect_null(pid1_find(pid1, "a.service"));
        cr_expect_not(unit_manager_busy(manager));
}

Test(service_manager, what_is_left_is_ended_after_the_main_process) {
        conduct.remains = USEC_PER_HOUR;
        conduct.manners = SERVICE_IGNORES;
        start();
        pass(1500 * USEC_PER_MSEC);
        expect("bor", "sx");
        pass(3 * USEC_PER_SEC);
        expect("e", "e");
        expect_result(UNIT_OUTCOME_SUCCESS, UNIT_STOP_NONE);
}

Test(service_manager, one_that_is_stopped_dies_of_it) {
        conduct.last_words = 100 * USEC_PER_MSEC;
        start();
        pass(100 * USEC_PER_MSEC);
        process_do(process, stop_it, NULL);
        pass(300 * USEC_PER_MSEC);
        expect("broe", "sxe");
        expect_result(UNIT_OUTCOME_SIGNAL, UNIT_STOP_OWNER);
}

Test(service_manager, one_that_ignores_sigterm_is_killed_after_its_time) {
        conduct.manners = SERVICE_IGNORES;
        conduct.duration = USEC_PER_HOUR;
        start();
        pass(100 * USEC_PER_MSEC);
        process_do(process, stop_it, NULL);
        pass(1900 * USEC_PER_MSEC);
        expect("br", "s");
        pass(200 * USEC_PER_MSEC);
        expect("oe", "xe");
        expect_result(UNIT_OUTCOME_SIGNAL, UNIT_STOP_OWNER);
}

Test(service_manager, a_kill_is_at_once) {
        conduct.manners = SERVICE_IGNORES;
        conduct.remains = USEC_PER_HOUR;
        start();
        pass(100 * USEC_PER_MSEC);
        process_do(process, kill_it, NULL);
        pass(50 * USEC_PER_MSEC);
        cr_expect_str_eq(told, "sxe");
        expect_result(UNIT_OUTCOME_SIGNAL, UNIT_STOP_OWNER);
}

Test(service_manager, its_time_limit_ends_it) {
        conduct.duration = USEC_PER_HOUR;
        start();
        pass(6 * USEC_PER_SEC);
        expect("boe", "sxe");
        expect_result(UNIT_OUTCOME_TIMEOUT, UNIT_STOP_NONE);
}

/* ---- what says itself that it has started ---- */

static void start_one_that_says_so(usec_t when) {
        ready_when = UNIT_READY_NOTIFIED;
        conduct.duration = USEC_PER_HOUR;
        conduct.word = when;
        start();
}

Test(service_manager, one_has_started_when_it_says_so_and_its_limit_was_for_that) {
        start_one_that_says_so(USEC_PER_SEC);
        pass(900 * USEC_PER_MSEC);
        expect("b", "");
        pass(200 * USEC_PER_MSEC);
        expect("y", "s");
        pass(10 * USEC_PER_SEC);
        expect("", "");
        process_do(process, stop_it, NULL);
        pass(100 * USEC_PER_MSEC);
        expect("roe", "xe");
        expect_result(UNIT_OUTCOME_SIGNAL, UNIT_STOP_OWNER);
}

Test(service_manager, one_that_never_says_so_is_ended_at_its_limit) {
        start_one_that_says_so(USEC_INFINITY);
        pass(4900 * USEC_PER_MSEC);
        expect("b", "");
        pass(200 * USEC_PER_MSEC);
        expect("oe", "xe");
        expect_result(UNIT_OUTCOME_TIMEOUT, UNIT_STOP_NONE);
}

Test(service_manager, one_that_ends_before_it_says_so_has_failed) {
        start_one_that_says_so(2 * USEC_PER_SEC);
        pass(100 * USEC_PER_MSEC);
        service_end(pid1_find(pid1, "a.service"));
        pass(100 * USEC_PER_MSEC);
        expect("boe", "xe");
        expect_result(UNIT_OUTCOME_OTHER, UNIT_STOP_NONE);
        cr_expect_str_eq(unit_result(unit)->detail, "protocol");
}

Test(service_manager, or_as_its_status_says) {
        conduct.status = 3;
        start_one_that_says_so(2 * USEC_PER_SEC);
        pass(100 * USEC_PER_MSEC);
        service_end(pid1_find(pid1, "a.service"));
        pass(100 * USEC_PER_MSEC);
        expect("boe", "xe");
        expect_result(UNIT_OUTCOME_EXIT_CODE, UNIT_STOP_NONE);
}

Test(service_manager, what_has_started_may_end_well_or_not) {
        start_one_that_says_so(USEC_PER_MSEC);
        pass(100 * USEC_PER_MSEC);
        service_end(pid1_find(pid1, "a.service"));
        pass(100 * USEC_PER_MSEC);
        expect("byoe", "sxe");
        expect_result(UNIT_OUTCOME_SUCCESS, UNIT_STOP_NONE);
}

/* That is no failure, and not kept as one. */
Test(service_manager, what_has_started_and_dies_of_a_stop_is_kept_for_nobody) {
        start_one_that_says_so(USEC_PER_MSEC);
        pass(100 * USEC_PER_MSEC);
        cr_assert_eq(pid1_stop(pid1, "a.service"), 0);
        pass(100 * USEC_PER_MSEC);
        expect("byroe", "sxe");
        expect_result(UNIT_OUTCOME_SIGNAL, UNIT_STOP_OTHER);
        daemon_is_killed();
        cr_expect_null(pid1_find(pid1, "a.service"));
}

Test(service_manager, one_that_is_ready_at_its_start_has_started_then) {
        ready_when = UNIT_READY_AT_START;
        conduct.duration = USEC_PER_HOUR;
        start();
        pass(10 * USEC_PER_SEC);
        expect("b", "s");
}

/* ---- how it ends else ---- */

Test(service_manager, one_that_cannot_start_has_only_ended) {
        conduct.cannot = 203;
        start();
        pass(100 * USEC_PER_MSEC);
        expect("e", "sxe");
        expect_result(UNIT_OUTCOME_START_FAILED, UNIT_STOP_NONE);
        cr_expect_str_eq(unit_result(unit)->detail, "exit status 203/EXEC");
}

Test(service_manager, a_name_that_is_taken_is_not_started_again) {
        start();
        pass(100 * USEC_PER_MSEC);
        process_do(process, daemon_clears, NULL);
        process_do(process, daemon_begins, NULL);
        memset(told, 0, sizeof(told));
        start(); /* with the same nonce: it is the same */
        pass(100 * USEC_PER_MSEC);
        expect("b", "s");
}

Test(service_manager, it_outlives_the_daemon_and_is_found_again) {
        start();
        pass(100 * USEC_PER_MSEC);
        daemon_is_killed();
        expect("b", "s");
        pass(100 * USEC_PER_MSEC);
        daemon_starts();
        process_do(process, adopt_it, nonce);
        pass(100 * USEC_PER_MSEC);
        expect("", "s");
        pass(USEC_PER_SEC);
        expect("oe", "xe");
        expect_result(UNIT_OUTCOME_SUCCESS, UNIT_STOP_NONE);
}

/* Where it is slow, too: the bus passes on what a daemon has sent before what another one sends. */
Test(service_manager, what_a_daemon_sent_before_it_died_comes_before_what_the_next_asks) {
        pid1_set_slowness(pid1, 10 * USEC_PER_SEC);
        start();
        pass(LEAVING);
        daemon_is_killed();
        pid1_set_slowness(pid1, 0);
        daemon_starts();
        process_do(process, adopt_it, nonce);
        pass(20 * USEC_PER_SEC);
        expect("boe", "sxe");
}

Test(service_manager, what_has_another_nonce_is_not_ours) {
        start();
        pass(100 * USEC_PER_MSEC);
        process_do(process, daemon_clears, NULL);
        process_do(process, daemon_begins, NULL);
        memset(told, 0, sizeof(told));
        process_do(process, adopt_it, other_nonce);
        pass(100 * USEC_PER_MSEC);
        cr_expect_str_eq(told, "a");
}

Test(service_manager, one_that_was_stopped_and_ended_well_is_kept_for_who_follows_it) {
        conduct.manners = SERVICE_EXITS;
        start();
        pass(100 * USEC_PER_MSEC);
        process_do(process, stop_it, NULL);
        pass(100 * USEC_PER_MSEC);
        expect("broe", "sxe");
        expect_result(UNIT_OUTCOME_SUCCESS, UNIT_STOP_OWNER);
}

Test(service_manager, and_for_nobody_else) {
        conduct.manners = SERVICE_EXITS;
        start();
        pass(100 * USEC_PER_MSEC);
        daemon_is_killed();
        process_do(pid1_process(pid1), (WorldFunc)(void (*)(void))service_stop,
                   pid1_find(pid1, "a.service"));
        pass(100 * USEC_PER_MSEC);
        cr_expect_null(pid1_find(pid1, "a.service"));
}

/* Whether it arrives is chance: over some tries it does, and does not. */
Test(service_manager, a_start_whose_answer_is_lost_is_found_or_is_not) {
        unsigned begun = 0;

        for (unsigned i = 0; i < 20; i++) {
                memset(told, 0, sizeof(told));
                memset(happened, 0, sizeof(happened));
                start();
                pass(LEAVING);
                pid1_disconnect(pid1, 500 * USEC_PER_MSEC);
                cr_expect_not(unit_manager_connected(manager));
                pass(5 * USEC_PER_SEC);
                cr_expect_str_eq(told, happened[0] == 'b' ? "sxe" : "e");
                begun += happened[0] == 'b';
                process_do(process, discard_it, NULL);
                pass(100 * USEC_PER_MSEC);
                process_do(process, daemon_clears, NULL);
                process_do(process, daemon_begins, NULL);
        }
        cr_expect(begun > 2 && begun < 18, "%u of 20 began", begun);
}

Test(service_manager, what_ends_while_the_connection_is_away_is_told_later) {
        start();
        pass(100 * USEC_PER_MSEC);
        pid1_disconnect(pid1, 3 * USEC_PER_SEC);
        pass(2 * USEC_PER_SEC);
        expect("boe", "s");
        pass(2 * USEC_PER_SEC);
        expect("", "xe");
        expect_result(UNIT_OUTCOME_SUCCESS, UNIT_STOP_NONE);
}

Test(service_manager, a_crash_ends_everything) {
        start();
        pass(100 * USEC_PER_MSEC);
        daemon_is_killed();
        pid1_crash(pid1);
        expect("boe", "s");
        machine_boot(machine);
        pid1_boot(pid1);
        daemon_starts();
        process_do(process, adopt_it, nonce);
        pass(100 * USEC_PER_MSEC);
        expect("", "a");
}

static bool spares(const char *name, void *userdata) {
        return g_str_equal(name, "spared.service");
}

static void found(const char *name, bool exited, void *userdata) {
        cr_expect_str_eq(name, "a.service");
}

static void is_gone(void *userdata) {
        gone++;
}

static void clear_it(void *userdata) {
        static const char *const patterns[] = {"*.service", NULL};
        const ClearingOptions options = {.patterns = patterns,
                                         .slices = slices,
                                         .spare = spares,
                                         .found = found,
                                         .gone = is_gone};

        cr_assert_eq(clearing_new(manager, &options, userdata), 0);
}

static void clear_no_more(void *userdata) {
        clearing_free(userdata);
}

Test(service_manager, a_clearing_ends_what_is_not_spared) {
        Clearing *clearing = NULL;

        conduct.duration = USEC_PER_HOUR;
        conduct.last_words = USEC_PER_SEC;
        start();
        pass(100 * USEC_PER_MSEC);
        unit = unit_free(unit);
        process_do(process, start_it, spared);
        pass(100 * USEC_PER_MSEC);
        process_do(process, clear_it, &clearing);
        pass(500 * USEC_PER_MSEC);
        cr_expect_eq(gone, 0);
        cr_expect(unit_is_populated(manager, slices, "a.service"));
        pass(USEC_PER_SEC);
        cr_expect_eq(gone, 1);
        cr_expect_not(unit_is_populated(manager, slices, "a.service"));
        cr_expect(unit_is_populated(manager, slices, "spared.service"));
        process_do(process, clear_no_more, clearing);
}

/* ---- the fence ---- */

static void fence_is(void *userdata) {
        pid1_set_fence(pid1, (Pid1Fence)GPOINTER_TO_UINT(userdata));
}

static void set_fence(Pid1Fence fence) {
        process_do(pid1_process(pid1), fence_is, GUINT_TO_POINTER(fence));
}

Test(service_manager, what_is_bound_to_the_fence_is_stopped_when_that_leaves_off) {
        fenced = true;
        conduct.last_words = 100 * USEC_PER_MSEC;
        start();
        pass(100 * USEC_PER_MSEC);
        cr_expect(pid1_has_fenced(pid1));
        set_fence(PID1_FENCE_STOPPING);
        cr_expect_not(pid1_fence_may_begin(pid1));
        pass(300 * USEC_PER_MSEC);
        expect("broe", "sxe");
        expect_result(UNIT_OUTCOME_SIGNAL, UNIT_STOP_FENCE);
        cr_expect_not(pid1_has_fenced(pid1));
        cr_expect(pid1_fence_may_begin(pid1));
}

Test(service_manager, the_fence_is_told_apart_from_others_also_later) {
        fenced = true;
        start();
        pass(100 * USEC_PER_MSEC);
        daemon_is_killed();
        set_fence(PID1_FENCE_GONE);
        pass(300 * USEC_PER_MSEC);
        set_fence(PID1_FENCE_ACTIVE);
        memset(told, 0, sizeof(told));
        daemon_starts();
        process_do(process, adopt_it, nonce);
        pass(100 * USEC_PER_MSEC);
        expect("broe", "xe");
        expect_result(UNIT_OUTCOME_SIGNAL, UNIT_STOP_FENCE);
}

/* It ended well on SIGTERM, and nobody referred to it. */
Test(service_manager, of_what_is_gone_only_the_end_of_the_fence_is_known) {
        fenced = true;
        conduct.manners = SERVICE_EXITS;
        start();
        pass(100 * USEC_PER_MSEC);
        daemon_is_killed();
        set_fence(PID1_FENCE_GONE);
        pass(300 * USEC_PER_MSEC);
        memset(told, 0, sizeof(told));
        daemon_starts();
        process_do(process, adopt_it, nonce);
        pass(100 * USEC_PER_MSEC);
        expect("broe", "a");
        cr_expect_eq(unit_result(unit)->fence_left, pid1_fence_left(pid1));
        cr_expect_gt(pid1_fence_left(pid1), 0);
}

Test(service_manager, what_failed_before_the_fence_left_off_has_failed) {
        fenced = true;
        conduct.status = 3;
        conduct.duration = USEC_PER_MSEC;
        start();
        pass(100 * USEC_PER_MSEC);
        expect("boe", "sxe");
        process_do(process, daemon_clears, NULL);
        process_do(process, daemon_begins, NULL);
        set_fence(PID1_FENCE_GONE);
        set_fence(PID1_FENCE_ACTIVE);
        process_do(process, adopt_it, nonce);
        pass(100 * USEC_PER_MSEC);
        expect("", "xe");
        expect_result(UNIT_OUTCOME_EXIT_CODE, UNIT_STOP_NONE);
}

Test(service_manager, without_a_fence_what_is_bound_to_it_waits) {
        fenced = true;
        set_fence(PID1_FENCE_GONE);
        start();
        pass(USEC_PER_SEC);
        expect("", "");
        cr_expect(pid1_fence_may_begin(pid1));
        set_fence(PID1_FENCE_ACTIVE);
        pass(100 * USEC_PER_MSEC);
        expect("b", "s");
        set_fence(PID1_FENCE_STOPPING);
        set_fence(PID1_FENCE_GONE);
        pass(100 * USEC_PER_MSEC);
        expect("roe", "xe");
}

static void kill_fenced(void *userdata) {
        pid1_kill_fenced(pid1);
}

Test(service_manager, the_kernel_kills_all_that_is_fenced_also_where_pid1_is_slow) {
        fenced = true;
        conduct.manners = SERVICE_IGNORES;
        conduct.duration = conduct.remains = USEC_PER_HOUR;
        start();
        pass(100 * USEC_PER_MSEC);
        process_do(pid1_process(pid1), kill_fenced, NULL);
        cr_expect_str_eq(happened, "broe");
}

Test(service_manager, what_is_not_bound_to_the_fence_has_no_part_in_it) {
        set_fence(PID1_FENCE_GONE);
        start();
        pass(100 * USEC_PER_MSEC);
        expect("b", "s");
        set_fence(PID1_FENCE_ACTIVE);
        set_fence(PID1_FENCE_GONE);
        pass(2 * USEC_PER_SEC);
        expect("oe", "xe");
        expect_result(UNIT_OUTCOME_SUCCESS, UNIT_STOP_NONE);
}

/* ---- launch steps ---- */

static void file_session(void *userdata) {
        const SessionFile file = {.session = {.id = 0x1234},
                                  .stop_at = clock_boottime() + USEC_PER_MINUTE,
                                  .held_until = USEC_INFINITY};

        cr_assert_eq(session_file_save(launch[1], NULL, &file), 0);
}

static void start_launched(void) {
        static const char *words[] = {"/x/jobkeeper-launch", NULL, "0x0000000000001234", NULL};
        static char *session;

        g_free(session);
        words[1] = session = g_build_filename(machine_directory(machine), "run", "session", NULL);
        launch = words;
        process_do(process, file_session, NULL);
        start();
}

static void restart_it(void) {
        cr_expect(pid1_restart(pid1, pid1_find(pid1, name_of_it)));
}

Test(service_manager, what_pid_1_restarts_begins_twice) {
        start();
        pass(100 * USEC_PER_MSEC);
        restart_it();
        pass(10 * USEC_PER_SEC);
        cr_expect_str_eq(happened, "broeboe");
}

Test(service_manager, a_launch_step_refuses_to_begin_twice) {
        conduct.duration = USEC_PER_HOUR;
        start_launched();
        pass(100 * USEC_PER_MSEC);
        restart_it();
        pass(10 * USEC_PER_SEC);
        cr_expect_str_eq(happened, "broee");
        cr_expect_str_eq(told, "se");
        cr_expect_eq(unit_result(unit)->outcome, UNIT_OUTCOME_START_FAILED);
        cr_expect_eq(unit_result(unit)->refusal, LAUNCH_AGAIN);
}

Test(service_manager, a_launch_step_refuses_to_begin_late) {
        conduct.start = 2 * USEC_PER_MINUTE;
        start_launched();
        pass(3 * USEC_PER_MINUTE);
        cr_expect_str_eq(happened, "e");
        cr_expect_eq(unit_result(unit)->refusal, LAUNCH_LATE);
}
